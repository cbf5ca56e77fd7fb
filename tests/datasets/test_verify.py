"""``evaluate datasets verify`` names each file that is wrong, and says how."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from segtrial.cli import app
from segtrial.datasets import load_card
from segtrial.datasets.verifying import Verification, verify

Writer = Callable[..., Path]
CARD = load_card("msd_task09_spleen").model_copy(
    update={"splits": {"train": ("spleen_2", "spleen_3")}, "unlisted": {}, "metadata": None}
)


@pytest.fixture
def dataset(tmp_path: Path, write: Writer) -> Path:
    for case in ("spleen_2", "spleen_3"):
        write(tmp_path / "imagesTr" / f"{case}.nii.gz")
        write(tmp_path / "labelsTr" / f"{case}.nii.gz", labels=(1,))
    return tmp_path


def kinds(found: Verification) -> list[tuple[str, str | None]]:
    return [(problem.kind, problem.case) for problem in found.problems]


def test_a_good_folder_has_no_problem(dataset: Path) -> None:
    assert verify(CARD, dataset) == Verification(2, ())


def test_a_missing_case_is_named(dataset: Path) -> None:
    (dataset / "imagesTr" / "spleen_3.nii.gz").unlink()
    assert ("missing", "spleen_3") in kinds(verify(CARD, dataset))


def test_a_missing_reference_is_named(dataset: Path) -> None:
    (dataset / "labelsTr" / "spleen_3.nii.gz").unlink()
    assert kinds(verify(CARD, dataset)) == [("missing", "spleen_3")]


def test_a_scan_that_is_cut_off_is_named(dataset: Path) -> None:
    path = dataset / "imagesTr" / "spleen_2.nii.gz"
    path.write_bytes(path.read_bytes()[:-40])
    assert kinds(verify(CARD, dataset)) == [("unreadable", "spleen_2")]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<!DOCTYPE html><html><body>Log in</body></html>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "git lfs pull"),
        (b"", "empty"),
        (b"NIfTI", "not compressed with gzip"),
    ],
)
def test_what_is_no_scan_is_named_for_what_it_is(dataset: Path, content: bytes, said: str) -> None:
    (dataset / "imagesTr" / "spleen_2.nii.gz").write_bytes(content)
    (problem,) = verify(CARD, dataset).problems
    assert problem.kind == "unreadable"
    assert said in problem.why


def test_a_label_that_the_card_does_not_name_is_named(dataset: Path, write: Writer) -> None:
    write(dataset / "labelsTr" / "spleen_2.nii.gz", labels=(1, 7))
    (problem,) = verify(CARD, dataset).problems
    assert (problem.kind, problem.case) == ("mislabelled", "spleen_2")
    assert "label 7" in problem.why


def test_a_reference_on_another_grid_is_named(dataset: Path, write: Writer) -> None:
    write(dataset / "labelsTr" / "spleen_2.nii.gz", labels=(1,), affine=np.eye(4))
    (problem,) = verify(CARD, dataset).problems
    assert (problem.kind, problem.case) == ("misaligned", "spleen_2")


def test_a_case_that_nobody_listed_is_named(dataset: Path, write: Writer) -> None:
    write(dataset / "imagesTr" / "spleen_99.nii.gz")
    assert kinds(verify(CARD, dataset)) == [("unexpected", "spleen_99")]


def test_a_file_that_is_no_nifti_inside_is_named(dataset: Path) -> None:
    (dataset / "imagesTr" / "spleen_2.nii.gz").write_bytes(gzip.compress(b"x" * 400))
    assert kinds(verify(CARD, dataset)) == [("unreadable", "spleen_2")]


def test_an_archive_that_is_a_web_page_is_named_before_anything_else(tmp_path: Path) -> None:
    (tmp_path / "Task09_Spleen.tar").write_bytes(b"<html>quota exceeded</html>")
    found = verify(load_card("msd_task09_spleen"), tmp_path)
    assert "web page" in found.problems[0].why


def test_the_command_prints_each_problem_and_answers_no(dataset: Path) -> None:
    done = CliRunner().invoke(
        app, ["datasets", "verify", "msd_task09_spleen", str(dataset), "--json"]
    )
    assert done.exit_code == 1
    body, _ = json.JSONDecoder().raw_decode(done.stdout)
    assert body["cases"] == 2
    assert {p["kind"] for p in body["problems"]} == {"missing"}
    assert len(body["problems"]) == 39


def test_index_remembers_and_prints_what_is_there(dataset: Path) -> None:
    run = CliRunner().invoke
    done = run(app, ["datasets", "index", "msd_task09_spleen", str(dataset), "--json"])
    assert done.exit_code == 0
    assert [case["case"] for case in json.loads(done.stdout)] == ["spleen_2", "spleen_3"]


def test_cases_that_lack_the_same_are_on_one_line(tmp_path: Path, write: Writer) -> None:
    write(tmp_path / "imagesTr" / "spleen_9.nii.gz")
    cases = tuple(f"spleen_{n}" for n in (2, 3, 4, 9, 13))
    card = CARD.model_copy(update={"splits": {"train": cases}})
    lines = list(verify(card, tmp_path).lines())
    assert lines[0].startswith("missing: case spleen_9, ")
    (line,) = lines[1:]
    assert line.startswith(f"missing: 4 cases spleen_2..spleen_4, spleen_13, {tmp_path}: no scan")
