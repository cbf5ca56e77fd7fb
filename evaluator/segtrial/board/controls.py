"""The row of choices above a view; each choice says for which views it is shown."""

from __future__ import annotations

from collections.abc import Sequence

from segtrial.board.columns import CHOICES
from segtrial.board.html import Markup, tag
from segtrial.board.track import Track
from segtrial.board.words import metric_words, structure_choice

_BY_ENDPOINT = "table stability pairwise compare slices cost"


def controls(tracks: Sequence[Track]) -> Markup:
    """Every choice, filled for the first track; the script refills what depends on a choice."""
    first = tracks[0]
    structure, metric = first.default or ("", "")
    names = {
        "track": [(t.key, f"{t.results.dataset.title}: {t.results.track.title}") for t in tracks],
        "structure": [(s, structure_choice(s)) for s in first.structures],
        "metric": [(m, metric_words(m).label) for m in first.metrics(structure)],
        "model": list(first.names.items()),
        "show": [("", "All"), ("ranked", "Ranked"), ("unranked", "Not ranked")],
    }
    everywhere = "" if len(tracks) > 1 else None
    return tag(
        "div",
        _select("track", "Dataset and track", names["track"], first.key, everywhere),
        _select("structure", "Structure", names["structure"], structure, _BY_ENDPOINT),
        _select("metric", "Metric", names["metric"], metric, _BY_ENDPOINT),
        _select("model", "Model", names["model"], "", "model", hidden=True),
        _select("show", "Entries", names["show"], "", "table"),
        _find(),
        _columns(),
        tag("button", "CSV", type="button", id="csv", class_="button", data_for="table"),
        tag("span", id="count", class_="muted", role="status"),
        class_="controls",
        role="group",
        aria_label="Choices",
    )


def _select(
    key: str,
    label: str,
    options: Sequence[tuple[str, str]],
    chosen: str,
    views: str | None,
    *,
    hidden: bool = False,
) -> Markup:
    """One choice; ``views`` None leaves it out, empty shows it on every view."""
    if views is None:
        return Markup("")
    items = [
        tag("option", words, value=value, selected=value == chosen) for value, words in options
    ]
    return tag("label", label, tag("select", items, id=key), data_for=views or None, hidden=hidden)


def _find() -> Markup:
    words = "name, author, licence"
    field = tag("input", type="search", id="find", placeholder=words, autocomplete="off")
    return tag("label", "Find", field, data_for="table")


def _columns() -> Markup:
    boxes = [
        tag("label", tag("input", type="checkbox", value=key, checked=shown), tag("span", words))
        for key, words, shown in CHOICES
    ]
    summary = tag("summary", "Columns", class_="button")
    return tag(
        "details", summary, tag("div", boxes, class_="panel"), class_="chooser", data_for="table"
    )
