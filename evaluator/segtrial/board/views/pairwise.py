"""Pairwise: who is better than whom, by the paired test, with every number behind it."""

from __future__ import annotations

from collections import Counter

from segtrial.board.endpoint import Endpoint, Interval, Pair
from segtrial.board.html import Markup, tag
from segtrial.board.plots import Names, matrix_grid, significance_matrix, verdicts
from segtrial.board.views.parts import figure, note, plain_table
from segtrial.board.words import MetricWords, metric_words, minus, number, plural, roughly

_LISTED = 400
"""More pairs than this are in the download only; a page is no place to read them."""
_TALLIED = 40
"""With more entries than this the tally is longer than the matrix is high."""
_VERDICTS = ("better", "worse", "equivalent", "inconclusive")


def pairwise_view(endpoint: Endpoint, names: Names, *, track: str) -> Markup:
    """The matrix of verdicts and the table behind it."""
    if not endpoint.pairs:
        return tag("p", "There are no two ranked entries to compare here.", class_="finding")
    drawn = significance_matrix(endpoint, names)
    order = ".".join(row.submission for row in endpoint.ranking)
    start, cell = matrix_grid(endpoint, names)
    place = {"data_order": order, "data_start": f"{start:g}", "data_cell": f"{cell:g}"}
    matrix = figure(drawn, caption=_legend(), class_="matrix", **place)
    both = tag("div", matrix, _tally(endpoint, names), class_="side-by-side")
    return Markup(_sentence(endpoint) + both + _numbers(endpoint, names, track))


def _tally(endpoint: Endpoint, names: Names) -> Markup:
    """How each entry fares against all others, in numbers."""
    if len(endpoint.ranking) > _TALLIED:
        return Markup("")
    found = verdicts(endpoint)
    rows = []
    for row in endpoint.ranking:
        said = Counter(verdict for (key, _), verdict in found.items() if key == row.submission)
        rows.append((names[row.submission], *(said[verdict] or "\u2013" for verdict in _VERDICTS)))
    head = ("Entry", "Better than", "Worse than", "Equivalent to", "Open against")
    return plain_table(head, rows, caption="Verdicts of every entry", numeric=(1, 2, 3, 4))


def _sentence(endpoint: Endpoint) -> Markup:
    total = len(endpoint.pairs)
    better = sum(pair.verdict == "better" for pair in endpoint.pairs)
    equal = sum(pair.verdict == "equivalent" for pair in endpoint.pairs)
    return tag(
        "p",
        tag("strong", f"{better} of {plural(total, 'pair')} can be told apart"),
        f", {equal} are equivalent within the declared margin, {total - better - equal} are open.",
        _reach(endpoint),
        class_="finding",
    )


def _reach(endpoint: Endpoint) -> str:
    """The smallest difference that these patients are likely to show."""
    smallest = endpoint.raw.get("detectable_difference")
    if not isinstance(smallest, int | float):
        return ""
    words = metric_words(endpoint.metric)
    written = f"{number(smallest, words.decimals)} {words.unit}".strip()
    return f" These patients are likely to show a difference of {written} or more between two."


def _legend() -> Markup:
    return tag(
        "span",
        "Row against column, best first: ",
        tag("b", "+"),
        " better, ",
        tag("b", "\u2212"),
        " worse, ",
        tag("b", "="),
        " equivalent, ",
        tag("b", "\u00b7"),
        " inconclusive. Choose a tile to compare the two case by case.",
    )


def _numbers(endpoint: Endpoint, names: Names, track: str) -> Markup:
    if len(endpoint.pairs) > _LISTED:
        return note(f"All {len(endpoint.pairs)} pairs with their numbers are in pairs.csv, below.")
    words = metric_words(endpoint.metric)
    head = (
        "A",
        "B",
        "A \u2212 B",
        "95\u202f% interval",
        "p",
        "p, Holm",
        "Verdict",
        "To tell apart",
    )
    rows = [_row(pair, names, words, endpoint, track) for pair in endpoint.pairs]
    caption = "Every pair of ranked entries"
    table = plain_table(head, rows, caption=caption, numeric=(2, 3, 4, 5, 7))
    return tag("details", tag("summary", "All pairs in numbers"), table, _reading())


def _row(
    pair: Pair, names: Names, words: MetricWords, endpoint: Endpoint, track: str
) -> tuple[object, ...]:
    address = (
        f"?track={track}&view=compare&structure={endpoint.structure}"
        f"&metric={endpoint.metric}&a={pair.a}&b={pair.b}"
    )
    verdict = f"{names[pair.a]} better" if pair.verdict == "better" else pair.verdict
    needed = (
        "\u2013" if pair.patients_needed is None else f"{roughly(pair.patients_needed)} patients"
    )
    return (
        names[pair.a],
        names[pair.b],
        signed(pair.difference, words),
        difference_interval(pair.interval, words),
        p_words(pair.p),
        p_words(pair.p_adjusted),
        tag("a", verdict, href=address),
        needed,
    )


def _reading() -> Markup:
    return note(
        "p is of the sign-flip test over patients; Holm's correction covers every pair in this "
        "table. Verdicts come from the corrected test, not from whether the interval holds 0. "
        "'To tell apart' is how many patients would show this difference with 80\u202f% power."
    )


def signed(value: float | None, words: MetricWords) -> str:
    """A difference with its sign."""
    if value is None:
        return "\u2013"
    return f"+{number(value, words.decimals)}" if value > 0 else number(value, words.decimals)


def difference_interval(interval: Interval, words: MetricWords) -> str:
    """An interval of a difference, or why there is none."""
    if interval.state is not None:
        return interval.state
    return f"{signed(interval.low, words)} to {signed(interval.high, words)}"


def p_words(value: float | None) -> str:
    """A p-value to the digits that mean something.

    Examples
    --------
    >>> p_words(0.00001), p_words(0.0312), p_words(1.0)
    ('<0.001', '0.031', '1.000')
    """
    if value is None:
        return "\u2013"
    return "<0.001" if value < 0.001 else minus(f"{value:.3f}")  # noqa: PLR2004 - three decimals


def p_phrase(value: float | None) -> str:
    """A p-value with its letter.

    Examples
    --------
    >>> p_phrase(0.00001), p_phrase(0.04)
    ('p < 0.001', 'p = 0.040')
    """
    words = p_words(value)
    return f"p < {words[1:]}" if words.startswith("<") else f"p = {words}"
