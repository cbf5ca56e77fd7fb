"""Pairs on which methods for surface distances fall off a cliff, or disagree."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from synthetic_abdomen import SHAPE, SPACING_MM

LabelMap = NDArray[np.integer]
Pair = tuple[LabelMap, LabelMap]
Spacing = tuple[float, float, float]


def empty(shape: tuple[int, ...] = SHAPE) -> NDArray[np.uint8]:
    """A label map without labels, in the memory order of a NIfTI file."""
    return np.zeros(shape, np.uint8, order="F")


def ball(label_map: LabelMap, centre: tuple[int, ...], radius: float, label: int = 1) -> None:
    """Set a ball of some voxels' radius."""
    box = tuple(
        slice(max(0, int(c - radius)), min(size, int(c + radius) + 1))
        for c, size in zip(centre, label_map.shape, strict=True)
    )
    axes = [np.arange(part.start, part.stop) - c for part, c in zip(box, centre, strict=True)]
    square = sum(part.astype(float) ** 2 for part in np.ix_(*axes))
    label_map[box][square <= radius**2] = label


def one_voxel() -> Pair:
    """One voxel in either."""
    pair = empty((64, 64, 64)), empty((64, 64, 64))
    pair[0][10, 10, 10] = pair[1][40, 50, 20] = 1
    return pair


def full_volume() -> Pair:
    """Every voxel set; one side lacks a border plane."""
    pair = empty((128, 128, 96)), empty((128, 128, 96))
    pair[0][:] = 1
    pair[1][1:] = 1
    return pair


def opposite_corners() -> Pair:
    """Two balls as far from each other as the volume allows."""
    pair = empty(), empty()
    ball(pair[0], (30, 30, 30), 25)
    ball(pair[1], (480, 480, 190), 25)
    return pair


def stray_voxel() -> Pair:
    """A ball predicted almost right, and one voxel far away."""
    pair = empty(), empty()
    ball(pair[0], (100, 100, 60), 40)
    ball(pair[1], (101, 100, 60), 40)
    pair[1][500, 500, 210] = 1
    return pair


def shell_and_core() -> Pair:
    """A small ball in the middle of a large shell: every place on it is about as near."""
    pair = empty((256, 256, 256)), empty((256, 256, 256))
    ball(pair[0], (128, 128, 128), 110)
    ball(pair[0], (128, 128, 128), 108, 0)
    ball(pair[1], (128, 128, 128), 3)
    return pair


def noise(fraction: float, shape: tuple[int, int, int]) -> Pair:
    """Independent voxels on either side."""
    random = np.random.default_rng(3)
    maps = [np.asfortranarray((random.random(shape) < fraction).astype(np.uint8)) for _ in "rp"]
    return maps[0], maps[1]


def noise_and_ball() -> Pair:
    """Noise predicted where there is a ball."""
    pair = empty((128, 128, 96)), noise(0.2, (128, 128, 96))[1]
    ball(pair[0], (64, 64, 48), 30)
    return pair


def many_labels(count: int) -> Pair:
    """The volume cut into blocks of as many labels, shifted by a voxel on the other side."""
    x, y, z = np.ogrid[: SHAPE[0], : SHAPE[1], : SHAPE[2]]
    cells = (x // 64) * 64 + (y // 64) * 8 + z // 28
    reference = np.asfortranarray((cells % count + 1).astype(np.uint8))
    return reference, np.asfortranarray(np.roll(reference, 1, axis=0))


def many_labels_with_strays(count: int) -> Pair:
    """Balls of as many labels, each with a voxel of it in two far corners of the volume."""
    pair = empty(), empty()
    random = np.random.default_rng(4)
    for label in range(1, count + 1):
        centre = tuple(int(random.integers(30, size - 30)) for size in SHAPE)
        for label_map in pair:
            ball(label_map, centre, 20, label)
    for label in range(1, count + 1):
        pair[0][label, 2, 1] = pair[0][511 - label, 509, 218] = label
    return pair


def checkerboard() -> Pair:
    """Every other voxel, and the others."""
    x, y, z = np.ogrid[:64, :64, :64]
    board = np.asfortranarray(((x + y + z) % 2).astype(np.uint8))
    return board, np.asfortranarray(1 - board)


def thin_plates() -> Pair:
    """Plates of one voxel, three voxels apart."""
    pair = empty((160, 160, 120)), empty((160, 160, 120))
    pair[0][::6, 5:150, 5:110] = 1
    pair[1][3::6, 5:150, 5:110] = 1
    return pair


CASES: dict[str, tuple[Callable[[], Pair], Spacing]] = {
    "one voxel against another": (one_voxel, (1.0, 1.0, 1.0)),
    "full volume, on the border": (full_volume, (1.0, 1.0, 1.0)),
    "checkerboard 64x64x64": (checkerboard, (0.7, 0.7, 5.0)),
    "thin plates 160x160x120": (thin_plates, (0.7, 3.0, 0.7)),
    "balls in opposite corners, 512x512x220": (opposite_corners, SPACING_MM),
    "ball and a stray voxel, 512x512x220": (stray_voxel, SPACING_MM),
    "large shell around a small ball, 256x256x256": (shell_and_core, (1.0, 1.0, 1.0)),
    "noise 20 %, 128x128x96": (lambda: noise(0.2, (128, 128, 96)), SPACING_MM),
    "noise 20 % against a ball, 128x128x96": (noise_and_ball, SPACING_MM),
    "120 labels in blocks, 512x512x220": (lambda: many_labels(120), SPACING_MM),
    "34 labels with far stray voxels, 512x512x220": (
        lambda: many_labels_with_strays(34),
        SPACING_MM,
    ),
}

GROWING_NOISE = [(64, 64, 48), (128, 64, 96), (128, 128, 192), (256, 256, 192)]


def growing_noise() -> Iterator[tuple[tuple[int, int, int], Pair]]:
    """Noise in volumes, each four times the last: time per voxel has to stay what it is."""
    for shape in GROWING_NOISE:
        yield shape, noise(0.2, shape)
