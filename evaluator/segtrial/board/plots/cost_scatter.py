"""Score against what it costs, on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from segtrial.board.drawing import Dots, Figure, Label, Role, Shape, Stroke, shortened, text_width
from segtrial.board.endpoint import Endpoint, Ranked
from segtrial.board.plots.axes import Names, score_scale, title_of
from segtrial.board.svg import Scale
from segtrial.board.words import metric_words, number

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
    shapes: list[Shape] = [
        Stroke(tuple((_LEFT, y(t), _WIDTH - 16, y(t)) for t in y_ticks), "grid"),
        Stroke(((_LEFT, _BOTTOM, _WIDTH - 16, _BOTTOM),), "axis"),
        *(
            Label(_LEFT - 8, y(t) + 4, number(t, min(3, metric.decimals)), size=10, anchor="end")
            for t in y_ticks
        ),
        Label(_WIDTH - 16, _BOTTOM + 34, f"{axis} (logarithmic)", size=11, anchor="end"),
        Label(_LEFT, _TOP - 4, metric.label, size=11, bold=True),
    ]
    for tick in _log_ticks(across):
        place = x(math.log10(tick))
        shapes.append(Stroke(((place, _BOTTOM, place, _BOTTOM + 4),), "axis"))
        shapes.append(Label(place, _BOTTOM + 17, words(tick), size=10, anchor="middle"))
    taken: list[tuple[float, float, float]] = []
    for row, cost in zip(rows, across, strict=True):
        shapes += _point(row, names[row.submission], x(math.log10(cost)), y, taken)
    return Figure(
        width=_WIDTH,
        height=_HEIGHT,
        title=f"Score against {axis}: {title_of(endpoint)}",
        description="One dot an entry, with the 95 % interval of its score.",
        shapes=tuple(shapes),
    )


def _point(
    row: Ranked, name: str, x: float, y: Scale, taken: list[tuple[float, float, float]]
) -> list[Shape]:
    if row.estimate is None or not y.holds(row.estimate):
        return []
    role: Role = "accent" if row.tied_for_first else "blue"
    middle = y(row.estimate)
    shapes: list[Shape] = [Dots(((x, middle),), role, 4)]
    if row.interval.low is not None and row.interval.high is not None:
        ends = (x, y(row.interval.low), x, y(row.interval.high))
        shapes.insert(0, Stroke((ends,), role, 1.2))
    words = shortened(name, 18)
    width = text_width(words, 10)
    if x + 8 + width > _WIDTH - 10:
        left, anchor_at, anchor = x - 8 - width, x - 8, "end"
    else:
        left, anchor_at, anchor = x + 8, x + 8, "start"
    # A name that would lie on another is left out; the table below has them all.
    if all(abs(middle - v) > 11 or left > b or left + width < a for a, b, v in taken):  # noqa: PLR2004 - a line's height
        taken.append((left, left + width, middle))
        shapes.append(Label(anchor_at, middle + 3.5, words, role="text", anchor=anchor, size=10))  # type: ignore[arg-type]
    return shapes


def _log_scale(values: Sequence[float]) -> Scale:
    low, high = math.log10(min(values)), math.log10(max(values))
    air = max(0.06, (high - low) * 0.06)
    return Scale(low - air, high + air, _LEFT + 10, _WIDTH - 30)


def _log_ticks(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    power = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [m * 10.0**k for k in power for m in (1, 2, 3, 5, 7)]
    inside = [tick for tick in ticks if low * 0.87 <= tick <= high * 1.15]
    return inside or [low]
