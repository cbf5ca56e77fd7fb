"""Read scans and references: the maintainer's own files, as arrays.

References come from many places: labels stored as float64 or with a slope are common in public
data sets and are read as the integers they are. A prediction has no such licence (see
`prediction`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segtrial.scans.grid import UPRIGHT_DEGREES, Grid, corner_shift_mm, same_grid
from segtrial.scans.label_map import LabelMap, Labels, label_dtype, placed
from segtrial.scans.volume import Volume, open_volume, unusable

_LARGEST_LABEL = np.iinfo(np.int32).max
_READABLE = 1e20  # every 64-bit integer is
_ROUNDING = 1e-3  # tools that store labels scaled to 8 or 16 bits leave them this close to whole


@dataclass(frozen=True, eq=False)
class Scan:
    """A patient's image.

    Attributes
    ----------
    voxels : array, shape ``grid.shape``
        Hounsfield units for CT, arbitrary units for MR: the stored numbers where the header
        does not scale them, float32 where it does.
    grid : Grid
        Place of the voxels.
    """

    voxels: NDArray[np.generic]
    grid: Grid


def read_grid(path: str | os.PathLike[str]) -> Grid:
    """Grid of a scan or label map, from its header alone.

    Parameters
    ----------
    path : path
        Any volume nibabel can read.

    Returns
    -------
    Grid

    Raises
    ------
    DatasetError
        The file is missing, no image, or describes no 3D volume.
    """
    return open_volume(path).grid


def series_files(folder: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Files of a DICOM series, in the order of the volume's third axis.

    Parameters
    ----------
    folder : path
        As for `read_scan`.

    Raises
    ------
    DatasetError
        The folder holds no series that makes a volume.
    """
    from segtrial.scans.dicom_series import read_series  # noqa: PLC0415 - loads pydicom

    return tuple(one.path for one in read_series(Path(folder)).slices)


def read_scan(path: str | os.PathLike[str]) -> Scan:
    """Read a patient's image.

    Parameters
    ----------
    path : path
        Any volume nibabel can read, or a folder with the slices of one DICOM series.

    Returns
    -------
    Scan

    Raises
    ------
    DatasetError
        As `read_grid`, or the voxels are damaged or cut off.
    """
    volume = open_volume(path)
    voxels = volume.voxels()
    if volume.scaled:
        scaled = voxels.astype(np.float32)
        scaled *= np.float32(volume.slope)
        scaled += np.float32(volume.intercept)
        return Scan(scaled, volume.grid)
    return Scan(voxels.astype(voxels.dtype.newbyteorder("="), copy=False), volume.grid)


def read_label_map(path: str | os.PathLike[str], *, grid: Grid | None = None) -> LabelMap:
    """Read a reference.

    Parameters
    ----------
    path : path
        Any volume; a DICOM segmentation is put into `grid`. Whole numbers stored as floating
        point, or scaled, are taken as the integers they are.
    grid : Grid, optional
        Grid that the reference has to be on, usually the scan's.

    Returns
    -------
    LabelMap
        On `grid` where it is given. The narrowest of uint8, uint16 and int32 that holds its
        labels; Fortran order.

    Raises
    ------
    DatasetError
        As `read_scan`; or negative labels, values that are no whole numbers, another grid, a
        sheared one.
    """
    volume = open_volume(path)
    _demand_upright(volume)
    if grid is not None and volume.sparse:
        found = placed(read_label_map(path), grid)
        if found is None:
            raise unusable(path, "its frames are not slices of the scan.")
        return found
    if grid is not None and not same_grid(grid, volume.grid):
        raise unusable(path, _another_grid(grid, volume.grid))
    labels = volume.room(np.dtype(np.uint8))
    done = 0
    for piece in volume.pieces():
        part = _as_labels(piece, volume)
        labels = labels.astype(np.promote_types(labels.dtype, part.dtype), copy=False)
        labels[done : done + part.size] = part
        done += part.size
    return LabelMap(labels.reshape(volume.grid.shape, order="F"), grid or volume.grid)


def _demand_upright(volume: Volume) -> None:
    """Raise where axes are not at right angles: distances are made of the spacing along each."""
    shear = volume.grid.shear_degrees
    if shear > UPRIGHT_DEGREES:
        raise unusable(
            volume.path,
            f"its grid is sheared by {shear:.2g} degrees (a tilted gantry). Distances are measured "
            "on upright grids: resample scan and label map to one, or leave the case out.",
        )


def _as_labels(stored: NDArray[np.generic], volume: Volume) -> Labels:
    """Voxels as labels, in the narrowest type that holds these."""
    values: NDArray[Any] = stored
    if values.dtype.kind not in "iuf":
        raise unusable(volume.path, f"it holds {values.dtype} voxels. A reference holds integers.")
    if volume.scaled:
        values = stored.astype(np.float64) * volume.slope + volume.intercept
    if values.dtype.kind == "f":
        whole = np.rint(values)
        with np.errstate(invalid="ignore"):  # NaN and infinity are not close to anything
            close = np.abs(values - whole) < _ROUNDING
        if not close.all():
            raise unusable(volume.path, "it holds values that are no whole numbers.")
        values = whole
    low, high = values.min(), values.max()
    if low < 0 or high > _LARGEST_LABEL:
        raise unusable(
            volume.path,
            f"it holds labels from {_in_full(low)} to {_in_full(high)}; 0 to {_LARGEST_LABEL} "
            "are taken.",
        )
    return values.astype(label_dtype(int(high)), copy=False)


def _in_full(whole: np.number[Any]) -> str:
    """A whole number to its last digit, unless there are too many to read."""
    return str(int(whole)) if abs(float(whole)) < _READABLE else f"{whole:g}"


def _another_grid(expected: Grid, got: Grid) -> str:
    if expected.shape != got.shape:
        return f"it has shape {got.shape}, the scan has {expected.shape}."
    shift_mm = corner_shift_mm(expected, got)
    return f"it is not where the scan is: a corner of the volume is {shift_mm:.4g} mm off."
