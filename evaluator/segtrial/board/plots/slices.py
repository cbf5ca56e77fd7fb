"""Scores in the subgroups of one slice: entries down, a dot and an interval for each level."""

from __future__ import annotations

from collections.abc import Sequence

from segtrial.board.drawing import Dots, Figure, Label, Role, Shape, Stroke, longest, shortened
from segtrial.board.endpoint import Endpoint, Interval, Slice
from segtrial.board.plots.axes import Names, axis_name, grid, tick_labels, title_of
from segtrial.board.svg import Scale, nice_ticks, padded
from segtrial.board.words import metric_words, plural

LEVEL_ROLES: tuple[Role, ...] = ("blue", "amber", "accent", "red", "muted")
"""Colours of levels, in their order; the place in the row tells them apart as well."""
_STEP = 9.0
_PLOT = 330.0
_TOP = 64.0
_FIRST_LINE = 34.0
"""Of the legend, below the name of the axis."""
_LINE = 17.0


def slice_plot(endpoint: Endpoint, names: Names, chosen: Slice, *, limit: int = 25) -> Figure:
    """One block of lines for each entry, one line for each level with enough patients.

    Parameters
    ----------
    endpoint : Endpoint
        Structure and metric.
    names : mapping
        Names by id.
    chosen : Slice
        The slice.
    limit : int
        Entries drawn, best first.
    """
    levels = [level for level in chosen.levels if level.estimates]
    order = [row.submission for row in endpoint.ranking][:limit]
    found = {
        (key, place): (estimate, interval)
        for place, level in enumerate(levels)
        for key, estimate, interval in level.estimates
    }
    left = longest(shortened(names[key]) for key in order) + 20
    shown = [one for (key, _), one in found.items() if key in order]
    low, high = _range(shown, is_share=_is_share(endpoint))
    scale, ticks = Scale(low, high, left, left + _PLOT), nice_ticks(low, high, 5)
    block = max(_LINE, _STEP * len(levels) + 10)
    legend, extra = _legend(chosen, left)
    first = _TOP + extra
    bottom = first + block * len(order)
    shapes: list[Shape] = [grid(scale, ticks, top=first, bottom=bottom)]
    shapes += tick_labels(scale, ticks, y=first - 8)
    shapes += [axis_name(endpoint, left), *legend]
    for index, key in enumerate(order):
        top = first + block * index
        name = shortened(names[key])
        shapes.append(Label(left - 8, top + block / 2 + 4, name, role="text", anchor="end"))
        for place in range(len(levels)):
            estimate, interval = found.get((key, place), (None, Interval()))
            y = top + (block - _STEP * len(levels)) / 2 + _STEP * (place + 0.5)
            role = LEVEL_ROLES[place % len(LEVEL_ROLES)]
            shapes += _mark(estimate, interval, scale=scale, y=y, role=role)
    return Figure(
        width=left + _PLOT + 12,
        height=bottom + 8,
        title=f"By {chosen.name}: {title_of(endpoint)}",
        description="; ".join(f"{one.level}, {plural(one.n, 'patient')}" for one in chosen.levels),
        shapes=tuple(shapes),
    )


def _is_share(endpoint: Endpoint) -> bool:
    words = metric_words(endpoint.metric)
    return not words.unit and words.higher_is_better


def _range(
    shown: Sequence[tuple[float | None, Interval]], *, is_share: bool
) -> tuple[float, float]:
    """What the axis holds: every estimate, and of intervals twice the spread of the estimates.

    One small level with a failure has an interval ten times as wide as all others; it runs out of
    the drawing, without a cap.
    """
    estimates = [estimate for estimate, _ in shown if estimate is not None]
    ends = [end for _, one in shown for end in (one.low, one.high) if end is not None]
    if not estimates:
        return padded(ends)
    spread = 2 * (max(estimates) - min(estimates)) or max(ends, default=1) - min(ends, default=0)
    low, high = min(estimates) - spread, max(estimates) + spread
    inside = [min(high, max(low, value)) for value in (*estimates, *ends)]
    return padded(inside, floor=0.0, ceil=1.0 if is_share else None)


def _legend(chosen: Slice, left: float) -> tuple[list[Shape], float]:
    """Names of the levels, in as many lines as they need, and how high those are."""
    shapes: list[Shape] = []
    x, y, place = left, _FIRST_LINE, 0
    for level in chosen.levels:
        words = f"{level.level} (n = {level.n})"
        if not level.estimates:
            words = f"{level.level} (n = {level.n}, no estimate)"
        if x > left and x + 12 + longest([words]) > left + _PLOT:
            x, y = left, y + _LINE
        if level.estimates:
            role = LEVEL_ROLES[place % len(LEVEL_ROLES)]
            shapes.append(Dots(((x + 4, y - 4),), role, 4))
            place += 1
        shapes.append(Label(x + 12, y, words, role="text" if level.estimates else "muted"))
        x += 28 + longest([words])
    return shapes, y - _FIRST_LINE


def _mark(
    estimate: float | None, interval: Interval, *, scale: Scale, y: float, role: Role
) -> list[Shape]:
    shapes: list[Shape] = []
    if interval.low is not None and interval.high is not None:
        left, right = scale(interval.low), scale(interval.high)
        caps = [
            (x, y - 2, x, y + 2)
            for x, end in ((left, interval.low), (right, interval.high))
            if scale.holds(end)
        ]
        shapes.append(Stroke(((left, y, right, y), *caps), role, 1.5))
    if estimate is not None:
        shapes.append(Dots(((scale(estimate), y),), role, 3))
    return shapes
