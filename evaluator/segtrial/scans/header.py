"""A NIfTI header from bytes nobody vouches for.

This module makes sure that there is a header at all, that its numbers are finite and sane, and
says in plain words what is wrong otherwise. An affine stored as a matrix (the sform) is taken as it
is; where there is none, nibabel says what the quaternion means. Nothing here looks at a voxel.

Decided here:

- NIfTI-1 and NIfTI-2, either byte order, in one file. A header whose voxels lie in a second file
  (``ni1``) and Analyze are refused: one file is the contract.
- Dimensions of size 1 behind the third are dropped: (I, J, K, 1) is the same volume.
- Only scaling that changes nothing (slope 1 or 0 or not a number, intercept 0) counts as none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segtrial.scans.nifti_fields import BadHeaderError, NiftiFields, read_fields

_MAX_VOXEL_OFFSET = 1 << 24  # 16 MiB of extensions; real ones are a few KiB
_MAX_AXIS = 1 << 20
_VOLUME_AXES = 3
_TYPES = {
    1: ("1-bit", "V1"),
    2: ("uint8", "u1"),
    4: ("int16", "i2"),
    8: ("int32", "i4"),
    16: ("float32", "f4"),
    32: ("complex64", "c8"),
    64: ("float64", "f8"),
    128: ("RGB", "V3"),
    256: ("int8", "i1"),
    512: ("uint16", "u2"),
    768: ("uint32", "u4"),
    1024: ("int64", "i8"),
    1280: ("uint64", "u8"),
    1536: ("float128", "V16"),
    1792: ("complex128", "c16"),
    2048: ("complex256", "V32"),
    2304: ("RGBA", "V4"),
}
"""NIfTI type code: its name, and a numpy type of the same size (V where numpy has none)."""


@dataclass(frozen=True, eq=False)
class Header:
    """What a NIfTI header says, checked for sanity but for nothing else.

    Attributes
    ----------
    length : int
        Bytes of the header itself, 348 or 540.
    shape : tuple of int
        Voxels along each axis, at least three entries, each at least 1.
    type_name : str
        Type of the stored voxels, in words.
    dtype : numpy.dtype
        The same for numpy, with the byte order of the file.
    affine : float64 array, shape (4, 4)
        Index to world, mm; not finite where the header's numbers are not.
    by_quaternion : bool
        Whether the affine is only given as a quaternion, offsets and spacing.
    voxel_offset : int
        Bytes before the first voxel.
    slope, intercept : float
        What a reader multiplies stored values by and adds; 1 and 0 where nothing changes.
    """

    length: int
    shape: tuple[int, ...]
    type_name: str
    dtype: np.dtype[np.generic]
    affine: NDArray[np.float64]
    by_quaternion: bool
    voxel_offset: int
    slope: float
    intercept: float

    @property
    def scaled(self) -> bool:
        """Whether stored values are not the values meant."""
        return (self.slope, self.intercept) != (1.0, 0.0)

    @property
    def promised_bytes(self) -> int:
        """Length of the decompressed file: what the header promises, and no byte more."""
        return self.voxel_offset + math.prod(self.shape) * self.dtype.itemsize


def read_header(read: Callable[[int], bytes]) -> Header:
    """Read a NIfTI header, and no byte beyond it.

    Parameters
    ----------
    read : callable
        Given a number of bytes, returns the next ones of the decompressed file; fewer at its end.

    Returns
    -------
    Header

    Raises
    ------
    BadHeaderError
        Not NIfTI in one file, cut off, or numbers that cannot describe a volume.
    """
    return header_of(read_fields(read))


def header_of(fields: NiftiFields) -> Header:
    """What the fields say. Raises `BadHeaderError` where it cannot be a volume."""
    type_name, dtype = _type(fields)
    slope, intercept = _scaling(fields)
    values = fields.values
    return Header(
        length=fields.length,
        shape=_shape(fields),
        type_name=type_name,
        dtype=dtype,
        affine=_affine(fields),
        by_quaternion=int(values["sform_code"]) <= 0 < int(values["qform_code"]),
        voxel_offset=_voxel_offset(fields),
        slope=slope,
        intercept=intercept,
    )


def _shape(fields: NiftiFields) -> tuple[int, ...]:
    dims = [int(n) for n in fields.values["dim"]]
    count = dims[0]
    shape = dims[1 : count + 1] if 1 <= count < len(dims) else []
    if not shape or not all(1 <= n <= _MAX_AXIS for n in shape):
        raise BadHeaderError(f"its dimensions make no volume (dim = {dims}); save it again")
    while len(shape) > _VOLUME_AXES and shape[-1] == 1:
        shape.pop()
    return tuple(shape + [1] * (_VOLUME_AXES - len(shape)))


def _type(fields: NiftiFields) -> tuple[str, np.dtype[np.generic]]:
    code = int(fields.values["datatype"])
    if code not in _TYPES:
        raise BadHeaderError(
            f"its voxels are of NIfTI type {code}, which does not exist; write uint8"
        )
    name, spelling = _TYPES[code]
    return name, np.dtype(fields.byte_order + spelling)


def _voxel_offset(fields: NiftiFields) -> int:
    offset = float(fields.values["vox_offset"])
    least = fields.first_voxel_offset
    if not (math.isfinite(offset) and offset.is_integer() and least <= offset <= _MAX_VOXEL_OFFSET):
        raise BadHeaderError(
            f"its header puts the first voxel at byte {offset:g}, expected {least} to "
            f"{_MAX_VOXEL_OFFSET}; save it again without header extensions"
        )
    return int(offset)


def _scaling(fields: NiftiFields) -> tuple[float, float]:
    slope, intercept = float(fields.values["scl_slope"]), float(fields.values["scl_inter"])
    if slope == 0 or math.isnan(slope):
        return 1.0, 0.0  # "not scaled", by the standard and by nibabel
    return slope, intercept


def _affine(fields: NiftiFields) -> NDArray[np.float64]:
    if int(fields.values["sform_code"]) > 0:
        affine = np.eye(4)
        affine[:3] = fields.values["srow"]
        return affine
    from nibabel.nifti1 import Nifti1Header  # noqa: PLC0415 - slow to load, and seldom needed
    from nibabel.nifti2 import Nifti2Header  # noqa: PLC0415
    from nibabel.spatialimages import HeaderDataError  # noqa: PLC0415

    kind = Nifti2Header if fields.length == Nifti2Header.sizeof_hdr else Nifti1Header
    # A hostile quaternion makes nibabel raise or warn; the caller sees that it is not finite.
    try:
        header = kind(fields.block, fields.byte_order, check=False)  # type: ignore[no-untyped-call] # nibabel, through a variable
        with np.errstate(all="ignore"):
            return np.array(header.get_best_affine(), dtype=np.float64)
    except (HeaderDataError, ValueError, ArithmeticError):
        return np.full((4, 4), np.nan)


def through_quaternion(affine: NDArray[np.float64]) -> NDArray[np.float64]:
    """An affine as a header that only has a quaternion can say it.

    NIfTI leaves out the quaternion's real part and keeps the others in float32. Close to a half
    turn, where every volume in LPS order is, the real part then comes back wrong by up to 5e-4,
    which moves the corners of an oblique volume by a tenth of a millimetre and more.
    """
    from nibabel.nifti1 import Nifti1Header  # noqa: PLC0415 - slow to load, and seldom needed

    header = Nifti1Header()
    header.set_qform(affine, code=1, strip_shears=True)
    with np.errstate(all="ignore"):
        return np.array(header.get_qform(), dtype=np.float64)
