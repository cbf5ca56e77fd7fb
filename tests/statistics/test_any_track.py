"""Whatever the records, the analysis is defined: every number in range, nothing contradicts."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from segtrial.contracts.attempt import Outcome
from segtrial.contracts.result import CaseRow, Results, ScoreRecord, Unbounded, Value
from segtrial.statistics import analyse_results
from trial_scores import FAST, change, results_of

OUTCOMES: tuple[Outcome, ...] = (
    *("ok",) * 12, "failed: crash", "failed: timeout", "not_run: stopped", "unsupported",
)  # fmt: skip
SHARES = st.sampled_from([0.0, 0.5, 0.9, 0.9000001, 1.0])
DISTANCES: st.SearchStrategy[Value] = st.sampled_from([0.0, 1.0, 2.5, 480.0, 700.0, Unbounded()])


@st.composite
def tracks(draw: st.DrawFn) -> Results:
    """Few or some patients with one or two scans; scores full of ties, failures and gaps."""
    patients = draw(st.integers(1, 24))
    scans = draw(st.integers(1, 2))
    structures = draw(st.sampled_from([("kidney",), ("kidney", "liver", "spleen")]))
    known = draw(st.booleans())
    clean = draw(st.booleans())  # nobody left out, so that there is something to rank
    cases = [
        CaseRow(
            case=f"c{patient:02d}{scan}",
            patient=f"p{patient:02d}",
            slices={"site": draw(st.sampled_from("ab"))} if known else {},
            diagonal_mm=500.0 if known else None,
            volume_ml=4e4 if known else None,
        )
        for patient in range(patients)
        for scan in range(scans)
    ]
    records = []
    for case in cases:
        for structure in structures:
            present = draw(st.integers(0, 4)) > 0
            for submission in range(draw(st.just(3))):
                outcome = draw(st.sampled_from(OUTCOMES[: 14 if clean else None]))
                metrics: dict[str, Value] = {}
                if outcome == "ok" and present:
                    metrics = {"dice": draw(SHARES), "hd95": draw(DISTANCES)}
                elif outcome == "ok":
                    metrics = {"specificity": draw(st.sampled_from([0.0, 1.0]))}
                records.append(
                    ScoreRecord(
                        submission=f"m{submission}",
                        case=case.case,
                        structure=structure,
                        outcome=outcome,
                        eligibility="clean",
                        reference_present=present,
                        metrics=metrics,
                    )
                )
    return results_of(cases, records, structures=structures, settings=FAST)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(results=tracks())
def test_any_track_has_an_analysis_that_does_not_contradict_itself(results: Results) -> None:
    analysis = analyse_results(results).analysis
    json.dumps(analysis, allow_nan=False)
    for metrics in analysis.values():
        for family in metrics.values():
            names = [row["submission"] for row in (*family["ranking"], *family["unranked"])]
            assert sorted(names) == sorted({record.submission for record in results.records})
            better = [(p["a"], p["b"]) for p in family["pairs"] if p["verdict"] == "better"]
            for place, row in enumerate(family["ranking"], start=1):
                _check_row(row, family["n"])
                low, high = row["rank_interval"]
                assert low == 1 + sum(b == row["submission"] for _, b in better) <= place <= high
                assert row["tied_for_first"] == (low == 1)
            for pair in family["pairs"]:
                assert 0 < pair["p"] <= pair["p_adjusted"] <= 1
                _check_interval(pair["interval"], pair["difference"])
                _check_interval(pair["simultaneous_interval"], pair["difference"])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(results=tracks(), chosen=st.integers(0, 10_000))
def test_turning_an_ok_into_failed_helps_nobody_and_moves_nobody_else(
    results: Results, chosen: int
) -> None:
    """DESIGN 5, on whole analyses: in every resample, so in the shares of every first k ranks."""
    answered = [record for record in results.records if record.outcome == "ok"]
    assume(answered)
    one = answered[chosen % len(answered)]
    after = change(results, lambda record: record is one, outcome="failed: crash")
    old, new = (analyse_results(which).analysis for which in (results, after))
    for structure, metrics in old.items():
        for metric, family in metrics.items():
            if metric not in new[structure]:
                assert metric == "hd95"  # nobody else had one, and the protocol names dice alone
                continue
            _check_failing(one.submission, family, new[structure][metric])


def _check_failing(who: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    assert (after["n"], after["cases"]) == (before["n"], before["cases"])
    rows = {row["submission"]: row for row in after["ranking"]}
    assert rows.keys() == {row["submission"] for row in before["ranking"]}
    moves = ("rank_interval", "tied_for_first", "rank_frequency")
    for row in before["ranking"]:
        now = rows[row["submission"]]
        if row["submission"] == who:
            first = (np.cumsum(which["rank_frequency"]) for which in (now, row))
            assert (next(first) <= next(first) + 1e-7).all()
        else:
            assert {k: v for k, v in now.items() if k not in moves} == {
                k: v for k, v in row.items() if k not in moves
            }
    p = {frozenset({pair["a"], pair["b"]}): pair["p"] for pair in after["pairs"]}
    for pair in before["pairs"]:
        if who not in {pair["a"], pair["b"]}:
            assert p[frozenset({pair["a"], pair["b"]})] == pair["p"]


def _check_row(row: dict[str, Any], n: int) -> None:
    assert 0 <= row["failed"] <= n
    _check_interval(row["failure_interval"], row["failure_rate"])
    _check_interval(row["interval"], row.get("mean", row.get("median")))
    if "p90" in row:
        _check_interval(row["p90_interval"], row["p90"])
    assert sum(row["rank_frequency"]) == pytest.approx(1)


def _check_interval(interval: Any, estimate: Any) -> None:  # noqa: ANN401 - numbers or states
    """An interval holds its estimate and is no point, or says why it is not there."""
    if isinstance(interval, dict):
        assert interval["state"] == "not_estimable"
        assert interval["reason"]
        return
    low, value, high = (_number(end) for end in (interval[0], estimate, interval[1]))
    assert low <= value * (1 + 1e-7) + 1e-9
    assert value <= high * (1 + 1e-7) + 1e-9


def _number(value: Any) -> float:  # noqa: ANN401 - as above
    return float("inf") if isinstance(value, dict) else float(value)
