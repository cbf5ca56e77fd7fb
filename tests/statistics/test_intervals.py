"""Intervals agree with independent implementations, and say when they cannot be had."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from segtrial.statistics.guard import guarded_intervals
from segtrial.statistics.intervals import (
    Interval,
    NotEstimable,
    bca_interval,
    bootstrap_t_interval,
    clopper_pearson,
    percentile_interval,
    quantile,
    quantile_interval,
    t_interval,
)
from segtrial.statistics.resampling import bootstrap
from segtrial.statistics.weights import Stream, bootstrap_counts, spacings
from trial_scores import family_of

QUICK = settings(max_examples=40, deadline=None, derandomize=True)
Values = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def skewed(n: int, seed: int = 0) -> Values:
    return np.random.default_rng(seed).beta(8, 1.2, n)


def test_the_bootstrap_t_interval_is_the_one_of_a_direct_computation() -> None:
    values = skewed(25)
    counts = bootstrap_counts(Stream(1), patients=25, resamples=2000)
    mean, error = values.mean(), values.std(ddof=1) / 5
    t = []
    for row in counts:
        sample = np.repeat(values, row)
        t.append((sample.mean() - mean) / (sample.std(ddof=0) / math.sqrt(24)))
    ordered = np.sort(t)
    expected = (mean - ordered[-50] * error, mean - ordered[49] * error)
    found = bootstrap_t_interval(
        bootstrap([family_of(values[None])], counts)[0].t[0],
        mean=float(mean),
        error=float(error),
        alpha=0.05,
    )
    assert isinstance(found, Interval)
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-7)


def test_a_resample_without_variance_is_not_used_and_most_of_them_are_not_estimable() -> None:
    # Squares of these are rounded, so a constant resample has a residue of variance.
    values = np.tile([[0.1], [0.31], [0.53], [0.7], [0.9]], (1, 12))
    values[:4, 0] = 0.0
    counts = bootstrap_counts(Stream(1), patients=12, resamples=2000)
    t = bootstrap([family_of(values)], counts)[0].t
    for row in t[:4]:
        assert np.isnan(row).mean() == pytest.approx((11 / 12) ** 12, abs=0.04)
    assert np.isnan(t[4]).all()
    nearly_all_equal = np.where(np.arange(2000) % 4, np.nan, t[0])
    found = bootstrap_t_interval(nearly_all_equal, mean=0.9, error=0.1, alpha=0.05)
    assert found == NotEstimable("most resamples have no variance")
    constant = bootstrap_t_interval(t[4], mean=0.9, error=0.0, alpha=0.05)
    assert constant == NotEstimable("zero variance")


def test_percentile_and_bca_agree_with_scipy() -> None:
    values = skewed(30)
    reference = stats.bootstrap(
        (values,), np.mean, n_resamples=4000, method="BCa", rng=np.random.default_rng(1)
    )
    means = np.asarray(reference.bootstrap_distribution)
    found = bca_interval(values, means, alpha=0.05)
    assert isinstance(found, Interval)
    scipy_bca = reference.confidence_interval
    assert (found.low, found.high) == pytest.approx((scipy_bca.low, scipy_bca.high), abs=1e-6)
    plain = stats.bootstrap(
        (values,), np.mean, n_resamples=0, method="percentile", bootstrap_result=reference
    ).confidence_interval
    by_percentile = percentile_interval(means, alpha=0.05)
    assert (by_percentile.low, by_percentile.high) == pytest.approx((plain.low, plain.high))


def test_our_resamples_give_the_percentile_interval_of_scipys() -> None:
    values = skewed(40)
    counts = bootstrap_counts(Stream(2), patients=40, resamples=20_000)
    ours = percentile_interval(counts @ values / 40, alpha=0.05)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(3)
    ).confidence_interval
    width = theirs.high - theirs.low
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.03 * width)


@pytest.mark.parametrize("n", [2, 10, 200])
def test_student_t_agrees_with_scipy(n: int) -> None:
    d = np.random.default_rng(n).normal(0.1, 1, n)
    found = t_interval(mean=float(d.mean()), error=float(d.std(ddof=1) / n**0.5), n=n, alpha=0.05)
    expected = stats.ttest_1samp(d, 0).confidence_interval(0.95)
    assert isinstance(found, Interval)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-8)


def test_bonferroni_widens_the_interval_to_all_comparisons_at_once() -> None:
    one = t_interval(mean=0.0, error=1.0, n=30, alpha=0.05 / 10)
    ten = t_interval(mean=0.0, error=1.0, n=30, alpha=0.05, comparisons=10)
    assert one == ten
    assert isinstance(t_interval(mean=0.0, error=1.0, n=1, alpha=0.05), NotEstimable)


@pytest.mark.parametrize(("failed", "n"), [(0, 20), (1, 20), (20, 20), (3, 743)])
def test_clopper_pearson_agrees_with_scipy(failed: int, n: int) -> None:
    expected = stats.binomtest(failed, n).proportion_ci(0.95, method="exact")
    found = clopper_pearson(failed, n, alpha=0.05)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-8)


@QUICK
@given(n=st.integers(10, 120), q=st.sampled_from([0.5, 0.9]), seed=st.integers(0, 100))
def test_quantile_intervals_agree_with_scipy(n: int, q: float, seed: int) -> None:
    values = np.sort(np.random.default_rng(seed).gamma(2, 3, n))
    expected: Any = stats.quantile_test(values, q=0, p=q).confidence_interval(0.95)
    found = quantile_interval(values, q, alpha=0.05)
    assert isinstance(found, Interval)
    assert found.low == (0.0 if np.isnan(expected.low) else expected.low)
    assert found.high == (math.inf if np.isnan(expected.high) else expected.high)


def test_too_few_patients_have_no_interval_of_a_median() -> None:
    assert isinstance(quantile_interval(np.arange(3.0), 0.5, alpha=0.05), NotEstimable)


@QUICK
@given(
    values=st.lists(st.floats(0, 100), min_size=1, max_size=30),
    unbounded=st.integers(0, 30),
    q=st.floats(0, 1),
)
def test_quantiles_are_numpys_with_failures_above_everything(
    values: list[float], unbounded: int, q: float
) -> None:
    ascending = np.sort([*values, *[math.inf] * unbounded])
    found = quantile(ascending, q)
    if math.isinf(found):
        assert q * (len(ascending) - 1) > len(values) - 1
    else:
        finite = np.where(np.isinf(ascending), 1e9, ascending)
        assert found == pytest.approx(np.quantile(finite, q), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("failed", "n"), [(0, 20), (1, 20), (5, 40), (20, 20)])
def test_the_guarded_interval_of_scores_of_0_and_1_is_that_of_clopper_and_pearson(
    failed: int, n: int
) -> None:
    values = np.ones((1, n))
    values[0, :failed] = 0.0
    shares = spacings(Stream(4), patients=n, resamples=40_000)
    found = guarded_intervals([family_of(values)], shares, alpha=0.05)
    assert found is not None
    exact = clopper_pearson(n - failed, n, alpha=0.05)
    assert (found[0][0].low, found[0][0].high) == pytest.approx((exact.low, exact.high), abs=0.01)


def test_metrics_without_a_fixed_range_have_no_guarded_interval() -> None:
    assert guarded_intervals([], spacings(Stream(1), patients=3, resamples=10), alpha=0.05) is None
