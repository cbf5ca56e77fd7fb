"""`evaluate metrics`: two files in, a table or one JSON document out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner, Result

from metrics.masks import noise
from segtrial.cli import app
from segtrial.metrics import evaluate_detection, evaluate_label_maps

SPACING_MM = (0.75, 0.875, 2.5)  # which a header keeps to the bit
AFFINE = np.diag([*SPACING_MM, 1.0])


def run(*arguments: object) -> Result:
    words = ["metrics", *map(str, arguments)]
    return CliRunner().invoke(app, words, env={"COLUMNS": "200"})


def as_json(*arguments: object) -> dict[str, Any]:
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def label_maps() -> list[NDArray[np.uint8]]:
    maps = [noise(0.3, (9, 8, 7), seed).astype(np.uint8) for seed in (1, 2)]
    maps[0][0, 0] = maps[1][1, 0] = 2
    maps[0][5, 5, 5] = 9
    return maps


def write(path: Path, labels: NDArray[Any], affine: NDArray[np.float64] = AFFINE) -> Path:
    nibabel.save(nibabel.Nifti1Image(labels, affine), path)
    return path


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    reference, prediction = label_maps()
    return write(tmp_path / "r.nii.gz", reference), write(tmp_path / "p.nii.gz", prediction)


def test_every_label_is_measured_as_the_library_does(files: tuple[Path, Path]) -> None:
    expected = evaluate_label_maps(*label_maps(), spacing_mm=SPACING_MM)
    found = as_json(*files)
    assert found["structures"] == {name: record.as_dict() for name, record in expected.items()}
    assert found["signatures"] == dict(expected["1"].signatures)


def test_the_table_shows_states_and_says_what_they_mean(files: tuple[Path, Path]) -> None:
    done = run(*files, "-l", "both=1,2", "-l", "missed=9", "-l", "nowhere=77")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[0].split() == [
        *("structure", "dice", "iou", "hd", "hd95", "assd", "masd", "nsd")
    ]
    assert "missed     0.000  0.000      ∞" in done.stdout
    assert "∞: one side does not have the structure. -: neither side has" in done.stdout


def test_options_reach_the_metrics(files: tuple[Path, Path]) -> None:
    options = ("-l", "a=1", "-l", "b=2", "--percentile", 50, "--ignore", 9)
    found = as_json(*files, *options, "--tolerance-mm", 1, "--tolerance-mm", "b=3")
    expected = evaluate_label_maps(
        *label_maps(),
        spacing_mm=SPACING_MM,
        structures={"a": 1, "b": 2},
        percentiles=(50,),
        ignore_labels=9,
        tolerances_mm={"a": 1, "b": 3},
    )
    for name, record in expected.items():
        assert found["structures"][name] == record.as_dict()
        assert found["signatures"][f"{name}.nsd"] == record.signatures["nsd"]
    assert found["signatures"]["dice"] == expected["a"].signatures["dice"]


def test_lesions_are_matched_on_request(files: tuple[Path, Path]) -> None:
    found = as_json(*files, "--lesions")
    expected = evaluate_detection(*label_maps(), spacing_mm=SPACING_MM, labels=1)
    assert found["structures"]["1"]["lesions_found"] == expected.found
    assert found["signatures"]["lesion_f1"] == expected.signatures["lesion_f1"]
    assert "found  missed  spurious" in run(*files, "--lesions").stdout


def test_the_same_anatomy_in_another_axis_order_has_the_same_metrics(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    turned = nibabel.load(files[1]).as_reoriented(np.array([[2, -1], [0, 1], [1, -1]]))
    nibabel.save(turned, tmp_path / "turned.nii.gz")
    assert as_json(files[0], tmp_path / "turned.nii.gz") == as_json(*files)


def test_empty_label_maps_have_nothing_to_show(tmp_path: Path) -> None:
    empty = write(tmp_path / "empty.nii.gz", np.zeros((4, 4, 4), np.uint8))
    assert run(empty, empty).stdout == "Neither label map has a label other than 0.\n"


def test_another_grid_is_refused(files: tuple[Path, Path], tmp_path: Path) -> None:
    moved = write(tmp_path / "moved.nii.gz", label_maps()[0], AFFINE + np.eye(4, k=3))
    cropped = write(tmp_path / "cropped.nii.gz", label_maps()[0][1:])
    for file, message in ((moved, "a corner of the volume is 1 mm off"), (cropped, "(8, 8, 7)")):
        done = run(files[0], file)
        assert done.exit_code == 3
        assert message in done.stderr
        assert f"file {file}" in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-l", "kidney"), "write it as NAME=ID"),
        (("-l", "a=1", "-l", "a=2"), "a was given before"),
        (("--tolerance-mm", "two"), "write it as MM or NAME=MM"),
        (("--tolerance-mm", "a=2"), "Name its labels too"),
    ],
)
def test_options_without_meaning_are_usage_errors(
    files: tuple[Path, Path], options: tuple[str, ...], message: str
) -> None:
    done = run(*files, *options)
    assert done.exit_code == 2
    assert message in done.stderr
