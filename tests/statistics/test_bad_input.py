"""Records that do not fit the track are refused by name; small tracks have defined answers."""

from __future__ import annotations

from typing import Any

import pytest

from segtrial.contracts.result import Results, Unbounded, Value
from segtrial.errors import ResultsError
from segtrial.statistics import analyse_results
from trial_scores import change, results_of, trial


def analysis(results: Results) -> dict[str, Any]:
    found: dict[str, Any] = analyse_results(results).analysis
    return found


def refused(results: Results, match: str) -> None:
    with pytest.raises(ResultsError, match=match):
        analyse_results(results)


def test_two_records_of_one_case_are_refused() -> None:
    results = trial(patients=10)
    refused(
        results.model_copy(update={"records": (*results.records, results.records[0])}),
        "'model-0', case 'case000a', structure 'kidney' has two records",
    )


@pytest.mark.parametrize(
    ("field", "name"), [("case", "elsewhere"), ("structure", "spleen"), ("submission", "nobody")]
)
def test_a_record_of_something_the_track_lacks_is_refused(field: str, name: str) -> None:
    results = trial(patients=10)
    stranger = results.records[0].model_copy(update={field: name})
    refused(
        results.model_copy(update={"records": (*results.records, stranger)}),
        f"the track has no {field} '{name}'",
    )


@pytest.mark.parametrize(
    ("metrics", "match"),
    [
        ({"dice": 1.2}, "dice is 1.2, above 1"),
        ({"dice": -0.1}, "dice is -0.1, below 0"),
        ({"dice": Unbounded()}, "dice cannot be unbounded"),
        ({"hd95": -1.0}, "hd95 is -1.0, below 0"),
        ({"dices": 0.5}, "'dices' is not known.*Did you mean 'dice'"),
    ],
)
def test_values_out_of_range_are_refused(metrics: dict[str, Value], match: str) -> None:
    results = trial(patients=10)
    first = results.records[0]
    refused(change(results, lambda r: r is first, metrics=metrics), match)


def test_a_failure_with_values_is_refused() -> None:
    results = trial(patients=10)
    first = results.records[0].model_copy(update={"outcome": "failed: crash"})
    refused(
        results.model_copy(update={"records": (first, *results.records[1:])}),
        "has the outcome 'failed: crash' and values as well",
    )


def test_presence_that_differs_between_submissions_is_refused() -> None:
    results = trial(patients=10)
    wrong = [
        r.model_copy(update={"reference_present": False, "metrics": {}})
        if (r.submission, r.case, r.structure) == ("model-1", "case001a", "kidney")
        else r
        for r in results.records
    ]
    refused(results.model_copy(update={"records": tuple(wrong)}), "Presence belongs to the case")


def test_a_case_listed_twice_is_refused() -> None:
    results = trial(patients=10)
    refused(
        results.model_copy(update={"cases": (*results.cases, results.cases[0])}),
        "The case 'case000a' is listed twice",
    )


def test_the_name_of_the_macro_average_is_reserved() -> None:
    results = trial(patients=10)
    track = results.track.model_copy(update={"structures": ("macro_average",)})
    refused(results.model_copy(update={"track": track}), "'macro_average' is reserved")


def test_misspelt_settings_are_refused() -> None:
    results = trial(patients=10)
    refused(
        results.model_copy(update={"settings": {"resample": 5000}}),
        "unknown key 'resample'.*Did you mean 'resamples'",
    )


def test_one_submission_is_ranked_first_of_one_without_pairs() -> None:
    family = analysis(trial(submissions=1))["kidney"]["dice"]
    (row,) = family["ranking"]
    assert (row["rank_interval"], row["tied_for_first"], row["rank_frequency"]) == (
        [1, 1], True, [1.0],
    )  # fmt: skip
    assert family["pairs"] == []
    assert "detectable_difference" not in family


def test_one_patient_has_means_and_nothing_else() -> None:
    found = analysis(trial(patients=1, absent_every=0))
    family = found["kidney"]["dice"]
    assert family["n"] == 1
    assert {row["interval"]["reason"] for row in family["ranking"]} == {"n = 1, below 10"}
    assert {pair["verdict"] for pair in family["pairs"]} == {"inconclusive"}
    assert {pair["p"] for pair in family["pairs"]} == {1.0}


@pytest.mark.parametrize(("value", "verdict"), [(1.0, "equivalent"), (0.0, "equivalent")])
def test_all_ties_leave_everybody_first_and_equivalent(value: float, verdict: str) -> None:
    results = change(trial(absent_every=0), lambda _: True, metrics={"dice": value})
    family = analysis(results)["kidney"]["dice"]
    assert [row["rank_interval"] for row in family["ranking"]] == [[1, 3]] * 3
    assert [row["submission"] for row in family["ranking"]] == ["model-0", "model-1", "model-2"]
    assert {pair["verdict"] for pair in family["pairs"]} == {verdict}
    for row in family["ranking"]:
        assert row["interval"] == {"state": "not_estimable", "reason": "zero variance"}
        assert row["rank_frequency"] == pytest.approx([1 / 3] * 3)
    assert family["pairs"][0]["interval"]["reason"] == "zero variance"
    assert "effect_size" not in family["pairs"][0]
    assert family["schemes"]["by_verdicts"]["kendall_tau"]["state"] == "not_estimable"


def test_few_patients_have_no_interval_and_low_numbers_are_flagged() -> None:
    few, low = (analysis(trial(patients=n, absent_every=0))["kidney"]["dice"] for n in (9, 19))
    assert few["low_n"]
    assert few["ranking"][0]["interval"]["state"] == "not_estimable"
    assert low["low_n"]
    assert isinstance(low["ranking"][0]["interval"], list)
    assert all("p_equivalent" not in pair for pair in low["pairs"])


def test_nobody_ranked_leaves_the_rows_with_their_reasons() -> None:
    results = change(trial(), lambda r: r.case == "case003a", outcome="not_run: platform")
    found = analysis(results)
    for metrics in found.values():
        for family in metrics.values():
            assert family["ranking"] == []
            assert family["pairs"] == []
            assert {row["reason"] for row in family["unranked"]} == {"incomplete"}


def test_a_submission_that_failed_everywhere_is_ranked_last_with_its_rate() -> None:
    results = change(trial(), lambda r: r.submission == "model-0", outcome="failed: out_of_memory")
    found = analysis(results)
    for metrics in found.values():
        for metric, family in metrics.items():
            row = family["ranking"][-1]
            assert (row["submission"], row["failure_rate"]) == ("model-0", 1.0)
            assert row["failed"] == family["n"]
            if metric == "hd95":
                assert row["median"] == {"state": "unbounded"}
                assert row["mean_capped"] == 500.0


def test_an_overlap_near_zero_is_flagged_and_ranked_all_the_same() -> None:
    results = change(trial(), lambda r: r.submission == "model-0", metrics={"dice": 0.02})
    ranking = analysis(results)["kidney"]["dice"]["ranking"]
    assert [row.get("near_zero") for row in ranking] == [None, None, True]
    assert ranking[-1]["submission"] == "model-0"


def test_among_equals_whoever_answered_stands_before_whoever_failed() -> None:
    wrong = change(trial(submissions=2), lambda _: True, metrics={"dice": 0.0})
    results = change(wrong, lambda r: r.submission == "model-0", outcome="failed: crash")
    ranking = analysis(results)["kidney"]["dice"]["ranking"]
    assert [row["submission"] for row in ranking] == ["model-1", "model-0"]
    assert [row["rank_interval"] for row in ranking] == [[1, 2], [1, 2]]


def test_failing_everywhere_is_shown_even_where_nobody_answered() -> None:
    results = change(trial(submissions=2), lambda _: True, outcome="failed: crash")
    found = analysis(results)
    assert set(found["kidney"]) == {"dice"}  # what the protocol says was to be computed
    for row in found["kidney"]["dice"]["ranking"]:
        assert (row["mean"], row["failure_rate"], row["tied_for_first"]) == (0.0, 1.0, True)


def test_an_unsupported_structure_is_not_held_against_the_others() -> None:
    results = change(
        trial(structures=("kidney", "liver", "spleen")),
        lambda r: r.submission == "model-0" and r.structure == "liver",
        outcome="unsupported",
    )
    found = analysis(results)
    assert [row["reason"] for row in found["liver"]["dice"]["unranked"]] == ["unsupported"]
    assert "model-0" in {row["submission"] for row in found["kidney"]["dice"]["ranking"]}
    macro = found["macro_average"]["dice"]
    assert [row["reason"] for row in macro["unranked"]] == ["unsupported"]


def test_a_run_that_never_reached_a_case_leaves_it_not_run() -> None:
    results = trial()
    records = [r for r in results.records if (r.submission, r.case) != ("model-2", "case004a")]
    incomplete = results_of(results.cases, records, structures=results.track.structures)
    family = analysis(incomplete)["kidney"]["dice"]
    assert family["n"] == 30
    (row,) = family["unranked"]
    low, high = row["bounds"]
    assert low < row["mean"] < high
    assert row["scored"] == 29


def test_no_submission_at_all_gives_an_empty_analysis() -> None:
    results = trial()
    empty = results.model_copy(update={"records": (), "submissions": ()})
    assert analysis(empty) == {"kidney": {}, "liver": {}}


def test_real_values_are_clipped_to_what_a_failure_counts_as() -> None:
    results = trial(submissions=1, absent_every=0)
    first = results.records[0]
    worse = change(results, lambda r: r is first, metrics=dict(first.metrics) | {"hd95": 900.0})
    failed = change(results, lambda r: r is first, outcome="failed: wrong_grid")
    values = [analysis(r)["kidney"]["hd95"]["ranking"][0]["mean_capped"] for r in (worse, failed)]
    assert values[0] == values[1]
