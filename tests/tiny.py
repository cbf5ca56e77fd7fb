"""A dataset of a few small cases and submissions for it, made by code, for tests of whole runs.

The first voxel of each scan says how the submission `MOODY` behaves on it, so that one image
produces every outcome a container can have.
"""

from __future__ import annotations

import json
from pathlib import Path

import nibabel
import numpy as np

SHAPE = (20, 18, 16)
AFFINE = np.diag([-1.5, -1.5, 3.0, 1.0])  # stored LPS, as most CT is
BACKGROUND, ORGAN, LESION = -1000, 60, 120

CARD = """\
schema_version: segtrial-card/1
id: tiny
title: Boxes in air
version: "1.0"
licence: {name: CC0-1.0}
references: public
modality: ct
layout: segtrial
labels: {1: liver, 2: spleen}
tracks:
  - {id: main, title: Every case, structures: [liver, spleen]}
limits: {time_s: 5, memory_gib: 0.25, pids: 64, tmp_gib: 0.01, shm_gib: 0.01, output_mib: 4}
metadata: {file: cases.csv, case_column: case, patient_column: patient}
slices: [{name: sex}]
"""

MANIFEST = """\
schema_version: segtrial/1
id: {id}
name: {id}
version: "1.0"
authors: [Test]
licence: CC0-1.0
labels: {{7: liver, 9: spleen}}
training: {training}
"""

DOCKERFILE = """\
ARG BASE_IMAGE=python:3.11-slim-bookworm
FROM ${BASE_IMAGE}
COPY predict.py /predict.py
ENTRYPOINT ["python3", "/predict.py"]
"""

# Standard library only: an attempt then takes little longer than its container's start.
_READ = """\
import array, gzip, os, struct, sys, time
raw = gzip.decompress(open("/input/scan_0.nii.gz", "rb").read())
i, j, k = struct.unpack_from("<3h", raw, 42)
voxels = array.array("h", raw[352:])
labels = bytes({60: 7, 120: 9}.get(value, 0) for value in voxels)
out = "/output/segmentation.nii.gz"
def packed(labels, i=i, kind=2, bits=8, x_mm=-1.5):
    header = bytearray(raw[:352])
    struct.pack_into("<h", header, 42, i)
    struct.pack_into("<2h", header, 70, kind, bits)
    struct.pack_into("<f", header, 280, x_mm)
    return gzip.compress(bytes(header) + labels, 1)
def write(data): open(out, "wb").write(data)
"""

THRESHOLD = f"{_READ}write(packed(labels))\n"

SHRUNK = f"""{_READ}\
left = (0 if n % i == 0 else labels[n - 1] for n in range(len(labels)))
write(packed(bytes(a if n % i == 0 else min(a, b) for n, (a, b) in enumerate(zip(labels, left)))))
"""

MOODY = f"""{_READ}\
mood = voxels[0]
if mood == 1: sys.exit(3)
if mood == 2: time.sleep(60)
if mood == 3: bytearray(1 << 30)
if mood == 4: sys.exit(0)
if mood == 5: write(b"this is no image"); sys.exit(0)
if mood == 6:
    write(packed(b"".join(labels[n : n + i - 1] for n in range(0, len(labels), i)), i=i - 1))
    sys.exit(0)
if mood == 7:
    halves = array.array("f", (value + 0.5 for value in labels)).tobytes()
    write(packed(halves, kind=16, bits=32)); sys.exit(0)
if mood == 8: write(packed(bytes(value + 100 for value in labels))); sys.exit(0)
if mood == 9: write(os.urandom(8 << 20)); sys.exit(0)
if mood == 10: write(packed(labels, x_mm=-1.3)); sys.exit(0)
if mood == 11: write(packed(labels)[:40]); sys.exit(0)
if mood == 12: os.symlink("/etc/passwd", out); sys.exit(0)
write(packed(labels))
"""

MOODS = {
    0: "ok",
    1: "failed: crash",
    2: "failed: timeout",
    3: "failed: out_of_memory",
    4: "failed: no_output",
    5: "failed: unreadable_output",
    6: "failed: wrong_grid",
    7: "failed: bad_labels",
    8: "failed: bad_labels",
    9: "failed: output_too_large",
    10: "failed: wrong_grid",
    11: "failed: unreadable_output",
    12: "failed: unreadable_output",
}

NAMES = "Tiny^Case"


def make_dataset(folder: Path, moods: list[int]) -> Path:
    """Write a dataset with one case for each mood; every third case lacks its spleen."""
    rows = ["case,patient,sex"]
    for number, mood in enumerate(moods, start=1):
        case = f"tiny_{number:03d}"
        rows.append(f"{case},p{(number + 1) // 2},{'FM'[number % 2]}")
        labels = np.zeros(SHAPE, np.uint8)
        labels[3 : 9 + number % 4, 4:12, 3:12] = 1
        if number % 3:
            labels[14:18, 4:9, 4 : 8 + number % 3] = 2
        scan = np.choose(labels, [BACKGROUND, ORGAN, LESION]).astype(np.int16)
        scan[0, 0, 0] = mood
        scan[1, 0, 0] = number  # no two scans are the same
        target = folder / "cases" / case
        target.mkdir(parents=True)
        image = nibabel.Nifti1Image(scan, AFFINE)
        image.header["descrip"] = f"{NAMES} {case}"
        nibabel.save(image, target / "scan.nii.gz")
        nibabel.save(nibabel.Nifti1Image(labels, AFFINE), target / "reference.nii.gz")
    (folder / "card.yaml").write_text(CARD)
    (folder / "cases.csv").write_text("\n".join(rows) + "\n")
    return folder


def make_submission(
    folder: Path, *, name: str, program: str, training: str = "{sources: []}"
) -> Path:
    """Write a submission that runs one Python program."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "submission.yaml").write_text(MANIFEST.format(id=name, training=training))
    (folder / "Dockerfile").write_text(DOCKERFILE)
    (folder / "predict.py").write_text(program)
    return folder


def comparable(results: Path) -> str:
    """A results file without measured times and resources."""
    body = json.loads(results.read_text(encoding="utf-8"))
    for key in ("measured", "environment"):
        body.pop(key)
    return json.dumps(body, indent=1, sort_keys=True)
