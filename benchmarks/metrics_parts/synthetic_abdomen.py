"""A synthetic abdomen: a reference and a prediction with the sizes and shapes of fifteen organs.

Each organ is an ellipsoid, or a tube along a curve, whose surface waves; in the prediction it waves
otherwise and is moved a little, so that the surfaces lie 1 to 2 mm apart on average. No patient's
data is in it, and it is the same voxels on every machine with IEEE arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SHAPE = (512, 512, 220)
SPACING_MM = (0.78, 0.78, 2.5)
LabelMap = NDArray[np.uint8]


@dataclass(frozen=True)
class Organ:
    """Centre as a fraction of the volume, semi-axes in mm, and how far a tube bends in mm."""

    name: str
    centre: tuple[float, float, float]
    semi_axes_mm: tuple[float, float, float]
    bend_mm: float = 0.0


ORGANS = (
    Organ("liver", (0.34, 0.45, 0.62), (80, 68, 82)),
    Organ("spleen", (0.74, 0.58, 0.66), (30, 40, 52)),
    Organ("kidney_right", (0.35, 0.66, 0.42), (27, 27, 56)),
    Organ("kidney_left", (0.65, 0.66, 0.45), (27, 27, 56)),
    Organ("stomach", (0.62, 0.36, 0.68), (42, 36, 58)),
    Organ("pancreas", (0.53, 0.49, 0.52), (58, 14, 16), 18),
    Organ("gallbladder", (0.38, 0.33, 0.48), (16, 16, 30)),
    Organ("aorta", (0.52, 0.62, 0.50), (11, 11, 230), 8),
    Organ("vena_cava", (0.45, 0.60, 0.52), (12, 12, 220), 8),
    Organ("oesophagus", (0.55, 0.55, 0.90), (9, 9, 62), 6),
    Organ("duodenum", (0.44, 0.46, 0.40), (40, 14, 22), 22),
    Organ("adrenal_right", (0.47, 0.70, 0.62), (15, 8, 17), 6),
    Organ("adrenal_left", (0.59, 0.70, 0.64), (15, 8, 17), 6),
    Organ("bladder", (0.50, 0.40, 0.10), (40, 36, 32)),
    Organ("prostate", (0.50, 0.52, 0.04), (24, 20, 18)),
)
STRUCTURES = {organ.name: label for label, organ in enumerate(ORGANS, start=1)}


def synthetic_pair(shape: tuple[int, int, int] = SHAPE) -> tuple[LabelMap, LabelMap]:
    """Reference and prediction, in the memory order of a NIfTI file (first axis fastest)."""
    return synthetic_label_map(1, shape=shape), synthetic_label_map(2, shape=shape)


def synthetic_label_map(seed: int, *, shape: tuple[int, int, int] = SHAPE) -> LabelMap:
    """One label map; another seed is another drawing of the same organs."""
    label_map = np.zeros(shape, np.uint8, order="F")
    random = np.random.default_rng(seed)
    # A smaller shape is the same anatomy on a coarser grid.
    spacing = np.array(SPACING_MM) * np.array(SHAPE) / np.array(shape)
    for label, organ in enumerate(ORGANS, start=1):
        draw(label_map, label, organ, random=random, spacing_mm=spacing)
    return label_map


def draw(
    label_map: LabelMap,
    label: int,
    organ: Organ,
    *,
    random: np.random.Generator,
    spacing_mm: NDArray[np.float64],
) -> None:
    """Draw one organ where nothing was drawn before."""
    size = np.array(label_map.shape)
    semi_axes = np.array(organ.semi_axes_mm)
    centre_mm = np.array(organ.centre) * size * spacing_mm + random.normal(0, 0.4, 3)
    margin = 1.3 * semi_axes + organ.bend_mm
    low = np.maximum(0, np.floor((centre_mm - margin) / spacing_mm)).astype(int)
    high = np.minimum(size, np.ceil((centre_mm + margin) / spacing_mm)).astype(int)
    axes = [
        np.arange(first, last, dtype=np.float32) * step - middle
        for first, last, step, middle in zip(low, high, spacing_mm, centre_mm, strict=True)
    ]
    x, y, z = np.meshgrid(*axes, indexing="ij", sparse=True)
    longest = int(np.argmax(semi_axes))
    along = (x, y, z)[longest] / semi_axes[longest]
    bent = organ.bend_mm * (np.cos(2.2 * along) - 0.6)
    across = [axis for axis in range(3) if axis != longest]
    scaled = [x, y, z]
    scaled[across[0]] = scaled[across[0]] + bent
    radius = sum((c / s) ** 2 for c, s in zip(scaled, semi_axes, strict=True))
    box = label_map[tuple(slice(first, last) for first, last in zip(low, high, strict=True))]
    inside = radius < 1 + waves(x, y, z, depth_mm=float(semi_axes.min()), random=random)
    box[inside & (box == 0)] = label


def waves(
    x: NDArray[np.float32],
    y: NDArray[np.float32],
    z: NDArray[np.float32],
    *,
    depth_mm: float,
    random: np.random.Generator,
) -> NDArray[np.float32]:
    """A smooth field that moves a surface of this semi-axis by 1 to 2 mm either way."""
    field = np.float32(0)
    for wavelength_mm in (60.0, 35.0, 18.0):
        for _ in range(3):
            direction = random.normal(size=3)
            direction *= 2 * np.pi / wavelength_mm / np.linalg.norm(direction)
            phase = random.uniform(0, 2 * np.pi)
            # The cosine of a sum, from factors of one axis each: much faster on a whole organ.
            turn = [np.exp(1j * (k * c)) for k, c in zip(direction, (x, y, z), strict=True)]
            wave = (turn[0] * np.exp(1j * phase) * turn[1]) * turn[2]
            field = field + wave.real.astype(np.float32)
    return np.asarray(field * np.float32(1.1 / depth_mm), dtype=np.float32)
