"""Scores of segauge-benchmark become results of ours, judged by our rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from segtrial.cli import app
from segtrial.contracts.reading import parse_json
from segtrial.contracts.result import Results, Unbounded
from segtrial.errors import DatasetError, ResultsError
from segtrial.imports import Imported, import_segbench
from segtrial.statistics import analyse_results

PUBLISHED = (
    Path(__file__).parents[3] / "shared" / "data" / "published" / "segauge_benchmark_kits23.json"
)


def case(number: int, **scores: float | None) -> dict[str, Any]:
    return {"case_id": f"case_{number:05}", **scores}


GOOD = [case(n, dice=0.9, hd95=3.0 + n, nsd=0.8, assd=1.0) for n in range(4)]


def scores(*models: tuple[str, list[dict[str, Any]]], **rest: object) -> dict[str, Any]:
    return {
        "benchmark": "segauge-benchmark",
        "segauge_version": "0.2.0",
        "dataset": {"name": "kits23"},
        "config": {"nsd_tolerance": 2.0},
        "models": [
            {
                "name": name,
                "version": "1",
                "license": "MIT",
                "per_organ": {"kidney": {"per_case": rows}},
            }
            for name, rows in models
        ],
        **rest,
    }


def imported(tmp_path: Path, value: object) -> Imported:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(value))
    return import_segbench(path)


def test_names_metrics_and_signatures_are_ours(tmp_path: Path) -> None:
    results = imported(tmp_path, scores(("TotalSegmentator", GOOD))).results
    assert results.dataset.id == "kits23"
    assert results.track.structures == ("kidney",)
    assert results.track.tolerances_mm == {"kidney": 2.0}
    assert set(results.records[0].metrics) == {"dice", "hd95_pooled", "nsd", "assd"}
    assert results.protocol.signatures["nsd"] == "nsd;source=segauge_0.2.0;tolerance_mm=2.0"
    assert results.submissions[0].name == "TotalSegmentator"


def test_fairness_is_answered_by_the_lineage_and_not_taken_over(tmp_path: Path) -> None:
    value = scores(("TotalSegmentator", GOOD), ("CT-FM", GOOD), ("MONAIWholeBody", GOOD))
    for model in value["models"]:
        model["fair"] = True
    found = imported(tmp_path, value)
    verdicts = {row.name: row.verdict for row in found.results.submissions}
    assert verdicts == {"TotalSegmentator": "clean", "CT-FM": "unknown", "MONAIWholeBody": "clean"}
    assert any("'fair'" in note for note in found.notes)


def test_a_model_that_nobody_knows_is_judged_by_its_own_declaration(tmp_path: Path) -> None:
    value = scores(("New", GOOD), ("Secret", GOOD))
    value["models"][0]["contaminated_on"] = ["KiTS 2019"]
    found = imported(tmp_path, value).results
    assert {row.name: row.verdict for row in found.submissions} == {
        "New": "contaminated",
        "Secret": "unknown",
    }


def test_an_empty_cell_is_not_a_zero(tmp_path: Path) -> None:
    rows = [
        *GOOD[:2],
        case(2, dice=0.0, hd95=None, nsd=0.0, assd=None),
        case(3, dice=None, hd95=None),
    ]
    found = imported(tmp_path, scores(("MOOSE", rows), ("TotalSegmentator", GOOD)))
    by_case = {r.case: r for r in found.results.records if r.submission == "moose"}
    assert by_case["case_00002"].metrics["hd95_pooled"] == Unbounded()
    assert by_case["case_00003"].outcome == "not_run: pending"
    assert by_case["case_00003"].metrics == {}
    assert any("case_00003: all values are empty" in note for note in found.notes)


def test_a_case_that_a_model_lacks_is_not_run_and_the_entry_is_not_ranked(tmp_path: Path) -> None:
    found = imported(tmp_path, scores(("MOOSE", GOOD[:3]), ("TotalSegmentator", GOOD)))
    assert any(note.startswith("moose: 1 scores") for note in found.notes)
    analysed = analyse_results(found.results)
    ranked = {row["submission"] for row in analysed.analysis["kidney"]["dice"]["ranking"]}
    assert ranked == {"totalsegmentator"}


def test_what_cannot_be_mapped_is_listed(tmp_path: Path) -> None:
    value = scores(("MOOSE", [case(0, dice=0.9, hd95=None, beauty=3.0)]), extra=1)
    value["models"][0]["per_organ"]["soul"] = {"per_case": GOOD}
    said = "\n".join(imported(tmp_path, value).notes)
    for part in ("'soul'", "'beauty'", "hd95 is empty", "extra", "mean and interval"):
        assert part in said


@pytest.mark.parametrize(
    ("value", "error", "said"),
    [
        ([], ResultsError, "no list 'models'"),
        ({"models": [{}]}, ResultsError, "names no dataset"),
        (scores(("A", [{"dice": 1}])), ResultsError, "no case_id"),
        (scores(("A", [case(0, dice="high")])), ResultsError, "is no number"),  # type: ignore[arg-type]
        ({**scores(), "dataset": {"name": "kits24"}}, DatasetError, "Did you mean 'kits23'"),
    ],
)
def test_bad_files_are_refused(
    tmp_path: Path, value: object, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        imported(tmp_path, value)


def test_a_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"models": [')
    with pytest.raises(ResultsError, match="not valid JSON"):
        import_segbench(tmp_path / "x.json")


def test_the_published_file_is_imported_analysed_and_repeatable(tmp_path: Path) -> None:
    if not PUBLISHED.is_file():
        pytest.skip("the published scores of the development data are not here")
    runner = CliRunner()
    done = runner.invoke(app, ["import", "segbench", str(PUBLISHED), "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    path = tmp_path / "kits23-segbench.json"
    results = parse_json(path.read_bytes(), Results, source=str(path))
    assert {row.id: row.verdict for row in results.submissions} == {
        "ct-fm": "unknown",
        "moose": "clean",
        "totalsegmentator": "clean",
    }
    assert len(results.records) == 60
    assert {row["submission"] for row in results.analysis["kidney"]["dice"]["ranking"]} == {
        "moose",
        "totalsegmentator",
    }
    assert runner.invoke(app, ["reanalyze", str(path)]).exit_code == 0
