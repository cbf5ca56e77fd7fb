"""One method's turn on one pair of label maps, in a process of its own.

``python methods.py METHOD FOLDER`` loads ``reference.npy`` and ``prediction.npy`` from the folder,
times one call over all labels, and prints seconds, peak memory and metrics as one line of JSON.
Each peer is called as its own documentation shows; the metrics are those of the default call of
segtrial that the peer has, too.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

LabelMap = NDArray[np.integer]
Mask = NDArray[np.bool_]
MaskPair = tuple[Mask, Mask]
Found = dict[str, dict[str, float]]

TOLERANCE_MM = 2.0
SLACK = 1 + 1e-9  # as segtrial has it, so that ties do not make exact methods differ


def segtrial(
    reference: LabelMap,
    prediction: LabelMap,
    spacing_mm: list[float],
    labels: list[int],
    *,
    threads: int | None = None,
) -> Found:
    """Every metric of every label, in one call."""
    from segtrial.metrics import evaluate_label_maps  # noqa: PLC0415 - each method needs its own

    found = evaluate_label_maps(
        reference,
        prediction,
        spacing_mm=spacing_mm,
        structures={str(label): label for label in labels},
        threads=threads,
    )
    return {
        name: {key: value for key, value in record.values.items() if value is not None}
        for name, record in found.items()
    }


def surface_distance(masks: MaskPair, spacing_mm: list[float]) -> dict[str, float]:
    """DeepMind's surface-distance: distances on the voxel grid."""
    import surface_distance as peer  # noqa: PLC0415

    reference, prediction = masks
    distances = peer.compute_surface_distances(reference, prediction, spacing_mm)
    there, back = peer.compute_average_surface_distance(distances)
    return {
        "dice": float(peer.compute_dice_coefficient(reference, prediction)),
        "hd": float(peer.compute_robust_hausdorff(distances, 100)),
        "hd95": float(peer.compute_robust_hausdorff(distances, 95)),
        "masd": float((there + back) / 2),
        "nsd": float(peer.compute_surface_dice_at_tolerance(distances, TOLERANCE_MM)),
    }


def igl(masks: MaskPair, spacing_mm: list[float]) -> dict[str, float]:
    """scikit-image's marching cubes and libigl's point-to-mesh distance: exact."""
    import igl as peer  # noqa: PLC0415
    from skimage.measure import marching_cubes  # noqa: PLC0415

    reference, prediction = cropped(masks)
    meshes = []
    for mask in (reference, prediction):
        padded = np.pad(mask, 1).astype(np.float32)
        vertices, faces, _, _ = marching_cubes(padded, 0.5, spacing=tuple(spacing_mm))
        meshes.append((np.ascontiguousarray(vertices, dtype=np.float64), faces.astype(np.int64)))
    distances, areas = [], []
    for (vertices, faces), other in zip(meshes, reversed(meshes), strict=True):
        corners = vertices[faces]
        squares = peer.point_mesh_squared_distance(corners.mean(axis=1), *other)[0]
        distances.append(np.sqrt(squares))
        edges = corners[:, 1:] - corners[:, :1]
        areas.append(np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1) / 2)
    both = int(np.count_nonzero(reference & prediction))
    total = int(np.count_nonzero(reference)) + int(np.count_nonzero(prediction))
    near = sum(
        float(a[d <= TOLERANCE_MM * SLACK].sum()) for d, a in zip(distances, areas, strict=True)
    )
    sums = [float(a @ d) for d, a in zip(distances, areas, strict=True)]
    sizes = [float(a.sum()) for a in areas]
    return {
        "dice": 2 * both / total,
        "iou": both / (total - both),
        "hd": float(max(d.max() for d in distances)),
        "hd95": max(lower_quantile(d, a) for d, a in zip(distances, areas, strict=True)),
        "hd95_pooled": lower_quantile(np.concatenate(distances), np.concatenate(areas)),
        "assd": sum(sums) / sum(sizes),
        "masd": (sums[0] / sizes[0] + sums[1] / sizes[1]) / 2,
        "nsd": near / sum(sizes),
    }


def lower_quantile(distances: NDArray[np.float64], areas: NDArray[np.float64]) -> float:
    """Weighted 95th percentile, with the slack of segtrial."""
    order = np.argsort(distances)
    cumulative = np.cumsum(areas[order])
    return float(distances[order][np.searchsorted(cumulative, 0.95 * cumulative[-1] / SLACK)])


def segauge(masks: MaskPair, spacing_mm: list[float]) -> dict[str, float]:
    """The earlier benchmark segauge; its hd95 is pooled."""
    import segauge as peer  # noqa: PLC0415

    reference, prediction = masks
    found = peer.surface_metrics(prediction, reference, tuple(spacing_mm), TOLERANCE_MM)
    found["hd95_pooled"] = found.pop("hd95")
    overlap = {"dice": peer.dice(prediction, reference), "iou": peer.iou(prediction, reference)}
    return {key: float(value) for key, value in (found | overlap).items()}


def monai(masks: MaskPair, spacing_mm: list[float]) -> dict[str, float]:
    """MONAI's metrics, as a training loop calls them: voxel edges, unweighted."""
    import torch  # noqa: PLC0415
    from monai import metrics as peer  # noqa: PLC0415

    reference, prediction = (torch.from_numpy(np.ascontiguousarray(m))[None, None] for m in masks)
    spacing = list(spacing_mm)
    known = {"include_background": True, "spacing": spacing}
    found = {
        "dice": peer.compute_dice(prediction, reference),
        "iou": peer.compute_iou(prediction, reference),
        "hd": peer.compute_hausdorff_distance(prediction, reference, **known),
        "hd95": peer.compute_hausdorff_distance(prediction, reference, percentile=95, **known),
        "assd": peer.compute_average_surface_distance(
            prediction, reference, symmetric=True, **known
        ),
        "nsd": peer.compute_surface_dice(prediction, reference, [TOLERANCE_MM], **known),
    }
    return {key: float(value) for key, value in found.items()}


MaskMethod = Callable[[MaskPair, list[float]], dict[str, float]]
MASK_METHODS: dict[str, MaskMethod] = {
    "surface-distance": surface_distance,
    "igl": igl,
    "segauge": segauge,
    "monai": monai,
}
WHOLE_METHODS = {"segtrial": segtrial, "segtrial, 1 thread": partial(segtrial, threads=1)}
PRE_CROPPED = ", pre-cropped"


def labels_of(label_map: LabelMap) -> list[int]:
    """Labels 1 to the largest; the pairs of this benchmark have no gaps."""
    return list(range(1, int(label_map.max()) + 1))


def mask_pairs(
    reference: LabelMap, prediction: LabelMap, labels: list[int]
) -> Iterator[tuple[str, MaskPair]]:
    """The masks of each label, whole."""
    for label in labels:
        yield str(label), (reference == label, prediction == label)


def cropped(masks: MaskPair) -> MaskPair:
    """Both masks in the smallest box that holds them, and one voxel around it."""
    box = []
    either = masks[0] | masks[1]
    for axis in range(either.ndim):
        filled = np.flatnonzero(either.any(axis=tuple(a for a in range(either.ndim) if a != axis)))
        box.append(slice(max(filled[0] - 1, 0), filled[-1] + 2))
    return masks[0][tuple(box)].copy(), masks[1][tuple(box)].copy()


def run(
    method: str, reference: LabelMap, prediction: LabelMap, spacing: list[float]
) -> tuple[float, Found]:
    """Seconds of the method alone, and what it found. Every method is told the labels."""
    labels = labels_of(reference)
    if method in WHOLE_METHODS:
        started = time.perf_counter()
        found = WHOLE_METHODS[method](reference, prediction, spacing, labels)
        return time.perf_counter() - started, found
    function = MASK_METHODS[method.removesuffix(PRE_CROPPED)]
    if method.endswith(PRE_CROPPED):
        # Making the masks is not charged to the peer.
        ready = [(name, cropped(pair)) for name, pair in mask_pairs(reference, prediction, labels)]
        started = time.perf_counter()
        found = {name: function(pair, spacing) for name, pair in ready}
    else:
        started = time.perf_counter()
        found = {
            name: function(pair, spacing)
            for name, pair in mask_pairs(reference, prediction, labels)
        }
    return time.perf_counter() - started, found


class PeakMemory:
    """Peak of this process's resident memory from here on, by the kernel's own count (Linux)."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")  # the peak is what it is now
        self._before_kib = self._peak_kib()

    @staticmethod
    def _peak_kib() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        (line,) = [line for line in lines if line.startswith("VmHWM:")]
        return int(line.split()[1])

    def above_mib(self) -> float:
        """How far the peak rose since."""
        return (self._peak_kib() - self._before_kib) / 1024


def warm_up(method: str) -> None:
    """Import what the method needs: imports are no part of the time, except in whole processes."""
    tiny = np.zeros((4, 4, 4), np.uint8)
    tiny[1:3, 1:3, 1:3] = 1
    run(method, tiny, tiny, [1.0, 1.0, 1.0])


def main() -> None:
    """Take one turn."""
    method, folder = sys.argv[1], Path(sys.argv[2])
    reference, prediction = np.load(folder / "reference.npy"), np.load(folder / "prediction.npy")
    spacing = json.loads((folder / "spacing.json").read_text())
    warm_up(method)
    memory = PeakMemory()
    cpu_started = time.process_time()
    seconds, found = run(method, reference, prediction, spacing)
    result = {
        "seconds": seconds,
        "cpu_seconds": time.process_time() - cpu_started,
        "above_mib": memory.above_mib(),
        "found": found,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
