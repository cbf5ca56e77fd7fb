"""Fingerprints of scans: the same scan under two names, however it was stored.

*Exact*: a digest of the voxels, brought to the closest canonical axes, without place and spacing
(LiTS, for one, gave scans of 3D-IRCADb another spacing). It survives another orientation and
another compression, nothing else.

*Perceptual*: 256 bits for each axial slice. A slice is ranked (each pixel becomes the share of
pixels that are not brighter), the ranks of the darkest half and the brightest twentieth are
levelled, and the signs of the 16 x 16 lowest frequencies of its cosine transform are kept. Ranks do
not feel rescaling or any other monotone change, and clipping only merges ranks that are levelled
anyway; a slice stands for itself, so cutting slices off leaves the others as they were. Flipping a
slice flips the signs of its odd frequencies and turning it swaps them, so the eight ways to lay a
slice down are found without computing anything anew, even where the header's orientation is lost.

A cropped field of view and a resampled grid change every slice; such copies are not found.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from segtrial.scans import array_digest, read_scan

SIDE = 16
"""Frequencies kept along each axis; a slice has SIDE * SIDE bits."""
_BLOCKS = 32
_DARK, _BRIGHT = 0.5, 0.95
_LEVELS = 4096
_MIN_CONTRAST = 0.02
"""Standard deviation of levelled ranks below which a slice shows nothing (air, or cut off)."""

Bits = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """Of one scan.

    Attributes
    ----------
    exact : str
        Hex SHA-256 of shape and voxels on canonical axes.
    slices : bool array, shape (K, 256)
        From feet to head, as far as the header is right.
    shown : bool array, shape (K,)
        Whether a slice shows enough to be compared.
    """

    exact: str
    slices: Bits
    shown: Bits


def fingerprint(path: Path) -> Fingerprint:
    """Fingerprint of a scan's file; `DatasetError` where it cannot be read."""
    scan = read_scan(path)
    return fingerprint_of(scan.voxels, scan.grid.affine)


def fingerprint_of(voxels: NDArray[np.generic], affine: NDArray[np.float64]) -> Fingerprint:
    """Fingerprint of a scan.

    Parameters
    ----------
    voxels : array, shape (I, J, K)
        Intensities of any unit.
    affine : float64 array, shape (4, 4)
        Index to world; only the directions of its axes count.
    """
    upright = _canonical(voxels, affine)
    exact = array_digest(_as_stored(upright), np.eye(4))
    found = [slice_bits(upright[..., k]) for k in range(upright.shape[2])]
    bits = np.array([one[0] for one in found]).reshape(-1, SIDE * SIDE)
    return Fingerprint(exact, bits, np.array([one[1] for one in found], dtype=bool))


def slice_bits(pixels: NDArray[np.generic]) -> tuple[Bits, bool]:
    """The 256 bits of one slice, and whether it shows enough to be compared.

    Parameters
    ----------
    pixels : array, shape (I, J)

    Returns
    -------
    bool array, shape (256,)
        Signs of the low frequencies, the one along the first axis varying slowest. The mean has
        no meaning and is always False.
    bool
    """
    ranks = np.clip(_ranks(pixels), _DARK, _BRIGHT)
    small = _shrink(ranks)
    shown = bool(small.std() >= _MIN_CONTRAST)
    basis = _basis()
    bits = (basis @ small @ basis.T > 0).reshape(-1)
    bits[0] = False
    return bits, shown


@cache
def layings() -> tuple[tuple[NDArray[np.intp], Bits], ...]:
    """The eight ways to lay a slice down: order of the bits, then those that turn over.

    ``bits[order] ^ turned`` are the bits of the slice flipped along its first axis, its second,
    both, or none, each as it is and with its axes swapped.
    """
    u, v = np.divmod(np.arange(SIDE * SIDE), SIDE)
    found = []
    for swapped in (False, True):
        order = (v * SIDE + u) if swapped else np.arange(SIDE * SIDE)
        for flip_first in (False, True):
            for flip_second in (False, True):
                odd = (u % 2 == 1) & flip_first ^ (v % 2 == 1) & flip_second
                odd[0] = False
                found.append((order, odd))
    return tuple(found)


def _ranks(pixels: NDArray[np.generic]) -> NDArray[np.float64]:
    """Share of the slice's pixels that are darker than each pixel, equal ones counted half."""
    levels = _levels(pixels)
    counts = np.bincount(levels.reshape(-1))
    return np.asarray(((np.cumsum(counts) - counts / 2) / levels.size)[levels])


def _levels(pixels: NDArray[np.generic]) -> NDArray[np.intp]:
    """Intensities as small whole numbers in the same order."""
    low, high = float(pixels.min()), float(pixels.max())
    if np.issubdtype(pixels.dtype, np.integer) and high - low < 1 << 20:
        return (pixels.astype(np.int64) - int(low)).astype(np.intp)
    scale = (_LEVELS - 1) / (high - low) if high > low else 0.0
    return np.rint((pixels.astype(np.float64) - low) * scale).astype(np.intp)


def _shrink(slice_: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means over a grid of blocks; a small slice is repeated first."""
    grown = slice_
    for axis in (0, 1):
        size = grown.shape[axis]
        if size < _BLOCKS:
            grown = np.repeat(grown, -(-_BLOCKS // size), axis=axis)
        edges = np.rint(np.linspace(0, grown.shape[axis], _BLOCKS + 1)).astype(np.intp)
        sums = np.add.reduceat(grown, edges[:-1], axis=axis)
        widths = np.diff(edges)
        grown = sums / (widths[:, None] if axis == 0 else widths)
    return grown


@cache
def _basis() -> NDArray[np.float64]:
    """The lowest frequencies of the cosine transform (DCT-II)."""
    k, n = np.mgrid[0:SIDE, 0:_BLOCKS]
    return np.asarray(np.cos(np.pi * k * (2 * n + 1) / (2 * _BLOCKS)), dtype=np.float64)


def _canonical(voxels: NDArray[np.generic], affine: NDArray[np.float64]) -> NDArray[np.generic]:
    """A view with its axes along left-right, back-front and feet-head, as closely as they lie."""
    directions = affine[:3, :3] / np.linalg.norm(affine[:3, :3], axis=0)
    order = max(
        permutations(range(3)), key=lambda p: sum(abs(directions[w, p[w]]) for w in range(3))
    )
    moved = np.transpose(voxels, order)
    flips = tuple(
        slice(None, None, -1 if directions[world, axis] < 0 else 1)
        for world, axis in enumerate(order)
    )
    return moved[flips]


def _as_stored(voxels: NDArray[np.generic]) -> NDArray[np.generic]:
    """Whole numbers as int32 and others as float32, whatever type the file had."""
    if np.issubdtype(voxels.dtype, np.integer):
        return voxels.astype(np.int32)
    whole = np.rint(voxels)
    exact = bool(np.array_equal(whole, voxels)) and float(np.abs(whole).max()) < 1 << 31
    return whole.astype(np.int32) if exact else voxels.astype(np.float32)
