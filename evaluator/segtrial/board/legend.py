"""What the marks of a ranking mean, beside small samples of them."""

from __future__ import annotations

from segtrial.board.html import Markup, tag
from segtrial.board.svg import Scale, guard_mark, interval_mark, sparkline
from segtrial.board.words import percent


def legend(*, is_median: bool, has_guard: bool, has_ties: bool, has_frequencies: bool) -> Markup:
    """One line a mark, of the marks that are there.

    Parameters
    ----------
    is_median : bool
        Whether scores are medians, as for distances.
    has_guard : bool
        Whether intervals with failures that nobody has seen are drawn.
    has_ties : bool
        Whether several entries are tied for first.
    has_frequencies : bool
        Whether rank frequencies are drawn.
    """
    scale = Scale(0, 40, 0, 40)
    score = "Median" if is_median else "Mean"
    faint = guard_mark(scale, low=1, high=36, y=6) if has_guard else Markup("")
    dot = interval_mark(scale, low=12, high=34, middle=25, y=6)
    unseen = "; faint: with failures that nobody has seen yet" if has_guard else ""
    items = [
        (
            _sample(
                tag("path", class_="base", d="M0 6H40"), tag("path", class_="bar", d="M6 6H22")
            ),
            "Ranks that the paired tests leave open",
        ),
        (_sample(faint, dot), f"{score} over patients and its 95\u202f% interval{unseen}"),
        (tag("b", "\u2264"), "Upper end of the failure rate's interval"),
    ]
    if has_ties:
        green = tag("span", _sample(tag("path", class_="bar", d="M0 6H40")), class_="tied")
        items.insert(1, (green, "Tied for first: nobody is better by a verdict"))
    if has_frequencies:
        bars = sparkline((0.5, 0.9, 0.4, 0.1), width=24, height=12, title=percent(0.5))
        items.append(
            (bars, "How often each rank came out in resamples; the number: how often first")
        )
    return tag(
        "ul",
        [tag("li", tag("span", sample, aria_hidden="true"), words) for sample, words in items],
        class_="legend",
        aria_label="How to read a row",
    )


def _sample(*parts: Markup) -> Markup:
    return tag("svg", *parts, viewBox="0 0 40 12", width="40", height="12")
