"""What the plots share: names, scales, grids and tick labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from segtrial.board.drawing import (
    Label,
    Shape,
    Stroke,
)
from segtrial.board.endpoint import Endpoint
from segtrial.board.svg import Scale, nice_ticks, padded
from segtrial.board.words import metric_words, plural, structure_words

Names = Mapping[str, str]
"""Name of each submission by its id."""
ROW = 24.0
"""Height of a row, in pixels."""
TOP = 46.0
"""Where the first row begins, below the axis and its name."""
MANY = 30
"""With more entries than this, cells are too small to hold a number."""


def title_of(endpoint: Endpoint) -> str:
    """What every figure of an endpoint is about."""
    return f"{metric_words(endpoint.metric).label}, {structure_words(endpoint.structure)}"


def axis_name(endpoint: Endpoint, x: float) -> Label:
    """What the axis shows, above its ticks: metric and unit, structure, how many patients."""
    words = metric_words(endpoint.metric)
    unit = f" ({words.unit})" if words.unit else ""
    size = f", {plural(endpoint.n, 'patient')}" if endpoint.n is not None else ""
    where = structure_words(endpoint.structure)
    return Label(x, 12, f"{words.label}{unit}, {where}{size}", role="text", size=10)


def score_scale(endpoint: Endpoint, start: float, end: float) -> tuple[Scale, list[float]]:
    """A scale that holds every interval of an endpoint, and its ticks."""
    words = metric_words(endpoint.metric)
    ends = [
        value
        for row in endpoint.ranking
        for value in (row.interval.low, row.interval.high, row.estimate)
        if value is not None
    ]
    low, high = padded(
        ends, floor=0.0, ceil=1.0 if not words.unit and words.higher_is_better else None
    )
    return Scale(low, high, start, end), nice_ticks(low, high, 5)


def grid(scale: Scale, ticks: Sequence[float], *, top: float, bottom: float) -> Stroke:
    """Faint vertical lines at the ticks."""
    return Stroke(tuple((scale(t), top, scale(t), bottom) for t in ticks), "grid")


def tick_labels(scale: Scale, ticks: Sequence[float], *, y: float) -> list[Shape]:
    """The ticks in numbers, all with the decimals that the finest needs."""
    decimals = max((len(f"{tick:g}".partition(".")[2]) for tick in ticks), default=0)
    return [
        Label(scale(tick), y, f"{tick:.{decimals}f}", size=10, anchor="middle") for tick in ticks
    ]
