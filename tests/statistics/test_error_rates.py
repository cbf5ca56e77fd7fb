"""A verdict among equals is rare; the rule we do not use shows that this test can fail.

The full simulation, with all sizes, is ``benchmarks/coverage.py``.
"""

from __future__ import annotations

import numpy as np
import pytest

from segtrial.statistics.comparison import holm
from segtrial.statistics.intervals import percentile_interval
from segtrial.statistics.settings import AnalysisSettings
from segtrial.statistics.signflip import generators, pairs, sign_flip_tests
from segtrial.statistics.weights import Stream, bootstrap_counts, flip_codes
from trial_scores import family_of

SUBMISSIONS, SETS = 5, 400


def equals(n: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Test sets of equally good submissions: skewed scores, shared difficulty, some failures."""
    random = np.random.default_rng(n)
    difficulty = random.gamma(1, 0.06, (SETS, 1, n))
    scores = np.clip(1 - difficulty - random.gamma(1, 0.06, (SETS, SUBMISSIONS, n)), 0, 1)
    return np.where(random.random(scores.shape) < 0.03, 0.0, scores)


@pytest.mark.parametrize("n", [12, 20, 60])
def test_the_family_wise_error_is_held(n: int) -> None:
    settings = AnalysisSettings(flips=1999)
    wrong = 0
    for index, scores in enumerate(equals(n)):
        codes = flip_codes(Stream(index), patients=n, bits=generators(settings))
        (test,) = sign_flip_tests([family_of(scores)], codes, settings)
        wrong += bool((holm(test.p) <= 0.05).any())
    assert wrong / SETS <= 0.06 + 2 * np.sqrt(0.05 * 0.95 / SETS)


def test_the_percentile_rule_would_fail_it() -> None:
    n = 20
    counts = bootstrap_counts(Stream(1), patients=n, resamples=1000).astype(np.float64)
    wrong = 0
    for scores in equals(n)[:100]:
        for a, b in pairs(SUBMISSIONS):
            means = counts @ (scores[a] - scores[b]) / n
            interval = percentile_interval(means, alpha=0.05 / len(pairs(SUBMISSIONS)))
            if not interval.low <= 0 <= interval.high:
                wrong += 1
                break
    assert wrong / 100 > 0.1
