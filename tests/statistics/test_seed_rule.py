"""The published table of segauge-benchmark follows from its per-case scores, digit for digit."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from segtrial.errors import ResultsError
from segtrial.statistics.seed_rule import (
    SeedAnalysis,
    percentile_bonferroni,
    percentile_bootstrap,
)

_NAME = Path("published/segauge_benchmark_kits23.json")


def _published() -> dict[str, Any]:
    folders = [Path(os.environ.get("SEGTRIAL_TEST_DATA", "")), *_shared_folders()]
    for folder in folders:
        if (folder / _NAME).is_file():
            found: dict[str, Any] = json.loads((folder / _NAME).read_text())
            return found
    pytest.skip(f"{_NAME} is not here; set SEGTRIAL_TEST_DATA to the folder that holds it")


def _shared_folders() -> list[Path]:
    """``shared/data`` beside the checkout or above it."""
    return [parent / "shared" / "data" for parent in Path(__file__).resolve().parents]


@pytest.fixture(scope="module")
def published() -> dict[str, Any]:
    return _published()


def _scores(published: dict[str, Any], metric: str) -> dict[str, dict[str, float]]:
    return {
        model["name"]: {
            case["case_id"]: case[metric] for case in model["per_organ"]["kidney"]["per_case"]
        }
        for model in published["models"]
    }


def _as_published(found: SeedAnalysis, *, metric: str, higher: bool) -> dict[str, Any]:
    pairs = len(found.pairs)
    return {
        "n_cases": found.cases,
        "confidence": 0.95,
        "n_comparisons": pairs,
        "correction": "bonferroni",
        "adjusted_confidence": found.adjusted_confidence,
        "ranking": {
            "metric": metric,
            "higher_is_better": higher,
            "n_cases": found.cases,
            "n_resamples": 2000,
            "stats": [
                {
                    "name": row.submission,
                    "score": row.mean,
                    "p_best": row.first_share,
                    "mean_rank": row.mean_rank,
                    "rank_ci_low": row.ranks.low,
                    "rank_ci_high": row.ranks.high,
                }
                for row in found.ranking
            ],
        },
        "pairwise": [
            {
                "a": pair.a,
                "b": pair.b,
                "delta": pair.difference,
                "ci_low": pair.interval.low,
                "ci_high": pair.interval.high,
                "favored": _favoured(pair.a, pair.b, pair.difference, pair.distinguishable, higher),
                "distinguishable": pair.distinguishable,
            }
            for pair in found.pairs
        ],
    }


def _favoured(
    a: str,
    b: str,
    difference: float,
    distinguishable: bool,  # noqa: FBT001 - the columns of the published table
    higher: bool,  # noqa: FBT001
) -> str | None:
    if not distinguishable:
        return None
    return a if (difference > 0) == higher else b


@pytest.mark.parametrize("metric", ["dice", "hd95", "nsd", "assd"])
def test_the_published_analysis_is_re_derived_exactly(
    published: dict[str, Any], metric: str
) -> None:
    higher = metric in {"dice", "nsd"}
    found = percentile_bonferroni(_scores(published, metric), higher_is_better=higher)
    expected = published["analysis"]["kidney"][metric]
    assert _as_published(found, metric=metric, higher=higher) == expected


@pytest.mark.parametrize("metric", ["dice", "hd95", "nsd", "assd"])
def test_the_published_intervals_are_re_derived_exactly(
    published: dict[str, Any], metric: str
) -> None:
    scores = _scores(published, metric)
    for model in published["models"]:
        summary = model["per_organ"]["kidney"]["summary"][metric]
        interval = percentile_bootstrap(list(scores[model["name"]].values()))
        assert (interval.low, interval.high) == (summary["ci_low"], summary["ci_high"])


@pytest.mark.parametrize(
    ("a_failure_is", "mean", "share"), [("left out", 0.928, 1.0), ("zero", 0.789, 0.0375)]
)
def test_this_rule_rewards_crashing_on_ones_worst_cases_and_a_worst_value_does_not(
    published: dict[str, Any],
    a_failure_is: str,
    mean: float,
    share: float,
) -> None:
    scores = _scores(published, "dice")
    own = scores["MOOSE"]
    for case in sorted(own, key=own.__getitem__)[:3]:
        if a_failure_is == "left out":
            del own[case]
        else:
            own[case] = 0.0
    ranking = percentile_bonferroni(scores, higher_is_better=True).ranking
    row = next(row for row in ranking if row.submission == "MOOSE")
    assert (round(row.mean, 3), row.first_share) == (mean, share)


def test_under_this_rule_a_copy_of_the_leader_makes_another_the_most_frequent_winner(
    published: dict[str, Any],
) -> None:
    scores = _scores(published, "dice")
    scores["copy"] = scores["MOOSE"]
    ranking = percentile_bonferroni(scores, higher_is_better=True).ranking
    first = {row.submission: round(row.first_share, 2) for row in ranking}
    assert first == {"TotalSegmentator": 0.36, "MOOSE": 0.32, "copy": 0.32, "CT-FM": 0.0}


def test_without_a_common_case_it_says_so() -> None:
    with pytest.raises(ResultsError, match="no case in common"):
        percentile_bonferroni({"a": {"x": 1.0}, "b": {"y": 1.0}}, higher_is_better=True)
