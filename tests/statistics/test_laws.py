"""What must hold of every analysis, whatever the scores."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segtrial.contracts.result import Results, ScoreRecord
from segtrial.statistics import analyse_results
from segtrial.statistics.families import families
from segtrial.statistics.records import MACRO_AVERAGE, track_scores
from segtrial.statistics.scores import TrackScores
from segtrial.statistics.settings import AnalysisSettings
from segtrial.statistics.weights import bootstrap_counts, stream_for
from trial_scores import (
    FAST,
    change,
    results_of,
    shuffled,
    trial,
    with_clone,
    with_verdict,
    without_submission,
)

QUICK = settings(max_examples=8, deadline=None, derandomize=True)
SEEDS = st.integers(0, 10_000)


def analysis(results: Results) -> dict[str, Any]:
    found: dict[str, Any] = analyse_results(results).analysis
    return found


def families_in(found: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for structure, metrics in found.items():
        for metric, family in metrics.items():
            yield structure, metric, family


def rows(family: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["submission"]: row for row in family["ranking"]}


def pairs_by_name(family: dict[str, Any]) -> dict[frozenset[str], dict[str, Any]]:
    return {frozenset({pair["a"], pair["b"]}): pair for pair in family["pairs"]}


def scores_of(results: Results) -> TrackScores:
    return track_scores(
        track="t",
        structures=results.track.structures,
        cases=results.cases,
        submissions=results.submissions,
        records=results.records,
        settings=AnalysisSettings(),
    )


def worst_of(results: Results, name: str, count: int) -> set[str]:
    """Cases on which a submission does worst."""
    by_dice = sorted(
        (float(str(r.metrics.get("dice", 1.0))), r.case)
        for r in results.records
        if r.submission == name
    )
    return {case for _, case in by_dice[:count]}


@QUICK
@given(seed=SEEDS, fails=st.integers(1, 12), who=st.integers(0, 2), scans=st.integers(1, 2))
def test_failing_never_improves_the_rank_in_any_resample(
    seed: int, fails: int, who: int, scans: int
) -> None:
    before = trial(seed=seed, scans=scans)
    name = f"model-{who}"
    chosen = worst_of(before, name, fails)
    after = change(
        before, lambda r: r.submission == name and r.case in chosen, outcome="failed: crash"
    )
    counts = bootstrap_counts(
        stream_for(purpose="bootstrap", seed=0, track="t", patients=["any"]),
        patients=30,
        resamples=500,
    ).astype(np.float64)
    for metric in ("dice", "hd95", "volume_difference_ml", "specificity", "false_positive_ml"):
        for one, other in zip(
            families(scores_of(before), metric), families(scores_of(after), metric), strict=True
        ):
            m = one.submissions.index(name)
            ranks = [
                1 + (goodness > goodness[:, [m]]).sum(axis=1)
                for goodness in (
                    counts[:, family.patients] @ family.goodness.T for family in (one, other)
                )
            ]
            assert (ranks[1] >= ranks[0]).all()


@QUICK
@given(seed=SEEDS, fails=st.integers(1, 12))
def test_failing_changes_nobody_elses_scores_intervals_cases_or_unadjusted_p_values(
    seed: int, fails: int
) -> None:
    before = trial(seed=seed)
    chosen = worst_of(before, "model-1", fails)
    after = change(
        before, lambda r: r.submission == "model-1" and r.case in chosen, outcome="failed: timeout"
    )
    old, new = analysis(before), analysis(after)
    kept = ("mean", "median", "p90", "interval", "guarded_interval", "p90_interval", "failed")
    for structure, metric, family in families_in(old):
        changed = new[structure][metric]
        assert changed["n"] == family["n"]
        for name in ("model-0", "model-2"):
            for key in kept:
                assert rows(changed)[name].get(key) == rows(family)[name].get(key)
        pair = frozenset({"model-0", "model-2"})
        assert pairs_by_name(changed)[pair]["p"] == pairs_by_name(family)[pair]["p"]


@QUICK
@given(seed=SEEDS, fails=st.integers(1, 12), patients=st.sampled_from([14, 30]))
def test_failing_never_weakens_the_evidence_against_whoever_is_behind(
    seed: int, fails: int, patients: int
) -> None:
    """A crash adds spread, and still cannot turn "worse" into "not separable" by its own p."""
    before = trial(
        seed=seed, submissions=2, patients=patients, structures=("kidney",), absent_every=0
    )
    old = analysis(before)["kidney"]
    behind = {key: old[key]["pairs"][0]["b"] for key in ("dice", "nsd", "volume_difference_ml")}
    for name in set(behind.values()):
        chosen = worst_of(before, name, fails)
        after = analysis(_failing(before, name, chosen))["kidney"]
        for key in (key for key, last in behind.items() if last == name):
            assert after[key]["pairs"][0]["b"] == name
            assert after[key]["pairs"][0]["p"] <= old[key]["pairs"][0]["p"]


def _failing(results: Results, name: str, cases: set[str]) -> Results:
    return change(
        results, lambda r: r.submission == name and r.case in cases, outcome="failed: crash"
    )


@QUICK
@given(seed=SEEDS, fails=st.integers(1, 29))
def test_failing_more_never_raises_the_mean_and_is_counted(seed: int, fails: int) -> None:
    before = trial(seed=seed)
    chosen = set(sorted({r.case for r in before.records})[:fails])
    after = analysis(
        change(
            before,
            lambda r: r.submission == "model-0" and r.case in chosen,
            outcome="failed: no_output",
        )
    )
    row = rows(after["kidney"]["dice"])["model-0"]
    assert row["mean"] <= rows(analysis(before)["kidney"]["dice"])["model-0"]["mean"]
    assert row["failed"] == row["failed_cases"] == fails
    assert after["kidney"]["dice"]["n"] == 30


@pytest.mark.parametrize("verdict", ["contaminated", "partial", "images_only", "unknown"])
def test_a_contaminated_submission_leaves_every_other_byte_as_it_was(verdict: Any) -> None:  # noqa: ANN401 - one of the verdicts
    results = with_verdict(trial(submissions=4), "model-1", verdict)
    found, alone = analysis(results), analysis(without_submission(results, "model-1"))
    for _, _, family in families_in(found):
        shown = [row for row in family["unranked"] if row["submission"] == "model-1"]
        assert [row["reason"] for row in shown] == [verdict]
        family["unranked"] = [row for row in family["unranked"] if row not in shown]
    assert json.dumps(found) == json.dumps(alone)


def test_a_contaminated_submission_adds_no_case_to_the_list() -> None:
    results = with_verdict(trial(submissions=3), "model-1", "contaminated")
    records = tuple(r for r in results.records if r.submission == "model-1" or r.case != "case004a")
    found = analysis(results.model_copy(update={"records": records}))
    assert found["kidney"]["dice"]["n"] == 29
    assert len(found["kidney"]["dice"]["ranking"]) == 2


def test_a_verdict_of_clean_does_not_hide_a_contaminated_case() -> None:
    results = change(
        trial(),
        lambda r: r.submission == "model-0" and r.case == "case001a",
        eligibility="contaminated",
    )
    family = analysis(results)["kidney"]["dice"]
    assert "model-0" not in rows(family)
    assert family["unranked"][0]["reason"] == "contaminated"


@QUICK
@given(seed=SEEDS)
def test_a_clone_changes_nobodys_score_interval_or_order_and_is_never_separated(seed: int) -> None:
    results = trial(seed=seed)
    old, new = analysis(results), analysis(with_clone(results, "model-0", "twin"))
    for structure, metric, family in families_in(old):
        cloned = new[structure][metric]
        for name, row in rows(family).items():
            for key in ("mean", "median", "p90", "interval", "guarded_interval", "failure_rate"):
                assert rows(cloned)[name].get(key) == row.get(key)
        order = [row["submission"] for row in cloned["ranking"] if row["submission"] != "twin"]
        assert order == [row["submission"] for row in family["ranking"]]
        pair = pairs_by_name(cloned)[frozenset({"model-0", "twin"})]
        assert pair["p"] == 1.0
        assert pair["verdict"] in {"equivalent", "inconclusive"}
        assert {"a": "model-0", "b": "twin", "correlation": 1.0} in (
            cloned["stability"]["near_duplicates"]
        )
        twin, original = rows(cloned)["twin"], rows(cloned)["model-0"]
        assert twin["rank_frequency"] == original["rank_frequency"]


@QUICK
@given(seed=SEEDS)
def test_the_order_of_the_input_changes_nothing(seed: int) -> None:
    results = trial(seed=seed % 7, scans=2)
    assert json.dumps(analysis(shuffled(results, seed)), sort_keys=True) == json.dumps(
        analysis(results), sort_keys=True
    )


def test_renaming_submissions_renames_the_output_and_nothing_else() -> None:
    results = trial()
    text = results.model_dump_json().replace("model-0", "zebra")
    renamed = analysis(Results.model_validate_json(text))
    old = json.dumps(analysis(results)).replace("model-0", "zebra")
    for structure, metric, family in families_in(json.loads(old)):
        assert renamed[structure][metric]["ranking"] == family["ranking"]
        assert renamed[structure][metric]["pairs"] == family["pairs"]


@QUICK
@given(
    values=st.lists(st.sampled_from([0.0, 0.5, 0.9, 0.91, 1.0]), min_size=10, max_size=40),
    seed=SEEDS,
)
def test_intervals_hold_their_estimates_and_stay_in_range(values: list[float], seed: int) -> None:
    results = _one_submission(values, seed)
    row = analysis(results)["kidney"]["dice"]["ranking"][0]
    low, high = row["guarded_interval"]
    assert 0 <= low <= row["mean"] <= high <= 1
    if isinstance(row["interval"], dict):
        assert row["interval"]["state"] == "not_estimable"
    else:
        assert low <= row["interval"][0] <= row["mean"] <= row["interval"][1] <= high


@QUICK
@given(seed=SEEDS)
def test_ranks_verdicts_and_order_never_contradict_each_other(seed: int) -> None:
    results = trial(seed=seed, submissions=5)
    for _, _, family in families_in(analysis(results)):
        better = [(p["a"], p["b"]) for p in family["pairs"] if p["verdict"] == "better"]
        for place, row in enumerate(family["ranking"], start=1):
            low, high = row["rank_interval"]
            assert low <= place <= high
            assert low == 1 + sum(b == row["submission"] for _, b in better)
            assert high == 5 - sum(a == row["submission"] for a, _ in better)
            assert row["tied_for_first"] == (low == 1)
            assert sum(row["rank_frequency"]) == pytest.approx(1)


def test_the_macro_average_is_the_mean_of_the_structures_means() -> None:
    found = analysis(trial(structures=("aorta", "kidney", "liver"), absent_every=3))
    for row in found[MACRO_AVERAGE]["dice"]["ranking"]:
        means = [
            rows(found[s]["dice"])[row["submission"]]["mean"] for s in ("aorta", "kidney", "liver")
        ]
        assert row["mean"] == pytest.approx(sum(means) / 3, abs=1e-7)
    assert "hd95" not in found[MACRO_AVERAGE]


def test_scans_of_one_patient_count_as_one() -> None:
    once, twice = trial(scans=1), trial(scans=1)
    extra_cases = [c.model_copy(update={"case": c.case + "2"}) for c in twice.cases]
    extra = [r.model_copy(update={"case": r.case + "2"}) for r in twice.records]
    doubled = results_of(
        [*twice.cases, *extra_cases], [*twice.records, *extra], structures=("kidney", "liver")
    )
    old, new = analysis(once), analysis(doubled)
    for structure, metric, family in families_in(old):
        assert new[structure][metric]["n"] == family["n"]
        assert new[structure][metric]["cases"] == 2 * family["cases"]
        assert new[structure][metric]["ranking"] == family["ranking"]
        assert new[structure][metric]["pairs"] == family["pairs"]


def _one_submission(values: list[float], seed: int) -> Results:
    base = trial(submissions=1, patients=len(values), structures=("kidney",), absent_every=0)

    def scored(index: int, record: ScoreRecord) -> ScoreRecord:
        return record.model_copy(update={"metrics": {"dice": values[index]}})

    return base.model_copy(
        update={
            "records": tuple(scored(k, r) for k, r in enumerate(base.records)),
            "settings": FAST.model_copy(update={"seed": seed}).model_dump(mode="json"),
        }
    )
