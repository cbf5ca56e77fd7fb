"""Tables of scores: what each cell means, and what is refused, word for word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from segtrial.contracts.result import Results, Unbounded
from segtrial.errors import ResultsError
from segtrial.statistics import analyse_results
from segtrial.statistics.table import results_of_table
from segtrial.tables import read_score_table
from trial_scores import FAST

GOLDEN = Path(__file__).parents[1] / "golden" / "score-table"
HEADER = "submission,case,structure,metric,value"


def table(tmp_path: Path, *lines: str, header: str = HEADER) -> Path:
    path = tmp_path / "scores.csv"
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


def read(tmp_path: Path, *lines: str, header: str = HEADER) -> Results:
    return read_score_table(table(tmp_path, *lines, header=header), settings=FAST)


def refusal(path: Path) -> str:
    with pytest.raises(ResultsError) as caught:
        analyse_results(read_score_table(path, settings=FAST))
    return "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.csv")), ids=lambda path: path.stem)
def test_every_refusal_says_what_where_why_and_what_to_do(path: Path) -> None:
    message = refusal(path).replace(str(path.parent), "FOLDER")
    assert message + "\n" == path.with_suffix(".txt").read_text()


def test_patient_and_outcome_may_be_left_out(tmp_path: Path) -> None:
    results = read(tmp_path, "a,c1,kidney,dice,0.9", "a,c2,kidney,dice,0.8")
    assert [(case.case, case.patient) for case in results.cases] == [("c1", "c1"), ("c2", "c2")]
    assert {record.outcome for record in results.records} == {"ok"}


def test_names_become_ids_and_are_kept_as_written(tmp_path: Path) -> None:
    results = read(tmp_path, "nnU-Net v2,C 1,Left Kidney,Dice,0.9")
    assert (results.submissions[0].id, results.submissions[0].name) == ("nnu-net-v2", "nnU-Net v2")
    assert results.track.structures == ("kidney_left",)
    assert results.cases[0].case == "C 1"


def test_a_structure_that_the_vocabulary_lacks_keeps_its_name_with_a_mark(tmp_path: Path) -> None:
    results = read(tmp_path, "a,c1,Blob 7,dice,0.9")
    assert results.track.structures == ("x-blob_7",)


def test_a_missing_row_is_not_run_and_its_submission_incomplete(tmp_path: Path) -> None:
    lines = [f"{m},c{k},kidney,dice,0.9" for m in "ab" for k in range(12)]
    results = analyse_results(read(tmp_path, *lines[:-1]))
    family = results.analysis["kidney"]["dice"]
    assert [row["submission"] for row in family["ranking"]] == ["a"]
    (row,) = family["unranked"]
    assert (row["submission"], row["reason"], row["scored"]) == ("b", "incomplete", 11)
    assert row["bounds"] == pytest.approx([0.9 * 11 / 12, (0.9 * 11 + 1) / 12], abs=1e-6)
    assert results.track.title == "Case list: union over submissions"


def test_a_case_that_nobody_has_for_a_structure_is_not_on_its_list(tmp_path: Path) -> None:
    lines = [f"{m},c{k},kidney,dice,0.9" for m in "ab" for k in range(12)]
    lines += [f"{m},c{k},liver,dice,0.8" for m in "ab" for k in range(10)]
    analysis = analyse_results(read(tmp_path, *lines)).analysis
    assert analysis["kidney"]["dice"]["n"] == 12
    assert analysis["liver"]["dice"]["n"] == 10
    assert len(analysis["liver"]["dice"]["ranking"]) == 2


def test_a_case_list_makes_cases_that_nobody_ran_count(tmp_path: Path) -> None:
    lines = [f"{m},c{k},kidney,dice,0.9" for m in "ab" for k in range(11)]
    cases = tmp_path / "cases.csv"
    cases.write_text("case,sex\n" + "".join(f"c{k},{'fm'[k % 2]}\n" for k in range(12)))
    results = read_score_table(table(tmp_path, *lines), case_list=cases, settings=FAST)
    family = analyse_results(results).analysis["kidney"]["dice"]
    assert family["ranking"] == []
    assert [row["reason"] for row in family["unranked"]] == ["incomplete"] * 2
    assert family["n"] == 12
    assert results.cases[11].slices == {"sex": "m"}


def test_a_case_that_the_case_list_lacks_is_refused(tmp_path: Path) -> None:
    cases = tmp_path / "cases.csv"
    cases.write_text("case\nc1\nc3\n")
    with pytest.raises(ResultsError, match="case 'c2', structure 'kidney', which is not on"):
        read_score_table(
            table(tmp_path, "a,c1,kidney,dice,1", "a,c2,kidney,dice,1"), case_list=cases
        )


def test_further_columns_are_slices_of_the_case(tmp_path: Path) -> None:
    results = read(tmp_path, "a,c1,kidney,dice,0.9,f,north", header=HEADER + ",sex,site")
    assert results.cases[0].slices == {"sex": "f", "site": "north"}


def test_a_slice_of_many_numbers_is_cut_in_thirds(tmp_path: Path) -> None:
    lines = [f"a,c{k:02d},kidney,dice,0.9,{30 + k}" for k in range(30)]
    results = read(tmp_path, *lines, header=HEADER + ",age")
    levels = [case.slices["age"] for case in results.cases]
    assert {level: levels.count(level) for level in levels} == {
        "below 40": 10, "40 to below 50": 10, "50 and above": 10,
    }  # fmt: skip


def test_sizes_of_the_scan_give_failed_distances_a_value(tmp_path: Path) -> None:
    lines = [f"{m},c{k},kidney,hd95,{3 + k},,500,900,{90 + k}" for m in "ab" for k in range(20)]
    lines[0] = "a,c0,kidney,hd95,,failed: crash,500,900,90"
    header = HEADER + ",outcome,diagonal_mm,volume_ml,reference_ml"
    family = analyse_results(read(tmp_path, *lines, header=header)).analysis["kidney"]["hd95"]
    rows = {row["submission"]: row for row in family["ranking"]}
    assert rows["a"]["mean_capped"] == pytest.approx(rows["b"]["mean_capped"] + (500 - 3) / 20)
    assert rows["a"]["median"] == 13.5


def test_without_sizes_a_failed_distance_has_a_median_and_no_test(tmp_path: Path) -> None:
    lines = [f"{m},c{k},kidney,hd95,{3 + k}," for m in "abc" for k in range(20)]
    lines[0] = "a,c0,kidney,hd95,,failed: crash"
    family = analyse_results(read(tmp_path, *lines, header=HEADER + ",outcome")).analysis["kidney"]
    rows = {row["submission"]: row for row in family["hd95"]["ranking"]}
    assert rows["a"]["mean_capped"]["state"] == "not_estimable"
    assert rows["a"]["rank_frequency"] == [0.0, 0.0, 1.0]
    pairs = {(pair["a"], pair["b"]): pair for pair in family["hd95"]["pairs"]}
    assert pairs["b", "c"]["difference"] == 0.0
    assert {pair["verdict"] for pair in family["hd95"]["pairs"]} == {"inconclusive"}
    assert pairs["b", "a"]["difference"]["state"] == "not_estimable"


def test_a_distance_may_be_unbounded(tmp_path: Path) -> None:
    results = read(tmp_path, "a,c1,kidney,hd95,unbounded", "a,c2,kidney,hd95,Inf")
    assert [record.metrics["hd95"] for record in results.records] == [Unbounded(), Unbounded()]


def test_training_is_unknown_and_the_rows_say_so(tmp_path: Path) -> None:
    results = read(tmp_path, "a,c1,kidney,dice,0.9")
    assert results.submissions[0].verdict == "unknown"
    assert results.submissions[0].evidence[0].startswith("Not assessed")
    assert "unknown" in results.settings["ranked_verdicts"]


def test_stated_eligibility_is_respected(tmp_path: Path) -> None:
    lines = [f"{m},c{k},kidney,dice,0.9,clean" for m in "ab" for k in range(12)]
    lines[0] = "a,c0,kidney,dice,0.9,contaminated"
    results = analyse_results(read(tmp_path, *lines, header=HEADER + ",eligibility"))
    assert {row.id: row.verdict for row in results.submissions} == {"a": "partial", "b": "clean"}
    family = results.analysis["kidney"]["dice"]
    assert [row["submission"] for row in family["ranking"]] == ["b"]
    assert family["unranked"][0]["reason"] == "partial"


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_rows_changes_nothing(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(0)
    lines = [
        f"{m},c{c:02d},kidney,{metric},{random.random():.3f},{patient},clean,{'fm'[c % 2]}"
        for m in "abc"
        for c in range(12)
        for metric, patient in (("dice", ""), ("nsd", f"p{c // 2}"))
    ]
    lines[5] = lines[5].replace("clean", "")
    mixed = [lines[k] for k in np.random.default_rng(seed).permutation(len(lines))]
    found = [
        analyse_results(read(tmp_path, *rows, header=HEADER + ",patient,eligibility,sex"))
        for rows in (lines, mixed)
    ]
    assert found[0].model_dump_json() == found[1].model_dump_json()
    assert found[0].analysis["kidney"]["dice"]["n"] == 6


def test_another_name_of_the_file_draws_no_other_numbers(tmp_path: Path) -> None:
    path = table(tmp_path, *(f"{m},c{k},kidney,dice,0.{k}{m}" for m in "12" for k in range(20, 60)))
    renamed = path.rename(tmp_path / "lucky.csv")
    table(tmp_path, *renamed.read_text().splitlines()[1:])
    first, second = (analyse_results(read_score_table(p, settings=FAST)) for p in (path, renamed))
    assert first.analysis == second.analysis
    assert first.dataset.id != second.dataset.id


def test_columns_without_a_name_are_not_read(tmp_path: Path) -> None:
    plain = read(tmp_path, "a,c1,kidney,dice,0.9", "b,c1,kidney,dice,0.8")
    for unnamed in ("", "Unnamed: 0", "__index_level_0__"):
        indexed = read(
            tmp_path, "0,a,c1,kidney,dice,0.9,", "1,b,c1,kidney,dice,0.8,",
            header=f"{unnamed},{HEADER},",
        )  # fmt: skip
        assert indexed == plain


def test_a_patient_named_in_one_row_is_the_patient_of_the_case(tmp_path: Path) -> None:
    results = read(
        tmp_path, "a,c1,kidney,dice,0.9,", "a,c1,kidney,nsd,0.9,p7", header=HEADER + ",patient"
    )
    assert results.cases[0].patient == "p7"


def test_parquet_and_tsv_say_the_same_as_csv(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="the extra 'parquet' is not installed")
    from pyarrow import parquet  # noqa: PLC0415 - only where it is installed

    names = ["submission", "case", "structure", "metric", "value", "outcome"]
    columns = [
        ["a", "a"],
        ["c1", "c2"],
        ["kidney"] * 2,
        ["dice"] * 2,
        [0.9, None],
        [None, "failed: crash"],
    ]
    parquet.write_table(
        pyarrow.table(dict(zip(names, columns, strict=True))), tmp_path / "s.parquet"
    )
    rows = ["a,c1,kidney,dice,0.9,", "a,c2,kidney,dice,,failed: crash"]
    (tmp_path / "s.tsv").write_text("\n".join([",".join(names), *rows]).replace(",", "\t"))
    (tmp_path / "s.csv").write_text("\n".join([",".join(names), *rows]))
    found = {
        read_score_table(tmp_path / f"s.{kind}").model_dump_json()
        for kind in ("csv", "tsv", "parquet")
    }
    assert len(found) == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("scores.txt", b"", "its name ends in none of"),
        ("scores.parquet", b"not parquet", "not a Parquet file that can be read"),
        ("scores.csv", b"\xff\xfe\x00", "not UTF-8 text"),
    ],
)
def test_files_that_are_no_tables_are_refused(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ResultsError, match=message):
        read_score_table(tmp_path / name)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="is not there"):
        read_score_table(tmp_path / "scores.csv")


def test_dropping_a_column_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"no column 'runtme'.*Did you mean 'runtime'"):
        read_score_table(table(tmp_path, header=HEADER + ",runtime"), drop=["runtme"])


def test_dropping_a_column_that_is_needed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="The column 'value' is missing"):
        read_score_table(table(tmp_path, "a,c1,kidney,dice,1"), drop=["value"])


def test_rows_need_no_file() -> None:
    row = {"submission": "a", "case": "c", "structure": "s", "metric": "dice", "value": "1"}
    results = results_of_table([("row 1", row)], name="made up", segtrial_version="0")
    assert results.dataset.id == "made-up"
