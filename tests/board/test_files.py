"""Downloads and figures: what people take away."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from PIL import Image

from board.synthetic import make_results
from segtrial.board import render, write_figures
from segtrial.board.render import board_files
from segtrial.contracts.result import Results
from segtrial.errors import ResultsError, UsageError
from segtrial.policy.publication import disclose
from segtrial.statistics import analyse_results

TRACK = "kits23--clean-400-588"


@pytest.fixture(scope="module")
def results() -> Results:
    return make_results(models=4, structures=2, cases=24)


@pytest.fixture(scope="module")
def files(results: Results) -> dict[str, bytes]:
    prefix = f"downloads/{TRACK}/"
    found = board_files([disclose(results)])
    return {n.removeprefix(prefix): raw for n, raw in found.items() if n.startswith(prefix)}


def rows(raw: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(raw.decode())))


def test_results_read_back_as_what_was_public(results: Results, files: dict[str, bytes]) -> None:
    assert type(disclose(results)).model_validate_json(files["results.json"]) == disclose(results)


def test_every_ranked_number_is_in_the_table_with_its_signature(
    results: Results, files: dict[str, bytes]
) -> None:
    found = {(r["structure"], r["metric"], r["submission"]): r for r in rows(files["ranking.csv"])}
    for structure, block in results.analysis.items():
        for metric, body in block.items():
            for row in body["ranking"]:
                line = found.pop((structure, metric, row["submission"]))
                score = row.get("mean", row.get("median"))
                shown = "unbounded" if isinstance(score, dict) else repr(score)
                assert line["score"] == shown
                assert line["rank_low"] == str(row["rank_interval"][0])
                assert line["signature"] == results.protocol.signatures[metric]
    assert found == {}


def test_single_cases_are_one_row_for_each_value(results: Results, files: dict[str, bytes]) -> None:
    expected = sum(max(1, len(record.metrics)) for record in results.records)
    found = rows(files["per_case.csv"])
    assert len(found) == expected
    assert {row["outcome"] for row in found} >= {"ok", "not_run: stopped"}
    empty = [row for row in found if row["outcome"] != "ok"]
    assert all(row["value"] == "" for row in empty)


def test_parquet_holds_the_same_rows(files: dict[str, bytes]) -> None:
    from pyarrow import parquet  # noqa: PLC0415 - slow to load

    table = parquet.read_table(io.BytesIO(files["per_case.parquet"]))
    assert table.num_rows == len(rows(files["per_case.csv"]))
    assert str(table.schema.field("value").type) == "double"


def test_a_cell_that_a_spreadsheet_would_run_is_text() -> None:
    made = make_results(models=2, structures=1, cases=12, unranked=False)
    row = made.submissions[0].model_copy(update={"name": "=HYPERLINK(1)", "version": "@2"})
    changed = made.model_copy(update={"submissions": (row, *made.submissions[1:])})
    raw = board_files([disclose(changed)])[f"downloads/{TRACK}/ranking.csv"]
    found = next(line for line in rows(raw) if line["submission"] == row.id)
    assert (found["name"], found["version"]) == ("'=HYPERLINK(1)", "'@2")


def test_the_citation_closes_every_brace_it_opens() -> None:
    made = make_results(models=1, structures=1, cases=12, unranked=False)
    dataset = made.dataset.model_copy(update={"title": r"A } & {B} \x", "citation": "x\n@misc{y}"})
    raw = board_files([disclose(made.model_copy(update={"dataset": dataset}))])
    text = raw[f"downloads/{TRACK}/citation.bib"].decode()
    entry = text.split("\n%")[0].replace("\\{", "").replace("\\}", "")
    assert entry.count("{") == entry.count("}")
    assert text.count("\n@") == 0


def test_a_programs_files_hold_the_analysis_without_its_pairs(
    results: Results, files: dict[str, bytes]
) -> None:
    for structure, block in results.analysis.items():
        found = json.loads(files[f"analysis-{structure}.json"])
        assert found == {m: {k: v for k, v in b.items() if k != "pairs"} for m, b in block.items()}


def test_figures_are_files_that_open(results: Results, tmp_path: Path) -> None:
    written = write_figures(results, tmp_path, structures=["kidney"], metrics=["dice", "hd95"])
    names = {path.stem for path in written}
    assert names >= {
        "forest", "rank-frequencies", "significance", "critical-difference", "patients",
        "slice-sex",
    }  # fmt: skip
    for path in written:
        if path.suffix == ".svg":
            root = ET.parse(path).getroot()  # noqa: S314 - our own file
            title = root.find("{http://www.w3.org/2000/svg}title")
            assert title is not None
            assert title.text
            assert "style=" not in path.read_text(encoding="utf-8")
        else:
            with Image.open(path) as image:
                assert image.width > 600
                assert len(image.getcolors(1_000_000) or []) > 3


def test_figures_are_the_same_again(results: Results, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_figures(results, tmp_path / name, structures=["kidney"], metrics=["dice"])
    for path in (tmp_path / "one").rglob("*.*"):
        other = tmp_path / "two" / path.relative_to(tmp_path / "one")
        assert path.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"structures": ["spleen"]}, "no structure 'spleen'"),
        ({"metrics": ["x"]}, "no metric 'x'"),
        ({"formats": ["pdf"]}, "choose from: svg, png"),
    ],
)
def test_a_choice_that_is_not_there_is_refused(
    results: Results, tmp_path: Path, choice: dict[str, list[str]], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        write_figures(results, tmp_path, **choice)


def test_a_hostile_name_is_text_in_a_figure(tmp_path: Path) -> None:
    made = make_results(models=2, structures=1, cases=12, unranked=False)
    evil = "</text><script>alert(1)</script>"
    row = made.submissions[0].model_copy(update={"name": evil})
    changed = made.model_copy(update={"submissions": (row, *made.submissions[1:])})
    for path in write_figures(changed, tmp_path, metrics=["dice"], formats=["svg"]):
        assert "<script" not in path.read_text(encoding="utf-8")
        ET.parse(path)  # noqa: S314 - our own file


# --- results that lack something ----------------------------------------------------------------


def test_a_structure_that_nobody_segments_says_so(tmp_path: Path) -> None:
    made = make_results(models=2, structures=2, cases=12, unranked=False)
    records = tuple(
        record.model_copy(update={"outcome": "unsupported", "metrics": {}})
        if record.structure == "kidney_tumor"
        else record
        for record in made.records
    )
    analysed = analyse_results(made.model_copy(update={"records": records, "analysis": {}}))
    page = render([analysed], tmp_path).read_text(encoding="utf-8")
    assert '<option value="kidney_tumor">' in page
    table = (tmp_path / "data" / TRACK / "table-kidney_tumor.js").read_text(encoding="utf-8")
    assert "No entry is ranked on Dice for kidney tumor." in table
    assert table.count("Does not segment kidney tumor.") == 3


def test_an_analysis_without_a_number_is_refused_by_the_name_of_its_field(
    results: Results, tmp_path: Path
) -> None:
    body = json.loads(json.dumps(results.analysis))
    del body["kidney"]["dice"]["ranking"][0]["rank_interval"]
    broken = results.model_copy(update={"analysis": body})
    with pytest.raises(ResultsError, match=r"analysis\.kidney\.dice cannot be shown.*reanalyze"):
        render([broken], tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_an_empty_analysis_still_shows_every_entry(results: Results, tmp_path: Path) -> None:
    page = render([results.model_copy(update={"analysis": {}})], tmp_path)
    text = page.read_text(encoding="utf-8")
    assert "No entry is ranked" in text
    assert all(f'data-id="{row.id}"' in text for row in results.submissions)
