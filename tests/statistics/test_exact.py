"""Sums of quantised scores are exact integers, whatever adds them up."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segtrial.statistics.exact import (
    published,
    quantise,
    room,
    score_bits,
    shortened,
    spread,
    squares,
)
from segtrial.statistics.weights import Stream, bootstrap_counts

QUICK = settings(max_examples=40, deadline=None, derandomize=True)


def scores(
    seed: int, n: int = 200, high: float = 1.0
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.random.default_rng(seed).random((3, n)) * high


@QUICK
@given(seed=st.integers(0, 1000), high=st.sampled_from([1.0, 500.0, 4e4]))
def test_weighted_sums_are_exact(seed: int, high: float) -> None:
    bits = score_bits(bound=high, patients=200, dimensionless=high == 1.0)
    integers = quantise(scores(seed, high=high), bits)
    counts = bootstrap_counts(Stream(seed), patients=200, resamples=4)
    sums = counts.astype(np.float64) @ integers.T
    for row, weights in enumerate(counts):
        for m, values in enumerate(integers):
            exact = sum(Fraction(int(w)) * int(v) for w, v in zip(weights, values, strict=True))
            assert sums[row, m] == exact


@QUICK
@given(seed=st.integers(0, 1000))
def test_sums_of_squares_are_exact_and_do_not_depend_on_the_order(seed: int) -> None:
    random = np.random.default_rng(seed)
    integers = quantise(scores(seed), 30) - 2.0**29
    rounded, shift = squares(integers, weight=200)
    total = rounded.sum(axis=1)
    for m in range(3):
        assert total[m] == sum(int(v) for v in rounded[m])
        true = sum(Fraction(int(v)) ** 2 for v in integers[m])
        assert float(total[m] * Fraction(2) ** int(shift[m])) == pytest.approx(
            float(true), rel=1e-12
        )
    order = random.permutation(200)
    assert (spread(integers) == spread(integers[:, order])).all()


@QUICK
@given(seed=st.integers(0, 1000), scale=st.sampled_from([1.0, 1e-3, 1e-6]))
def test_the_spread_is_the_standard_deviation(seed: int, scale: float) -> None:
    values = 0.9 + scale * (scores(seed) - 0.5)
    found = np.ldexp(spread(quantise(values, 30)), -30)
    assert found == pytest.approx(values.std(axis=1, ddof=1), rel=1e-2 if scale < 1e-5 else 1e-5)


def test_a_constant_row_has_no_spread_at_all() -> None:
    assert spread(quantise(np.full((1, 37), 0.1), 30)).tolist() == [0.0]


def test_scores_lose_digits_only_where_sums_would_leave_the_exact_range() -> None:
    assert score_bits(bound=1.0, patients=7000, dimensionless=True) == 30
    assert score_bits(bound=800.0, patients=7000, dimensionless=False) == 20
    assert score_bits(bound=1e6, patients=10**6, dimensionless=False) == 11


def test_shortened_rows_have_exact_products() -> None:
    integers = shortened(quantise(scores(3), 30), digits=room(200) // 2)
    product = integers @ integers.T
    exact = [
        [sum(int(a) * int(b) for a, b in zip(x, y, strict=True)) for y in integers]
        for x in integers
    ]
    assert product.tolist() == exact


def test_rows_that_will_be_added_lose_the_same_digits() -> None:
    rows = np.array([[1024.0, 4.0], [8.0, 2.0]])
    assert (
        shortened(rows, digits=20, together=True)[0, 1]
        == 2 * shortened(rows, digits=20, together=True)[1, 1]
    )


def test_published_numbers_have_eight_digits_and_no_negative_zero() -> None:
    assert published(0.123456789123) == 0.12345679
    assert str(published(-0.0)) == "0.0"
    with pytest.raises(AssertionError, match="not finite"):
        published(float("nan"))
