"""Write src/surface_table.inc: the surface elements of every cell, as scikit-image draws them.

A cell has a voxel at each of its eight corners. For each of the 256 ways to set them, the table
lists the triangles that ``skimage.measure.marching_cubes`` (Lewiner's cases, level 0.5) makes; for
each of the 16 ways to set the four corners of a pixel cell, the segments of ``find_contours``.
Every vertex is a multiple of half a cell, so one letter names it. Run it again only to change the
surface, which changes every score: raise METRIC_VERSION then.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from skimage.measure import find_contours, marching_cubes

IN_SPACE = 3
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"


def cell_elements(configuration: int, dimensions: int) -> NDArray[np.int64]:
    """Corners of the elements of one cell in half cells, shape (N, D, D); D is 2 or 3.

    Bit b of the configuration sets the voxel at the corner whose offsets along the axes are the
    binary digits of b, first axis first.
    """
    corners = itertools.product((0, 1), repeat=dimensions)
    cell = np.zeros((2,) * dimensions, dtype=np.float32)
    for bit, corner in enumerate(corners):
        cell[corner] = configuration >> bit & 1
    if cell.min() == cell.max():
        return np.zeros((0, dimensions, dimensions), dtype=np.int64)
    if dimensions == IN_SPACE:
        vertices, faces, _, _ = marching_cubes(cell, 0.5)
        elements = vertices[faces]
    else:
        lines = find_contours(cell, 0.5, fully_connected="low")
        elements = np.concatenate([np.stack([line[:-1], line[1:]], axis=1) for line in lines])
    return np.rint(2 * elements).astype(np.int64)


def encoded(configuration: int, dimensions: int) -> str:
    """The elements of one cell as letters, one for each vertex."""
    place = 3 ** np.arange(dimensions)[::-1]
    vertices = cell_elements(configuration, dimensions).reshape(-1, dimensions)
    return "".join(LETTERS[index] for index in vertices @ place)


def main() -> None:
    """Write the table beside the sources."""
    lines = [
        "// Made by make_surface_table.py; do not edit. Letter n stands for the vertex whose half-",
        "// cell coordinates are the base-3 digits of n (A is 0), first axis first; three letters",
        "// make a triangle, two a segment.",
    ]
    for name, dimensions in (("kTriangles", 3), ("kSegments", 2)):
        count = 2 ** (2**dimensions)
        rows = [f'    "{encoded(c, dimensions)}",  // {c}' for c in range(count)]
        lines += ["", f"inline constexpr const char* {name}[{count}] = {{", *rows, "};"]
    target = Path(__file__).parent / "src" / "surface_table.inc"
    target.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
