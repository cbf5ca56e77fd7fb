"""One file of a DICOM series: where its slice lies, how its pixels are stored, and the pixels.

Read with pydicom, which this package imports when a folder of DICOM is opened and not before. A
file that pydicom cannot make sense of ends in a `DatasetError`, whatever it raised: damaged files
make it raise nearly anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
from numpy.typing import NDArray
from pydicom.errors import InvalidDicomError

from segtrial.errors import DatasetError
from segtrial.scans.volume import unusable

# Public files break rules of the standard that do not matter here (a date written in another
# way); pydicom would print a warning for each.
pydicom.config.settings.reading_validation_mode = pydicom.config.IGNORE

_TAGS = [
    "BitsAllocated", "BitsStored", "Columns", "EchoTime", "ImageOrientationPatient",
    "ImagePositionPatient", "NumberOfFrames", "PixelRepresentation", "PixelSpacing",
    "RescaleIntercept", "RescaleSlope", "Rows", "SamplesPerPixel", "SeriesDescription",
    "SeriesInstanceUID",
]  # fmt: skip
_SQUARE = 1e-3
"""How far the cosines of an orientation may be off; files give six to eight digits."""
_RESCALE = (("RescaleSlope", 1), ("RescaleIntercept", 0))
_PLACES = ("ImageOrientationPatient", "ImagePositionPatient", "PixelSpacing", "Rows", "Columns")
_PREAMBLE = 128
_MARK = b"DICM"


@dataclass(frozen=True, eq=False)
class Slice:
    """What the header of one slice says.

    Attributes
    ----------
    path : Path
    series : str
        Series Instance UID.
    title : str
        Series Description, for people.
    echo_time_ms : float or None
        None where the modality has none.
    shape : tuple of int
        Columns and rows.
    spacing_mm : tuple of float
        Between columns and between rows.
    along_row, along_column : float64 array, shape (3,)
        Unit vectors in DICOM's world (+x left, +y back, +z head): how the position changes from
        one column to the next, and from one row to the next.
    position_mm : float64 array, shape (3,)
        Centre of the first pixel, in the same world.
    dtype : numpy.dtype
        Of the stored pixels.
    bits : int
        How many of a stored pixel's bits count.
    slope, intercept : float
        What makes values of stored pixels.
    """

    path: Path
    series: str
    title: str
    echo_time_ms: float | None
    shape: tuple[int, int]
    spacing_mm: tuple[float, float]
    along_row: NDArray[np.float64]
    along_column: NDArray[np.float64]
    position_mm: NDArray[np.float64]
    dtype: np.dtype[Any]
    bits: int
    slope: float
    intercept: float

    @property
    def normal(self) -> NDArray[np.float64]:
        """Unit vector at right angles to the slice."""
        return np.asarray(np.cross(self.along_row, self.along_column), dtype=np.float64)

    @property
    def bounds(self) -> tuple[float, float]:
        """Smallest and largest value that a pixel can have."""
        signed = self.dtype.kind == "i"
        low, high = (-(2 ** (self.bits - 1)) if signed else 0), 2 ** (self.bits - signed) - 1
        ends = [self.slope * end + self.intercept for end in (low, high)]
        return min(ends), max(ends)

    def pixels(self) -> NDArray[np.generic]:
        """Stored pixels, shape (rows, columns).

        Raises
        ------
        DatasetError
            They are cut off, damaged, or compressed in a way that needs a further package.
        """
        with named(self.path):
            whole = pydicom.dcmread(self.path)
            syntax = whole.file_meta.TransferSyntaxUID
            if not syntax.is_compressed:
                size = self.shape[0] * self.shape[1] * self.dtype.itemsize
                whole.PixelData = whole.PixelData[: size + size % 2]  # some writers leave more
            elif not _can_inflate(syntax):
                raise unusable(
                    self.path,
                    f"its pixels are compressed ({syntax.name}). Install pylibjpeg with "
                    "pylibjpeg-libjpeg and pylibjpeg-openjpeg, which read that.",
                )
            found: NDArray[np.generic] = whole.pixel_array
        if found.shape != self.shape[::-1]:
            raise unusable(self.path, f"it holds pixels of shape {found.shape}.")
        return found


def read_slice(path: Path) -> Slice:
    """The header of a DICOM file that holds one slice.

    Raises
    ------
    DatasetError
        It is no DICOM, lacks what places a slice in the patient, or holds something else.
    """
    try:
        with named(path):
            header = pydicom.dcmread(path, stop_before_pixels=True, specific_tags=_TAGS)
            _refuse_others(path, header)
            return _slice(path, header)
    except InvalidDicomError:
        raise unusable(path, "it is no DICOM file.") from None


def is_dicom(path: Path) -> bool:
    """Whether a file bears DICOM's mark."""
    with path.open("rb") as file:
        file.seek(_PREAMBLE)
        return file.read(len(_MARK)) == _MARK


def _slice(path: Path, header: Any) -> Slice:  # noqa: ANN401 - pydicom's attributes have no type
    turned = np.array([float(part) for part in header.ImageOrientationPatient]).reshape(2, 3)
    lengths = np.linalg.norm(turned, axis=1)
    square = abs(float(turned[0] @ turned[1])) < _SQUARE
    if not square or not (np.abs(lengths - 1) < _SQUARE).all():
        raise unusable(path, f"its orientation {turned.ravel().tolist()} is no right angle.")
    between_rows, between_columns = (float(part) for part in header.PixelSpacing)
    position = np.array([float(part) for part in header.ImagePositionPatient])
    numbers = [*turned.ravel(), between_rows, between_columns, *position]
    if not np.isfinite(numbers).all() or min(between_rows, between_columns) <= 0:
        raise unusable(path, "the numbers that place it in the patient are no places.")
    slope, intercept = (float(header.get(name, n)) for name, n in _RESCALE)
    if not slope or not np.isfinite([slope, intercept]).all():
        raise unusable(path, f"its pixels are rescaled by {slope:g} and {intercept:g}.")
    echo = str(header.get("EchoTime") or "")
    kind = "i" if header.PixelRepresentation else "u"
    return Slice(
        path=path,
        series=str(header.get("SeriesInstanceUID", "")),
        title=str(header.get("SeriesDescription", "")),
        echo_time_ms=float(echo) if echo else None,
        shape=(int(header.Columns), int(header.Rows)),
        spacing_mm=(between_columns, between_rows),
        along_row=turned[0],
        along_column=turned[1],
        position_mm=position,
        dtype=np.dtype(f"{kind}{int(header.BitsAllocated) // 8}"),
        bits=int(header.BitsStored),
        slope=slope,
        intercept=intercept,
    )


def _refuse_others(path: Path, header: Any) -> None:  # noqa: ANN401 - as above
    frames = int(header.get("NumberOfFrames") or 1)
    if frames > 1:
        raise unusable(
            path,
            f"it holds {frames} frames. Series of one file per slice are read; convert it, for "
            "instance with dcm2niix.",
        )
    lost = [name for name in _PLACES if not str(header.get(name, ""))]
    if lost:
        raise unusable(path, f"it has no {lost[0]}, so its place in the patient is not known.")
    if int(header.get("SamplesPerPixel") or 1) != 1:
        raise unusable(path, "it is a colour picture, no scan.")
    allocated, stored = int(header.BitsAllocated), int(header.BitsStored)
    if allocated not in {8, 16, 32} or not 0 < stored <= allocated:
        raise unusable(path, f"it has pixels of {stored} bits in {allocated}.")


def _can_inflate(syntax: Any) -> bool:  # noqa: ANN401 - as above
    from pydicom.pixels.decoders.base import get_decoder  # noqa: PLC0415 - slow; few files are compressed

    try:
        return bool(get_decoder(syntax).is_available)
    except NotImplementedError:
        return False


class named:  # noqa: N801 - reads as a word: ``with named(path):``
    """Turns what pydicom raises for a damaged file into a `DatasetError` that names the file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        passed = (DatasetError, InvalidDicomError, MemoryError)
        if isinstance(error, Exception) and not isinstance(error, passed):
            said = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
            raise unusable(self._path, f"it is damaged or cut off ({said}).") from error
