"""``evaluate datasets make``: a dataset folder of ours from NIfTI files that exist."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from segtrial.cli import app
from segtrial.datasets import open_dataset
from segtrial.errors import DatasetError

Writer = Callable[..., Path]


@pytest.fixture
def files(tmp_path: Path, write: Writer) -> Path:
    write(tmp_path / "ct.nii.gz")
    write(tmp_path / "labels.nii.gz", labels=(1, 2, 5))
    return tmp_path


def make(folder: Path, *arguments: str, case: str | None = None) -> tuple[int, str]:
    named = case if case is not None else f"a={folder}/ct.nii.gz,{folder}/labels.nii.gz"
    done = CliRunner().invoke(
        app,
        ["datasets", "make", str(folder / "made"), "--id", "mine", "--case", named, *arguments],
    )
    return done.exit_code, " ".join(done.output.split())


def test_a_preset_names_the_labels_and_the_track_has_those_that_occur(files: Path) -> None:
    code, said = make(files, "--labels", "totalsegmentator_v2_total", "--title", "My CT")
    assert code == 0, said
    found = open_dataset(files / "made")
    assert len(found.card.labels) == 117
    assert found.card.tracks[0].structures == ("kidney_right", "liver", "spleen")
    (case,) = found.cases_of("all")
    assert (case.id, case.patient) == ("a", "a")
    assert case.scans[0].samefile(files / "ct.nii.gz"), "linked, not copied"


def test_a_file_may_name_the_labels(files: Path) -> None:
    (files / "labels.yaml").write_text("1: liver\n2: Right Kidney\n5: x-plaque\n")
    code, said = make(files, "--labels", str(files / "labels.yaml"))
    assert code == 0, said
    assert open_dataset(files / "made").card.labels == {
        1: "liver",
        2: "kidney_right",
        5: "x-plaque",
    }


def test_what_is_made_can_be_judged(files: Path) -> None:
    make(files, "--labels", "totalsegmentator_v2_total")
    done = CliRunner().invoke(
        app, ["policy", "vista3d", "--dataset", str(files / "made"), "--json"]
    )
    assert done.exit_code == 0
    assert '"verdict": "clean"' in done.output


@pytest.mark.parametrize(
    ("case", "labels", "said"),
    [
        ("a=missing.nii.gz,labels.nii.gz", "amos22", "missing.nii.gz is not a file"),
        ("a", "amos22", "does not name a case"),
        ("../a={0}/ct.nii.gz,{0}/labels.nii.gz", "amos22", "is not a plain name"),
        ("a={0}/ct.nii.gz,{0}/labels.nii.gz", "amos2", "Did you mean 'amos22'?"),
        ("a={0}/ct.nii.gz,{0}/labels.nii.gz", "kits23", "holds label 5, which the label map"),
        ("a={0}/ct.nii.gz,{0}/other.nii.gz", "amos22", "not where the scan is"),
        ("a={0}/ct.nii.gz,{0}/empty.nii.gz", "amos22", "nothing to score"),
        ("a={0}/ct.nii.gz,{0}/labels.nii", "amos22", "is not a .nii.gz file"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(
    files: Path, write: Writer, case: str, labels: str, said: str
) -> None:
    write(files / "other.nii.gz", labels=(1,), affine=np.eye(4))
    write(files / "empty.nii.gz", labels=(0,))
    (files / "labels.nii").write_bytes(b"x")
    code, output = make(files, "--labels", labels, case=case.format(files))
    assert code == 3
    assert said in output
    assert not (files / "made").exists()


def test_an_existing_folder_is_not_touched(files: Path) -> None:
    (files / "made").mkdir()
    (files / "made" / "notes.txt").write_text("mine")
    code, output = make(files, "--labels", "amos22")
    assert code == 3
    assert "is not an empty folder" in output


def test_a_table_that_names_an_unknown_case_is_refused(files: Path) -> None:
    make(files, "--labels", "totalsegmentator_v2_total")
    with (files / "made" / "cases.csv").open("a") as table:
        table.write("b,b\r\n")
    with pytest.raises(DatasetError, match="names the case 'b', which has no folder"):
        open_dataset(files / "made")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        ("scan", r"Case 'a' has no scan\.nii\.gz"),
        ("reference", "'a' has no reference"),
        ("table", r"cases\.csv is missing"),
        ("card", r"holds no card\.yaml"),
        ("column", "no column 'patient'"),
    ],
)
def test_a_spoiled_folder_is_refused(files: Path, spoil: str, said: str) -> None:
    make(files, "--labels", "totalsegmentator_v2_total")
    made = files / "made"
    spoilt = {
        "scan": made / "cases" / "a" / "scan.nii.gz",
        "reference": made / "cases" / "a" / "reference.nii.gz",
        "table": made / "cases.csv",
        "card": made / "card.yaml",
        "column": made / "cases.csv",
    }[spoil]
    spoilt.unlink()
    if spoil == "column":
        spoilt.write_text("case,person\na,a\n")
    with pytest.raises(DatasetError, match=said):
        open_dataset(made).cases_of("all")


def test_a_real_ct_becomes_a_dataset(tmp_path: Path) -> None:
    example = Path(__file__).parents[3] / "shared" / "data" / "ct_example"
    if not example.is_dir():
        pytest.skip("the real CT of the development data is not here")
    case = f"ct={example}/ct.nii.gz,{example}/labels_totalsegmentator.nii.gz"
    code, said = make(tmp_path, "--labels", "totalsegmentator_v2_total", case=case)
    assert code == 0, said
    assert len(open_dataset(tmp_path / "made").card.tracks[0].structures) == 41
