"""The grids of the phantom's scanners: sizes, spacings, axis orders, tilts.

Affines are kept as integers of 2^-16 mm, so that world positions are computed exactly and the
float32 numbers of a NIfTI header hold the same affine to the last bit. Rotations are rational,
(1 - t^2) / (1 + t^2) and 2 t / (1 + t^2), rounded to that unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segtrial.datasets.phantom_fields import Space
from segtrial.datasets.phantom_patients import Case
from segtrial.datasets.phantom_random import integer

_UNIT = 1 << 16  # of an affine's entries, per mm
_TICK_SHIFT = 10  # 2^-16 mm to ticks of 2^-6 mm
_AXES = {"R": (0, 1), "L": (0, -1), "A": (1, 1), "P": (1, -1), "S": (2, 1), "I": (2, -1)}


@dataclass(frozen=True)
class Scanner:
    """What a scanner's volumes look like.

    Attributes
    ----------
    shape : tuple of int
        Voxels to the right, front and head.
    spacing : tuple of int
        Distance between them, in 2^-16 mm.
    noise_hu : int
        Standard deviation of the noise of one voxel.
    axes : tuple of str
        Storage orders, by the case's number in turn.
    tilts : tuple of int
        Tilts of the volume about the left-right axis, as 64 t, by the case's number in turn.
    turns : tuple of int
        The same about the long axis.
    """

    shape: tuple[int, int, int]
    spacing: tuple[int, int, int]
    noise_hu: int
    axes: tuple[str, ...]
    tilts: tuple[int, ...]
    turns: tuple[int, ...]

    @property
    def edge(self) -> int:
        """Half width of the ramp at a surface, ticks: 0.6 of the finest spacing."""
        return min(self.spacing) * 64 * 5 // 8 // _UNIT


SCANNERS = {
    "scanner_a": Scanner(
        shape=(128, 96, 56),
        spacing=(3 * _UNIT + _UNIT // 8, 3 * _UNIT + _UNIT // 8, 5 * _UNIT),
        noise_hu=13,
        axes=("LPS", "RAS"),
        tilts=(0, 0, 3),
        turns=(0, 0, 0, 2),
    ),
    "scanner_b": Scanner(
        shape=(112, 84, 64),
        spacing=(3 * _UNIT + _UNIT // 2, 3 * _UNIT + _UNIT // 2, 4 * _UNIT),
        noise_hu=18,
        axes=("RAS", "LAS", "LPI"),
        tilts=(0, 4),
        turns=(0, 0, -3),
    ),
    "scanner_c": Scanner(
        shape=(96, 76, 40),
        spacing=(4 * _UNIT, 4 * _UNIT, 6 * _UNIT + _UNIT // 4),
        noise_hu=24,
        axes=("LPS", "IPL", "PSR"),
        tilts=(-5, 0),
        turns=(0, 2, 0),
    ),
}


@dataclass(frozen=True, eq=False)
class CaseGrid:
    """Grid of one case.

    Attributes
    ----------
    shape : tuple of int
        Voxels along the stored axes.
    entries : list of list of int
        The affine in 2^-16 mm, three rows of four.
    axes : str
        Nearest world direction of each stored axis.
    """

    shape: tuple[int, int, int]
    entries: list[list[int]]
    axes: str

    @property
    def affine(self) -> NDArray[np.float64]:
        """Index to world, mm (RAS+); every entry is exact also in float32."""
        affine = np.eye(4)
        affine[:3] = np.array(self.entries, dtype=np.int64) / _UNIT
        return affine

    def space(self) -> Space:
        """World position of each voxel's centre, in ticks."""
        index = np.ogrid[tuple(slice(n) for n in self.shape)]
        positions = []
        for row in self.entries:
            sums = sum(entry * axis for entry, axis in zip(row, index, strict=False)) + row[3]
            positions.append((np.asarray(sums) >> _TICK_SHIFT).astype(np.int32))
        return Space(*positions)

    def steps(self, length_mm: int) -> tuple[int, int, int]:
        """Voxels along each stored axis in about a length, at least two."""
        columns = list(zip(*self.entries, strict=True))[:3]
        sizes = [max(abs(entry) for entry in column) for column in columns]
        i, j, k = (max(length_mm * _UNIT // size, 2) for size in sizes)
        return i, j, k

    def through_plane(self) -> int:
        """Number of the stored axis that runs from foot to head."""
        return next(n for n, code in enumerate(self.axes) if code in "SI")


def case_grid(case: Case) -> CaseGrid:
    """Grid that the case's scanner gave it."""
    scanner = SCANNERS[case.scanner]
    number = int(case.case[-3:])
    axes = scanner.axes[number % len(scanner.axes)]
    tilt = scanner.tilts[number % len(scanner.tilts)]
    turn = scanner.turns[number % len(scanner.turns)]
    columns = []
    shape = []
    for code in axes:
        axis, sign = _AXES[code]
        direction = [0, 0, 0]
        direction[axis] = sign * scanner.spacing[axis]
        columns.append(_rotated(_rotated(direction, (1, 2), tilt), (0, 1), turn))
        shape.append(scanner.shape[axis])
    centre = [integer(f"{case.case}/centre/{axis}", -12, 12) * _UNIT for axis in "xy"]
    centre.append((case.bottom_mm + case.top_mm) * _UNIT // 2)
    entries = []
    for axis in range(3):
        row = [column[axis] for column in columns]
        half = sum(entry * (n - 1) for entry, n in zip(row, shape, strict=True)) // 2
        start = (centre[axis] - half) >> 6 << 6  # coarser, so that float32 holds it
        entries.append([*row, start])
    return CaseGrid((shape[0], shape[1], shape[2]), entries, axes)


def _rotated(vector: list[int], plane: tuple[int, int], t: int) -> list[int]:
    """Rotate in a plane by the angle whose half has tangent t / 64."""
    a, b = plane
    whole = 64 * 64 + t * t
    cosine, sine = 64 * 64 - t * t, 2 * 64 * t
    turned = list(vector)
    turned[a] = (vector[a] * cosine - vector[b] * sine) // whole
    turned[b] = (vector[a] * sine + vector[b] * cosine) // whole
    return turned
