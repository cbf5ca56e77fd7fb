"""The embedded dataset: the same everywhere, whole or not there, and like a body."""

from __future__ import annotations

import ast
import csv
import importlib.util
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from segtrial.datasets import phantom_files, phantom_random
from segtrial.datasets.phantom import LABELS, case_table, ensure_phantom, generate
from segtrial.datasets.phantom_patients import CASES, case_of
from segtrial.errors import DatasetError, PlatformError, StoreError
from segtrial.scans import read_grid, read_label_map, read_scan, scan_digest

MODELS = Path(__file__).parents[2] / "model_images"
SOURCES = Path(phantom_files.__file__).parent
ABSENT = {
    "phantom_005": {"kidney_left"},
    "phantom_009": {"spleen"},
    "phantom_016": {"lung_left", "lung_right"},
    "phantom_018": {"kidney_right"},
    "phantom_019": {"lung_left", "lung_right"},
}
PINNED_WORDS = [2217999979317014790, 11531249181065270437]
SOMETIMES = {"liver_tumor", "kidney_cyst"}


@pytest.fixture(scope="session")
def phantom(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of it, made here: every digest is compared on the way."""
    return ensure_phantom(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def presence(phantom: Path) -> dict[str, dict[str, float]]:
    """Volume in ml of each structure that a case has."""
    found = {}
    for case in CASES:
        label_map = read_label_map(phantom / "cases" / case.case / "reference.nii.gz")
        counts = np.bincount(label_map.labels.ravel(), minlength=max(LABELS.values()) + 1)
        voxel_ml = label_map.grid.volume_ml / label_map.grid.voxels
        found[case.case] = {
            name: float(counts[label] * voxel_ml) for name, label in LABELS.items() if counts[label]
        }
    return found


def test_every_case_is_there_in_the_generic_layout(phantom: Path) -> None:
    with (phantom / "cases.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["case", "patient", "sex", "age", "scanner", "site"]
    assert [row["case"] for row in rows] == sorted(p.name for p in (phantom / "cases").iterdir())
    assert len(rows) == 24
    assert len({row["patient"] for row in rows}) == 20
    for case in (phantom / "cases").iterdir():
        assert sorted(p.name for p in case.iterdir()) == ["reference.nii.gz", "scan.nii.gz"]


def test_slices_have_enough_cases_each() -> None:
    for name in ("sex", "scanner", "site"):
        values = [getattr(row, name) for row in case_table()]
        assert min(values.count(value) for value in set(values)) >= 5


def test_files_hold_what_was_generated_to_the_last_bit(phantom: Path) -> None:
    for case_id in ("phantom_004", "phantom_023"):  # oblique and flipped; permuted
        made = generate(case_id)
        folder = phantom / "cases" / case_id
        scan = read_scan(folder / "scan.nii.gz")
        assert scan.voxels.dtype == np.int16
        assert np.array_equal(scan.voxels, made.scan)
        assert np.array_equal(scan.grid.affine, made.affine)
        reference = read_label_map(folder / "reference.nii.gz", grid=scan.grid)
        assert np.array_equal(reference.labels, made.label_map)
        published = phantom_files.published_digests()
        assert scan_digest(folder / "scan.nii.gz") == published[f"{case_id}/scan"]
        assert scan_digest(folder / "reference.nii.gz") == published[f"{case_id}/reference"]


def test_grids_are_as_different_as_scanners_make_them(phantom: Path) -> None:
    grids = [read_grid(phantom / "cases" / case.case / "scan.nii.gz") for case in CASES]
    oblique = [grid for grid in grids if (np.abs(grid.affine[:3, :3]) > 1e-3).sum() > 3]
    assert {grid.axis_codes for grid in grids} >= {"RAS", "LPS", "LAS", "LPI", "IPL", "PSR"}
    assert 8 <= len(oblique) <= 16
    assert len({grid.shape for grid in grids}) >= 3
    for grid in grids:
        assert max(grid.spacing_mm) / min(grid.spacing_mm) > 1.1


def test_what_is_absent_is_what_the_readme_says(presence: dict[str, dict[str, float]]) -> None:
    for case_id, found in presence.items():
        assert set(LABELS) - set(found) - SOMETIMES == ABSENT.get(case_id, set())
    for name in SOMETIMES:
        assert 4 <= sum(name in found for found in presence.values()) <= 12


def test_organs_have_the_size_of_organs(presence: dict[str, dict[str, float]]) -> None:
    whole = {k: v for k, v in presence.items() if k not in {"phantom_016", "phantom_019"}}
    for low, high, name in (
        (800, 2400, "liver"),
        (45, 350, "spleen"),
        (70, 260, "kidney_left"),
        (70, 260, "kidney_right"),
        (30, 220, "aorta"),
    ):
        volumes = [found[name] for found in whole.values() if name in found]
        assert low < min(volumes) <= max(volumes) < high


def test_tissues_have_their_density_and_scans_their_noise(phantom: Path) -> None:
    spread = []
    for case_id in ("phantom_001", "phantom_008"):  # portal venous, scanners a and c
        folder = phantom / "cases" / case_id
        scan = read_scan(folder / "scan.nii.gz").voxels.astype(float)
        labels = read_label_map(folder / "reference.nii.gz").labels
        assert 60 < np.median(scan[labels == LABELS["liver"]]) < 125
        assert -880 < np.median(scan[labels == LABELS["lung_right"]]) < -820
        assert scan.min() >= -1024
        assert 0.01 < np.mean((scan > -750) & (scan < -250)) < 0.1  # partly air, at surfaces
        spread.append(scan[labels == LABELS["liver"]].std())
    assert 10 < spread[0] < spread[1] < 50


def test_a_follow_up_is_the_same_body_in_another_scan(
    phantom: Path, presence: dict[str, dict[str, float]]
) -> None:
    sizes_ml = [presence[case_id]["kidney_left"] for case_id in ("phantom_002", "phantom_021")]
    assert sizes_ml[0] == pytest.approx(sizes_ml[1], rel=0.15)
    grids = [
        read_grid(phantom / "cases" / case_id / "scan.nii.gz")
        for case_id in ("phantom_002", "phantom_021")
    ]
    assert grids[0].shape != grids[1].shape


def test_the_model_that_fails_on_purpose_fails_in_every_way_on_it(phantom: Path) -> None:
    path = MODELS / "fails_on_purpose" / "predict.py"
    spec = importlib.util.spec_from_file_location("fails_on_purpose", path)
    assert spec is not None
    assert spec.loader is not None
    model = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(model)
    deeds = Counter(
        model.deed_for(read_scan(phantom / "cases" / case.case / "scan.nii.gz").voxels).__name__
        for case in CASES
    )
    assert set(deeds) == {deed.__name__ for deed in model.DEEDS}
    assert deeds["sleep"] == 1  # each waits for the time limit
    assert 6 <= deeds["answer"] <= 12


def test_no_case_of_another_name() -> None:
    with pytest.raises(DatasetError, match="phantom_001 to phantom_024"):
        case_of("phantom_025")


def test_what_is_there_is_not_made_again(phantom: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in phantom.rglob("*.nii.gz")}
    assert ensure_phantom(phantom.parent) == phantom
    assert {path: path.stat().st_mtime_ns for path in phantom.rglob("*.nii.gz")} == before


def test_a_missing_case_is_made_again_and_told(phantom: Path) -> None:
    lost = phantom / "cases" / "phantom_008"
    for path in lost.iterdir():
        path.unlink()
    lost.rmdir()
    told: list[tuple[int, int]] = []
    ensure_phantom(phantom.parent, progress=lambda done, total: told.append((done, total)))
    assert told == [(24, 24)]
    assert (lost / "scan.nii.gz").is_file()


MAKE = """
import sys
from pathlib import Path
from segtrial.datasets import phantom_files
from segtrial.datasets.phantom import ensure_phantom
phantom_files.CASES = [c for c in phantom_files.CASES if c.scanner == "scanner_c"]
ensure_phantom(Path(sys.argv[1]), progress=lambda done, total: print(done, flush=True))
"""


def test_killed_at_any_moment_it_goes_on_from_there(tmp_path: Path, phantom: Path) -> None:
    making = subprocess.Popen([sys.executable, "-c", MAKE, tmp_path], stdout=subprocess.PIPE)
    assert making.stdout is not None
    for _ in range(2):
        making.stdout.readline()
    os.kill(making.pid, signal.SIGKILL)
    making.communicate()
    (folder,) = tmp_path.iterdir()
    there = sorted((folder / "cases").iterdir())
    assert 2 <= len(there) < 6
    for case in there:
        twin = phantom / "cases" / case.name
        for name in ("scan.nii.gz", "reference.nii.gz"):
            assert (case / name).read_bytes() == (twin / name).read_bytes()

    both = [subprocess.Popen([sys.executable, "-c", MAKE, tmp_path]) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert len(list((folder / "cases").iterdir())) == 6
    assert not list(folder.glob(".making-*"))


def test_other_voxels_than_the_published_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = dict.fromkeys(phantom_files.published_digests(), "0" * 64)
    monkeypatch.setattr(phantom_files, "published_digests", lambda: wrong)
    monkeypatch.setattr(phantom_files, "CASES", CASES[7:8])
    with pytest.raises(PlatformError, match="computes other voxels for phantom_008/scan"):
        ensure_phantom(tmp_path)
    assert not list(tmp_path.glob("*/cases/*"))


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").touch()
    with pytest.raises(StoreError, match="choose another folder with SEGTRIAL_CACHE"):
        ensure_phantom(tmp_path / "cache")


def test_the_generator_computes_in_integers() -> None:
    """Floating point would differ between processors; only the affine's last step may use it."""
    for path in set(SOURCES.glob("phantom_*.py")) - {SOURCES / "phantom_files.py"}:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.Constant) and isinstance(node.value, float)), path
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                assert ast.unparse(node) == "np.array(self.entries, dtype=np.int64) / _UNIT"


def test_random_numbers_do_not_depend_on_how_many_are_drawn() -> None:
    assert np.array_equal(phantom_random.words("a", 10), phantom_random.words("a", 99)[:10])
    assert phantom_random.words("a", 1)[0] != phantom_random.words("b", 1)[0]
    assert [int(word) for word in phantom_random.words("segtrial", 2)] == PINNED_WORDS
    noise = phantom_random.bell("n", 100_000)
    assert abs(noise.mean()) < 500
    assert noise.std() == pytest.approx(37837, rel=0.01)


def test_every_scan_lies_around_its_body(phantom: Path) -> None:
    """The trunk is cut by the ends of the scan only, never by its sides."""
    scan = read_scan(phantom / "cases" / "phantom_013" / "scan.nii.gz")  # the widest
    assert scan.grid.axis_codes == "RAS"
    sides = [scan.voxels[0], scan.voxels[-1], scan.voxels[:, -1]]
    assert all(np.mean(side > -300) < 0.02 for side in sides)
