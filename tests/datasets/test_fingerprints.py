"""The same scan is found under another name, however it was stored; other scans are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from typer.testing import CliRunner

from segtrial.cli import app
from segtrial.datasets.fingerprint import Fingerprint, fingerprint_of, layings, slice_bits
from segtrial.datasets.overlap import MAX_DISTANCE, distance, overlap

Writer = Callable[..., Path]
Volume = NDArray[np.int16]
AFFINE = np.diag([2.0, 2.0, 4.0, 1.0])


def scan(seed: int) -> Volume:
    """A body in air with organs, in Hounsfield units; another anatomy for every seed."""
    random = np.random.default_rng(seed)
    x, y, z = np.mgrid[-1:1:64j, -1:1:56j, -1:1:24j]
    texture = gaussian_filter(random.normal(size=(64, 56, 24)), (5, 5, 2)) * 900
    body = (x / random.uniform(0.7, 0.9)) ** 2 + (y / random.uniform(0.55, 0.8)) ** 2 + 0.1 * z < 1
    noise = random.normal(scale=8, size=x.shape)
    return np.where(body, 30 + texture + noise, -1000 + noise).astype(np.int16)


def marks(volume: NDArray[np.generic], affine: NDArray[np.float64] = AFFINE) -> Fingerprint:
    return fingerprint_of(volume, affine)


ORIGINAL = scan(1)
OTHERS = {f"other_{seed}": marks(scan(seed)) for seed in range(2, 14)}


FLIP = np.diag([-1.0, 1.0, -1.0, 1.0])
VARIANTS: dict[str, Callable[[Volume], tuple[NDArray[np.generic], NDArray[np.float64]]]] = {
    "flipped": lambda v: (v[::-1, :, ::-1], AFFINE @ FLIP),
    "transposed": lambda v: (v.transpose(2, 0, 1), AFFINE[:, [2, 0, 1, 3]]),
    "turned without a header": lambda v: (np.rot90(v, 3), np.eye(4)),
    "feet first without a header": lambda v: (v[:, :, ::-1], np.eye(4)),
    "slices cut off": lambda v: (v[:, :, 5:17], AFFINE),
    "clipped to soft tissue": lambda v: (np.clip(v, -160, 240), AFFINE),
    "windowed to bytes": lambda v: (
        ((np.clip(v, -160, 240) + 160.0) * 255 / 400).round().astype(np.uint8),
        AFFINE,
    ),
    "stored as float": lambda v: (v.astype(np.float32) * 0.5 + 12, AFFINE),
    "slightly noisy": lambda v: (
        v + np.random.default_rng(0).normal(scale=4, size=v.shape),
        AFFINE,
    ),
    "all of it": lambda v: (
        np.clip(v, -200, 300)[::-1, :, 4:20].transpose(1, 0, 2),
        np.eye(4),
    ),
}
"""The original as another dataset may hold it."""


def stored(name: str) -> Fingerprint:
    return marks(*VARIANTS[name](ORIGINAL))


@pytest.mark.parametrize("name", VARIANTS)
def test_a_copy_is_found_and_nothing_else_is(name: str) -> None:
    (found,) = overlap({"mine": stored(name)}, {"original": marks(ORIGINAL), **OTHERS})
    assert found.other == "original"
    assert found.distance < MAX_DISTANCE


@pytest.mark.parametrize("name", ["flipped", "transposed"])
def test_moved_axes_are_still_the_exact_scan(name: str) -> None:
    assert stored(name).exact == marks(ORIGINAL).exact


def test_another_type_is_still_the_exact_scan_and_another_voxel_is_not() -> None:
    assert marks(ORIGINAL.astype(np.float64)).exact == marks(ORIGINAL).exact
    changed = ORIGINAL.copy()
    changed[3, 3, 3] += 1
    assert marks(changed).exact != marks(ORIGINAL).exact


def test_scans_of_other_people_are_far_apart() -> None:
    apart = [distance(marks(ORIGINAL), other) for other in OTHERS.values()]
    assert min(apart) > MAX_DISTANCE


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 7), st.integers(20, 90), st.integers(20, 90), st.integers(0, 2**32 - 1))
def test_laying_a_slice_down_differently_only_reorders_and_turns_its_bits(
    number: int, width: int, height: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    # Sizes whose blocks lie the same from both ends, as those of real scans do.
    shape = (width // 2 * 2, height // 2 * 2)
    pixels = gaussian_filter(random.normal(size=shape), 3)
    swapped, first, second = number >= 4, number % 4 >= 2, number % 2 == 1
    laid = pixels.T if swapped else pixels
    laid = laid[:: -1 if first else 1, :: -1 if second else 1]
    order, turned = layings()[number]
    expected = slice_bits(pixels)[0][order] ^ turned
    assert (slice_bits(laid)[0] != expected).mean() < 0.1


def test_air_shows_nothing() -> None:
    assert not slice_bits(np.full((40, 40), -1000, dtype=np.int16))[1]
    assert slice_bits(ORIGINAL[..., 10])[1]


def test_the_command_finds_a_renamed_copy(tmp_path: Path, write: Writer) -> None:
    runner = CliRunner()
    for name, volumes in (("a", {"x": scan(1), "y": scan(2)}), ("b", {"z": scan(1)[:, :, 3:20]})):
        arguments = ["datasets", "make", str(tmp_path / name), "--id", name, "--labels", "kits23"]
        for case, volume in volumes.items():
            ct = write(tmp_path / f"{name}{case}.nii.gz", volume, affine=AFFINE)
            labels = np.zeros(volume.shape, dtype=np.uint8)
            labels[5, 5, 5] = 1
            reference = write(tmp_path / f"{name}{case}_labels.nii.gz", labels, affine=AFFINE)
            arguments += ["--case", f"{case}={ct},{reference}"]
        assert runner.invoke(app, arguments).exit_code == 0
    command = ["datasets", "overlap", str(tmp_path / "a"), str(tmp_path / "b"), "--json"]
    for _ in range(2):  # the second time from the fingerprints that were kept
        done = runner.invoke(app, command)
        assert done.exit_code == 0, done.output
        (found,) = json.JSONDecoder().raw_decode(done.stdout[done.stdout.index("[") :])[0]
        assert (found["one"], found["other"], found["how"]) == ("x", "z", "perceptual")
