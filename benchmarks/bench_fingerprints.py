"""How often fingerprints find a copy, and how often they claim one that is none.

Every scan of the phantom (and any further scans that are named) is changed in the ways in which
copies differ between datasets; each copy is looked for among all originals. A copy that is not
found is a false negative, any other pair that is claimed a false positive.

    python benchmarks/bench_fingerprints.py [SCAN.nii.gz ...]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from segtrial.datasets.fingerprint import Fingerprint, fingerprint_of
from segtrial.datasets.overlap import MAX_DISTANCE, distance, overlap
from segtrial.datasets.phantom import case_table, generate
from segtrial.scans import read_scan

Volume = NDArray[np.generic]
Affine = NDArray[np.float64]
LOST = np.eye(4)


def upright(volume: Volume, affine: Affine) -> Volume:
    """Axes ordered right, front, head: the slices are the last axis."""
    order = [int(np.argmax(np.abs(affine[world, :3]))) for world in range(3)]
    moved = np.transpose(volume, order)
    flips = [slice(None, None, -1 if affine[w, a] < 0 else 1) for w, a in enumerate(order)]
    return moved[tuple(flips)]


def cut(share: float, where: float) -> Callable[[Volume], tuple[Volume, Affine]]:
    """Keep a share of the slices."""

    def cut_(volume: Volume) -> tuple[Volume, Affine]:
        kept = max(8, round(volume.shape[2] * share))
        start = round((volume.shape[2] - kept) * where)
        return volume[:, :, start : start + kept], LOST

    return cut_


def clip(low: int, high: int) -> Callable[[Volume], tuple[Volume, Affine]]:
    """Keep a window of intensities."""
    return lambda volume: (np.clip(volume, low, high), LOST)


def to_bytes(volume: Volume) -> tuple[Volume, Affine]:
    """A soft-tissue window as grey values."""
    grey = (np.clip(volume.astype(np.float64), -160, 240) + 160) * 255 / 400
    return np.rint(grey).astype(np.uint8), LOST


def noisy(volume: Volume) -> tuple[Volume, Affine]:
    """Lossy compression, roughly: an error of 5 HU."""
    error = np.random.default_rng(0).normal(scale=5, size=volume.shape)
    return volume.astype(np.float64) + error, LOST


VARIANTS: dict[str, Callable[[Volume], tuple[Volume, Affine]]] = {
    "same voxels": lambda v: (v.copy(), LOST),
    "flipped, header lost": lambda v: (v[::-1, :, ::-1], LOST),
    "turned, header lost": lambda v: (np.rot90(v), LOST),
    "transposed, header kept": lambda v: (v.transpose(2, 0, 1), np.eye(4)[:, [2, 0, 1, 3]]),
    "float, rescaled": lambda v: (v.astype(np.float32) * 0.37 + 3, LOST),
    "70 % of the slices": cut(0.7, 0.0),
    "40 % of the slices": cut(0.4, 0.5),
    "clipped [-1000, 1000]": clip(-1000, 1000),
    "clipped [-200, 300]": clip(-200, 300),
    "clipped [-160, 240]": clip(-160, 240),
    "clipped [-100, 200]": clip(-100, 200),
    "clipped [0, 200]": clip(0, 200),
    "window as bytes": to_bytes,
    "error of 5 HU": noisy,
    "clipped, cut and flipped": lambda v: (cut(0.5, 0.7)(np.clip(v, -200, 300)[::-1])[0], LOST),
}


def originals(paths: list[str]) -> dict[str, Volume]:
    """Upright volumes: the phantom's and those of the files named."""
    with ProcessPoolExecutor() as pool:
        rows = case_table()
        made = pool.map(generate, [row.case for row in rows])
        found = {r.case: upright(m.scan, m.affine) for r, m in zip(rows, made, strict=True)}
    for path in paths:
        scan = read_scan(path)
        found[Path(path).name] = upright(scan.voxels, scan.grid.affine)
    return found


def main() -> None:
    """Print rates and times."""
    volumes = originals(sys.argv[1:])
    started = time.perf_counter()
    marks = {name: fingerprint_of(volume, LOST) for name, volume in volumes.items()}
    each_s = (time.perf_counter() - started) / len(marks)
    slices = sum(volume.shape[2] for volume in volumes.values())
    print(
        f"{len(marks)} scans, {slices} slices, {each_s * 1000:.0f} ms each, {os.cpu_count()} CPUs"
    )
    lost = claimed = copies = 0
    for name, change in VARIANTS.items():
        copied = {case: fingerprint_of(*change(volume)) for case, volume in volumes.items()}
        lost_here, wrong_here, worst = rates(copied, marks)
        print(f"{name:<26} missed {lost_here:>2} of {len(copied)}, worst distance {worst:.3f}")
        lost, claimed, copies = lost + lost_here, claimed + wrong_here, copies + len(copied)
    others = copies * (len(marks) - 1)
    print(f"false negatives {lost} of {copies}; false positives {claimed} of {others} pairs")
    between(marks)


def rates(copied: dict[str, Fingerprint], marks: dict[str, Fingerprint]) -> tuple[int, int, float]:
    """Copies that were missed, other pairs that were claimed, and the largest distance."""
    found = {(same.one, same.other) for same in overlap(copied, marks)}
    missed = sum((case, case) not in found for case in copied)
    wrong = sum(one != other for one, other in found)
    worst = max(distance(mark, marks[case]) for case, mark in copied.items())
    return missed, wrong, worst


def between(marks: dict[str, Fingerprint]) -> None:
    """How far apart different scans are: of other patients, and of one patient at two times."""
    patients = {row.case: row.patient for row in case_table()}
    apart: dict[bool, list[float]] = {True: [], False: []}
    for one, other in combinations(marks, 2):
        same = one in patients and patients[one] == patients.get(other)
        apart[same].append(distance(marks[one], marks[other]))
    for same, words in ((False, "other patients"), (True, "one patient, another scan")):
        if apart[same]:
            low, middle = min(apart[same]), float(np.median(apart[same]))
            print(
                f"{words}: {len(apart[same])} pairs, smallest distance {low:.3f}, "
                f"median {middle:.3f} (limit {MAX_DISTANCE})"
            )


if __name__ == "__main__":
    main()
