"""Fails in a way that depends on the scan, and answers a third of the cases with an empty map.

For seeing that every failure is named, counted, and never a score of its own making. What it does
follows from a hash of the voxels, so it does the same in every run.
"""

import hashlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import nibabel
import numpy as np

INPUT = Path("/input")
OUTPUT = Path("/output")
ANSWER = "segmentation.nii.gz"
UNDECLARED = 99
CUT_OFF_AT = 0.6
LARGEST_LIMIT_MIB = 4096
"""Memory is filled only up to a limit of at most this: a host without one shall not suffer."""


def main() -> None:
    """Choose what to do from the voxels of the first scan, and do it."""
    request = json.loads((INPUT / "request.json").read_text())
    scan = nibabel.Nifti1Image.from_filename(INPUT / request["scans"][0]["file"])
    voxels = np.asarray(scan.dataobj)
    deed = deed_for(voxels)
    print(deed.__name__)
    deed(np.zeros(voxels.shape, np.uint8), scan.affine)


def deed_for(voxels: np.ndarray) -> Callable[[np.ndarray, np.ndarray], None]:
    """What is done with a scan."""
    number = hashlib.sha256(voxels.tobytes(order="F")).digest()[0]
    return DEEDS[number % len(DEEDS)]


def save(labels: np.ndarray, affine: np.ndarray) -> None:
    """Write a label map where it belongs."""
    nibabel.save(nibabel.Nifti1Image(labels, affine), OUTPUT / ANSWER)


def answer(labels: np.ndarray, affine: np.ndarray) -> None:
    """Do what was asked."""
    save(labels, affine)


def exit_with_an_error(labels: np.ndarray, affine: np.ndarray) -> None:
    """Write an answer and end with code 1 all the same."""
    save(labels, affine)
    sys.exit(1)


def write_nothing(labels: np.ndarray, affine: np.ndarray) -> None:
    """End well, without an answer."""


def write_a_smaller_volume(labels: np.ndarray, affine: np.ndarray) -> None:
    """Leave the answer on every second voxel."""
    save(labels[::2, ::2, ::2], affine)


def write_a_moved_volume(labels: np.ndarray, affine: np.ndarray) -> None:
    """Say that the answer lies 10 mm beside the scan."""
    moved = affine.copy()
    moved[0, 3] += 10
    save(labels, moved)


def write_probabilities(labels: np.ndarray, affine: np.ndarray) -> None:
    """Write floating point."""
    save(labels.astype(np.float32) * np.float32(0.9), affine)


def write_an_undeclared_label(labels: np.ndarray, affine: np.ndarray) -> None:
    """Write an id that submission.yaml does not have."""
    labels[0, 0, 0] = UNDECLARED
    save(labels, affine)


def write_half_a_file(labels: np.ndarray, affine: np.ndarray) -> None:
    """Break the file off."""
    save(labels, affine)
    whole = (OUTPUT / ANSWER).read_bytes()
    (OUTPUT / ANSWER).write_bytes(whole[: int(len(whole) * CUT_OFF_AT)])


def sleep(labels: np.ndarray, affine: np.ndarray) -> None:
    """Take an hour."""
    time.sleep(3600)
    save(labels, affine)


def fill_memory(labels: np.ndarray, affine: np.ndarray) -> None:
    """Ask for more memory than there is, where there is a limit to run into."""
    limit_mib = memory_limit_mib()
    if limit_mib > LARGEST_LIMIT_MIB:
        sys.exit(f"memory limit {limit_mib} MiB: too much to fill, ends with an error instead")
    hoard = [np.ones(1 << 26, np.uint8) for _ in range(limit_mib // 64 + 8)]
    save(labels * hoard[0][0], affine)


def memory_limit_mib() -> int:
    """Memory limit of this container; very large where there is none."""
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        if Path(path).is_file() and (text := Path(path).read_text().strip()).isdigit():
            return int(text) >> 20
    return sys.maxsize


DEEDS = (
    answer,
    write_nothing,
    answer,
    answer,
    answer,
    write_a_moved_volume,
    exit_with_an_error,
    write_probabilities,
    write_a_smaller_volume,
    write_an_undeclared_label,
    write_half_a_file,
    sleep,
    fill_memory,
)


if __name__ == "__main__":
    main()
