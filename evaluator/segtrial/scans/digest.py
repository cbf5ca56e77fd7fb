"""Fingerprints of images: of voxels and affine, never of files.

The same image compressed twice gives two files; it is still the same image. So a digest covers
what is decompressed: type, shape, affine, scaling and voxels, in one fixed byte order. It starts
with a line that says what it is of, so that digests of different kinds cannot be mistaken for
each other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from segtrial.scans.label_map import LabelMap, label_dtype

_SCAN = b"segtrial scan 1\n"
_LABEL_MAP = b"segtrial label map 1\n"
_SLAB_BYTES = 1 << 22


def array_digest(voxels: NDArray[np.generic], affine: NDArray[np.float64]) -> str:
    """SHA-256 of a scan that is in memory: its voxels and its affine.

    Parameters
    ----------
    voxels : array
        As stored; any type, order and byte order.
    affine : float64 array, shape (4, 4)
        Index to world, mm.

    Returns
    -------
    str
        64 hexadecimal digits, the same on every machine.
    """
    digest = ScanHash(voxels.dtype, voxels.shape, affine)
    for slab in _slabs(voxels):
        digest.update(slab)
    return digest.hexdigest()


def label_map_digest(label_map: LabelMap) -> str:
    """SHA-256 of a label map: its labels and its affine, whatever type it was stored in.

    Parameters
    ----------
    label_map : LabelMap
        Any axis order; a flipped or transposed copy has another digest.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    labels = label_map.labels
    dtype = label_dtype(int(labels.max()))
    digest = ScanHash(dtype, labels.shape, label_map.grid.affine, kind=_LABEL_MAP)
    for slab in _slabs(labels):
        digest.update(slab.astype(dtype, copy=False))
    return digest.hexdigest()


class ScanHash:
    """A scan's digest, computed while its voxels stream by in Fortran order.

    Parameters
    ----------
    dtype : numpy.dtype
        Type of the voxels; its byte order does not matter.
    shape : tuple of int
        Shape of the volume.
    affine : float64 array, shape (4, 4)
        Index to world, mm.
    scaling : tuple of float
        Slope and intercept that make values of stored voxels.
    kind : bytes
        What the digest is of.
    """

    def __init__(
        self,
        dtype: np.dtype[np.generic],
        shape: tuple[int, ...],
        affine: NDArray[np.float64],
        *,
        scaling: tuple[float, float] = (1.0, 0.0),
        kind: bytes = _SCAN,
    ) -> None:
        self._dtype = dtype.newbyteorder("<")
        self._hash = hashlib.sha256(kind)
        self._hash.update(f"{self._dtype.str} {','.join(map(str, shape))}\n".encode())
        numbers = [*np.asarray(affine, dtype="<f8").ravel(), *scaling]
        self._hash.update((np.array(numbers, dtype="<f8") + 0.0).tobytes())  # -0.0 is 0.0

    def update(self, voxels: NDArray[np.generic]) -> None:
        """Add the next voxels, a 1D array in Fortran order."""
        little = voxels.astype(self._dtype, copy=False)
        self._hash.update(np.ascontiguousarray(little).view(np.uint8).data)

    def hexdigest(self) -> str:
        """Digest of everything added so far."""
        return self._hash.hexdigest()


def _slabs(voxels: NDArray[np.generic]) -> Iterable[NDArray[np.generic]]:
    """Voxels in Fortran order, a few slices at a time so that no copy of the whole is made."""
    plane = max(voxels.nbytes // voxels.shape[-1], 1)
    step = max(_SLAB_BYTES // plane, 1)
    for first in range(0, voxels.shape[-1], step):
        yield voxels[..., first : first + step].ravel(order="F")
