"""Shapes as integer fields: negative inside, positive outside, about a distance near the surface.

Lengths are in ticks of 1/64 mm, in 32-bit integers. Integer arithmetic is exact and the same on
every machine, which floating point is not (fused multiplies, vector libraries); the sizes are
kept such that nothing wraps, as the comments say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segtrial.datasets.phantom_random import words

MM = 64
"""Ticks in a millimetre."""

Field = NDArray[np.int32]
"""One value per voxel."""
Length = int | Field

_ONE = 1 << 10
_FAR = 1 << 14  # 16 radii: its square is 2^28, three of them stay below 2^31
_MOST = 1 << 24


@dataclass(frozen=True, eq=False)
class Space:
    """Where each voxel lies in the patient, in ticks.

    Attributes
    ----------
    x, y, z : int32 array, shape (I, J, K)
        To the right, the front and the head of the patient.
    """

    x: Field
    y: Field
    z: Field

    @property
    def shape(self) -> tuple[int, int, int]:
        """Voxels along each axis."""
        i, j, k = self.x.shape
        return i, j, k


def mm(length: int) -> int:
    """Ticks of a length in whole millimetres."""
    return length * MM


def ellipsoid(
    space: Space, *, at: tuple[Length, Length, Length], radii: tuple[Length, Length, Length]
) -> Field:
    """Field of an ellipsoid.

    Parameters
    ----------
    space : Space
        Where the voxels lie.
    at : tuple of int or int32 array
        Centre, ticks; an array lets it wander along the volume.
    radii : tuple of int or int32 array
        Half axes, ticks.

    Returns
    -------
    int32 array
        Ticks; a distance at the ends of the shortest axis, less elsewhere.
    """
    square = (
        _square(space.x, at[0], radii[0])
        + _square(space.y, at[1], radii[1])
        + _square(space.z, at[2], radii[2])
    )
    return _as_length(square, min(int(np.min(radius)) for radius in radii))


def cylinder(space: Space, *, at: tuple[Length, Length], radii: tuple[Length, Length]) -> Field:
    """Field of an elliptic cylinder along z; `at` may wander with z."""
    square = _square(space.x, at[0], radii[0]) + _square(space.y, at[1], radii[1])
    return _as_length(square, min(int(np.min(radius)) for radius in radii))


def trunk(space: Space, *, at: tuple[Length, Length], radii: tuple[Length, Length]) -> Field:
    """Field of a cylinder whose cross-section is between an ellipse and a rectangle."""
    a = np.minimum(_square(space.x, at[0], radii[0]) >> 10, 1 << 14)
    b = np.minimum(_square(space.y, at[1], radii[1]) >> 10, 1 << 14)
    mixed = (a + b + ((a * a + b * b) >> 10)) >> 1
    shortest = min(int(np.min(radius)) for radius in radii)
    length: Field = ((mixed - _ONE) // 3 * shortest) >> 10
    return length


def _square(position: Field, centre: Length, radius: Length) -> Field:
    """(distance / radius)^2 in units of 2^-20; positions within 2^15 ticks, radii above 2^4."""
    scaled = ((position - centre) << 10) // radius
    np.clip(scaled, -_FAR, _FAR, out=scaled)
    scaled *= scaled
    return scaled


def _as_length(square: Field, radius: int) -> Field:
    """(q - 1) r / 2: the distance to first order at the surface, where q is 1."""
    np.minimum(square, _MOST, out=square)
    length: Field = ((square - (1 << 20)) >> 11) * radius >> 10
    return length


def smooth_union(a: Field, b: Field, width: int) -> Field:
    """Union whose seam is rounded over `width` ticks."""
    overlap = np.maximum(width - np.abs(a - b), 0)
    union: Field = np.minimum(a, b) - overlap * overlap // (4 * width)
    return union


def smooth_intersection(a: Field, b: Field, width: int) -> Field:
    """Intersection whose edge is rounded over `width` ticks."""
    return -smooth_union(-a, -b, width)


def subtract(a: Field, b: Field, width: int) -> Field:
    """What of `a` is not in `b`, its edge rounded over `width` ticks."""
    return smooth_intersection(a, -b, width)


def coverage(field: Field, width: int) -> Field:
    """Share of a voxel inside, in 1/256: a ramp `width` ticks to either side of the surface."""
    return np.clip(128 - field * 128 // width, 0, 256)


def smooth_noise(seed: str, shape: tuple[int, int, int], step: tuple[int, int, int]) -> Field:
    """Smooth random field: a uniform cubic B-spline through random control points.

    Parameters
    ----------
    seed : str
        What it is for.
    shape : tuple of int
        Voxels along each axis.
    step : tuple of int
        Voxels between control points along each axis.

    Returns
    -------
    int32 array, shape `shape`
        Within +-32768, mostly within a third of that.
    """
    knots = tuple((n - 1) // s + 4 for n, s in zip(shape, step, strict=True))
    random = words(seed, knots[0] * knots[1] * knots[2]) >> np.uint64(48)
    field = random.astype(np.int32).reshape(knots) - np.int32(1 << 15)
    for axis in range(3):
        field = _stretch(field, shape[axis], step[axis])
    return field


def _stretch(field: Field, size: int, step: int) -> Field:
    """Interpolate along the first axis and move it to the end; three times restores the order."""
    weights = _spline_weights(step)
    knots, rest = field.shape[0], field.shape[1:]
    flat = field.reshape(knots, -1)
    out = np.empty((size, flat.shape[1]), dtype=np.int32)
    for i in range(size):
        first, phase = divmod(i, step)
        four = [knot * weight for knot, weight in zip(flat[first:], weights[phase], strict=False)]
        out[i] = (four[0] + four[1] + four[2] + four[3]) >> 10
    return np.ascontiguousarray(np.moveaxis(out.reshape(size, *rest), 0, -1))


def _spline_weights(step: int) -> list[list[int]]:
    """Weights of four control points for each phase, in 1/1024."""
    rows = []
    for t in range(step):
        s = step
        first, last = (s - t) ** 3, t**3
        second = 3 * t**3 - 6 * s * t**2 + 4 * s**3
        parts = [first, second, 6 * s**3 - first - second - last, last]
        rows.append([part * 1024 // (6 * s**3) for part in parts])
    return rows
