"""Ranks over resamples, other schemes, leave-one-out, slices and planning, against brute force."""

from __future__ import annotations

import itertools
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from segtrial.statistics import analyse_results
from segtrial.statistics.comparison import differences
from segtrial.statistics.families import families
from segtrial.statistics.interaction import _Sequential, slice_tests
from segtrial.statistics.intervals import Interval, bca_interval, percentile_interval
from segtrial.statistics.macro import macro_average, without_each
from segtrial.statistics.planning import (
    MOST,
    detectable_difference,
    patients_needed,
    smallest_visible_rate,
)
from segtrial.statistics.ranking import RankTally, rank_intervals
from segtrial.statistics.records import MACRO_AVERAGE, track_scores
from segtrial.statistics.schemes import signed_rank_z
from segtrial.statistics.scores import TrackScores
from segtrial.statistics.settings import AnalysisSettings
from segtrial.statistics.signflip import decidable
from segtrial.statistics.stability import leave_one_out, sums_without_each, tau_b
from segtrial.statistics.subgroups import STRUCTURE_SIZE
from segtrial.statistics.weights import Stream, bootstrap_counts, permutations, stream_for
from trial_scores import FAST, change, family_of, trial

QUICK = settings(max_examples=30, deadline=None, derandomize=True)


def track(**how: Any) -> TrackScores:  # noqa: ANN401 - passed on to trial()
    results = trial(**how)
    return track_scores(
        track="t",
        structures=results.track.structures,
        cases=results.cases,
        submissions=results.submissions,
        records=results.records,
        settings=AnalysisSettings(),
    )


@QUICK
@given(seed=st.integers(0, 500), submissions=st.integers(1, 7), steps=st.sampled_from([2, 5, 1000]))
def test_rank_frequencies_split_exact_ties_as_counting_does(
    seed: int, submissions: int, steps: int
) -> None:
    family = families(track(submissions=submissions, patients=12), "dice")[0]
    random = np.random.default_rng(seed)
    totals = random.integers(0, steps, (submissions, 50)).astype(np.float64)
    tally = RankTally.of(family)
    tally.add(totals[:, :20], np.ones(20))
    tally.add(totals[:, 20:], np.r_[np.ones(25), np.zeros(5)])
    expected = np.zeros((submissions, submissions))
    for column in totals[:, :45].T:
        for m in range(submissions):
            ahead, same = (column > column[m]).sum(), (column == column[m]).sum()
            expected[m, ahead : ahead + same] += 1 / same
    assert tally.frequency() == pytest.approx(expected / 45)
    assert (tally.resamples, tally.empty) == (45, 5)


def test_rank_intervals_by_hand() -> None:
    found = rank_intervals(4, [(0, 2), (0, 3), (1, 3)])
    assert [(one.low, one.high) for one in found] == [(1, 2), (1, 3), (2, 4), (3, 4)]
    assert [one.tied_for_first for one in found] == [True, True, False, False]


@QUICK
@given(a=st.lists(st.integers(0, 5), min_size=2, max_size=9), seed=st.integers(0, 100))
def test_kendalls_tau_agrees_with_scipy(a: list[int], seed: int) -> None:
    b = np.random.default_rng(seed).integers(0, 6, len(a)).tolist()
    expected = stats.kendalltau(a, b).statistic
    found = tau_b(a, b)
    assert (found is None) == bool(np.isnan(expected))
    assert found is None or found == pytest.approx(expected)


@pytest.mark.parametrize("steps", [4, 10_000])
def test_the_signed_rank_statistic_agrees_with_scipy(steps: int) -> None:
    random = np.random.default_rng(steps)
    a, b = random.integers(0, steps, (2, 40)) / steps
    z = signed_rank_z(a, b)
    oracle: Any = stats.wilcoxon(a, b, method="approx")
    assert 2 * stats.norm.sf(abs(z)) == pytest.approx(oracle.pvalue, rel=1e-9)


def test_leaving_one_out_by_brute_force() -> None:
    family = family_of(np.random.default_rng(3).random((4, 9)))
    order = np.argsort(-family.goodness.sum(axis=1))
    found = leave_one_out(sums_without_each(family)[order])
    ranks = []
    for left_out in range(family.patients.size):
        means = np.delete(family.goodness, left_out, axis=1).mean(axis=1)[order]
        ranks.append(stats.rankdata(-means, method="min"))
    assert found.ranks == [(int(r.min()), int(r.max())) for r in np.transpose(ranks)]
    assert found.changing_order == sum(list(r) != [1, 2, 3, 4] for r in ranks)
    assert found.changing_first == sum(r[0] != 1 for r in ranks)
    assert 0 < found.changing_first < found.changing_order


def test_leaving_one_out_of_the_macro_average_by_brute_force() -> None:
    scores = track(submissions=3, patients=14, structures=("aorta", "kidney", "liver"))
    members = families(scores, "dice")
    average = macro_average(scores, members)
    assert average is not None
    values, exists = without_each(average, members)
    assert exists.all()
    for column, patient in enumerate(average.family.patients):
        means = [
            family.scores[:, family.patients != patient].mean(axis=1) / 2**30 for family in members
        ]
        assert values[:, column] / 3 == pytest.approx(np.mean(means, axis=0), abs=1e-9)


def test_the_macro_average_resamples_as_the_mean_of_weighted_means() -> None:
    found = analyse_results(trial(submissions=3, absent_every=2)).analysis
    scores = track(submissions=3, absent_every=2)
    members = families(scores, "dice")
    counts = bootstrap_counts(Stream(3), patients=30, resamples=500).astype(np.float64)
    macro = np.mean(
        [
            counts[:, f.patients] @ f.scores.T / counts[:, f.patients].sum(axis=1, keepdims=True)
            for f in members
        ],
        axis=0,
    )
    first = (macro[:, 0] >= macro.max(axis=1)).mean()
    row = next(
        row for row in found[MACRO_AVERAGE]["dice"]["ranking"] if row["submission"] == "model-0"
    )
    assert row["rank_frequency"][0] == pytest.approx(first, abs=0.06)
    low, high = np.quantile(macro[:, 0] / 2**30, [0.025, 0.975])
    assert row["interval"] == pytest.approx([low, high], abs=0.006)


@pytest.mark.parametrize("name", ["percentile", "bca"])
def test_other_intervals_can_be_had_by_name(name: Literal["percentile", "bca"]) -> None:
    results = trial(settings=FAST.model_copy(update={"interval": name}))
    found = analyse_results(results).analysis
    family = families(track(), "dice")[0]
    counts = bootstrap_counts(
        stream_for(
            purpose="bootstrap",
            seed=0,
            track="made-up@1/all",
            patients=sorted({case.patient for case in results.cases}),
        ),
        patients=30,
        resamples=1000,
    )
    values = family.scores[0] / 2**30
    means = counts @ values / 30
    expected = {"percentile": percentile_interval(means, alpha=0.05),
                "bca": bca_interval(values, means, alpha=0.05)}[name]  # fmt: skip
    assert isinstance(expected, Interval)
    row = next(r for r in found["kidney"]["dice"]["ranking"] if r["submission"] == "model-0")
    assert row["interval"] == pytest.approx([expected.low, expected.high], abs=1e-7)
    assert isinstance(found[MACRO_AVERAGE]["dice"]["ranking"][0]["interval"], list)


def test_the_error_of_the_macro_average_is_the_spread_of_its_resamples() -> None:
    scores = track(submissions=2, patients=60, absent_every=2)
    members = families(scores, "dice")
    average = macro_average(scores, members)
    assert average is not None
    counts = bootstrap_counts(Stream(5), patients=60, resamples=8000).astype(np.float64)
    macro = np.mean(
        [
            counts[:, f.patients] @ f.scores.T / counts[:, f.patients].sum(axis=1, keepdims=True)
            for f in members
        ],
        axis=0,
    )
    found = differences(average.family)
    spread = (macro[:, 0] - macro[:, 1]).std() / 2**30
    assert found.error[0] == pytest.approx(spread, rel=0.05)


def test_small_levels_show_only_their_number() -> None:
    results = trial(patients=24)
    cases = tuple(
        case.model_copy(update={"slices": {"site": "rare" if k < 5 else "common"}})
        for k, case in enumerate(results.cases)
    )
    found = analyse_results(results.model_copy(update={"cases": cases})).analysis
    common, rare = found["kidney"]["dice"]["slices"]["site"]["levels"]
    assert (rare["n"], rare["estimates"]) == (5, [])
    assert (common["n"], common["low_n"], len(common["estimates"])) == (19, True, 3)
    assert found["kidney"]["dice"]["slices"]["site"]["interaction"]["state"] == "not_estimable"


def test_a_slice_in_which_the_comparison_turns_around_is_highlighted_and_no_other() -> None:
    results = trial(patients=60, submissions=2, absent_every=0)
    female = {case.case for case in results.cases if case.slices["sex"] == "f"}
    for name, cases in (("model-0", female), ("model-1", None)):
        for record in results.records:
            in_slice = cases is None or record.case in cases
            swap = record.submission == name and in_slice and record.structure == "kidney"
            if swap and name == "model-0":
                worse = float(str(record.metrics["dice"])) - 0.06
                results = change(
                    results,
                    lambda r, record=record: r is record,  # type: ignore[misc]
                    metrics=dict(record.metrics) | {"dice": worse},
                )
    family = analyse_results(results).analysis["kidney"]["dice"]
    assert family["slices"]["sex"]["interaction"]["p"] == 1 / (FAST.permutations + 1)
    assert family["slices"]["sex"]["interaction"]["highlighted"]
    assert not family["slices"]["site"]["interaction"]["highlighted"]


def test_interaction_p_values_are_uniform_without_an_interaction() -> None:
    p = []
    for seed in range(60):
        settings_ = FAST.model_copy(update={"flips": 999, "permutations": 999})
        results = trial(
            seed=seed, patients=40, submissions=3, structures=("kidney",), absent_every=0,
            settings=settings_,
        )  # fmt: skip
        slices = analyse_results(results).analysis["kidney"]["dice"]["slices"]
        p += [slices[name]["interaction"]["p"] for name in ("sex", "site")]
    assert stats.kstest(p, "uniform").pvalue > 0.005


def test_a_small_level_that_scatters_widely_is_not_an_interaction() -> None:
    random = np.random.default_rng(8)
    labels = np.repeat(["rare", "usual"], [15, 85])
    scatter = np.where(labels == "rare", 0.1, 0.02)
    settings_ = AnalysisSettings(permutations=999)
    found = 0
    for seed in range(150):
        family = family_of(0.7 + scatter * random.normal(size=(2, 100)))
        orders = permutations(Stream(seed), patients=100, count=999)
        interaction, _ = slice_tests(family, labels, orders, settings_)
        found += interaction is not None and interaction <= 0.05
    assert found / 150 < 0.15  # 0.05 is wanted; a pooled error gives 0.35


def test_a_sequential_p_value_is_that_of_the_shuffle_at_which_it_stops() -> None:
    random = np.random.default_rng(0)
    reached = random.random(9_999) < 0.3
    test = _Sequential()
    for start in range(0, 9_999, 64):
        test.take(reached[start : start + 64])
    stop = int(np.flatnonzero(reached)[99]) + 1
    assert test.p == 100 / stop
    rare = _Sequential()
    rare.take(np.arange(999) < 7)
    assert rare.p == 8 / 1000


@pytest.mark.parametrize("structure", ["kidney", MACRO_AVERAGE])
def test_leaving_a_level_out_by_brute_force(structure: str) -> None:
    results = trial(patients=24, submissions=3, absent_every=0, seed=5)
    cases = tuple(
        case.model_copy(update={"slices": {"site": "abcd"[k % 4]}})
        for k, case in enumerate(results.cases)
    )
    dice = {(r.submission, r.structure, r.case): float(str(r.metrics["dice"]))
            for r in results.records}  # fmt: skip
    best = next(case.case for case in cases if case.slices["site"] == "b")
    structures = ("kidney", "liver") if structure == MACRO_AVERAGE else (structure,)
    records = tuple(
        r.model_copy(update={"metrics": {"dice": 0.1}})
        if r.case == best and r.submission == "model-0"
        else r
        for r in results.records
    )
    dice |= {("model-0", s, best): 0.1 for s in ("kidney", "liver")}
    found = analyse_results(results.model_copy(update={"cases": cases, "records": records}))
    one = found.analysis[structure]["dice"]["slices"]["site"]["leave_one_out"]

    def order(left_out: str) -> list[str]:
        kept = [case.case for case in cases if case.slices["site"] != left_out]
        means = {
            f"model-{m}": np.mean([dice[f"model-{m}", s, c] for s in structures for c in kept])
            for m in range(3)
        }
        return sorted(means, key=lambda name: -means[name])

    whole = order("")
    orders = {level: order(level) for level in "abcd"}
    assert one["levels"] == list("abcd")
    assert one["changing_order"] == [level for level in "abcd" if orders[level] != whole]
    assert one["changing_first"] == [level for level in "abcd" if orders[level][0] != whole[0]]
    for row in one["ranks"]:
        places = [1 + orders[level].index(row["submission"]) for level in "abcd"]
        assert (row["low"], row["high"]) == (min(places), max(places))


def test_patients_are_cut_in_thirds_by_the_size_of_the_structure() -> None:
    found = analyse_results(trial(patients=45, absent_every=0)).analysis
    levels = found["kidney"]["dice"]["slices"][STRUCTURE_SIZE]["levels"]
    assert [(level["level"], level["n"]) for level in levels] == [
        ("large", 15), ("medium", 15), ("small", 15),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("difference", "deviation", "alpha"),
    list(itertools.product([0.01, 0.03], [0.05, 0.1], [0.05, 0.05 / 45])),
)
def test_the_number_of_patients_has_the_power_asked_for(
    difference: float, deviation: float, alpha: float
) -> None:
    n = patients_needed(difference=difference, deviation=deviation, alpha=alpha, power=0.8)
    assert n is not None
    power = [
        stats.nct.sf(stats.t.ppf(1 - alpha / 2, k - 1), k - 1, difference / deviation * k**0.5)
        for k in (n - 2, n + 1)
    ]
    assert power[0] < 0.802
    assert power[1] > 0.797


def test_the_detectable_difference_is_the_one_that_needs_these_patients() -> None:
    least = detectable_difference(deviation=0.08, n=120, alpha=0.05 / 10, power=0.8)
    n = patients_needed(difference=least, deviation=0.08, alpha=0.05 / 10, power=0.8)
    assert n is not None
    assert abs(n - 120) <= 2


def test_a_huge_difference_still_takes_as_many_patients_as_the_test_needs() -> None:
    n = patients_needed(difference=1.0, deviation=0.01, alpha=0.05 / 45, power=0.8)
    assert n == 11
    assert decidable(n, 45, AnalysisSettings())
    assert not decidable(n - 1, 45, AnalysisSettings())


def test_no_number_of_patients_finds_no_difference() -> None:
    assert patients_needed(difference=0.0, deviation=0.1, alpha=0.05, power=0.8) is None
    assert patients_needed(difference=1e-6, deviation=0.1, alpha=0.05, power=0.8) is None
    assert MOST == 1_000_000
    assert smallest_visible_rate(2) == 1.0
