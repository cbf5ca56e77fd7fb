"""A folder of DICOM slices as one volume.

Geometry decides what a series is, and nothing is guessed: slices that are missing, there twice,
unevenly far apart or of several images mixed in one folder end in a `DatasetError` that names them.
The Series Instance UID alone decides nothing. Public sets, CHAOS among them, give the slices of one
scan a UID each, or the in-phase and out-of-phase images of one acquisition the same one.

Voxels are in the order column, row, slice along the normal of the slices; world coordinates are
turned from DICOM's (+x left, +y back) into those of NIfTI. Only headers are read until voxels are
asked for, and then one slice at a time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segtrial.scans.dicom_slice import Slice, is_dicom, read_slice
from segtrial.scans.grid import UPRIGHT_DEGREES, Grid
from segtrial.scans.volume import Volume, unusable
from segtrial.scans.writing import nifti_header

_ENDINGS = {".dcm", ".ima"}
_MOST_FILES = 20_000
_TO_RAS = np.array([-1.0, -1.0, 1.0])
_SAME_PLACE_MM = 1e-3
_SAME_ANGLE = 1e-3
_SAME_SPACING_MM = 1e-4
_UNEVEN = 0.1
"""How far a slice may be from its place in an even series, as a share of the step."""
_WHOLE = 0.1
"""How far a gap may be from a whole number of steps to be called missing slices."""


@dataclass(frozen=True, eq=False)
class Series:
    """Slices in the order of the volume's third axis, and the grid they make."""

    slices: tuple[Slice, ...]
    grid: Grid


def read_series(folder: Path) -> Series:
    """Headers of a folder of DICOM slices.

    Parameters
    ----------
    folder : Path
        One file for each slice, under any names. Files that bear neither a DICOM name nor DICOM's
        mark are passed over.

    Returns
    -------
    Series

    Raises
    ------
    DatasetError
        The folder holds no series, more than one, or one that makes no even, upright grid.
    """
    files = _files(folder)
    with ThreadPoolExecutor() as pool:
        slices = list(pool.map(read_slice, files))
    _refuse_mixtures(folder, slices)
    first = slices[0]
    slices.sort(key=lambda one: float(one.position_mm @ first.normal))
    step = _step(folder, slices)
    affine = np.eye(4)
    affine[:3, 0] = first.along_row * first.spacing_mm[0] * _TO_RAS
    affine[:3, 1] = first.along_column * first.spacing_mm[1] * _TO_RAS
    affine[:3, 2] = step * _TO_RAS
    affine[:3, 3] = slices[0].position_mm * _TO_RAS
    affine = affine.astype(np.float32).astype(np.float64)  # what a staged NIfTI file will say
    try:
        return Series(tuple(slices), Grid((*first.shape, len(slices)), affine))
    except ValueError as error:
        raise unusable(folder, f"{error}.") from error


def open_volume(folder: Path) -> Volume:
    """A folder of DICOM slices as a volume; raises as `read_series`."""
    series = read_series(folder)
    dtype = _dtype(series.slices)
    return Volume(
        path=folder,
        grid=series.grid,
        header=lambda: nifti_header(series.grid.shape, series.grid.affine, dtype),
        dtype=dtype,
        slope=1.0,
        intercept=0.0,
        stored=lambda: (_values(one, dtype) for one in series.slices),
    )


def _files(folder: Path) -> list[Path]:
    there = sorted(
        path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")
    )
    if len(there) > _MOST_FILES:
        raise unusable(folder, f"it holds {len(there)} files, too many for one series.")
    files = [path for path in there if path.suffix.lower() in _ENDINGS or is_dicom(path)]
    files = [path for path in files if path.name != "DICOMDIR"]
    if not files:
        raise unusable(folder, "it holds no DICOM file. Is the download complete?")
    if len(files) == 1:
        raise unusable(folder, f"it holds one slice, {files[0].name}, and no volume.")
    return files


def _refuse_mixtures(folder: Path, slices: Sequence[Slice]) -> None:
    """Raise where a folder holds slices that cannot be of one image."""
    series = Counter(one.series for one in slices)
    if 1 < len(series) < len(slices):
        titles = {one.series: one.title for one in slices}
        parts = "; ".join(
            f"{count} slices of {titles[uid]!r} ({uid})" for uid, count in series.most_common(4)
        )
        raise unusable(
            folder, f"it holds {len(series)} series: {parts}. Put each into a folder of its own."
        )
    first = slices[0]
    for one in slices:
        if one.shape != first.shape:
            _differs(folder, first, one, f"{first.shape} and {one.shape} pixels")
        if not np.allclose(one.spacing_mm, first.spacing_mm, rtol=0, atol=_SAME_SPACING_MM):
            _differs(folder, first, one, f"pixels of {first.spacing_mm} and {one.spacing_mm} mm")
        if not np.allclose(
            [one.along_row, one.along_column],
            [first.along_row, first.along_column],
            rtol=0,
            atol=_SAME_ANGLE,
        ):
            _differs(folder, first, one, "other directions in the patient")
    echoes = Counter(one.echo_time_ms for one in slices if one.echo_time_ms is not None)
    if len(echoes) > 1:
        parts = ", ".join(f"{count} of {echo:g} ms" for echo, count in sorted(echoes.items()))
        raise unusable(
            folder,
            f"it holds slices of several echo times: {parts}. In-phase and out-of-phase images are "
            "mixed; put each into a folder of its own.",
        )


def _differs(folder: Path, one: Slice, other: Slice, how: str) -> None:
    raise unusable(
        folder,
        f"its slices do not belong together: {one.path.name} and {other.path.name} have {how}. "
        "Take out what is of another series, such as a localizer.",
    )


def _step(folder: Path, slices: Sequence[Slice]) -> NDArray[np.float64]:
    """From one slice to the next, in mm, in DICOM's world; the slices are in their order."""
    normal = slices[0].normal
    heights = np.array([float(one.position_mm @ normal) for one in slices])
    steps = np.diff(heights)
    for number in np.flatnonzero(steps < _SAME_PLACE_MM).tolist():
        raise unusable(
            folder,
            f"{slices[number].path.name} and {slices[number + 1].path.name} lie at the same place: "
            "a slice is there twice, or several images (phases, b-values) are mixed.",
        )
    _refuse_gaps(folder, slices, steps)
    step: NDArray[np.float64] = slices[-1].position_mm - slices[0].position_mm
    step = step / (len(slices) - 1)
    places = slices[0].position_mm + np.arange(len(slices))[:, None] * step
    off = np.linalg.norm([one.position_mm for one in slices] - places, axis=1)
    worst = int(off.argmax())
    if off[worst] > _UNEVEN * float(step @ normal):
        raise unusable(
            folder,
            f"its slices are not evenly spaced: {slices[worst].path.name} is {off[worst]:.2f} mm "
            f"from its place in a series with steps of {steps.mean():.3f} mm (they run from "
            f"{steps.min():.3f} to {steps.max():.3f} mm).",
        )
    tilt = math.degrees(math.acos(min(1.0, float(step @ normal) / float(np.linalg.norm(step)))))
    if tilt > UPRIGHT_DEGREES:
        raise unusable(
            folder,
            f"its slices are sheared by {tilt:.1f} degrees (a tilted gantry). Distances are "
            "measured on upright grids; make one, for instance with dcm2niix, or leave the case "
            "out.",
        )
    return step


def _refuse_gaps(folder: Path, slices: Sequence[Slice], steps: NDArray[np.float64]) -> None:
    """Raise where some steps are whole multiples of the others: slices are missing."""
    usual = float(np.sort(steps)[(len(steps) - 1) // 2])
    times = np.rint(steps / usual)
    whole = np.abs(steps / usual - times) < _WHOLE
    if whole.all() and times.max() > 1:
        lost = int((times - 1).sum())
        where = int(times.argmax())
        raise unusable(
            folder,
            f"{lost} {'slice is' if lost == 1 else 'slices are'} missing: {steps[where]:.2f} mm "
            f"lie between {slices[where].path.name} and {slices[where + 1].path.name}, the others "
            f"are {usual:.2f} mm apart. Fetch the dataset again.",
        )


def _dtype(slices: Sequence[Slice]) -> np.dtype[Any]:
    """The stored type where it is the value meant, else the narrowest that holds every value."""
    if all((one.slope, one.intercept) == (1.0, 0.0) for one in slices):
        return np.result_type(*(one.dtype for one in slices))
    if not all(one.slope.is_integer() and one.intercept.is_integer() for one in slices):
        return np.dtype(np.float32)
    low = min(one.bounds[0] for one in slices)
    high = max(one.bounds[1] for one in slices)
    for kind in (np.int16, np.int32):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return np.dtype(kind)
    return np.dtype(np.float32)


def _values(one: Slice, dtype: np.dtype[Any]) -> NDArray[np.generic]:
    """The values of a slice in the volume's memory order, shape (columns * rows,)."""
    pixels = one.pixels().ravel()
    if (one.slope, one.intercept) == (1.0, 0.0):
        return pixels.astype(dtype, copy=False)
    values = pixels.astype(np.float64) * one.slope + one.intercept
    low, high = one.bounds
    if values.min() < low or values.max() > high:
        raise unusable(one.path, f"it holds values beyond the {one.bits} bits it declares.")
    return values.astype(dtype)
