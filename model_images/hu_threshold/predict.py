"""Classical segmentation of abdominal and chest CT: thresholds, components, location.

Nothing is learned. Bone and lungs come from their density; the spine gives the midline; the other
organs are the pieces of soft tissue, of about the density found where the organ should be, that
lie there. Everything is done on canonical axes (right, anterior, superior) in millimetres.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import nibabel
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

INPUT = Path("/input")
OUTPUT = Path("/output")
WORKING_MM = 2.5  # finer scans are averaged down to about this, for time
LABELS = {
    "lung_left": 1, "lung_right": 2, "liver": 3, "spleen": 4,
    "kidney_left": 5, "kidney_right": 6, "aorta": 7, "vertebrae": 8,
}  # fmt: skip

Image = NDArray[np.float32]
Mask = NDArray[np.bool_]
Labels = NDArray[np.uint8]
Vector = NDArray[np.float64]


@dataclass
class Patient:
    """A smoothed scan on canonical axes, its body, and where its voxels lie from the spine."""

    hu: Image
    calm: Image  # smoothed more, for the density inside organs
    spacing_mm: Vector
    body: Mask
    x: Image  # mm to the right of the spine
    y: Image  # mm in front of it


def main() -> None:
    """Read the request and the first scan, segment it, write the label map on the same grid."""
    request = json.loads((INPUT / "request.json").read_text())
    stored = nibabel.Nifti1Image.from_filename(INPUT / request["scans"][0]["file"])
    canonical = nibabel.as_closest_canonical(stored)
    spacing_mm = np.sqrt((canonical.affine[:3, :3] ** 2).sum(axis=0))
    factor = np.maximum(np.rint(WORKING_MM / spacing_mm), 1).astype(int)
    hu = shrunk(canonical.get_fdata(dtype=np.float32), factor)
    labels = grown(segment(hu, spacing_mm * factor), factor, canonical.shape)
    print({name: int((labels == number).sum()) for name, number in LABELS.items()})
    labels = nibabel.apply_orientation(labels, way_back(stored.affine))
    answer = nibabel.Nifti1Image(np.ascontiguousarray(labels), stored.affine)
    nibabel.save(answer, OUTPUT / "segmentation.nii.gz")


def way_back(affine: Vector) -> Vector:
    """Orientation change from canonical axes to those a scan is stored in."""
    canonical = np.array([[0, 1], [1, 1], [2, 1]])
    stored = nibabel.io_orientation(affine)
    return np.asarray(nibabel.orientations.ornt_transform(canonical, stored))


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
    """Label map of a scan on canonical axes."""
    patient = examine(hu, spacing_mm)
    labels = np.zeros(hu.shape, np.uint8)
    lungs = find_lungs(patient)
    labels[lungs & (patient.x < 0)] = LABELS["lung_left"]
    labels[lungs & (patient.x >= 0)] = LABELS["lung_right"]
    vertebrae = find_vertebrae(patient)
    labels[vertebrae] = LABELS["vertebrae"]
    labels[find_aorta(patient, vertebrae)] = LABELS["aorta"]
    inner = inside_wall(patient, lungs) & (labels == 0)
    liver_hu = liver_density(patient, inner)
    for name, side in (("kidney_left", -1), ("kidney_right", 1)):
        labels[find_kidney(patient, inner, side=side, liver_hu=liver_hu)] = LABELS[name]
    inner &= labels == 0
    liver = find_liver(patient, inner, lungs, liver_hu)
    labels[liver & (labels == 0)] = LABELS["liver"]
    spleen = find_spleen(patient, inner & ~liver, liver_hu)
    labels[spleen & (labels == 0)] = LABELS["spleen"]
    return labels


def examine(hu: Image, spacing_mm: Vector) -> Patient:
    """Smooth the scan, find the body, and measure positions from the spine."""
    smooth = ndimage.gaussian_filter(hu, 1.6 / spacing_mm)
    calm = ndimage.gaussian_filter(smooth, np.maximum(2.5 / spacing_mm, 0.8))
    body = filled(largest(opened(smooth > -300, spacing_mm, 6)))
    x, y = find_spine((smooth > 170) & body, body, spacing_mm)
    i, j = np.ogrid[: hu.shape[0], : hu.shape[1]]
    from_x = i[:, :, None] * spacing_mm[0] - x
    from_y = j[:, :, None] * spacing_mm[1] - y
    return Patient(
        smooth, calm, spacing_mm, body, from_x.astype(np.float32), from_y.astype(np.float32)
    )


def find_spine(bone: Mask, body: Mask, spacing_mm: Vector) -> tuple[Vector, Vector]:
    """Mean position in mm of the bone near the middle of the back, smooth from slice to slice."""
    across, deep = np.nonzero(body.any(axis=2))
    if not across.size:
        across, deep = (np.array([n / 2]) for n in body.shape[:2])
    i, j = np.ogrid[: bone.shape[0], : bone.shape[1]]
    from_back_mm = (j - np.quantile(deep, 0.02)) * spacing_mm[1]
    near = (np.abs(i - across.mean()) * spacing_mm[0] < 45) & (np.abs(from_back_mm - 60) < 50)
    bone = bone & near[:, :, None]

    def smoothed(values: Mask | NDArray[np.int_]) -> Vector:
        along = values.sum(axis=(0, 1)).astype(float)
        return ndimage.gaussian_filter1d(along, 30 / spacing_mm[2])

    count = smoothed(bone)
    x, y = (
        np.where(count > 1, smoothed(bone * at[:, :, None]) / np.maximum(count, 1), otherwise)
        for at, otherwise in ((i, across.mean()), (j, deep.mean()))
    )
    return x * spacing_mm[0], y * spacing_mm[1]


def find_lungs(patient: Patient) -> Mask:
    """Wide pieces of air inside the body, not as empty as gas in the bowel, with their vessels."""
    air = (patient.hu < -450) & patient.body
    depth_mm = ndimage.distance_transform_edt(air, sampling=patient.spacing_mm)
    pieces, count = ndimage.label(air)
    lungs = np.zeros_like(air)
    for number in range(1, count + 1):
        core = (pieces == number) & (depth_mm > 8)
        if depth_mm[core].max(initial=0) > 10 and -905 < np.median(patient.calm[core]) < -600:
            lungs |= pieces == number
    return closed(lungs, patient.spacing_mm, 6) & patient.body


def find_vertebrae(patient: Patient) -> Mask:
    """Bone around the midline, with the spongy bone that it encloses, without the canal."""
    near = (np.abs(patient.x) < 38) & (patient.y < 42) & (patient.y > -75)
    tall = patient.spacing_mm * (1, 1, 0.25)  # an opening in this metric keeps upright tubes
    blood = within(opened((patient.hu > 230) & (patient.y > 10), tall, 5), tall, 6)
    dense_hu = 172 if has_contrast(patient) else 125
    bone = closed((patient.hu > dense_hu) & near & ~blood, patient.spacing_mm, 5)
    bone = filled(bone) & near & (patient.calm > 85)
    pieces, _ = ndimage.label(bone)
    large = np.bincount(pieces.ravel()) * np.prod(patient.spacing_mm) > 3000
    return large[pieces] & (pieces > 0)


def has_contrast(patient: Patient) -> bool:
    """Whether there is tissue beside the spine as bright as a kidney with contrast agent."""
    aside = np.abs(patient.x)
    near = (aside > 35) & (aside < 85) & (patient.y > -5) & (patient.y < 50)
    return volume_ml(opened(near & (patient.calm > 95), patient.spacing_mm, 6), patient) > 20


def front_of(vertebrae: Mask, patient: Patient) -> Image:
    """Where in each slice the vertebral bodies end in front, smooth along the body."""
    middle = vertebrae & (np.abs(patient.x) < 12)
    ends = np.where(middle, patient.y, -np.inf).max(axis=(0, 1))
    seen = np.isfinite(ends)
    if not seen.any():
        return np.full((1, 1, vertebrae.shape[2]), 20, np.float32)
    ends = np.interp(np.arange(ends.size), np.nonzero(seen)[0], ends[seen])
    around = max(int(40 / patient.spacing_mm[2]), 1)
    return ndimage.median_filter(ends, around, mode="nearest").astype(np.float32)[None, None, :]


def find_aorta(patient: Patient, vertebrae: Mask) -> Mask:
    """In each slice the largest disc of blood in front of the spine, a little to the left."""
    blood = (patient.hu > 0) & ~within(vertebrae, patient.spacing_mm, 2)
    ahead = patient.y - front_of(vertebrae, patient)
    near = (np.abs(patient.x + 9) < 40) & (ahead > -16) & (ahead < 50)
    bright = np.clip(patient.calm, 20, 300)
    prior = np.exp(-(((patient.x + 9) / 11) ** 2) - ((ahead - 12) / 12) ** 2)
    aorta = np.zeros(blood.shape, bool)
    radius = np.zeros(blood.shape, np.float32)
    for k in range(blood.shape[2]):
        radius[:, :, k] = ndimage.distance_transform_edt(blood[:, :, k], patient.spacing_mm[:2])
    score = np.clip(radius, 0, 16) * bright * prior * near
    score = ndimage.gaussian_filter1d(score, 10 / patient.spacing_mm[2], axis=2)
    for k in range(blood.shape[2]):
        i, j = np.unravel_index(score[:, :, k].argmax(), score.shape[:2])
        from_here = np.hypot(
            patient.x[:, :, k] - patient.x[i, 0, k], patient.y[:, :, k] - patient.y[0, j, k]
        )
        centre_hu = np.median(patient.hu[:, :, k][from_here < 1.6 * patient.spacing_mm[0]])
        reach = radius[i, j, k] + 2 + 0.5 * patient.spacing_mm[0]
        aorta[:, :, k] = (from_here < reach) & (patient.hu[:, :, k] > (centre_hu - 100) / 2)
    return largest(aorta & ~vertebrae)


def inside_wall(patient: Patient, lungs: Mask) -> Mask:
    """The body without the fat under its skin, the muscles of its wall, and the ribs."""
    lean = ((patient.calm > -45) | lungs) & patient.body
    trunk = filled(closed(opened(lean, patient.spacing_mm, 3), patient.spacing_mm, 10))
    outer = ~away_from_edge(trunk, patient.spacing_mm, 36)
    ribs = closed((patient.hu > 230) & outer, patient.spacing_mm, 5)
    return away_from_edge(trunk & ~within(ribs, patient.spacing_mm, 4), patient.spacing_mm, 13)


def find_kidney(patient: Patient, inner: Mask, *, side: int, liver_hu: float) -> Mask:
    """A compact piece of tissue beside the spine, of kidney size, often brighter than the rest."""
    out = patient.x * side
    near = (out > 24) & (out < 100) & (patient.y > -14) & (patient.y < 62) & inner
    native_hu = liver_hu - 10 if liver_hu > 40 else 50  # above a kidney without contrast agent
    tissue = near & (patient.calm > 0) & (patient.calm < native_hu)
    bright = near & (patient.hu > max(liver_hu, 55) + 24)
    if volume_ml(opened(bright, patient.spacing_mm, 4), patient) > 25:
        tissue = bright
    pieces = opened(tissue, patient.spacing_mm, 6)
    kidney = likeliest(pieces, patient, at_mm=(62 * side, 24), size_ml=(20, 420))
    return grown_back(kidney, patient, 5)


def likeliest(
    pieces: Mask, patient: Patient, *, at_mm: tuple[float, float], size_ml: tuple[float, float]
) -> Mask:
    """The piece whose size and place beside the spine fit best; none where none fits."""
    numbered, _ = ndimage.label(pieces)
    best, best_score = np.zeros_like(pieces), 0.0
    for number, box in enumerate(ndimage.find_objects(numbered), 1):
        piece = numbered[box] == number
        size = volume_ml(piece, patient)
        x, y = (
            float(np.broadcast_to(p, pieces.shape)[box][piece].mean())
            for p in (patient.x, patient.y)
        )
        score = min(size, 160) * np.exp(-(((x - at_mm[0]) / 22) ** 2) - ((y - at_mm[1]) / 24) ** 2)
        if size_ml[0] < size < size_ml[1] and score > best_score:
            best, best_score = numbered == number, score
    return best


def find_liver(patient: Patient, inner: Mask, lungs: Mask, liver_hu: float) -> Mask:
    """The largest piece of even density on the right."""
    air = lungs.sum(axis=(0, 1)) / np.maximum(patient.body.sum(axis=(0, 1)), 1)
    left_end_mm = np.where(air > 0.35, 25, -75)  # beside wide lungs lies the heart, not the liver
    even = inner & (patient.x > left_end_mm) & (np.abs(patient.calm - liver_hu) < 24)
    return grown_back(largest(opened(even, patient.spacing_mm, 6)), patient, 9)


def find_spleen(patient: Patient, inner: Mask, liver_hu: float) -> Mask:
    """An even piece at the left side and to the back, about as dense as the liver or denser."""
    place = inner & (patient.x < -60) & (patient.y < 85) & (patient.y > -8)
    tissue = place & (patient.calm > max(min(liver_hu, 60) - 20, 30)) & (patient.calm < 220)
    lateral = opened(tissue & (patient.x < -72) & (patient.y > 12), patient.spacing_mm, 7)
    spleen_hu = typical(patient.calm[lateral])
    even = tissue & (np.abs(patient.calm - spleen_hu) < 30)
    pieces = opened(even, patient.spacing_mm, 5)
    spleen = likeliest(pieces, patient, at_mm=(-95, 44), size_ml=(12, 600))
    return grown_back(spleen, patient, 9)


def grown_back(core: Mask, patient: Patient, distance_mm: float) -> Mask:
    """Take back the rim of an organ of which only the core was sure, with gaps and vessels."""
    if not core.any():
        return core
    density = float(np.median(patient.hu[core]))
    spread = max(float(np.median(np.abs(patient.hu[core] - density))) * 3.5, 26)
    least_hu, most_hu = max(density - spread, (density - 100) / 2), density + 1.6 * spread
    alike = (patient.hu > least_hu) & (patient.hu < most_hu)
    rim = opened(within(core, patient.spacing_mm, distance_mm) & alike, patient.spacing_mm, 3)
    return closed(largest(rim | core), patient.spacing_mm, 5) & (patient.hu > -40)


def liver_density(patient: Patient, inner: Mask) -> float:
    """Typical density of what is thick on the right."""
    tissue = inner & (patient.hu > 0) & (patient.hu < 220) & (patient.x > 30) & (patient.y > -10)
    return typical(patient.calm[opened(tissue, patient.spacing_mm, 16)])


def typical(values: Image) -> float:
    """The commonest density, of bins smoothed over 15 HU."""
    if not values.size:
        return 0.0
    counts, edges = np.histogram(values, bins=np.arange(0, 221, 3))
    return float(edges[ndimage.gaussian_filter1d(counts.astype(float), 2.5).argmax()] + 1.5)


def volume_ml(mask: Mask, patient: Patient) -> float:
    """Volume of a mask."""
    return float(mask.sum() * np.prod(patient.spacing_mm) / 1000)


def filled(mask: Mask) -> Mask:
    """With what it encloses in each slice."""
    return np.stack([ndimage.binary_fill_holes(part) for part in np.moveaxis(mask, 2, 0)], axis=2)


def largest(mask: Mask) -> Mask:
    """The largest connected piece."""
    pieces, count = ndimage.label(mask)
    if not count:
        return mask
    return np.asarray(pieces == np.bincount(pieces.ravel())[1:].argmax() + 1)


def away_from_edge(mask: Mask, spacing_mm: Vector, distance_mm: float) -> Mask:
    """What of a mask is further from its edge than a distance; the border of the scan is none."""
    box, out = box_around(mask, spacing_mm, 0), np.zeros_like(mask)
    if box is not None:
        padded = np.pad(mask[box], 1, mode="edge")
        depth_mm = ndimage.distance_transform_edt(padded, sampling=spacing_mm)
        out[box] = depth_mm[1:-1, 1:-1, 1:-1] > distance_mm
    return out


def within(mask: Mask, spacing_mm: Vector, distance_mm: float) -> Mask:
    """Everything nearer to a mask than a distance."""
    box, out = box_around(mask, spacing_mm, distance_mm), np.zeros_like(mask)
    if box is not None:
        away_mm = ndimage.distance_transform_edt(~mask[box], sampling=spacing_mm)
        out[box] = away_mm <= distance_mm
    return out


def box_around(mask: Mask, spacing_mm: Vector, margin_mm: float) -> tuple[slice, ...] | None:
    """The part of the scan that holds a mask, so that no time is spent on the rest."""
    found = ndimage.find_objects(mask.view(np.uint8))
    if not found:
        return None
    margins = np.ceil(margin_mm / spacing_mm).astype(int) + 1
    return tuple(
        slice(max(part.start - margin, 0), part.stop + margin)
        for part, margin in zip(found[0], margins, strict=True)
    )


def opened(mask: Mask, spacing_mm: Vector, radius_mm: float) -> Mask:
    """Without what a ball does not fit into."""
    return within(away_from_edge(mask, spacing_mm, radius_mm), spacing_mm, radius_mm) & mask


def closed(mask: Mask, spacing_mm: Vector, radius_mm: float) -> Mask:
    """With the gaps that a ball does not fit into."""
    return away_from_edge(within(mask, spacing_mm, radius_mm), spacing_mm, radius_mm) | mask


if __name__ == "__main__":
    main()
