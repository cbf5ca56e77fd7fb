"""The tests behind the verdicts agree with independent implementations and hold their level."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_paired

from segtrial.statistics.comparison import differences, equivalence_p, holm
from segtrial.statistics.exact import quantise
from segtrial.statistics.settings import AnalysisSettings
from segtrial.statistics.signflip import (
    decidable,
    flipped_sums,
    generators,
    pairs,
    sign_flip_tests,
)
from segtrial.statistics.weights import Stream, flip_codes
from trial_scores import family_of

Values = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def scores(submissions: int, n: int, seed: int = 0) -> Values:
    random = np.random.default_rng(seed)
    return np.clip(0.8 + random.normal(0, 0.05, n) + random.normal(0, 0.05, (submissions, n)), 0, 1)


def p_values(values: Values, *, flips: int = 19_999, exact_up_to: int = 0) -> Values:
    settings = AnalysisSettings(flips=flips, exact_flips_up_to=exact_up_to)
    codes = flip_codes(Stream(7), patients=values.shape[1], bits=generators(settings))
    return sign_flip_tests([family_of(values)], codes, settings)[0].p


def test_all_patterns_of_signs_agree_with_scipys_exact_permutation_test() -> None:
    values = scores(3, 11)
    found = p_values(values, exact_up_to=16)
    for p, (a, b) in zip(found, pairs(3), strict=True):
        oracle = stats.permutation_test(
            [quantise(values[a] - values[b], 30)],
            np.sum,
            permutation_type="samples",
            n_resamples=2**11,
        )
        assert p == pytest.approx(oracle.pvalue, abs=1e-12)


def test_sampled_signs_agree_with_all_patterns() -> None:
    values = scores(4, 14)
    exact, sampled = p_values(values, exact_up_to=16), p_values(values)
    assert sampled == pytest.approx(exact, abs=4 * 0.5 / np.sqrt(20_000))


@pytest.mark.parametrize(("n", "bits"), [(3, 3), (9, 9), (40, 12), (500, 13)])
def test_the_transform_gives_the_sum_under_every_pattern_of_the_group(n: int, bits: int) -> None:
    integers = quantise(scores(2, n), 30)
    codes = flip_codes(Stream(n), patients=n, bits=bits)
    found = np.concatenate(list(flipped_sums(integers, codes, bits)), axis=1)
    for pattern in {0, 1, 5, 2**bits - 1, 2 ** (bits - 1) + 3}:
        signs = [(-1) ** (pattern & int(code)).bit_count() for code in codes]
        exact = [sum(s * int(v) for s, v in zip(signs, row, strict=True)) for row in integers]
        assert found[:, pattern].tolist() == exact


def test_the_patterns_are_a_group_whose_signs_are_fair_and_independent() -> None:
    n, bits = 60, 11
    codes = flip_codes(Stream(8), patients=n, bits=bits)
    patterns = np.concatenate(list(flipped_sums(np.eye(n), codes, bits)), axis=1).T
    assert (patterns[0] == 1).all()
    rows = {tuple(row) for row in patterns}
    for left, right in ((3, 77), (1024, 1), (2047, 900)):
        assert tuple(patterns[left] * patterns[right]) in rows
    fair = np.abs(patterns.mean(axis=0)) < 1e-12
    assert fair.sum() >= n - 1  # a code of no bits would never flip; 1 in 2,048 patients has it
    products = patterns.T @ patterns / len(patterns)
    assert (np.abs(products - np.eye(n)) > 1e-12).sum() <= 6  # pairs of patients with one code


def test_the_sum_decides_as_the_studentised_statistic_would() -> None:
    d = np.random.default_rng(5).normal(0.2, 1, 12)
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 12)).reshape(12, -1)
    flipped = d[:, None] * signs
    t = np.abs(flipped.mean(axis=0)) / flipped.std(axis=0, ddof=1)
    by_t = (t >= np.abs(d.mean()) / d.std(ddof=1) - 1e-12).mean()
    found = p_values(np.vstack([0.5 + d / 100, np.full(12, 0.5)]), exact_up_to=16)
    assert found[0] == pytest.approx(by_t, abs=1e-12)


def test_p_values_are_uniform_when_submissions_are_exchangeable() -> None:
    p = np.concatenate([p_values(scores(2, 30, seed), flips=1999) for seed in range(300)])
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_a_pair_without_any_difference_has_p_1() -> None:
    values = scores(1, 25)
    assert p_values(np.vstack([values, values])).tolist() == [1.0]


def test_a_submission_that_is_always_better_has_the_smallest_p_there_is() -> None:
    values = np.vstack([np.full(12, 0.9), np.full(12, 0.8)])
    assert p_values(values, exact_up_to=16)[0] == 1 / 2**11
    assert p_values(np.repeat(values, 4, axis=1))[0] == 1 / 2**15


def test_a_submission_whose_failures_have_no_value_is_separated_from_nobody() -> None:
    one = family_of(np.vstack([np.full(20, 0.9), np.full(20, 0.8), np.full(20, 0.7)]))
    unknown = replace(one, comparable=np.array([True, False, True]))
    settings = AnalysisSettings(flips=999)
    codes = flip_codes(Stream(1), patients=20, bits=generators(settings))
    p = sign_flip_tests([unknown], codes, settings)[0].p
    assert p.tolist() == [1.0, 1 / 1024, 1.0]


def test_very_many_submissions_can_still_be_separated() -> None:
    values = np.clip(scores(40, 60) - np.linspace(0, 0.2, 40)[:, None], 0, 1)
    settings = AnalysisSettings(flips=999)
    codes = flip_codes(Stream(2), patients=60, bits=generators(settings))
    test = sign_flip_tests([family_of(values)], codes, settings)[0]
    adjusted = holm(test.p)
    assert 780 / 1024 > 0.05  # what the smallest ratio would be after Holm
    assert (adjusted <= 0.05).mean() > 0.3
    assert decidable(60, 780, settings)
    ratios = test.reached / test.patterns
    assert (test.p <= ratios).all()
    assert (test.p[test.reached > 1] == ratios[test.reached > 1]).all()


def test_the_bound_lies_above_the_share_of_all_patterns() -> None:
    values = np.clip(scores(30, 14) - np.linspace(0, 0.4, 30)[:, None], 0, 1)
    settings = AnalysisSettings(flips=999, exact_flips_up_to=0)
    codes = flip_codes(Stream(2), patients=14, bits=generators(settings))
    test = sign_flip_tests([family_of(values)], codes, settings)[0]
    assert test.bound is not None
    assert (test.bound >= p_values(values, exact_up_to=16)).all()
    few = sign_flip_tests([family_of(values[:3])], codes, settings)[0]
    assert few.bound is None


@pytest.mark.parametrize("seed", range(5))
def test_holm_agrees_with_statsmodels(seed: int) -> None:
    p = np.random.default_rng(seed).random(12) ** 3
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])


@pytest.mark.parametrize("shift", [0.0, 0.004, 0.02])
def test_equivalence_agrees_with_statsmodels(shift: float) -> None:
    values = scores(2, 40)
    values[1] = np.clip(values[0] - shift + np.random.default_rng(1).normal(0, 0.01, 40), 0, 1)
    found = equivalence_p(differences(family_of(values)), n=40, margin=0.01)
    oracle = ttost_paired(values[0], values[1], -0.01, 0.01)[0]
    assert found[0] == pytest.approx(oracle, rel=1e-5)


def test_equivalence_without_variance_is_decided_by_the_difference_alone() -> None:
    flat = family_of(np.vstack([np.full(25, 0.9), np.full(25, 0.895), np.full(25, 0.8)]))
    p = equivalence_p(differences(flat), n=25, margin=0.01)
    assert p.tolist() == [0.0, 1.0, 1.0]


def test_differences_are_those_of_numpy() -> None:
    values = scores(4, 33)
    found = differences(family_of(values))
    for k, (a, b) in enumerate(pairs(4)):
        d = values[a] - values[b]
        assert found.mean[k] == pytest.approx(d.mean(), abs=1e-9)
        assert found.deviation[k] == pytest.approx(d.std(ddof=1), rel=1e-6)
        assert found.win_rate[k] == (d > 0).mean()


def test_two_failures_are_a_tie_and_a_failure_loses_by_distance() -> None:
    values = np.array([[3.0, np.inf, np.inf, 2.0], [4.0, np.inf, 5.0, 2.0]])
    found = differences(family_of(values, "hd95"))
    assert found.ties.tolist() == [2]
    assert found.win_rate.tolist() == [0.5]
