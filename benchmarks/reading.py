"""How fast a pair of label maps is read, and a scan staged, beside nibabel.

Run ``python benchmarks/reading.py``. Prints medians of interleaved rounds, and peak memory by
tracemalloc (which counts numpy's arrays). Files lie in a temporary folder, in the page cache.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
import time
import tracemalloc
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import nibabel
import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from segtrial.scans import (
    Grid,
    label_map_digest,
    read_label_map,
    read_pair,
    read_prediction,
    scan_digest,
    stage_scan,
)

SHAPE = (512, 512, 220)
SPACING_MM = (0.78, 0.78, 2.5)
LABELS = 15
ROUNDS = 7
MAX_BYTES = 1 << 30
GZIP = 31
GRID = Grid(SHAPE, np.diag([*SPACING_MM, 1.0]))


def label_map(seed: int) -> NDArray[np.uint8]:
    """Fifteen overlapping ellipsoids."""
    random = np.random.default_rng(seed)
    x, y, z = np.ogrid[-1:1:512j, -1:1:512j, -1:1:220j]
    labels = np.zeros(SHAPE, np.uint8, order="F")
    for label in range(1, LABELS + 1):
        centre, radius = random.uniform(-0.6, 0.6, 3), random.uniform(0.1, 0.4, 3)
        inside = sum(((p - c) / r) ** 2 for p, c, r in zip((x, y, z), centre, radius, strict=True))
        labels[inside < 1] = label
    return labels


def ct(labels: NDArray[np.uint8]) -> NDArray[np.int16]:
    """Hounsfield units with noise, as hard to compress as a real scan."""
    noise = np.random.default_rng(0).normal(0, 12, SHAPE)
    hu = np.where(labels > 0, 20 + 9 * labels.astype(np.float64), -1000)
    return np.asfortranarray((hu + np.where(labels > 0, noise, noise / 4)).astype(np.int16))


def save(path: Path, voxels: NDArray[np.generic], level: int) -> Path:
    """Write a NIfTI file at a level of compression."""
    affine = np.diag([*SPACING_MM, 1.0])
    plain = path.with_name("plain.nii")
    nibabel.save(nibabel.Nifti1Image(voxels, affine, dtype=voxels.dtype), plain)
    if level:
        with plain.open("rb") as source, gzip.open(path, "wb", compresslevel=level) as target:
            shutil.copyfileobj(source, target, 1 << 20)
    else:
        shutil.copy(plain, path)
    plain.unlink()
    return path


def measured(ways: dict[str, Callable[[], object]]) -> None:
    """Print the median time and the peak memory of each way, rounds interleaved."""
    print("| | ms | range | peak MiB |\n|---|---|---|---|")
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            begin = time.perf_counter()
            way()
            times[name].append(1000 * (time.perf_counter() - begin))
    for name, way in ways.items():
        tracemalloc.start()
        way()
        peak_mib = tracemalloc.get_traced_memory()[1] / (1 << 20)
        tracemalloc.stop()
        low, high = min(times[name]), max(times[name])
        median = float(np.median(times[name]))
        print(f"| {name} | {median:.0f} | {low:.0f}-{high:.0f} | {peak_mib:.0f} |")


def by_nibabel(path: Path) -> NDArray[np.generic]:
    """All voxels, as most evaluation code reads them."""
    return np.asanyarray(nibabel.Nifti1Image.from_filename(path).dataobj)


def pair_by_nibabel(one: Path, other: Path) -> list[NDArray[np.generic]]:
    """Both volumes, in two threads."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(by_nibabel, (one, other)))


def reading(folder: Path) -> None:
    """One label map and a pair, by type and level."""
    reference, prediction = label_map(1), label_map(2)
    for title, dtype, level in (
        ("uint8, .nii.gz level 6", np.uint8, 6),
        ("uint8, .nii.gz level 1", np.uint8, 1),
        ("int64, .nii.gz level 6", np.int64, 6),
        ("uint8, .nii", np.uint8, 0),
    ):
        suffix = "nii.gz" if level else "nii"
        one = save(folder / f"one.{suffix}", reference.astype(dtype), level)
        other = save(folder / f"other.{suffix}", prediction.astype(dtype), level)
        print(f"\n{title} ({one.stat().st_size // 1024} KiB)\n")
        measured(ways_to_read_one(one) | (ways_to_read_both(one, other) if level else {}))


def ways_to_read_one(path: Path) -> dict[str, Callable[[], object]]:
    """A reference by itself."""
    read = read_label_map(path)
    return {
        "nibabel, one": lambda: by_nibabel(path),
        "read_label_map": lambda: read_label_map(path),
        "digest of a label map": lambda: label_map_digest(read),
    }


def ways_to_read_both(one: Path, other: Path) -> dict[str, Callable[[], object]]:
    """A prediction by itself, and with its reference."""
    allowed = frozenset(range(1, LABELS + 1))

    def prediction(allowed_labels: frozenset[int]) -> object:
        return read_prediction(other, grid=GRID, allowed_labels=allowed_labels, max_bytes=MAX_BYTES)

    def pair() -> object:
        return read_pair(one, other, grid=GRID, allowed_labels=allowed, max_bytes=MAX_BYTES)

    return {
        "read_prediction": lambda: prediction(allowed),
        "read_prediction, ids with gaps": lambda: prediction(allowed | {200}),
        "nibabel, both, two threads": lambda: pair_by_nibabel(one, other),
        "read_pair": pair,
    }


def staging(folder: Path) -> None:
    """A scan, from one file to a neutral one."""
    scan = save(folder / "scan.nii.gz", ct(label_map(1)), 6)
    staged = folder / "staged.nii.gz"
    stage_scan(scan, staged)
    print(
        f"\nint16 scan, level 6 ({scan.stat().st_size >> 20} MiB, staged "
        f"{staged.stat().st_size >> 20} MiB)\n"
    )

    def anew() -> None:
        bare = nibabel.Nifti1Image(by_nibabel(scan), GRID.affine)
        nibabel.save(bare, folder / "anew.nii.gz")

    measured(
        {
            "nibabel load and save": anew,
            "stage_scan, digest included": lambda: stage_scan(scan, staged),
            "scan_digest": lambda: scan_digest(scan),
        }
    )


def packing() -> None:
    """The compressor under both, beside the standard library's."""
    raw = ct(label_map(1)).tobytes(order="F")
    packed = zlib.compress(raw, 6, wbits=GZIP)
    print(f"\ndeflate and inflate of that scan's {len(raw) >> 20} MiB\n")

    def deflate(module: ModuleType) -> object:
        packer = module.compressobj(level=1, wbits=GZIP)
        return packer.compress(raw) + packer.flush()

    def inflate(module: ModuleType) -> object:
        return module.decompressobj(wbits=GZIP).decompress(packed, len(raw))

    measured(
        {
            "zlib, deflate, level 1": lambda: deflate(zlib),
            "isal, deflate, level 1": lambda: deflate(isal_zlib),
            "zlib, inflate": lambda: inflate(zlib),
            "isal, inflate": lambda: inflate(isal_zlib),
        }
    )


def main() -> None:
    """Run all parts."""
    with tempfile.TemporaryDirectory() as folder:
        reading(Path(folder))
        staging(Path(folder))
    packing()


if __name__ == "__main__":
    main()
