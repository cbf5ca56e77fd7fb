"""How often each entry came out at each rank."""

from __future__ import annotations

from collections.abc import Sequence

from segtrial.board.drawing import (
    Figure,
    Label,
    Role,
    Shape,
    Tiles,
    longest,
    shortened,
)
from segtrial.board.endpoint import Endpoint, Ranked
from segtrial.board.plots.axes import MANY, ROW, Names, title_of


def rank_frequencies(endpoint: Endpoint, names: Names) -> Figure:
    """How often each entry came out at each rank: entries down, ranks across."""
    rows = [row for row in endpoint.ranking if row.rank_frequency]
    ranks = len(rows)
    cell = 30.0 if ranks <= MANY else max(4.0, 900 / max(1, ranks))
    height = ROW if ranks <= MANY else max(4.0, min(ROW, cell))
    left = longest(shortened(names[row.submission]) for row in rows) + 20 if height > 8 else 60  # noqa: PLR2004 - room for letters
    shades: dict[int, list[tuple[float, float, float, float]]] = {}
    shapes: list[Shape] = []
    for index, row in enumerate(rows):
        y = 26 + height * index
        if height > 8:  # noqa: PLR2004 - as above
            name = shortened(names[row.submission])
            shapes.append(Label(left - 8, y + height / 2 + 4, name, role="text", anchor="end"))
        for rank, share in enumerate(row.rank_frequency):
            if share < 0.005:  # noqa: PLR2004 - rounds to nothing
                continue
            box = (left + cell * rank, y, cell - 1, height - 1)
            shades.setdefault(round(share * 20), []).append(box)
    tiles = [
        Tiles(tuple(boxes), "accent", round(0.06 + 0.94 * level / 20, 3))
        for level, boxes in sorted(shades.items())
    ]
    ground = Tiles(((left, 26, cell * ranks, height * ranks),), "faint")
    heads = [Label(left - 8, 18, "rank", size=10, anchor="end"), *_rank_heads(ranks, left, cell)]
    inks = _shares(rows, left, cell, height) if ranks <= MANY else []
    return Figure(
        width=left + cell * ranks + 8,
        height=26 + height * ranks + 8,
        title=f"Rank frequencies: {title_of(endpoint)}",
        description="Share of bootstrap resamples in which each entry takes each rank.",
        shapes=(ground, *tiles, *heads, *shapes, *inks),
    )


def _rank_heads(ranks: int, left: float, cell: float) -> list[Shape]:
    step = max(1, round(24 / cell))
    return [
        Label(left + cell * (rank + 0.5), 18, str(rank + 1), size=10, anchor="middle")
        for rank in range(0, ranks, step)
    ]


def _ink(share: float) -> Role:
    """What reads on a tile in both themes: its shade goes from the ground to full colour."""
    if share < 0.55:  # noqa: PLR2004 - nearer to the ground
        return "text"
    return "on-half" if share < 0.8 else "on-accent"  # noqa: PLR2004 - nearly full colour


def _shares(rows: Sequence[Ranked], left: float, cell: float, height: float) -> list[Shape]:
    return [
        Label(
            left + cell * (rank + 0.5),
            26 + height * (index + 0.5) + 3.5,
            f"{100 * share:.0f}",
            role=_ink(share),
            size=10,
            anchor="middle",
        )
        for index, row in enumerate(rows)
        for rank, share in enumerate(row.rank_frequency)
        if share >= 0.005  # noqa: PLR2004 - rounds to nothing
    ]
