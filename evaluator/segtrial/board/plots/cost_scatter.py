"""Score against what it costs, on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from segtrial.board.drawing import (
    Anchor,
    Dots,
    Figure,
    Label,
    Role,
    Shape,
    Stroke,
    shortened,
    text_width,
)
from segtrial.board.endpoint import Endpoint, Ranked
from segtrial.board.plots.axes import Names, score_scale, title_of
from segtrial.board.svg import Scale
from segtrial.board.words import metric_words

_WIDTH, _HEIGHT = 620.0, 380.0
_LEFT, _TOP, _BOTTOM = 58.0, 16.0, 340.0


def cost_scatter(
    endpoint: Endpoint,
    names: Names,
    costs: Mapping[str, float],
    *,
    axis: str,
    words: Callable[[float], str],
) -> Figure:
    """Score of every entry against one kind of cost.

    Parameters
    ----------
    endpoint : Endpoint
        Structure and metric.
    names : mapping
        Names by id.
    costs : mapping
        What each entry took, above 0; entries without one are left out.
    axis : str
        What the cost is.
    words : callable
        Writes one cost.
    """
    rows = [row for row in endpoint.ranking if costs.get(row.submission, 0) > 0]
    across = [costs[row.submission] for row in rows]
    x = _log_scale(across)
    y, y_ticks = score_scale(endpoint, _BOTTOM, _TOP)
    metric = metric_words(endpoint.metric)
    if not metric.higher_is_better:
        y = Scale(y.low, y.high, _TOP, _BOTTOM)
    digits = max((len(f"{tick:g}".partition(".")[2]) for tick in y_ticks), default=0)
    shapes: list[Shape] = [
        Stroke(tuple((_LEFT, y(t), _WIDTH - 16, y(t)) for t in y_ticks), "grid"),
        Stroke(((_LEFT, _BOTTOM, _WIDTH - 16, _BOTTOM),), "axis"),
        *(Label(_LEFT - 8, y(t) + 4, f"{t:.{digits}f}", size=10, anchor="end") for t in y_ticks),
        Label(_WIDTH - 16, _BOTTOM + 34, f"{axis} (logarithmic)", size=11, anchor="end"),
        Label(_LEFT, _TOP - 4, metric.label, size=11, bold=True),
    ]
    for tick in _log_ticks(across):
        place = x(math.log10(tick))
        shapes.append(Stroke(((place, _BOTTOM, place, _BOTTOM + 4),), "axis"))
        shapes.append(Label(place, _BOTTOM + 17, words(tick), size=10, anchor="middle"))
    points = [
        (x(math.log10(cost)), y(row.estimate), row)
        for row, cost in zip(rows, across, strict=True)
        if row.estimate is not None and y.holds(row.estimate)
    ]
    for left, top, row in points:
        shapes += _point(row, left, top, y)
    shapes += _names([(left, top, names[row.submission]) for left, top, row in points])
    return Figure(
        width=_WIDTH,
        height=_HEIGHT,
        title=f"Score against {axis}: {title_of(endpoint)}",
        description="One dot an entry, with the 95 % interval of its score.",
        shapes=tuple(shapes),
    )


def _point(row: Ranked, x: float, middle: float, y: Scale) -> list[Shape]:
    role: Role = "accent" if row.tied_for_first else "blue"
    shapes: list[Shape] = [Dots(((x, middle),), role, 4)]
    if row.interval.low is not None and row.interval.high is not None:
        ends = (x, y(row.interval.low), x, y(row.interval.high))
        shapes.insert(0, Stroke((ends,), role, 1.2))
    return shapes


def _names(points: Sequence[tuple[float, float, str]]) -> list[Shape]:
    """A name at each dot, where it lies on no other dot or name; the table has those left out."""
    taken = [_Box(x - 6, y - 6, x + 6, y + 6) for x, y, _ in points]
    shapes: list[Shape] = []
    for x, y, name in points:
        words = shortened(name)
        width = text_width(words, 10)
        places: list[tuple[_Box, float, float, Anchor]] = [
            (_Box(x + 7, y - 6, x + 9 + width, y + 6), x + 8, y + 3.5, "start"),
            (_Box(x - 9 - width, y - 6, x - 7, y + 6), x - 8, y + 3.5, "end"),
            (_Box(x + 3, y - 19, x + 5 + width, y - 7), x + 4, y - 9, "start"),
            (_Box(x + 3, y + 7, x + 5 + width, y + 19), x + 4, y + 16, "start"),
            (_Box(x - 5 - width, y - 19, x - 3, y - 7), x - 4, y - 9, "end"),
            (_Box(x - 5 - width, y + 7, x - 3, y + 19), x - 4, y + 16, "end"),
        ]
        for box, at, foot, anchor in places:
            if box.left > _LEFT and box.right < _WIDTH and not any(map(box.meets, taken)):
                taken.append(box)
                shapes.append(Label(at, foot, words, role="text", anchor=anchor, size=10))
                break
    return shapes


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: _Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def _log_scale(values: Sequence[float]) -> Scale:
    low, high = math.log10(min(values)), math.log10(max(values))
    air = max(0.06, (high - low) * 0.06)
    return Scale(low - air, high + air, _LEFT + 10, _WIDTH - 30)


def _log_ticks(values: Sequence[float]) -> list[float]:
    """Round numbers, the fewer the more powers of ten the axis spans."""
    low, high = min(values), max(values)
    span = math.log10(high / low)
    steps = (1, 2, 3, 5, 7) if span < 1.3 else (1, 2, 5) if span < 2 else (1,)  # noqa: PLR2004 - powers of ten
    power = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [m * 10.0**k for k in power for m in steps]
    inside = [tick for tick in ticks if low * 0.87 <= tick <= high * 1.15]
    return inside or [low]
