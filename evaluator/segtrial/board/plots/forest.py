"""Scores with their intervals, best on top."""

from __future__ import annotations

from segtrial.board.drawing import (
    Dots,
    Figure,
    Label,
    Role,
    Shape,
    Stroke,
    longest,
    shortened,
)
from segtrial.board.endpoint import Endpoint, Ranked
from segtrial.board.plots.axes import (
    ROW,
    TOP,
    Names,
    axis_name,
    grid,
    score_scale,
    tick_labels,
    title_of,
)
from segtrial.board.svg import Scale
from segtrial.board.words import metric_words, number, plural, rank_words


def forest(endpoint: Endpoint, names: Names) -> Figure:
    """Each entry's score with its interval, best on top, and its rank interval in words."""
    rows = endpoint.ranking
    left = longest(shortened(names[row.submission]) for row in rows) + 24
    width, plot = left + 520, 340.0
    scale, ticks = score_scale(endpoint, left, left + plot)
    shapes: list[Shape] = [grid(scale, ticks, top=TOP, bottom=TOP + ROW * len(rows))]
    shapes += [axis_name(endpoint, left), *tick_labels(scale, ticks, y=TOP - 8)]
    shapes += [
        Label(left + plot + 16, TOP - 8, "score [95 %]", size=10),
        Label(width - 4, TOP - 8, "rank", size=10, anchor="end"),
    ]
    for index, row in enumerate(rows):
        shapes += _forest_row(row, names, endpoint, scale=scale, y=TOP + ROW * (index + 0.5))
    return Figure(
        width=width,
        height=TOP + ROW * len(rows) + 12,
        title=f"Scores and intervals: {title_of(endpoint)}",
        description=f"{plural(len(rows), 'entry', 'entries')}, best first.",
        shapes=tuple(shapes),
    )


def _forest_row(
    row: Ranked, names: Names, endpoint: Endpoint, *, scale: Scale, y: float
) -> list[Shape]:
    role: Role = "accent" if row.tied_for_first else "blue"
    words = metric_words(endpoint.metric)
    shapes: list[Shape] = [
        Label(4, y + 4, shortened(names[row.submission]), role="text", bold=row.tied_for_first)
    ]
    low, high = row.interval.low, row.interval.high
    if low is not None or high is not None:
        first = scale(low if low is not None else scale.low)
        last = scale(high if high is not None else scale.high)
        caps = [
            (x, y - 3, x, y + 3)
            for x, end in ((first, low), (last, high))
            if end is not None and scale.holds(end)
        ]
        shapes.append(Stroke(((first, y, last, y), *caps), role, 1.5))
    if row.estimate is not None and scale.holds(row.estimate):
        shapes.append(Dots(((scale(row.estimate), y),), role))
    ends = (
        f"[{number(low, words.decimals) if low is not None else 'unbounded'}, "
        f"{number(high, words.decimals) if high is not None else 'unbounded'}]"
        if row.interval.state is None
        else f"[{row.interval.state}]"
    )
    score = "unbounded" if row.estimate is None else number(row.estimate, words.decimals)
    shapes.append(Label(scale.end + 16, y + 4, f"{score} {shortened(ends, 24)}", role="text"))
    shapes.append(Label(scale.end + 176, y + 4, rank_words(*row.rank), role=role, anchor="end"))
    return shapes
