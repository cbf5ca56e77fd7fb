"""Fields of a NIfTI header, from its bytes.

Only the fields that something here asks for, at the places the standard gives them
(`nifti1.h`, `nifti2.h`, https://nifti.nimh.nih.gov). nibabel reads the same and knows far more,
but loading it takes longer than reading two compressed label maps does: it is loaded for what is
not plain. The tests hold both to the same values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

_PLACES_1: dict[str, tuple[int, Any]] = {
    "sizeof_hdr": (0, "i4"),
    "dim": (40, ("i2", 8)),
    "intent_code": (68, "i2"),
    "datatype": (70, "i2"),
    "bitpix": (72, "i2"),
    "pixdim": (76, ("f4", 8)),
    "vox_offset": (108, "f4"),
    "scl_slope": (112, "f4"),
    "scl_inter": (116, "f4"),
    "xyzt_units": (123, "u1"),
    "qform_code": (252, "i2"),
    "sform_code": (254, "i2"),
    "srow": (280, ("f4", (3, 4))),
    "magic": (344, "V4"),
}
_PLACES_2: dict[str, tuple[int, Any]] = {
    "sizeof_hdr": (0, "i4"),
    "magic": (4, "V8"),
    "datatype": (12, "i2"),
    "bitpix": (14, "i2"),
    "dim": (16, ("i8", 8)),
    "pixdim": (104, ("f8", 8)),
    "vox_offset": (168, "i8"),
    "scl_slope": (176, "f8"),
    "scl_inter": (184, "f8"),
    "qform_code": (344, "i4"),
    "sform_code": (348, "i4"),
    "srow": (400, ("f8", (3, 4))),
    "xyzt_units": (500, "i4"),
    "intent_code": (504, "i4"),
}
_UNIT_OF_LENGTH = 7  # bits of xyzt_units; the others are the unit of time


class BadHeaderError(ValueError):
    """The bytes are no usable NIfTI header; the message says why and what to write instead."""


@dataclass(frozen=True)
class _Version:
    length: int
    magic: bytes
    layout: np.dtype[np.void]


def _version(length: int, magic: bytes, places: dict[str, tuple[int, Any]]) -> _Version:
    layout = {
        "names": list(places),
        "formats": [kind for _, kind in places.values()],
        "offsets": [offset for offset, _ in places.values()],
        "itemsize": length,
    }
    return _Version(length, magic, np.dtype(layout))  # type: ignore[call-overload] # numpy's own form


_NIFTI1 = _version(348, b"n+1\0", _PLACES_1)
_NIFTI2 = _version(540, b"n+2\0\r\n\x1a\n", _PLACES_2)


@dataclass(frozen=True, eq=False)
class NiftiFields:
    """The header of a NIfTI file that holds its voxels itself; its numbers as they are.

    Attributes
    ----------
    block : bytes
        The whole header, 348 or 540 bytes.
    byte_order : ``<`` or ``>``
        Of the header and of the voxels.
    values : numpy record
        By the names of the standard; ``srow`` has the three rows of the sform.
    exact_magic : bool
        Whether every byte of the magic is the standard's.
    """

    block: bytes
    byte_order: Literal["<", ">"]
    values: np.void
    exact_magic: bool

    @property
    def length(self) -> int:
        """Bytes of the header, 348 (NIfTI-1) or 540 (NIfTI-2)."""
        return len(self.block)

    @property
    def first_voxel_offset(self) -> int:
        """Where the voxels begin in a file without extensions, in bytes."""
        return self.length + 4


def length_unit(xyzt_units: int) -> int:
    """Code of the unit of lengths in a header: 0 is unsaid, 1 metres, 2 mm, 3 micrometres."""
    return int(xyzt_units) & _UNIT_OF_LENGTH


def read_fields(read: Callable[[int], bytes]) -> NiftiFields:
    """Read the header of a NIfTI file, and no byte beyond it.

    Parameters
    ----------
    read : callable
        Given a number of bytes, returns the next ones of the decompressed file; fewer at its end.

    Raises
    ------
    BadHeaderError
        It is none, is cut off, or its voxels lie in a second file.
    """
    block = read(_NIFTI1.length)
    sizes = {int.from_bytes(block[:4], "little"), int.from_bytes(block[:4], "big")}
    version = _NIFTI1
    if _NIFTI2.length in sizes:
        version = _NIFTI2
        block += read(_NIFTI2.length - _NIFTI1.length)
    if version.length not in sizes or len(block) < version.length:
        raise BadHeaderError(
            f"it does not begin with a NIfTI header (first bytes {block[:8]!r}); "
            "write it with nibabel.save or SimpleITK.WriteImage"
        )
    little = int.from_bytes(block[:4], "little") == version.length
    order: Literal["<", ">"] = "<" if little else ">"
    values = np.frombuffer(block, version.layout.newbyteorder(order))[0]
    magic = values["magic"].tobytes()
    if magic[:4] not in (b"n+1\0", b"n+2\0"):
        raise BadHeaderError(
            f"its NIfTI magic is {magic[:4].rstrip(bytes(1))!r}, not b'n+1' or b'n+2': the voxels "
            "are not in this file; write a single .nii.gz file"
        )
    return NiftiFields(block, order, values, exact_magic=magic == version.magic)
