"""Mean ranks on a line, with bars over what no verdict separates."""

from __future__ import annotations

from collections.abc import Sequence

from segtrial.board.drawing import (
    Figure,
    Label,
    Shape,
    Stroke,
    longest,
    shortened,
    text_width,
)
from segtrial.board.endpoint import Endpoint, Pair
from segtrial.board.plots.axes import Names, title_of
from segtrial.board.svg import Scale, nice_ticks


def critical_difference(endpoint: Endpoint, names: Names) -> Figure:
    """Mean rank over resamples, with a bar over every group that no verdict separates."""
    rows = [row for row in endpoint.ranking if row.rank_frequency]
    placed = sorted(
        (sum((k + 1) * share for k, share in enumerate(row.rank_frequency)), row.submission)
        for row in rows
    )
    order = [key for _, key in placed]
    groups = _groups(order, endpoint.pairs)
    half = (len(placed) + 1) // 2
    left, right = (_margin(part, names) for part in (order[:half], order[half:]))
    plot = min(460.0, max(240.0, 44.0 * len(placed)))
    scale = Scale(1, max(2, len(placed)), left, left + plot)
    axis_y, first_y = 34.0, 34.0 + 12 * len(groups) + 26
    shapes: list[Shape] = [Stroke(((left, axis_y, left + plot, axis_y),), "text")]
    shapes.append(Label(left - 10, axis_y - 10, "mean rank", size=10, anchor="end"))
    for tick in nice_ticks(1, max(2, len(placed)), 8):
        if tick == int(tick):
            x = scale(tick)
            shapes.append(Stroke(((x, axis_y - 5, x, axis_y),), "text"))
            shapes.append(Label(x, axis_y - 10, str(int(tick)), size=10, anchor="middle"))
    for index, (low, high) in enumerate(groups):
        y = axis_y + 10 + 12 * index
        shapes.append(
            Stroke(((scale(placed[low][0]) - 4, y, scale(placed[high][0]) + 4, y),), "accent", 4)
        )
    for index, (mean, key) in enumerate(placed):
        is_left = index < half
        place = index if is_left else len(placed) - 1 - index
        y, x = first_y + 18 * place, scale(mean)
        edge = left - 10 if is_left else left + plot + 10
        shapes.append(Stroke(((x, axis_y, x, y), (x, y, edge, y)), "axis"))
        text = (
            f"{shortened(names[key])} {mean:.1f}"
            if is_left
            else f"{mean:.1f} {shortened(names[key])}"
        )
        shapes.append(
            Label(
                edge - 4 if is_left else edge + 4,
                y + 4,
                text,
                role="text",
                anchor="end" if is_left else "start",
            )
        )
    return Figure(
        width=left + plot + right,
        height=first_y + 18 * half + 6,
        title=f"Critical-difference diagram: {title_of(endpoint)}",
        description="Mean bootstrap rank of each entry; a bar joins entries that no paired verdict "
        "separates.",
        shapes=tuple(shapes),
    )


def _margin(keys: Sequence[str], names: Names) -> float:
    """Room for the names on one side of the line, each with its mean rank."""
    return longest(shortened(names[key]) for key in keys) + text_width("00.0 ") + 24


def _groups(order: Sequence[str], pairs: Sequence[Pair]) -> list[tuple[int, int]]:
    """Longest runs of neighbours of which no two are told apart, at least two long."""
    apart = {frozenset((pair.a, pair.b)) for pair in pairs if pair.verdict == "better"}
    runs = []
    for low in range(len(order)):
        high = low
        while high + 1 < len(order) and all(
            frozenset((order[k], order[high + 1])) not in apart for k in range(low, high + 1)
        ):
            high += 1
        runs.append((low, high))
    longest_runs = [run for run, before in zip(runs[1:], runs, strict=False) if run[1] > before[1]]
    return [run for run in [*runs[:1], *longest_runs] if run[1] > run[0]]
