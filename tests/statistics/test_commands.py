"""``evaluate analyze``, ``reanalyze`` and ``plan`` as a user types them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from segtrial.cli import app
from segtrial.pipeline.results_file import results_text

runner = CliRunner()


def evaluate(*arguments: str | Path) -> tuple[int, str, str]:
    result = runner.invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scores")
    random = np.random.default_rng(0)
    lines = ["submission,case,structure,metric,value,outcome,sex"]
    for m, name in enumerate("abc"):
        for c in range(30):
            dice = 0.9 - 0.03 * m + random.normal(0, 0.01)
            failed = name == "c" and c < 2
            end = ",failed: crash" if failed else f"{dice:.4f},"
            lines.append(f"{name},case{c:02d},kidney,dice,{end},{'fm'[c % 2]}")
    (folder / "scores.csv").write_text("\n".join(lines))
    assert evaluate("analyze", folder / "scores.csv", "-o", folder / "results.json")[0] == 0
    return folder


def test_analyze_writes_results_with_every_record_and_prints_the_ranking(folder: Path) -> None:
    code, shown, _ = evaluate("analyze", folder / "scores.csv", "-o", folder / "again.json")
    written = json.loads((folder / "again.json").read_text())
    assert code == 0
    assert len(written["records"]) == 90
    family = written["analysis"]["kidney"]["dice"]
    assert [row["submission"] for row in family["ranking"]] == ["a", "b", "c"]
    assert shown.index("a  ") < shown.index("b  ") < shown.index("c  ")
    assert "failed 2/30" in shown
    assert (folder / "again.json").read_bytes() == (folder / "results.json").read_bytes()


def test_analyze_says_in_json_where_it_wrote(folder: Path) -> None:
    code, shown, _ = evaluate("analyze", folder / "scores.csv", "-o", folder / "x.json", "--json")
    assert code == 0
    assert json.loads(shown) == [{"track": "scores/table", "output": str(folder / "x.json")}]


def test_reanalyze_repeats_an_analysis_byte_for_byte(folder: Path) -> None:
    code, shown, _ = evaluate("reanalyze", folder / "results.json")
    assert code == 0
    assert "byte for byte" in shown


def edited(folder: Path, name: str, edit: Any) -> Path:  # noqa: ANN401 - a function of the JSON
    body = json.loads((folder / "results.json").read_text())
    edit(body)
    (folder / name).write_text(json.dumps(body))
    return folder / name


def test_reanalyze_names_the_field_that_was_edited_and_exits_with_1(folder: Path) -> None:
    def flatter(body: dict[str, Any]) -> None:
        body["analysis"]["kidney"]["dice"]["ranking"][1]["mean"] = 0.999

    code, _, told = evaluate("reanalyze", edited(folder, "flattered.json", flatter))
    assert code == 1
    assert (
        "analysis.kidney.dice.ranking[submission=b].mean: published 0.999, recomputed 0.8" in told
    )


def test_reanalyze_notices_an_edit_outside_the_analysis_by_the_hash(folder: Path) -> None:
    def rename(body: dict[str, Any]) -> None:
        body["submissions"][0]["name"] = "Somebody else's"

    code, _, told = evaluate("reanalyze", edited(folder, "renamed.json", rename))
    assert code == 1
    assert "1 field differs.\n  content_sha256:" in told


def test_reanalyze_notices_an_edited_record_setting_or_verdict(folder: Path) -> None:
    def record(body: dict[str, Any]) -> None:
        body["records"][0]["metrics"]["dice"] = 0.5

    def verdict(body: dict[str, Any]) -> None:
        body["submissions"][0]["verdict"] = "contaminated"

    def setting(body: dict[str, Any]) -> None:
        body["settings"]["seed"] = 7

    for name, edit in (("record", record), ("verdict", verdict), ("setting", setting)):
        code, shown, _ = evaluate("reanalyze", edited(folder, f"{name}.json", edit), "--json")
        assert code == 1
        assert json.loads(shown)["same"] is False


def test_reanalyze_says_which_settings_are_not_the_usual_ones(folder: Path) -> None:
    def lenient(body: dict[str, Any]) -> None:
        body["settings"]["alpha"] = 0.4

    path = edited(folder, "lenient.json", lenient)
    assert evaluate("reanalyze", path, "--write")[0] == 1
    code, shown, _ = evaluate("reanalyze", path)
    assert code == 0
    assert "Not by default: alpha 0.4; ranked_verdicts ['clean', 'unknown']." in shown
    assert json.loads(evaluate("reanalyze", path, "--json")[1])["changed_settings"]["alpha"] == 0.4


def test_reanalyze_says_when_the_records_were_not_published(folder: Path) -> None:
    def keep_in(body: dict[str, Any]) -> None:
        body["records"], body["cases"] = [], []

    code, _, told = evaluate("reanalyze", edited(folder, "kept.json", keep_in))
    assert code == 3
    assert "holds no per-case records" in told


def test_reanalyze_can_write_what_follows_from_the_records(folder: Path) -> None:
    def flatter(body: dict[str, Any]) -> None:
        body["analysis"]["kidney"]["dice"]["ranking"][0]["rank_interval"] = [1, 1]
        body["analysis"]["kidney"]["dice"]["n"] = 31

    path = edited(folder, "mended.json", flatter)
    assert evaluate("reanalyze", path, "--write")[0] == 1
    assert evaluate("reanalyze", path)[0] == 0
    assert path.read_bytes() == (folder / "results.json").read_bytes()


def test_plan_says_how_many_patients_it_takes(folder: Path) -> None:
    code, shown, _ = evaluate("plan", folder / "results.json", "--difference", "0.01", "--json")
    answer = json.loads(shown)
    assert code == 0
    assert (answer["comparisons"], answer["n"]) == (3, 30)
    assert answer["patients"] > 1
    assert [(pair["a"], pair["b"]) for pair in answer["pairs"]] == [
        ("a", "b"), ("a", "c"), ("b", "c"),
    ]  # fmt: skip
    code, shown, _ = evaluate("plan", "--difference", "0.01", "--deviation", "0.05")
    assert (code, "199 patients" in shown) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["plan"], 2, "needs --difference and --deviation"),
        (["plan", "results.json", "--deviation", "0.1"], 2, "--deviation is read from RESULTS"),
        (["plan", "results.json", "--metric", "dcie"], 3, "Did you mean 'dice'"),
        (["plan", "results.json", "--structure", "kidny"], 3, "Did you mean 'kidney'"),
        (["plan", "--difference", "0", "--deviation", "1"], 3, "must be larger than 0"),
        (["plan", "--difference", "0.1", "--deviation", "nan"], 3, "The deviation is nan"),
        (["plan", "results.json", "--difference", "-0.1"], 3, "The difference is -0.1"),
        (["analyze", "scores.csv", "-o", "scores.csv/x.json"], 4, "cannot be written to"),
        (["analyze", "results.json"], 3, "use 'evaluate reanalyze'"),
        (["analyze", "scores.csv", "--track", "a/b"], 2, "a table of scores is one track"),
        (["analyze", "nowhere.csv"], 3, "is not there"),
        (["reanalyze", "nowhere.json"], 3, "cannot be read"),
        (["reanalyze", "scores.csv"], 3, "is not valid JSON"),
    ],
)
def test_what_cannot_be_done_is_said_with_its_exit_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, message: str
) -> None:
    monkeypatch.chdir(folder)
    found, _, told = evaluate(*arguments)
    assert message in told.replace("\n", " ")
    assert found == code


def test_a_file_of_another_schema_version_is_refused(folder: Path) -> None:
    def newer(body: dict[str, Any]) -> None:
        body["schema_version"] = "segtrial-results/9"

    code, _, told = evaluate("reanalyze", edited(folder, "newer.json", newer))
    assert code == 3
    assert "schema_version" in told


def test_results_text_is_canonical(folder: Path) -> None:
    from segtrial.contracts.result import Results  # noqa: PLC0415 - used once

    text = (folder / "results.json").read_text()
    assert results_text(Results.model_validate_json(text)) == text
