"""One submission as the page shows it: name and links, training verdict, what was granted."""

from __future__ import annotations

from collections.abc import Iterable

from segtrial.board.html import Markup, hidden, join, link, linked, tag, text
from segtrial.board.words import VERDICT_WORDS
from segtrial.contracts.limits import Relaxations
from segtrial.contracts.result import SubmissionRow

_DOT = Markup(' <span class="sep" aria-hidden="true">\u00b7</span> ')
_GRANTED = {
    "root": "root",
    "writable_rootfs": "writable root",
    "shm_gib": "shm {} GiB",
    "tmp_gib": "tmp {} GiB",
}


def name_cell(row: SubmissionRow, *, track: str) -> Markup:
    """Name with its link to the model's page, and version, licence, links and tags under it."""
    version = "version unknown" if row.version == "unknown" else row.version
    small: list[Markup] = [tag("span", version), tag("span", row.licence, class_="licence")]
    small += [
        link(url, word, aria_label=f"{word} of {row.name}")
        for word, url in (("paper", row.paper), ("code", row.code))
        if url
    ]
    tags = [[" ", tag("span", word, class_="tag")] for word in entry_tags(row)]
    return Markup(
        tag("a", row.name, class_="model", href=f"?track={track}&view=model&model={row.id}")
        + tag("span", join(small, _DOT), *tags, class_="sub")
    )


def entry_tags(row: SubmissionRow) -> list[str]:
    """Words that belong beside a name: baseline, and every relaxation that was granted."""
    words = ["baseline"] if row.baseline else []
    return words + [f"granted: {word}" for word in granted_words(row.granted)]


def granted_words(granted: Relaxations) -> list[str]:
    """Each granted relaxation in words."""
    return [_GRANTED[name].format(getattr(granted, name)) for name in granted.asked()]


def verdict_badge(row: SubmissionRow, *, place: str) -> Markup:
    """The training verdict as a button that opens its evidence.

    Parameters
    ----------
    row : SubmissionRow
        The entry.
    place : str
        Makes the popover's id unique on the page.
    """
    word, meaning = VERDICT_WORDS[row.verdict]
    target = f"ev-{place}-{row.id}"
    return Markup(
        tag(
            "button",
            word,
            hidden(f" \u2013 evidence for {row.name}"),
            type="button",
            class_=f"badge {row.verdict}",
            popovertarget=target,
        )
        + tag(
            "div",
            tag("strong", row.name),
            evidence(row, meaning),
            id=target,
            popover=True,
            class_="pop",
        )
    )


def evidence(row: SubmissionRow, meaning: str) -> Markup:
    """Who declared what, and the paths that led to the verdict."""
    if row.declared_training is None:
        declared = tag("p", "Its authors declared nothing about its training data.")
    elif not row.declared_training:
        declared = tag("p", "Declared: trained on nothing.")
    else:
        declared = text([tag("p", "Declared training data:"), bullets(row.declared_training)])
    reached = bullets(linked(path) for path in row.evidence)
    paths = text([tag("p", "How this was reached:"), reached] if row.evidence else "")
    note = tag("p", "As declared by the authors; not confirmed by inspection.", class_="muted")
    return Markup(tag("p", meaning) + paths + declared + note)


def bullets(lines: Iterable[object]) -> Markup:
    """A plain list."""
    return tag("ul", [tag("li", line) for line in lines])
