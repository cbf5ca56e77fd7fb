"""Every patient of every entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from segtrial.board.drawing import (
    Dots,
    Figure,
    Label,
    Role,
    Shape,
    Stroke,
    Tiles,
    longest,
    shortened,
    text_width,
)
from segtrial.board.endpoint import Endpoint
from segtrial.board.plots.axes import TOP, Names, axis_name, grid, tick_labels, title_of
from segtrial.board.svg import Scale, nice_ticks, padded


def strips(endpoint: Endpoint, names: Names, scores: Mapping[str, Sequence[float]]) -> Figure:
    """Every patient's score of every entry, with its quartiles: the tail that a mean hides.

    Parameters
    ----------
    endpoint : Endpoint
        Structure and metric.
    names : mapping
        Names by id.
    scores : mapping
        Scores of each entry over its patients; a patient without a number is counted beside it.
    """
    rows = [row for row in endpoint.ranking if scores.get(row.submission)]
    left = longest(shortened(names[row.submission]) for row in rows) + 20
    plot = 480.0
    missing = {
        row.submission: max(0, (endpoint.n or 0) - len(scores[row.submission])) for row in rows
    }
    right = text_width("+ 00 without a number", 10) + 12 if any(missing.values()) else 12.0
    low, high = padded([v for row in rows for v in scores[row.submission]], floor=0.0)
    ticks = nice_ticks(low, high, 6)
    scale = Scale(low, high, left, left + plot)
    shapes: list[Shape] = [grid(scale, ticks, top=TOP, bottom=TOP + 30 * len(rows))]
    shapes += [axis_name(endpoint, left), *tick_labels(scale, ticks, y=TOP - 8)]
    for index, row in enumerate(rows):
        y = TOP + 30 * (index + 0.5)
        shapes.append(
            Label(left - 8, y + 4, shortened(names[row.submission]), role="text", anchor="end")
        )
        if without := missing[row.submission]:
            words = f"+ {without} without a number"
            shapes.append(Label(left + plot + 10, y + 4, words, role="red", size=10))
        shapes += _strip(sorted(scores[row.submission]), scale=scale, y=y, tied=row.tied_for_first)
    return Figure(
        width=left + plot + right,
        height=TOP + 30 * len(rows) + 10,
        title=f"Scores of every patient: {title_of(endpoint)}",
        description="One dot a patient; the box spans the middle half, the line is the median.",
        shapes=tuple(shapes),
    )


def _strip(values: Sequence[float], *, scale: Scale, y: float, tied: bool) -> list[Shape]:
    role: Role = "accent" if tied else "blue"
    last = len(values) - 1
    lower, middle, upper = (scale(values[round(share * last)]) for share in (0.25, 0.5, 0.75))
    # A fixed spread over seven lanes: the same figure from the same values.
    dots = tuple((scale(v), y + 2.4 * ((k * 3) % 7 - 3)) for k, v in enumerate(values))
    return [
        Tiles(((lower, y - 9, max(1.0, upper - lower), 18),), role, 0.16),
        Dots(dots, role, 1.6, 0.55),
        Stroke(((middle, y - 9, middle, y + 9),), role, 2),
    ]
