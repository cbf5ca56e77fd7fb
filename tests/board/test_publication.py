"""What leaves the host: only what is named, and nothing that looks like home."""

from __future__ import annotations

import json
import typing
from pathlib import Path

import pytest

from board.synthetic import make_results
from segtrial.board import render
from segtrial.board.render import board_files
from segtrial.contracts.dataset_card import Publication
from segtrial.contracts.record import Record
from segtrial.contracts.result import Results
from segtrial.errors import ResultsError
from segtrial.policy.publication import ALLOWED, ANALYSIS, PublicResults, disclose


@pytest.fixture(scope="module")
def results() -> Results:
    return make_results(models=3, structures=1, cases=12)


def records_within(record: type[Record]) -> set[type[Record]]:
    """A record and every record it is made of."""
    found = {record}
    pending = [field.annotation for field in record.model_fields.values()]
    while pending:
        one = pending.pop()
        pending += typing.get_args(one)
        if isinstance(one, type) and issubclass(one, Record) and one not in found:
            found |= records_within(one)
    return found


def test_every_field_of_every_record_has_been_decided_about() -> None:
    for record in records_within(Results):
        assert set(ALLOWED[record]) == set(record.model_fields), record.__name__


def test_every_key_of_an_analysis_has_been_decided_about(results: Results) -> None:
    for block in results.analysis.values():
        for body in block.values():
            assert set(body) <= set(ANALYSIS)


def test_all_of_a_public_dataset_is_let_out(results: Results) -> None:
    aside = {"content_sha256", "environment"}
    assert disclose(results).model_dump(exclude=aside) == results.model_dump(exclude=aside)


def test_disclosing_twice_changes_nothing(results: Results) -> None:
    once = disclose(results)
    assert disclose(once) == once


def test_what_is_written_reads_back_the_same(results: Results) -> None:
    once = disclose(results)
    assert PublicResults.model_validate_json(once.model_dump_json()) == once


def test_a_field_that_nobody_named_stays(results: Results) -> None:
    body = dict(results.analysis["kidney"]["dice"], scratch="notes of the host")
    analysis = {"kidney": {"dice": body}}
    changed = results.model_copy(update={"analysis": analysis})
    assert "scratch" not in disclose(changed).analysis["kidney"]["dice"]


def test_the_environment_says_on_what_and_not_where(results: Results) -> None:
    home = {"gpu": "H200", "hostname": "ward-7", "user": "someone", "store": "sealed"}
    changed = results.model_copy(update={"environment": home})
    assert disclose(changed).environment == {"gpu": "H200"}


def test_a_dataset_that_keeps_its_cases_lets_none_out(tmp_path: Path) -> None:
    private = make_results(
        models=3, structures=1, cases=12, publication=Publication(per_case_scores=False)
    )
    found = disclose(private)
    assert (found.cases, found.records, found.measured) == ((), (), ())
    render([private], tmp_path)
    names = {case.case for case in private.cases} | {case.patient for case in private.cases}
    for path in tmp_path.rglob("*"):
        if path.is_file():
            text = path.read_bytes().decode("utf-8", "replace")
            assert not [name for name in names if name in text], path.name
    assert not list(tmp_path.rglob("per_case.*"))


def test_a_dataset_that_keeps_its_slices_lets_none_out() -> None:
    private = make_results(
        models=3, structures=1, cases=24, publication=Publication(slice_values=False)
    )
    assert any("slices" in body for body in private.analysis["kidney"].values())
    found = disclose(private)
    assert all(case.slices == {} for case in found.cases)
    assert not any("slices" in body for body in found.analysis["kidney"].values())
    assert "scanner" not in json.dumps(found.analysis)


@pytest.mark.parametrize(
    "text",
    ["see /home/someone/data", "on C:\\data", "in ~/trial", "(/mnt/pacs/study)"],
)
def test_a_path_in_a_text_stops_everything_and_names_the_field(
    results: Results, text: str, tmp_path: Path
) -> None:
    row = results.submissions[0].model_copy(update={"summary": text})
    changed = results.model_copy(update={"submissions": (row, *results.submissions[1:])})
    with pytest.raises(ResultsError, match=r"results\.submissions\[0\]\.summary holds the path"):
        render([changed], tmp_path / "site")
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    "text",
    ["https://example.org/a/b", "and/or", "5/6 cases", "kits23/clean-400-588", "A/B", "1e-3/s"],
)
def test_a_link_or_a_fraction_is_no_path(results: Results, text: str) -> None:
    row = results.submissions[0].model_copy(update={"summary": text})
    disclose(results.model_copy(update={"submissions": (row, *results.submissions[1:])}))


def test_a_true_case_id_stops_everything(results: Results) -> None:
    row = results.submissions[0].model_copy(update={"evidence": ("it trained on case_00412",)})
    changed = results.model_copy(update={"submissions": (row, *results.submissions[1:])})
    with pytest.raises(ResultsError, match="true case or patient id"):
        disclose(changed, secrets=["case_00412"])


def test_no_file_of_a_board_holds_what_the_results_do_not(results: Results) -> None:
    """Every number of a page is made from the public results, whose type says so."""
    files = board_files([disclose(results)])
    for path, raw in files.items():
        assert b"/work" not in raw, path
        assert b"/home/" not in raw, path
