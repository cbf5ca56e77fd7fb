"""Makers of NIfTI files, good ones and bad ones, byte by byte."""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import nibabel
import numpy as np
import pytest
from numpy.typing import NDArray

from segtrial.scans import Grid

AFFINE = np.array(
    [[-1.5, 0.0, 0.0, 90.0], [0.0, -1.5, 0.0, 60.0], [0.0, 0.0, 4.0, -30.0], [0.0, 0.0, 0.0, 1.0]]
)
SHAPE = (6, 5, 4)


@pytest.fixture
def grid() -> Grid:
    return Grid(SHAPE, AFFINE)


def label_values(dtype: Any = np.uint8) -> NDArray[Any]:  # noqa: ANN401 - any numpy type
    """Labels 0, 1, 2 and 5, no two axes alike."""
    values = np.zeros(SHAPE, dtype)
    values[1:4, 1:3, 1:] = 1
    values[4, :, 2] = 2
    values[0, 0, 0] = 5
    return values


@dataclass
class NiftiBytes:
    """A NIfTI file as bytes; every header field can be set to nonsense."""

    values: NDArray[Any] = field(default_factory=label_values)
    affine: NDArray[np.float64] | None = field(default_factory=lambda: AFFINE)
    fields: dict[str, Any] = field(default_factory=dict)
    version: int = 1
    endianness: Literal["<", ">"] = "<"
    extension: bytes = b""
    behind: bytes = b""
    drop_bytes: int = 0

    def plain(self) -> bytes:
        image_class = nibabel.Nifti1Image if self.version == 1 else nibabel.Nifti2Image
        header = image_class.header_class(endianness=self.endianness)
        header.set_data_dtype(self.values.dtype)
        header.set_data_shape(self.values.shape)
        if self.affine is not None:
            header.set_sform(self.affine, code="scanner")
        header["vox_offset"] = header.single_vox_offset + len(self.extension)
        header["scl_slope"], header["scl_inter"] = 1, 0
        for name, value in self.fields.items():
            header[name] = value
        stored = self.values.astype(self.values.dtype.newbyteorder(self.endianness))
        flag = b"\1\0\0\0" if self.extension else b"\0\0\0\0"
        whole: bytes = header.binaryblock + flag + self.extension + stored.tobytes(order="F")
        return whole[: len(whole) - self.drop_bytes] + self.behind

    def packed(self) -> bytes:
        return gzip.compress(self.plain(), mtime=0)


def load(path: Path) -> Any:  # noqa: ANN401 - nibabel's image classes share no useful type
    """An image as nibabel sees it."""
    return nibabel.load(path)


Written = Callable[..., Path]


@pytest.fixture
def nifti(tmp_path: Path) -> Written:
    """Write a file made of `NiftiBytes` arguments and return its path."""

    def write(name: str = "segmentation.nii.gz", **parts: Any) -> Path:  # noqa: ANN401
        path = tmp_path / name
        made = NiftiBytes(**parts)
        path.write_bytes(made.packed() if name.endswith(".gz") else made.plain())
        return path

    return write


def rotation(x: float, y: float, z: float) -> NDArray[np.float64]:
    """Rotate about the three axes by angles in radians."""
    turned = np.eye(3)
    for angle, (a, b) in zip((x, y, z), ((1, 2), (0, 2), (0, 1)), strict=True):
        step = np.eye(3)
        step[[a, a, b, b], [a, b, a, b]] = (
            math.cos(angle),
            -math.sin(angle),
            math.sin(angle),
            math.cos(angle),
        )
        turned = turned @ step
    return turned
