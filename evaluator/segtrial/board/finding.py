"""What a ranking says, in one sentence, for readers who look at nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from segtrial.board.endpoint import Endpoint
from segtrial.board.html import Markup, tag
from segtrial.board.words import metric_words, plural, structure_words
from segtrial.contracts.result import SubmissionRow

_NAMED = 5
"""More tied names than this make a list, not a sentence."""


def finding(endpoint: Endpoint, entries: Mapping[str, SubmissionRow]) -> Markup:
    """Who is first, or who cannot be told apart from the first."""
    rows = [row for row in endpoint.ranking if row.submission in entries]
    tied = [entries[row.submission].name for row in rows if row.tied_for_first]
    on = "" if endpoint.n is None else f" on {plural(endpoint.n, 'patient')}"
    if not rows:
        label = metric_words(endpoint.metric).label
        strong, rest = (
            "",
            f"No entry is ranked on {label} for {structure_words(endpoint.structure)}.",
        )
    elif len(rows) == 1:
        strong = entries[rows[0].submission].name
        rest = f" is the only ranked entry{on}; there is nothing to rank it against."
    elif len(tied) == 1:
        strong, rest = tied[0], f" is first: better than every other ranked entry{on}."
    elif len(tied) == len(rows):
        strong = f"None of the {len(rows)} ranked entries can be told apart from the best"
        rest = f"{on}."
    else:
        strong = f"{len(tied)} of {len(rows)} ranked entries cannot be told apart from the best"
        rest = f"{on}: {_listed(tied)}."
    rest += _caution(endpoint)
    return tag("p", tag("strong", strong) if strong else "", rest, class_="finding")


def _caution(endpoint: Endpoint) -> str:
    """What so few patients cannot show."""
    if endpoint.raw.get("decidable") is False and len(endpoint.ranking) > 1:
        return (
            " With so few patients and so many pairs no difference could have been decided, "
            "whatever the scores."
        )
    if endpoint.raw.get("low_n"):
        return " So few patients show only large differences."
    return ""


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMED
    if more > 1:
        return f"{', '.join(names[:_NAMED])} and {more} more"
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
