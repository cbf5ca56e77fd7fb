"""DICOM series made slice by slice, good ones and bad ones."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian, generate_uid

ROOT_UID = "1.2.826.0.1.3680043.8.498"
AXIAL = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)


def uid(*parts: object) -> str:
    """A UID that is the same for the same words."""
    return str(generate_uid(prefix=f"{ROOT_UID}.", entropy_srcs=[str(part) for part in parts]))


@dataclass(frozen=True)
class Dicom:
    """A series; every part can be set to nonsense. ``values`` are stored pixels, (I, J, K)."""

    values: NDArray[Any]
    spacing_mm: tuple[float, float, float] = (0.75, 0.8, 3.0)
    orientation: tuple[float, ...] = AXIAL
    origin_mm: tuple[float, float, float] = (-120.0, -100.0, 40.0)
    series: str = "one"
    slope: float = 1
    intercept: float = 0
    echo_time_ms: float | None = None
    tilt_degrees: float = 0.0
    names: str = "i{n:04},0000b.dcm"
    """``{n}`` counts from 0, ``{n1}`` from 1, ``{even}`` and ``{odd}`` leave every other out."""
    head_first: bool = False
    """Whether file names count from the head down, as in CHAOS."""
    fields: dict[str, Any] = field(default_factory=dict)

    def with_(self, **parts: Any) -> Dicom:  # noqa: ANN401 - any field
        return replace(self, **parts)

    def write(self, folder: Path, *, only: Iterable[int] | None = None) -> list[Path]:
        """One file for each slice, in the order of the third axis."""
        folder.mkdir(parents=True, exist_ok=True)
        count = self.values.shape[2]
        written = []
        for k in range(count) if only is None else only:
            number = count - 1 - k if self.head_first else k
            name = self.names.format(
                n=number, n1=number + 1, even=2 * number + 2, odd=2 * number + 1
            )
            path = folder / name
            self._slice(path, k, number).save_as(path, enforce_file_format=True)
            written.append(path)
        return written

    def position_mm(self, k: int) -> NDArray[np.float64]:
        """Centre of the first pixel of a slice, in DICOM's world."""
        row, column = np.array(self.orientation[:3]), np.array(self.orientation[3:])
        step = np.cross(row, column) * self.spacing_mm[2]
        step = step + column * self.spacing_mm[2] * math.tan(math.radians(self.tilt_degrees))
        return np.asarray(np.array(self.origin_mm) + k * step, dtype=np.float64)

    def _slice(self, path: Path, k: int, number: int) -> FileDataset:
        meta = FileMetaDataset()
        meta.TransferSyntaxUID = ExplicitVRLittleEndian
        meta.MediaStorageSOPClassUID = CTImageStorage
        meta.MediaStorageSOPInstanceUID = uid(path, number)
        made = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
        made.SOPClassUID = CTImageStorage
        made.SOPInstanceUID = meta.MediaStorageSOPInstanceUID
        made.SeriesInstanceUID = uid(self.series)
        made.SeriesDescription = self.series
        made.PatientName = "Somebody^Real"
        made.InstanceNumber = number + 1
        made.ImageOrientationPatient = [f"{part:.8f}" for part in self.orientation]
        made.ImagePositionPatient = [f"{part:.5f}" for part in self.position_mm(k)]
        made.PixelSpacing = [self.spacing_mm[1], self.spacing_mm[0]]
        made.SliceThickness = self.spacing_mm[2]
        made.Columns, made.Rows = self.values.shape[:2]
        made.SamplesPerPixel = 1
        made.PhotometricInterpretation = "MONOCHROME2"
        bits = 8 * self.values.dtype.itemsize
        made.BitsAllocated, made.BitsStored, made.HighBit = bits, bits, bits - 1
        made.PixelRepresentation = int(self.values.dtype.kind == "i")
        made.RescaleSlope, made.RescaleIntercept = self.slope, self.intercept
        if self.echo_time_ms is not None:
            made.EchoTime = self.echo_time_ms
        made.PixelData = np.ascontiguousarray(self.values[:, :, k].T).tobytes()
        for name, value in self.fields.items():
            if value is None:
                delattr(made, name)
            else:
                setattr(made, name, value)
        return made
