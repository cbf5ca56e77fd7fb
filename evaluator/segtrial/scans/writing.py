"""Write NIfTI files that say nothing but voxels and where they lie.

The header is made anew and given only the fields named here, so whatever a source held in free
text, calibration fields or extensions cannot come along by omission. gzip members carry no name
and no time. The same input gives the same bytes on one machine; another processor or version of
the compressor may pack them differently, which is why digests are of voxels (see `digest`).
"""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

if TYPE_CHECKING:
    from nibabel.nifti1 import Nifti1Header

_GZIP = 31
_LEVEL = 1
_NO_EXTENSIONS = b"\0\0\0\0"
_KEPT_FIELDS = (
    "datatype", "bitpix", "xyzt_units", "qform_code", "sform_code",
    "quatern_b", "quatern_c", "quatern_d", "qoffset_x", "qoffset_y", "qoffset_z",
    "srow_x", "srow_y", "srow_z",
)  # fmt: skip
"""Numbers that say how voxels are stored and where they lie. No text, no free numbers."""


def neutral_header(header: Nifti1Header, *, slope: float = 1.0, intercept: float = 0.0) -> bytes:
    """Bytes of a header with the same voxel type and place, and nothing else.

    Parameters
    ----------
    header : Nifti1Header
        NIfTI-1 or NIfTI-2 header of one volume, in either byte order.
    slope, intercept : float
        Scaling of the stored voxels; nibabel keeps it beside the header, not in it.

    Returns
    -------
    bytes
        Everything before the first voxel: header and the mark that no extensions follow.
    """
    neutral = type(header)(endianness=header.endianness)
    for field in _KEPT_FIELDS:
        neutral[field] = header[field]
    neutral.set_data_shape(header.get_data_shape())
    neutral["pixdim"][:4] = header["pixdim"][:4]
    neutral["scl_slope"], neutral["scl_inter"] = slope, intercept
    neutral["vox_offset"] = neutral.single_vox_offset
    neutral["magic"] = neutral.single_magic
    return bytes(neutral.binaryblock) + _NO_EXTENSIONS


def nifti_header(
    shape: tuple[int, ...], affine: NDArray[np.float64], dtype: np.dtype[Any]
) -> Nifti1Header:
    """A NIfTI-1 header of unscaled voxels of a type, and where they lie.

    Raises
    ------
    ValueError
        NIfTI-1 has no such type, or no room for such a shape.
    """
    from nibabel.nifti1 import Nifti1Header  # noqa: PLC0415 - slow to load; readers need none of it

    header = Nifti1Header(endianness="<")
    header.set_data_dtype(dtype)
    header.set_data_shape(shape)
    header.set_xyzt_units("mm")
    header.set_qform(affine, code="scanner", strip_shears=True)
    header.set_sform(affine, code="scanner")
    return header


def write_volume(
    path: str | os.PathLike[str], voxels: NDArray[np.generic], affine: NDArray[np.float64]
) -> None:
    """Write a scan or label map as ``.nii.gz``, whole or not at all.

    Parameters
    ----------
    path : path
        File to write; replaced if it exists.
    voxels : array, shape (I, J, K)
        Any integer or floating type NIfTI has; stored as it is, unscaled.
    affine : float64 array, shape (4, 4)
        Index to world, mm. Stored as the sform, in float32; shears are kept.
    """
    header = nifti_header(voxels.shape, affine, voxels.dtype)
    dtype = voxels.dtype.newbyteorder("<")
    slices = (voxels[..., k].ravel(order="F") for k in range(voxels.shape[-1]))
    pieces = (part.astype(dtype, copy=False).tobytes() for part in slices)
    with replacing(Path(path)) as file:
        write_gzip(file, itertools.chain([neutral_header(header)], pieces))


def write_gzip(file: BinaryIO, pieces: Iterable[bytes | memoryview]) -> None:
    """Compress pieces of bytes into one gzip member without name or time."""
    packer = isal_zlib.compressobj(level=_LEVEL, wbits=_GZIP)
    file.writelines(packer.compress(piece) for piece in pieces)
    file.write(packer.flush())


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of `path` only when everything in it was written."""
    new = path.with_name(f".writing-{secrets.token_hex(8)}")
    try:
        with new.open("xb") as file:
            yield file
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
