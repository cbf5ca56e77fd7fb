"""The grid of a volume: how many voxels, and where each of them lies in the patient.

World coordinates are millimetres, +x to the patient's left-to-right **R**, +y to **A**, +z to
**S**, as in NIfTI. An affine takes the index of a voxel to the world position of its centre.

Two grids are the same when they have the same shape and no corner of the volume lies further
apart than 1 % of the smallest spacing. The corners, not the entries of the affine: an entry that
is off by 1e-5 is nothing at the first voxel and a tenth of a millimetre at the thousandth, and a
round trip of an oblique affine through quaternions moves it in about the fifth digit.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

SAME_GRID_TOLERANCE = 0.01
"""Largest shift of a corner, as a share of the smallest spacing of the expected grid."""

UPRIGHT_DEGREES = 0.1
"""Largest shear of a grid that is measured on: it changes no distance by more than 0.09 %."""

_AXES = 3
_FARTHEST_MM = 1e6  # nobody is a kilometre away from the scanner
_MOST_SHEARED = 1e-3  # smallest singular value; 1 is square, a tilted gantry leaves 0.7
_MM3_PER_ML = 1000.0


@dataclass(frozen=True, eq=False)
class Grid:
    """Shape and place of a volume. Compare two with `same_grid`, never by ``==``.

    Attributes
    ----------
    shape : tuple of int
        Voxels along the three axes as stored, each at least 1.
    affine : float64 array, shape (4, 4), read-only
        Voxel index to world position of the voxel's centre, in mm (RAS+).
    """

    shape: tuple[int, int, int]
    affine: NDArray[np.float64]

    def __post_init__(self) -> None:
        affine = np.array(self.affine, dtype=np.float64)
        if affine.shape != (4, 4) or not (np.abs(affine) < _FARTHEST_MM).all():  # NaN is not
            msg = f"a grid needs a finite affine of shape (4, 4), in mm, got {affine.tolist()}"
            raise ValueError(msg)
        sizes = [int(n) for n in self.shape]
        if len(sizes) != _AXES or min(sizes) < 1:
            msg = f"a grid needs three axes of at least one voxel, got {self.shape}"
            raise ValueError(msg)
        if _is_flat(affine):
            msg = f"the affine maps the volume onto a plane or a line: {affine.tolist()}"
            raise ValueError(msg)
        affine.flags.writeable = False
        object.__setattr__(self, "affine", affine)
        object.__setattr__(self, "shape", tuple(sizes))

    @cached_property
    def spacing_mm(self) -> tuple[float, float, float]:
        """Distance between neighbouring voxels along each stored axis, from the affine."""
        x, y, z = np.sqrt((self.affine[:3, :3] ** 2).sum(axis=0)).tolist()
        return x, y, z

    @property
    def shear_degrees(self) -> float:
        """How far the angle between two axes is from a right one, at most: 0 to 90 degrees."""
        directions = self.affine[:3, :3] / self.spacing_mm
        cosines = np.abs(directions.T @ directions)[np.triu_indices(_AXES, k=1)]
        return math.degrees(math.asin(min(1.0, float(cosines.max()))))

    @property
    def voxels(self) -> int:
        """Number of voxels."""
        return math.prod(self.shape)

    @property
    def diagonal_mm(self) -> float:
        """Physical diagonal, sqrt(sum((n_i s_i)^2)): the distance a failed case is charged."""
        return math.hypot(*(n * s for n, s in zip(self.shape, self.spacing_mm, strict=True)))

    @property
    def volume_ml(self) -> float:
        """Volume of the whole grid: the volume difference a failed case is charged."""
        return self.voxels * math.prod(self.spacing_mm) / _MM3_PER_ML

    @property
    def axis_codes(self) -> str:
        """Where each stored axis points, for example ``RAS`` or ``LPI``."""
        from nibabel.orientations import aff2axcodes  # noqa: PLC0415 - slow to load

        return "".join(aff2axcodes(self.affine))

    def corners_mm(self) -> NDArray[np.float64]:
        """World positions of the eight outer corners of the volume.

        Returns
        -------
        float64 array, shape (8, 3)
            In mm; the outer faces of the corner voxels, half a voxel beyond their centres.
        """
        ends = [(-0.5, n - 0.5) for n in self.shape]
        corners = np.array(list(itertools.product(*ends)))
        placed: NDArray[np.float64] = corners @ self.affine[:3, :3].T + self.affine[:3, 3]
        return placed


def _is_flat(affine: NDArray[np.float64]) -> bool:
    """Whether an axis has no length, or no direction of its own."""
    lengths = np.sqrt((affine[:3, :3] ** 2).sum(axis=0))
    if not (lengths > 0).all():
        return True
    return bool(np.linalg.svd(affine[:3, :3] / lengths)[1].min() < _MOST_SHEARED)


def corner_shift_mm(expected: Grid, got: Grid) -> float:
    """Largest distance between the same corner of two grids, in mm, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> here, there = np.diag([2.0, 2.0, 5.0, 1.0]), np.diag([2.0, 2.0, 5.0, 1.0])
    >>> there[0, 3] = 3.0
    >>> corner_shift_mm(Grid((10, 10, 4), here), Grid((10, 10, 4), there))
    3.0
    """
    shifts = np.linalg.norm(expected.corners_mm() - got.corners_mm(), axis=1)
    return float(shifts.max())


def same_grid(expected: Grid, got: Grid) -> bool:
    """Whether a voxel index means the same place on both grids.

    Parameters
    ----------
    expected, got : Grid
        The tolerance is taken from the smallest spacing of `expected`.

    Returns
    -------
    bool
        True for the same shape and every corner within 1 % of the smallest spacing.
    """
    if expected.shape != got.shape:
        return False
    return corner_shift_mm(expected, got) <= SAME_GRID_TOLERANCE * min(expected.spacing_mm)
