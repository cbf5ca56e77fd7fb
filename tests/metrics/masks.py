"""Small masks on which implementations of surface distances have gone wrong."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
MaskPair = tuple[Mask, Mask]

SPACINGS_MM = ((1.0, 1.0, 1.0), (0.78, 0.78, 2.5), (5.0, 0.7, 0.7), (0.3, 2.0, 1.0))


def noise(fraction: float, shape: tuple[int, ...], seed: int) -> Mask:
    return np.random.default_rng(seed).random(shape) < fraction


def empty(shape: tuple[int, ...]) -> Mask:
    return np.zeros(shape, dtype=bool)


def box(shape: tuple[int, ...], *sides: slice) -> Mask:
    mask = empty(shape)
    mask[sides] = True
    return mask


def ball(shape: tuple[int, ...], centre: tuple[float, ...], radius: float) -> Mask:
    axes = [np.arange(size) - c for size, c in zip(shape, centre, strict=True)]
    return np.asarray(sum(axis.astype(float) ** 2 for axis in np.ix_(*axes)) <= radius**2)


def adversarial_pairs() -> dict[str, MaskPair]:
    """Pairs of 3D masks, by what is hard about them; both sides have voxels."""
    shape = (9, 8, 11)
    board = np.indices(shape).sum(axis=0) % 2 == 0
    plates = empty(shape)
    plates[::3] = True
    strayed = ball(shape, (4, 4, 4), 2.5)
    strayed[8, 7, 10] = True
    return {
        "noise 2 %": (noise(0.02, (14, 15, 16), 1), noise(0.02, (14, 15, 16), 2)),
        "noise 20 %": (noise(0.2, shape, 3), noise(0.2, shape, 4)),
        "noise 50 %": (noise(0.5, shape, 5), noise(0.5, shape, 6)),
        "noise 80 %": (noise(0.8, shape, 7), noise(0.8, shape, 8)),
        "one voxel, the same": (box(shape, *[slice(4, 5)] * 3), box(shape, *[slice(4, 5)] * 3)),
        "one voxel, another": (box(shape, *[slice(0, 1)] * 3), box(shape, *[slice(7, 8)] * 3)),
        "on the border": (box(shape, slice(0, 4)), box(shape, slice(1, 5))),
        "thin plates": (plates, np.roll(plates, 1, axis=0)),
        "checkerboard": (board, ~board),
        "full": (~empty(shape), ~empty(shape)),
        "full against one voxel": (~empty(shape), box(shape, *[slice(4, 5)] * 3)),
        "far apart": (ball((40, 9, 9), (4, 4, 4), 3), ball((40, 9, 9), (35, 4, 4), 3)),
        "stray voxel": (ball(shape, (4, 4, 4), 2.5), strayed),
        "core in a shell": (
            ball((15, 15, 15), (7, 7, 7), 6.5) & ~ball((15, 15, 15), (7, 7, 7), 5.5),
            ball((15, 15, 15), (7, 7, 7), 1.2),
        ),
        "touching at a corner": (
            box(shape, slice(1, 4), slice(1, 4), slice(1, 4))
            | box(shape, slice(4, 6), slice(4, 6), slice(4, 6)),
            box(shape, slice(2, 6), slice(2, 6), slice(2, 6)),
        ),
        "one plane thick": (ball((1, 12, 12), (0, 5, 5), 4), ball((1, 12, 12), (0, 6, 5), 4)),
    }
