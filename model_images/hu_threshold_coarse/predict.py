"""Classical segmentation of CT on a coarse grid: thresholds, components, location.

The idea of ``hu_threshold`` at 6 mm, with fewer steps: what a quick method costs in accuracy.
"""

from __future__ import annotations

import json
from pathlib import Path

import nibabel
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

INPUT = Path("/input")
OUTPUT = Path("/output")
WORKING_MM = 6.0
LABELS = {
    "lung_left": 1, "lung_right": 2, "liver": 3, "spleen": 4,
    "kidney_left": 5, "kidney_right": 6, "aorta": 7, "vertebrae": 8,
}  # fmt: skip

Image = NDArray[np.float32]
Mask = NDArray[np.bool_]
Labels = NDArray[np.uint8]
Vector = NDArray[np.float64]


def main() -> None:
    """Read the request and the first scan, segment it, write the label map on the same grid."""
    request = json.loads((INPUT / "request.json").read_text())
    stored = nibabel.Nifti1Image.from_filename(INPUT / request["scans"][0]["file"])
    canonical = nibabel.as_closest_canonical(stored)
    spacing_mm = np.sqrt((canonical.affine[:3, :3] ** 2).sum(axis=0))
    factor = np.maximum(np.rint(WORKING_MM / spacing_mm), 1).astype(int)
    hu = shrunk(canonical.get_fdata(dtype=np.float32), factor)
    labels = grown(segment(hu, spacing_mm * factor), factor, canonical.shape)
    canonical_axes = np.array([[0, 1], [1, 1], [2, 1]])
    way_back = nibabel.orientations.ornt_transform(
        canonical_axes, nibabel.io_orientation(stored.affine)
    )
    labels = np.ascontiguousarray(nibabel.apply_orientation(labels, way_back))
    nibabel.save(nibabel.Nifti1Image(labels, stored.affine), OUTPUT / "segmentation.nii.gz")


def shrunk(hu: Image, factor: NDArray[np.int_]) -> Image:
    """Average blocks of voxels."""
    centre = tuple(slice(f // 2, None, f) for f in factor)
    return ndimage.uniform_filter(hu, size=tuple(factor), mode="nearest")[centre]


def grown(labels: Labels, factor: NDArray[np.int_], shape: tuple[int, ...]) -> Labels:
    """Undo `shrunk` by repeating voxels; the far edges repeat the last ones."""
    for axis, (size, step) in enumerate(zip(shape, factor, strict=True)):
        index = np.minimum(np.arange(size) // step, labels.shape[axis] - 1)
        labels = labels.take(index, axis=axis)
    return labels


def segment(hu: Image, spacing_mm: Vector) -> Labels:
    """Label map of a scan on canonical axes; later structures do not replace earlier ones."""
    body = filled(largest(hu > -300))
    x, y = from_spine(hu, body, spacing_mm)
    inner = eroded(filled(eroded(filled(body & (hu > -60)), 2)), 2)
    lungs = filled(body & (hu < -450) & (ndimage.uniform_filter(hu, 3) < -500))
    bone = (hu > 150) & (np.abs(x) < 34) & (y < 36)
    tissue = inner & (hu > 0) & (hu < 220) & ~bone
    liver_hu = typical(hu[eroded(tissue & (x > 30), 2)])
    alike = tissue & (np.abs(hu - liver_hu) < 30)
    flank = (y > -10) & (y < 55) & tissue
    bright = flank & (hu > liver_hu + 24)
    kidneys = bright if bright.sum() * np.prod(spacing_mm) > 4e4 else flank & (hu < liver_hu - 8)
    found = {
        "lung_left": lungs & (x < 0),
        "lung_right": lungs & (x >= 0),
        "aorta": largest(inner & (hu > 20) & ~bone & (np.hypot(x + 9, y - 34) < 13)),
        "vertebrae": ndimage.binary_closing(bone),
        "kidney_left": largest(opened(kidneys & (x < -28) & (x > -95))),
        "kidney_right": largest(opened(kidneys & (x > 28) & (x < 95))),
        "liver": filled(largest(opened(alike & (x > -70)))),
        "spleen": largest(opened(tissue & (hu > liver_hu - 25) & (x < -65) & (y > 0) & (y < 80))),
    }
    labels = np.zeros(hu.shape, np.uint8)
    for name, mask in found.items():
        labels[mask & (labels == 0)] = LABELS[name]
    return labels


def from_spine(hu: Image, body: Mask, spacing_mm: Vector) -> tuple[Vector, Vector]:
    """Position in mm to the right and to the front of the bone in the middle of the back."""
    i, j, _ = np.meshgrid(*map(np.arange, hu.shape), indexing="ij")
    across, deep = i[body], j[body]
    if not across.size:
        return i * spacing_mm[0], j * spacing_mm[1]
    middle, back = across.mean(), np.quantile(deep, 0.01)
    near = (np.abs(i - middle) * spacing_mm[0] < 45) & ((j - back) * spacing_mm[1] < 105)
    bone = near & body & (hu > 170)
    spine_j = j[bone].mean() if bone.any() else back + 60 / spacing_mm[1]
    spine_i = i[bone].mean() if bone.any() else middle
    return (i - spine_i) * spacing_mm[0], (j - spine_j) * spacing_mm[1]


def typical(values: Image) -> float:
    """The commonest density."""
    counts, edges = np.histogram(values, bins=np.arange(0, 221, 4))
    return float(edges[ndimage.gaussian_filter1d(counts.astype(float), 2.0).argmax()] + 2)


def opened(mask: Mask) -> Mask:
    """Without what is thinner than three voxels in the slice."""
    return ndimage.binary_opening(mask, ndimage.generate_binary_structure(3, 1))


def eroded(mask: Mask, voxels: int) -> Mask:
    """Without the rim in the slice."""
    disc = ndimage.generate_binary_structure(2, 1)[:, :, None]
    return ndimage.binary_erosion(mask, disc, iterations=voxels)


def filled(mask: Mask) -> Mask:
    """With what it encloses in each slice."""
    return np.stack([ndimage.binary_fill_holes(part) for part in np.moveaxis(mask, 2, 0)], axis=2)


def largest(mask: Mask) -> Mask:
    """The largest connected piece."""
    pieces, count = ndimage.label(mask)
    if not count:
        return mask
    return np.asarray(pieces == np.bincount(pieces.ravel())[1:].argmax() + 1)


if __name__ == "__main__":
    main()
