"""Distances: medians with failures unbounded, an order that verdicts never contradict."""

from __future__ import annotations

from typing import Any

import pytest

from segtrial.contracts.result import Value
from segtrial.statistics import analyse_results
from trial_scores import DIAGONAL_MM, change, trial


def family_of_hd95(values: dict[str, list[float | None]]) -> dict[str, Any]:
    """Analysis of hd95; None is a failure."""
    n = len(next(iter(values.values())))
    results = trial(submissions=len(values), patients=n, structures=("kidney",), absent_every=0)
    for m, column in enumerate(values.values()):
        for record in [r for r in results.records if r.submission == f"model-{m}"]:
            value = column[int(record.case[4:7])]
            if value is None:
                results = change(results, lambda r, x=record: r is x, outcome="failed: crash")  # type: ignore[misc]
            else:
                metrics: dict[str, Value] = {"hd95": value}
                results = change(results, lambda r, x=record: r is x, metrics=metrics)  # type: ignore[misc]
    found: dict[str, Any] = analyse_results(results).analysis["kidney"]["hd95"]
    return found


def test_failures_are_unbounded_in_quantiles_and_the_diagonal_in_means() -> None:
    family = family_of_hd95({"a": [3.0] * 26 + [None] * 4, "b": [4.0] * 30})
    rows = {row["submission"]: row for row in family["ranking"]}
    assert rows["model-0"]["median"] == 3.0
    assert rows["model-0"]["p90"] == {"state": "unbounded"}
    assert rows["model-0"]["p90_interval"] == [3.0, {"state": "unbounded"}]
    assert rows["model-0"]["mean_capped"] == pytest.approx((26 * 3 + 4 * DIAGONAL_MM) / 30)
    assert rows["model-1"]["interval"] == {"state": "not_estimable", "reason": "zero variance"}


def test_half_of_the_patients_failing_leaves_the_median_unbounded() -> None:
    family = family_of_hd95({"a": [3.0] * 15 + [None] * 15, "b": [4.0] * 30})
    assert [row["submission"] for row in family["ranking"]] == ["model-1", "model-0"]
    assert family["ranking"][1]["median"] == {"state": "unbounded"}


def test_less_is_better_in_order_resamples_and_verdicts() -> None:
    family = family_of_hd95({"a": [5.0 + k / 10 for k in range(30)], "b": [2.0] * 30})
    first = family["ranking"][0]
    assert first["submission"] == "model-1"
    assert first["rank_frequency"] == [1.0, 0.0]
    (pair,) = family["pairs"]
    assert (pair["a"], pair["verdict"], pair["win_rate"]) == ("model-1", "better", 1.0)
    assert pair["difference"] < 0


def test_a_verdict_never_puts_second_what_the_median_puts_first() -> None:
    family = family_of_hd95({"a": [2.0] * 21 + [None] * 9, "b": [3.0] * 30})
    assert [row["submission"] for row in family["ranking"]] == ["model-0", "model-1"]
    (pair,) = family["pairs"]
    assert pair["p_adjusted"] < 0.05
    assert pair["difference"] > 0
    assert pair["verdict"] == "inconclusive"
    assert [row["rank_interval"] for row in family["ranking"]] == [[1, 2], [1, 2]]
    assert not family["schemes"]["by_mean"]["same_first"]


def test_distances_are_exploratory_and_say_what_they_estimate() -> None:
    family = family_of_hd95({"a": [2.0] * 12, "b": [3.0] * 12})
    assert (family["role"], family["estimand"], family["unit"]) == ("exploratory", "median", "mm")
    assert "p_equivalent" not in family["pairs"][0]
