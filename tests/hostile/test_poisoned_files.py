"""Files that are poison to whoever reads them, all the way from a container to the reader."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from containers import SMALL, Bench
from segtrial.container.failure import classify
from segtrial.scans import prediction
from segtrial.scans.grid import Grid
from segtrial.scans.inflate import GzipReader
from segtrial.scans.prediction import read_prediction
from segtrial.scans.prediction_error import PredictionError

pytestmark = pytest.mark.docker

SHAPE = (20, 16, 12)
GRID = Grid(SHAPE, np.diag([1.0, 1.0, 2.0, 1.0]))
OWNED = Path("/tmp/segtrial-owned")  # noqa: S108 - what one of the poisons would make here
MAX_BYTES = SMALL.output_mib << 20

# What an honest image would do; each poison changes one thing of it.
HONEST = f"""
import gzip, io, os, pickle, struct, zipfile, zlib
import nibabel, numpy
OUT = "/output/segmentation.nii.gz"
labels = numpy.zeros({SHAPE}, numpy.uint8)
labels[5:9, 5:9, 5:9] = 1
affine = numpy.diag([1.0, 1.0, 2.0, 1.0])
plain = nibabel.Nifti1Image(labels, affine).to_bytes()
def write(content): open(OUT, "wb").write(content)
def packed(content): write(gzip.compress(content, mtime=0))
def patched(at, form, *values):
    changed = bytearray(plain)
    struct.pack_into("<" + form, changed, at, *values)
    packed(bytes(changed))
"""

POISONS = {
    "a header that claims 32767^3 voxels": (
        "patched(40, '4h', 3, 32767, 32767, 32767)", "wrong_grid",
    ),
    "a header that claims float64": ("patched(70, '2h', 64, 64)", "bad_labels"),
    "a negative size": ("patched(40, '4h', 3, -20, 16, 12)", "unreadable_output"),
    "ninety-nine dimensions": ("patched(40, 'h', 99)", "unreadable_output"),
    "a data offset beyond the end": ("patched(108, 'f', 1e9)", "unreadable_output"),
    "a data offset that is no number": ("patched(108, 'f', float('nan'))", "unreadable_output"),
    "an affine of NaN": ("patched(280, '12f', *[float('nan')] * 12)", "wrong_grid"),
    "an affine of zeros": ("patched(280, '12f', *[0.0] * 12)", "wrong_grid"),
    "a shifted grid": ("patched(292, 'f', 40.0)", "wrong_grid"),
    "a slope that makes fractions": ("patched(112, '2f', 0.5, 0.25)", "bad_labels"),
    "a gzip bomb in place of the volume": (
        "write(gzip.compress(bytes(300 << 20), 1))", "unreadable_output",
    ),
    "a bomb behind the last voxel": (
        """
with gzip.open(OUT, "wb", 1) as bomb:
    bomb.write(plain)
    for _ in range(300): bomb.write(bytes(1 << 20))
""",
        "unreadable_output",
    ),
    "a second member with a bomb": (
        "write(gzip.compress(plain) + gzip.compress(bytes(300 << 20), 1))", "unreadable_output",
    ),
    "a wrong checksum": (
        "good = bytearray(gzip.compress(plain)); good[-8] ^= 1; write(bytes(good))",
        "unreadable_output",
    ),
    "half a file": ("write(gzip.compress(plain)[:100])", "unreadable_output"),
    "an empty file": ("write(b'')", "unreadable_output"),
    "noise": ("write(os.urandom(10_000))", "unreadable_output"),
    "an uncompressed volume under the name of a compressed one": (
        "write(plain)", "unreadable_output",
    ),
    "labels that nobody declared": (
        "labels[0, 0, 0] = 9; packed(nibabel.Nifti1Image(labels, affine).to_bytes())",
        "bad_labels",
    ),
    "voxels that are NaN": (
        """
holes = numpy.full(labels.shape, numpy.nan, numpy.float32)
packed(nibabel.Nifti1Image(holes, affine).to_bytes())
""",
        "bad_labels",
    ),
    "a pickle that runs a program when it is loaded": (
        """
class Evil:
    def __reduce__(self): return os.system, ("touch /tmp/segtrial-owned",)
numpy.savez(open(OUT, "wb"), segs=numpy.array([Evil()], dtype=object))
""",
        "unreadable_output",
    ),
    "a zip with a path that climbs out": (
        "zipfile.ZipFile(OUT, 'w').writestr('../../../../etc/cron.d/segtrial', 'x')",
        "unreadable_output",
    ),
    "another grid": (
        "packed(nibabel.Nifti1Image(labels[::2], affine).to_bytes())", "wrong_grid",
    ),
}  # fmt: skip


def test_the_honest_file_is_read(bench: Bench) -> None:
    seen = bench.python(HONEST, "packed(plain)")

    assert classify(seen).outcome == "ok", seen.log
    label_map = read_prediction(
        bench.output, grid=GRID, allowed_labels=frozenset({0, 1}), max_bytes=MAX_BYTES
    )
    assert np.asarray(label_map.labels).sum() == 64


class CountingReader(GzipReader):
    """Adds up how much was inflated."""

    inflated = 0

    def readinto(self, target: memoryview) -> int:
        filled = super().readinto(target)
        CountingReader.inflated += filled
        return filled


@pytest.mark.parametrize("poison", POISONS)
def test_a_poisoned_file_ends_in_a_named_outcome_and_is_not_inflated(
    bench: Bench, poison: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, outcome = POISONS[poison]
    seen = bench.python(HONEST, program)
    assert classify(seen).outcome == "ok", seen.log

    monkeypatch.setattr(prediction, "GzipReader", CountingReader)
    monkeypatch.setattr(CountingReader, "inflated", 0)
    with pytest.raises(PredictionError) as caught:
        read_prediction(
            bench.output, grid=GRID, allowed_labels=frozenset({0, 1}), max_bytes=MAX_BYTES
        )

    assert caught.value.outcome == outcome
    # No more than the honest file: header, voxels, and one byte to see that nothing follows.
    assert CountingReader.inflated <= 352 + math.prod(SHAPE) + 1
    assert not OWNED.exists()
