"""A DICOM segmentation object (SEG) as a label map: a label is a segment's number.

Such a file names only the frames that hold something, so its own grid runs from the first of them
to the last; it is `Volume.sparse`, and is read into the grid of its scan (`label_map.placed`).
Segments that overlap, and fractional ones, make no label map and are refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pydicom
from pydicom.errors import InvalidDicomError
from pydicom.uid import SegmentationStorage

from segtrial.scans.dicom_slice import named
from segtrial.scans.grid import Grid
from segtrial.scans.label_map import label_dtype
from segtrial.scans.volume import Volume, unusable, volume_in_memory

_TO_RAS = np.array([-1.0, -1.0, 1.0])
_OFF = 0.1
"""How far a frame may be from its place, as a share of the step."""


def open_volume(path: Path) -> Volume:
    """Read a DICOM segmentation.

    Raises
    ------
    DatasetError
        The file is no segmentation, or one that makes no label map.
    """
    try:
        with named(path):
            return _read(path)
    except InvalidDicomError:
        raise unusable(path, "it is no DICOM file.") from None


def _read(path: Path) -> Volume:
    whole = pydicom.dcmread(path)
    if whole.SOPClassUID != SegmentationStorage:
        raise unusable(
            path,
            f"it is DICOM of another kind ({whole.SOPClassUID.name}). A scan is named by the "
            "folder its slices are in.",
        )
    if whole.SegmentationType != "BINARY":
        raise unusable(path, f"its segments are {whole.SegmentationType}, not BINARY.")
    frames = list(whole.PerFrameFunctionalGroupsSequence)
    shared = whole.SharedFunctionalGroupsSequence[0]
    pixels = np.asarray(whole.pixel_array).reshape(len(frames), whole.Rows, whole.Columns)
    numbers = [
        int(_group(frame, shared, "SegmentIdentificationSequence").ReferencedSegmentNumber)
        for frame in frames
    ]
    grid, places = _grid(path, frames, shared, (int(whole.Columns), int(whole.Rows)))
    labels = np.zeros(grid.shape, label_dtype(max(numbers)), order="F")
    for frame, number, k in zip(pixels, numbers, places, strict=True):
        mask = frame.T != 0
        taken = labels[..., k][mask]
        if (taken != 0).any():
            raise unusable(
                path,
                f"its segments {int(taken.max())} and {number} overlap, and a label map holds one "
                "label for each voxel.",
            )
        labels[..., k][mask] = number
    return volume_in_memory(path, labels, grid, sparse=True)


def _grid(
    path: Path,
    frames: list[Any],
    shared: Any,  # noqa: ANN401 - pydicom's have no type
    shape: tuple[int, int],
) -> tuple[Grid, list[int]]:
    """From the lowest to the highest frame, and where each frame lies in it."""
    plane = _group(frames[0], shared, "PlaneOrientationSequence")
    turned = np.array([float(v) for v in plane.ImageOrientationPatient]).reshape(2, 3)
    measures = _group(frames[0], shared, "PixelMeasuresSequence")
    between_rows, between_columns = (float(v) for v in measures.PixelSpacing)
    normal = np.cross(turned[0], turned[1])
    positions = np.array(
        [
            [float(v) for v in _group(frame, shared, "PlanePositionSequence").ImagePositionPatient]
            for frame in frames
        ]
    )
    heights = positions @ normal
    gaps = np.diff(np.unique(heights.round(3)))
    step = float(measures.get("SpacingBetweenSlices") or 0) or (
        float(gaps.min()) if gaps.size else float(measures.SliceThickness)
    )
    lowest = int(heights.argmin())
    places = (heights - heights[lowest]) / step
    if (np.abs(places - np.rint(places)) > _OFF).any():
        raise unusable(path, f"its frames are not evenly spaced by {step:g} mm.")
    affine = np.eye(4)
    affine[:3, 0] = turned[0] * between_columns * _TO_RAS
    affine[:3, 1] = turned[1] * between_rows * _TO_RAS
    affine[:3, 2] = normal * step * _TO_RAS
    affine[:3, 3] = positions[lowest] * _TO_RAS
    indices = np.rint(places).astype(int).tolist()
    return Grid((*shape, max(indices) + 1), affine), indices


def _group(frame: Any, shared: Any, name: str) -> Any:  # noqa: ANN401 - pydicom's have no type
    """A group of attributes of a frame, its own or the one that all share."""
    return (getattr(frame, name, None) or getattr(shared, name))[0]
