"""The random numbers: the right distributions, the same everywhere."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from scipy import stats

from segtrial.statistics.weights import (
    Stream,
    bootstrap_counts,
    flip_codes,
    permutations,
    spacings,
    stream_for,
)

STREAM = stream_for(purpose="bootstrap", seed=0, track="made-up@1/all", patients=["p1", "p2"])


def digest(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
    little = array.astype(array.dtype.newbyteorder("<"))
    return hashlib.sha256(little.tobytes()).hexdigest()[:16]


def test_the_stream_is_splitmix64() -> None:
    # First outputs of the reference implementation from the state 1234567.
    known = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert Stream(1234567).numbers(0, 3).tolist() == known


def test_any_part_of_a_stream_can_be_had_without_the_rest() -> None:
    assert STREAM.numbers(5, 9).tolist() == STREAM.numbers(0, 9)[5:].tolist()


def test_the_numbers_are_the_same_on_every_machine() -> None:
    assert digest(bootstrap_counts(STREAM, patients=43, resamples=2000)) == "f1e88b9c587e3f50"
    assert digest(flip_codes(STREAM, patients=43, bits=17)) == "d58e8fc21dcfef92"
    assert digest(permutations(STREAM, patients=43, count=500)) == "479e329e67afb7a1"
    assert digest(spacings(STREAM, patients=43, resamples=500)) == "7dfaa13cb47afe9e"


@pytest.mark.parametrize("changed", ["purpose", "seed", "track", "patients"])
def test_each_part_of_the_key_gives_another_stream(changed: str) -> None:
    key = {"purpose": "bootstrap", "seed": 0, "track": "t", "patients": ["a", "bc"]}
    other = {"purpose": "sign-flip", "seed": 1, "track": "u", "patients": ["ab", "c"]}
    one = stream_for(**key)  # type: ignore[arg-type]
    assert one != stream_for(**(key | {changed: other[changed]}))  # type: ignore[arg-type]


def test_each_resample_draws_as_many_patients_as_there_are() -> None:
    assert (bootstrap_counts(STREAM, patients=60, resamples=700).sum(axis=1) == 60).all()


def test_patients_are_drawn_evenly_with_the_variance_of_a_multinomial() -> None:
    counts = bootstrap_counts(STREAM, patients=60, resamples=4000)
    assert stats.chisquare(counts.sum(axis=0)).pvalue > 1e-3
    assert counts.var() == pytest.approx(1 - 1 / 60, rel=0.02)


def test_codes_use_every_bit_evenly() -> None:
    codes = flip_codes(STREAM, patients=20_000, bits=17)
    assert codes.max() < 2**17
    bits = (codes[:, None] >> np.arange(17, dtype=np.uint32)) & 1
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 4 * 0.5 / np.sqrt(20_000)


def test_orders_are_permutations_in_which_every_place_is_as_likely() -> None:
    orders = permutations(STREAM, patients=8, count=4000)
    assert (np.sort(orders, axis=1) == np.arange(8)).all()
    for place in range(8):
        assert stats.chisquare(np.bincount(orders[:, place], minlength=8)).pvalue > 1e-4


def test_shares_are_uniform_on_all_divisions_of_a_whole() -> None:
    shares = spacings(STREAM, patients=20, resamples=4000).astype(float)
    shares /= shares.sum(axis=1, keepdims=True)
    for column in (0, 7, 20):
        assert stats.kstest(shares[:, column], stats.beta(1, 20).cdf).pvalue > 1e-3
