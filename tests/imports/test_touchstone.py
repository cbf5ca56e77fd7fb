"""Per-case scores of Touchstone become results of ours, judged by our rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from segtrial.cli import app
from segtrial.errors import ResultsError
from segtrial.imports import import_touchstone

HEADER = "name,aorta,gall_bladder,postcava\n"
META = (
    "image_id;age;gender;institute;study_type;split;manufacturer;scanner_model;kvp;pathology;x\n"
    "s0013;63.00;m;I;ct abdomen;test;siemens;flash;100;inflammation;abdomen\n"
    "s0001;58.00;f;C;ct abdomen;train;siemens;as+;100;tumor;abdomen\n"
)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    tables = {
        "STU-Net": (
            "s0001,0.9,nan,0.8\ns0013,0.8,nan,0.7\n",
            "s0001,0.95,nan,0.85\ns0013,0.9,nan,0.8\n",
        ),
        "SegVol": ("s0001,0.7,nan,0.6\ns0013,nan,nan,0.5\n", None),
        "UNETR": (
            "s0001,0.0,nan,0.6\ns0013,0.6,nan,0.5\n",
            "s0001,0.0,nan,0.7\ns0013,0.6,nan,0.5\n",
        ),
    }
    root = tmp_path / "Touchstone" / "totalsegmentator_results"
    for model, (dsc, nsd) in tables.items():
        (root / model).mkdir(parents=True)
        (root / model / "dsc.csv").write_text(HEADER + dsc)
        if nsd:
            (root / model / "nsd.csv").write_text(HEADER + nsd)
    (root / "UNETR" / "notes.txt").write_text("x")
    (tmp_path / "meta.csv").write_text(META)
    return tmp_path / "Touchstone"


def test_columns_become_structures_and_folders_submissions(repository: Path) -> None:
    (found,) = import_touchstone(repository)
    results = found.results
    assert results.dataset.id == "totalsegmentator_v2"
    assert results.track.structures == ("aorta", "inferior_vena_cava")
    assert [row.name for row in results.submissions] == ["SegVol", "STU-Net", "UNETR"]
    scores = {(r.submission, r.case, r.structure): r.metrics for r in results.records}
    assert scores["stu-net", "s0001", "aorta"] == {"dice": 0.9, "nsd": 0.95}


def test_a_nan_is_absent_for_all_and_not_run_for_one_and_a_zero_stays_a_zero(
    repository: Path,
) -> None:
    (found,) = import_touchstone(repository)
    outcomes = {(r.submission, r.case, r.structure): r.outcome for r in found.results.records}
    assert not [key for key in outcomes if key[2] == "gallbladder"]
    assert outcomes["segvol", "s0013", "aorta"] == "not_run: pending"
    zero = next(
        r
        for r in found.results.records
        if (r.submission, r.case, r.structure) == ("unetr", "s0001", "aorta")
    )
    assert zero.metrics["dice"] == 0.0
    assert any("absent from the reference" in note for note in found.notes)
    assert any(note.startswith("segvol: 1 scores") for note in found.notes)


def test_models_are_judged_by_their_training_data(repository: Path) -> None:
    """AbdomenAtlas names TotalSegmentator among the sources of FLARE23; SegVol's own set has it."""
    (found,) = import_touchstone(repository)
    rows = {row.name: row for row in found.results.submissions}
    assert {name: row.verdict for name, row in rows.items()} == {
        "STU-Net": "unknown",
        "SegVol": "unknown",
        "UNETR": "unknown",
    }
    assert any("M3D-Seg" in sentence for sentence in rows["SegVol"].evidence)
    assert any("FLARE23" in sentence for sentence in rows["UNETR"].evidence)


def test_metadata_become_slices(repository: Path) -> None:
    (found,) = import_touchstone(repository, metadata=repository.parent / "meta.csv")
    by_case = {row.case: row.slices for row in found.results.cases}
    assert by_case["s0013"] == {
        "age": "50-65",
        "pathology": "inflammation",
        "scanner": "siemens",
        "sex": "male",
        "site": "I",
    }


def test_a_case_without_metadata_is_listed(repository: Path) -> None:
    path = repository.parent / "meta.csv"
    path.write_text("\n".join(META.splitlines()[:2]))
    (found,) = import_touchstone(repository, metadata=path)
    assert "meta.csv says nothing of s0001" in found.notes


def test_dap_atlas_patients_are_read_from_the_names(tmp_path: Path) -> None:
    folder = tmp_path / "dapatlas_results" / "UNETR"
    folder.mkdir(parents=True)
    rows = "AutoPET_0011f3deaf_10445,0.9,nan,0.8\nAutoPET_0011f3deaf_20445,0.9,nan,0.8\n"
    (folder / "dsc.csv").write_text(HEADER + rows)
    (found,) = import_touchstone(tmp_path)
    assert {row.patient for row in found.results.cases} == {"0011f3deaf"}


def test_what_is_not_read_is_listed(repository: Path) -> None:
    root = repository / "totalsegmentator_results"
    (root / "Empty").mkdir()
    table = root / "UNETR" / "dsc.csv"
    table.write_text(table.read_text().replace("gall_bladder", "soul"))
    said = "\n".join(import_touchstone(repository)[0].notes)
    for part in ("'soul'", "Empty: neither", "UNETR: notes.txt is not read"):
        assert part in said


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        ("case,aorta\ns1,0.5\n", "does not begin with the column 'name'"),
        (HEADER + "s1,1,1,1\ns1,1,1,1\n", "line 3: the case 's1' is there twice"),
        (HEADER + "s1,good,1,1\n", "not a number"),
    ],
)
def test_bad_tables_are_refused(repository: Path, spoil: str, said: str) -> None:
    (repository / "totalsegmentator_results" / "UNETR" / "dsc.csv").write_text(spoil)
    with pytest.raises(ResultsError, match=said):
        import_touchstone(repository)


def test_a_folder_without_scores_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="totalsegmentator_results"):
        import_touchstone(tmp_path)


def test_tables_without_a_known_structure_are_refused_with_their_columns(tmp_path: Path) -> None:
    folder = tmp_path / "totalsegmentator_results" / "X"
    folder.mkdir(parents=True)
    (folder / "dsc.csv").write_text("name,aorta_dsc\ns0001,0.5\n")
    with pytest.raises(ResultsError, match="column 'aorta_dsc' is no known structure"):
        import_touchstone(tmp_path)


def test_the_command_writes_analysed_results(repository: Path, tmp_path: Path) -> None:
    runner = CliRunner()
    done = runner.invoke(
        app,
        ["import", "touchstone", str(repository), "--metadata", str(tmp_path / "meta.csv"),
         "-o", str(tmp_path / "out")],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    path = tmp_path / "out" / "totalsegmentator_v2-touchstone.json"
    assert runner.invoke(app, ["reanalyze", str(path)]).exit_code == 0
