"""Read a prediction: a file that a stranger's container wrote.

Every byte of it is hostile. The file is opened without following a link and without waiting on a
pipe, its size and then its header are checked before a voxel is decompressed, and no more is
decompressed than the expected grid has room for. Whatever is wrong ends in a `PredictionError`
that carries the outcome.

Messages quote a few bytes and numbers of the file, bounded and escaped. They are for the author's
own check and for the maintainer: on sealed cases they could carry voxels out, so an author is
given the outcome alone.

Decided here, with the reason:

- **Floating-point label maps are refused, also those that hold whole numbers only.** The contract
  asks for integers; a verdict that depended on the values would let a submission pass its check
  on one case and fail on the next, and a float map is nearly always one that was resampled with
  interpolation or saved before rounding. The same holds for a slope or an intercept.
- **Bytes after the last voxel are refused.** No writer of label maps puts any there; readers
  ignore them, and that is where a 9 MB file hides gigabytes.
- **An uncompressed file under the name .nii.gz is refused**: others could not read it.
- **A geometry that is not a number** is a wrong grid: the voxels lie nowhere.
- Several gzip members in a row are one stream, as everywhere else. A wrong checksum is damage.
"""

from __future__ import annotations

import io
import math
import os
from pathlib import Path

import numpy as np

from segtrial.scans.grid import SAME_GRID_TOLERANCE, Grid, corner_shift_mm, same_grid
from segtrial.scans.header import Header, read_header, through_quaternion
from segtrial.scans.inflate import GZIP_MAGIC, DamagedStreamError, GzipReader, skip
from segtrial.scans.label_check import LabelCheck
from segtrial.scans.label_map import LabelMap, Labels
from segtrial.scans.nifti_fields import BadHeaderError
from segtrial.scans.prediction_error import PredictionError
from segtrial.scans.untrusted_file import open_untrusted

_CHUNK_BYTES = 1 << 20


def read_prediction(
    path: str | os.PathLike[str],
    *,
    grid: Grid,
    allowed_labels: frozenset[int],
    max_bytes: int,
    allow_links: bool = False,
) -> LabelMap:
    """Read the label map that a submission wrote for one case.

    Parameters
    ----------
    path : path
        File to read; a gzip-compressed NIfTI. Nothing is believed of it.
    grid : Grid
        Grid of the first scan of the case.
    allowed_labels : frozenset of int
        Label ids the submission declared, from 0 to 2147483647; 0, background, is always one.
    max_bytes : int
        Largest size of the file as written, in bytes.
    allow_links : bool
        Whether the path may be a link, or the file have other names: as in the caches of download
        tools, and for files of the operator's own only. A link that a stranger made leads
        anywhere.

    Returns
    -------
    LabelMap
        On `grid` itself. uint8, uint16 or int32, whichever is the narrowest that holds
        `allowed_labels`; Fortran order.

    Raises
    ------
    PredictionError
        For anything the author of the submission has to change.
    PlatformError
        When the disk or the system failed to deliver the file.
    """
    check = LabelCheck(allowed_labels)
    with open_untrusted(Path(path), max_bytes=max_bytes, allow_links=allow_links) as file:
        try:
            _demand_gzip(file)
            reader = GzipReader(file)
            header = read_header(reader.read)
            _demand_integers(header)
            _demand_grid(header, grid)
            skip(reader, header.voxel_offset - header.length)
            labels = _read_labels(reader, header, check)
            _demand_end(reader, header)
        except (DamagedStreamError, BadHeaderError) as error:
            raise PredictionError(
                "unreadable_output", f"The prediction cannot be read: {error}."
            ) from error
    check.demand_none_bad()
    return LabelMap(labels, grid)


def _demand_gzip(file: io.FileIO) -> None:
    start = file.read(len(GZIP_MAGIC))
    file.seek(0)
    if not start:
        raise BadHeaderError("it is empty; write the label map before the container ends")
    if start != GZIP_MAGIC:
        raise BadHeaderError(
            f"it is not gzip-compressed (first bytes {start!r}); compress it, or let the "
            "writer do so by the name segmentation.nii.gz"
        )


def _demand_integers(header: Header) -> None:
    if header.dtype.kind not in "iu":
        raise PredictionError(
            "bad_labels",
            f"The prediction holds {header.type_name} voxels, not integers. Take the argmax or "
            "round, and save it as an integer type: label_map.astype(numpy.uint8).",
        )
    if header.scaled:
        raise PredictionError(
            "bad_labels",
            f"The prediction's header scales its voxels (slope {header.slope:g}, intercept "
            f"{header.intercept:g}), so the stored integers are not the labels. Save them "
            "unscaled: scl_slope 1, scl_inter 0.",
        )


def _demand_grid(header: Header, grid: Grid) -> None:
    if header.shape != grid.shape:
        raise PredictionError(
            "wrong_grid",
            "The prediction is not on the grid of the scan: expected shape "
            f"{grid.shape}, got {header.shape}. Write the label map in the space of the input "
            "scan; do not leave it cropped, resampled or transposed.",
        )
    try:
        got = Grid(grid.shape, header.affine)
    except ValueError as error:
        raise PredictionError(
            "wrong_grid",
            f"The prediction lies nowhere: its affine is {header.affine.tolist()}. "
            "Save it with the affine of the input scan.",
        ) from error
    if not same_grid(grid, got) and not (header.by_quaternion and _same_quaternion(grid, got)):
        raise PredictionError("wrong_grid", _moved(grid, got))


def _same_quaternion(grid: Grid, got: Grid) -> bool:
    """Whether a header without room for the exact affine says what it can of the scan's."""
    return same_grid(Grid(grid.shape, through_quaternion(grid.affine)), got)


def _moved(grid: Grid, got: Grid) -> str:
    allowed_mm = SAME_GRID_TOLERANCE * min(grid.spacing_mm)
    return (
        "The prediction is not on the grid of the scan: a corner of the volume lies "
        f"{corner_shift_mm(grid, got):.4g} mm from where it should, {allowed_mm:.4g} mm are "
        f"allowed (axes {got.axis_codes}, expected {grid.axis_codes}). Save the label map with "
        "the affine of the input scan, in its axis order."
    )


def _read_labels(reader: GzipReader, header: Header, check: LabelCheck) -> Labels:
    """Voxels in the narrow type, converted in pieces so that int64 costs no more than uint8."""
    labels: Labels = np.empty(math.prod(header.shape), dtype=check.dtype)
    piece = np.empty(_CHUNK_BYTES // header.dtype.itemsize, dtype=header.dtype)
    for first in range(0, labels.size, piece.size):
        part = piece[: labels.size - first]
        filled = reader.readinto(part.view(np.uint8).data)
        if filled < part.nbytes:
            read = first + filled // part.itemsize
            raise DamagedStreamError(
                f"it ends after {read} of {labels.size} voxels; write the file to its end"
            )
        check(part)
        labels[first : first + part.size] = part
    return labels.reshape(header.shape, order="F")


def _demand_end(reader: GzipReader, header: Header) -> None:
    if reader.read(1):
        raise DamagedStreamError(
            f"it goes on after the {header.promised_bytes} bytes that its header promises; "
            "write one volume and nothing behind it"
        )
