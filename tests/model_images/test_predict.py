"""The demo models, called as their containers call them: a request in, a label map out."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import yaml

from segtrial.datasets.phantom import LABELS, PhantomCase, generate
from segtrial.scans import (
    Grid,
    LabelMap,
    PredictionError,
    read_grid,
    read_label_map,
    read_prediction,
    stage_scan,
    write_volume,
)

MODELS = Path(__file__).parents[2] / "model_images"
REAL_CT = Path(__file__).parents[3] / "shared" / "data" / "ct_example"
TOTALSEGMENTATOR = {
    "liver": {5}, "spleen": {1}, "aorta": {52}, "vertebrae": set(range(26, 51)),
    "lung_left": {10, 11}, "lung_right": {12, 13, 14},
}  # fmt: skip

Run = Callable[[str, Path], LabelMap]


def labels_of(model: str) -> dict[str, int]:
    declared = yaml.safe_load((MODELS / model / "submission.yaml").read_text(encoding="utf-8"))
    return {name: label for label, name in declared["labels"].items()}


@cache
def load(model: str) -> ModuleType:
    """A model's predict.py, executed once."""
    spec = importlib.util.spec_from_file_location(model, MODELS / model / "predict.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[model] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Stage a scan, call a model's main(), read what it wrote as hostile output."""

    def call(model: str, scan: Path) -> LabelMap:
        given, taken = tmp_path / "input", tmp_path / "output"
        for folder in (given, taken):
            folder.mkdir(exist_ok=True)
        for leftover in taken.iterdir():
            leftover.unlink()
        grid = stage_scan(scan, given / "scan_0.nii.gz").grid
        request = {
            "schema_version": "segtrial/1",
            "case_id": "0123456789abcdef",
            "scans": [{"file": "scan_0.nii.gz", "modality": "ct"}],
            "structures": sorted(labels_of(model)),
            "output": "segmentation.nii.gz",
        }
        (given / "request.json").write_text(json.dumps(request))
        module = load(model)
        monkeypatch.setattr(module, "INPUT", given)
        monkeypatch.setattr(module, "OUTPUT", taken)
        module.main()
        return read_prediction(
            taken / "segmentation.nii.gz",
            grid=grid,
            allowed_labels=frozenset(labels_of(model).values()),
            max_bytes=1 << 24,
        )

    return call


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, PhantomCase]]:
    """Portal venous ones: stored in RAS on the fine scanner, oblique in PSR on the coarse one."""
    found = {}
    for case_id in ("phantom_001", "phantom_008"):
        made = generate(case_id)
        path = tmp_path_factory.mktemp("scans") / f"{case_id}.nii.gz"
        write_volume(path, made.scan, made.affine)
        found[case_id] = (path, made)
    return found


def dice(one: np.ndarray, other: np.ndarray) -> float:
    return 2 * float((one & other).sum()) / float(one.sum() + other.sum())


def scores(prediction: LabelMap, made: PhantomCase, model: str) -> dict[str, float]:
    return {
        name: dice(made.label_map == LABELS[name], prediction.labels == label)
        for name, label in labels_of(model).items()
    }


@pytest.mark.parametrize("case_id", ["phantom_001", "phantom_008"])
def test_thresholds_segment_in_any_storage_order(
    run: Run, cases: dict[str, tuple[Path, PhantomCase]], case_id: str
) -> None:
    path, made = cases[case_id]
    fine = scores(run("hu_threshold", path), made, "hu_threshold")
    assert min(fine.values()) > 0.68
    assert fine["liver"] > 0.88
    assert min(fine["lung_left"], fine["lung_right"]) > 0.93
    coarse = scores(run("hu_threshold_coarse", path), made, "hu_threshold_coarse")
    assert min(coarse.values()) > 0.35
    assert np.mean(list(coarse.values())) < np.mean(list(fine.values())) - 0.04


@pytest.mark.skipif(not REAL_CT.is_dir(), reason="the real CT is not beside this checkout")
def test_thresholds_are_of_use_on_a_real_ct(run: Run) -> None:
    prediction = run("hu_threshold", REAL_CT / "ct.nii.gz")
    grid = read_grid(REAL_CT / "ct.nii.gz")
    other = read_label_map(REAL_CT / "labels_totalsegmentator.nii.gz", grid=grid).labels
    ids = labels_of("hu_threshold")
    for name, theirs in TOTALSEGMENTATOR.items():
        ours = prediction.labels == ids[name]
        assert dice(np.isin(other, list(theirs)), ours) > 0.65, name


@pytest.mark.parametrize("model", ["hu_threshold", "hu_threshold_coarse"])
@pytest.mark.parametrize("value", [-1000, 40, 1000])
def test_a_scan_without_a_body_is_answered_too(
    run: Run, tmp_path: Path, model: str, value: int
) -> None:
    path = tmp_path / "flat.nii.gz"
    write_volume(path, np.full((20, 24, 9), value, np.int16), np.diag([4.0, 4.0, 6.0, 1.0]))
    run(model, path)


def test_trivial_baselines_mark_nothing_and_everything(
    run: Run, cases: dict[str, tuple[Path, PhantomCase]]
) -> None:
    path, _ = cases["phantom_008"]
    assert not run("empty", path).labels.any()
    assert (run("full", path).labels == labels_of("full")["liver"]).all()


ENDS: dict[str, str | type[BaseException]] = {
    "answer": "ok",
    "exit_with_an_error": SystemExit,
    "write_nothing": "no_output",
    "write_a_smaller_volume": "wrong_grid",
    "write_a_moved_volume": "wrong_grid",
    "write_probabilities": "bad_labels",
    "write_an_undeclared_label": "bad_labels",
    "write_half_a_file": "unreadable_output",
    "sleep": "ok",
    "fill_memory": MemoryError,
}


@pytest.mark.parametrize("deed", ENDS)
def test_each_failure_is_the_one_it_says(
    run: Run,
    cases: dict[str, tuple[Path, PhantomCase]],
    deed: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, _ = cases["phantom_008"]
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)

    module = load("fails_on_purpose")
    monkeypatch.setattr(module, "DEEDS", (getattr(module, deed),))
    monkeypatch.setattr(module, "memory_limit_mib", lambda: 64)
    if deed == "fill_memory":
        monkeypatch.setattr(module, "np", FullMemory())
    end = ENDS[deed]
    if end == "ok":
        assert not run("fails_on_purpose", path).labels.any()
    elif isinstance(end, str):
        with pytest.raises(PredictionError) as caught:
            run("fails_on_purpose", path)
        assert caught.value.outcome == end
    else:
        with pytest.raises(end):
            run("fails_on_purpose", path)
    assert slept == ([3600] if deed == "sleep" else [])


class FullMemory:
    """numpy, on a machine where nine more blocks are one too many."""

    def __init__(self) -> None:
        self.blocks = 0

    def __getattr__(self, name: str) -> object:
        return getattr(np, name)

    def ones(self, shape: int, dtype: type) -> object:
        self.blocks += 1
        if self.blocks == 9:
            raise MemoryError
        return np.ones(shape >> 20, dtype)


def test_memory_is_not_filled_where_the_limit_is_far(monkeypatch: pytest.MonkeyPatch) -> None:
    module = load("fails_on_purpose")
    monkeypatch.setattr(module, "memory_limit_mib", lambda: 16384)
    with pytest.raises(SystemExit, match="too much to fill"):
        module.fill_memory(np.zeros((1, 1, 1), np.uint8), Grid((1, 1, 1), np.eye(4)).affine)
