"""Who is better than whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from segtrial.board.drawing import (
    Figure,
    Glyphs,
    Label,
    Role,
    Shape,
    Tiles,
    longest,
    shortened,
)
from segtrial.board.endpoint import Endpoint
from segtrial.board.plots.axes import MANY, Names, title_of

_LETTERS = 8.0
"""Smaller tiles have no room for letters."""


def matrix_grid(endpoint: Endpoint, names: Names) -> tuple[float, float]:
    """Where the first tile begins, across and down, and the size of a tile, in pixels."""
    order = [row.submission for row in endpoint.ranking]
    cell = 24.0 if len(order) <= MANY else max(3.5, 840 / len(order))
    if cell <= _LETTERS:
        return 16.0, cell
    return longest(shortened(names[key], 22) for key in order) + 22, cell


def significance_matrix(endpoint: Endpoint, names: Names) -> Figure:
    """Who is better than whom, ordered by score: the staircase shows what can be told apart."""
    order = [row.submission for row in endpoint.ranking]
    count = len(order)
    margin, cell = matrix_grid(endpoint, names)
    labelled = cell > _LETTERS
    found = verdicts(endpoint)
    boxes: dict[str, list[tuple[float, float, float, float]]] = {}
    for row, one in enumerate(order):
        for column, verdict, span in _runs([found.get((one, other), "") for other in order]):
            gap = 1.0 if labelled else 0.0
            box = (margin + cell * column, margin + cell * row, cell * span - gap, cell - gap)
            if labelled and span > 1:
                boxes.setdefault(verdict, []).extend(
                    (margin + cell * (column + k), margin + cell * row, cell - 1, cell - 1)
                    for k in range(span)
                )
            else:
                boxes.setdefault(verdict, []).append(box)
    shapes: list[Shape] = [
        Tiles(tuple(boxes[verdict]), role, opacity)
        for verdict, (role, opacity) in _MATRIX.items()
        if verdict in boxes
    ]
    if labelled:
        shapes += _matrix_labels(order, names, found, margin=margin, cell=cell)
    return Figure(
        width=margin + cell * count + 8,
        height=margin + cell * count + 8,
        title=f"Pairwise verdicts: {title_of(endpoint)}",
        description="Row against column, best first: + better, \u2212 worse, = equivalent, "
        "\u00b7 inconclusive.",
        shapes=tuple(shapes),
    )


_MATRIX: dict[str, tuple[Role, float]] = {
    "better": ("accent", 0.9),
    "worse": ("red", 0.28),
    "equivalent": ("blue", 0.3),
    "inconclusive": ("axis", 0.35),
}
_GLYPH = {"better": "+", "worse": "\u2212", "equivalent": "=", "inconclusive": "\u00b7"}


def verdicts(endpoint: Endpoint) -> dict[tuple[str, str], str]:
    """``better``, ``worse``, ``equivalent`` or ``inconclusive``, for the row against the column."""
    found = {}
    for pair in endpoint.pairs:
        found[pair.a, pair.b] = pair.verdict
        found[pair.b, pair.a] = {"better": "worse"}.get(pair.verdict, pair.verdict)
    return found


def _runs(verdicts_of_row: Sequence[str]) -> list[tuple[int, str, int]]:
    """Neighbouring equal verdicts as (first column, verdict, how many)."""
    runs: list[tuple[int, str, int]] = []
    for column, verdict in enumerate(verdicts_of_row):
        if runs and runs[-1][1] == verdict:
            first, _, span = runs[-1]
            runs[-1] = (first, verdict, span + 1)
        else:
            runs.append((column, verdict, 1))
    return [run for run in runs if run[1]]


def _matrix_labels(
    order: Sequence[str],
    names: Names,
    found: Mapping[tuple[str, str], str],
    *,
    margin: float,
    cell: float,
) -> list[Shape]:
    shapes: list[Shape] = []
    places: dict[str, list[tuple[float, float]]] = {}
    for index, key in enumerate(order):
        middle = margin + cell * (index + 0.5)
        name = shortened(names[key], 22)
        shapes.append(Label(margin - 8, middle + 4, name, role="text", anchor="end"))
        shapes.append(Label(middle + 4, margin - 8, name, role="text", turned=True))
        for column, other in enumerate(order):
            verdict = found.get((key, other))
            if verdict:
                place = (margin + cell * (column + 0.5), middle + 3.5)
                places.setdefault(verdict, []).append(place)
    for verdict, listed in sorted(places.items()):
        ink: Role = "on-accent" if verdict == "better" else "text"
        shapes.append(Glyphs(tuple(listed), _GLYPH[verdict], ink))
    return shapes
