"""A label map on its grid, and bringing it to canonical axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segtrial.scans.grid import UPRIGHT_DEGREES, Grid

_SAME_VOXEL = 0.01  # as a share of a voxel, the same as for grids
_CLOSE = 0.8  # cosine of the angle to a world axis; no two upright axes are so close to the same
Labels = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class LabelMap:
    """An integer per voxel, and where the voxels lie.

    Attributes
    ----------
    labels : uint8, uint16 or int32 array, shape ``grid.shape``
        The narrowest of the three types that holds every label that may occur; any memory order.
        0 is background.
    grid : Grid
        Place of the voxels.
    """

    labels: Labels
    grid: Grid

    def __post_init__(self) -> None:
        if self.labels.shape != self.grid.shape:
            msg = f"labels of shape {self.labels.shape} on a grid of shape {self.grid.shape}"
            raise ValueError(msg)


def label_dtype(largest: int) -> np.dtype[Any]:
    """Narrowest of uint8, uint16 and int32 for labels from 0 to `largest`.

    Raises
    ------
    ValueError
        For a label that int32 cannot hold.

    Examples
    --------
    >>> label_dtype(117), label_dtype(1000)
    (dtype('uint8'), dtype('uint16'))
    """
    for dtype in (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.int32)):
        if 0 <= largest <= np.iinfo(dtype).max:
            return dtype
    msg = f"labels reach from 0 to 2147483647, got {largest}"
    raise ValueError(msg)


def to_canonical(label_map: LabelMap) -> LabelMap:
    """The same anatomy on the axis order and directions closest to RAS.

    Scores must not depend on how a volume happens to be stored, and the triangulation of a
    surface is not symmetric under axis flips. Only whole axes are moved: no voxel is
    interpolated, and an oblique volume stays oblique.

    Parameters
    ----------
    label_map : LabelMap
        Any axis order and direction.

    Returns
    -------
    LabelMap
        A view of the same labels (strides may be negative) on the moved grid.
    """
    axes, signs = _orientation(label_map.grid)
    flips = tuple(slice(None, None, sign) for sign in signs)
    order = [axes.index(axis) for axis in range(len(axes))]
    return LabelMap(label_map.labels[flips].transpose(order), canonical_grid(label_map.grid))


def placed(label_map: LabelMap, grid: Grid) -> LabelMap | None:
    """A label map that leaves out empty slices, in the grid of the whole scan.

    Parameters
    ----------
    label_map : LabelMap
        Its voxels are voxels of ``grid``, in any axis order and direction.
    grid : Grid
        The scan's.

    Returns
    -------
    LabelMap or None
        On ``grid``, 0 where the label map says nothing; None where its voxels are not those of
        ``grid``, or lie outside.
    """
    to_grid = np.linalg.inv(grid.affine) @ label_map.grid.affine
    turned = np.rint(to_grid[:3, :3])
    is_permutation = all((np.abs(turned).sum(axis=axis) == 1).all() for axis in (0, 1))
    ends = np.array([[0, 0, 0], [n - 1 for n in label_map.grid.shape]])
    there = ends @ to_grid[:3, :3].T + to_grid[:3, 3]
    first, last = np.rint(there).min(axis=0), np.rint(there).max(axis=0)
    off = np.abs(there - np.rint(there)).max()
    inside = (first >= 0).all() and (last < grid.shape).all()
    if not is_permutation or off > _SAME_VOXEL or not inside:
        return None
    order = [int(axis) for axis in np.abs(turned).argmax(axis=1)]
    flips = tuple(slice(None, None, int(turned[i, axis])) for i, axis in enumerate(order))
    labels = np.zeros(grid.shape, label_map.labels.dtype, order="F")
    box = tuple(slice(int(a), int(b) + 1) for a, b in zip(first, last, strict=True))
    labels[box] = label_map.labels.transpose(order)[flips]
    return LabelMap(labels, grid)


def canonical_grid(grid: Grid) -> Grid:
    """The same voxels in space, on the axis order and directions closest to RAS."""
    stored_of_canonical = np.diag([0.0, 0.0, 0.0, 1.0])
    shape = [0, 0, 0]
    for stored, (axis, sign) in enumerate(zip(*_orientation(grid), strict=True)):
        shape[axis] = grid.shape[stored]
        stored_of_canonical[stored, axis] = sign
        stored_of_canonical[stored, 3] = grid.shape[stored] - 1 if sign < 0 else 0
    i, j, k = shape
    return Grid((i, j, k), grid.affine @ stored_of_canonical)


def _orientation(grid: Grid) -> tuple[list[int], list[int]]:
    """For each stored axis, the world axis it is closest to, and 1, or -1 where it runs against it.

    nibabel decides; where every axis is close to another world axis, there is nothing to decide.
    """
    directions = grid.affine[:3, :3] / grid.spacing_mm
    closest = np.abs(directions).argmax(axis=0)
    along = directions[closest, range(3)]
    if (np.abs(along) > _CLOSE).all() and grid.shear_degrees < UPRIGHT_DEGREES:
        return closest.tolist(), np.sign(along).astype(int).tolist()
    from nibabel.orientations import io_orientation  # noqa: PLC0415 - slow to load

    found = io_orientation(grid.affine).astype(int)
    return found[:, 0].tolist(), found[:, 1].tolist()
