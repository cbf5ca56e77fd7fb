"""Percentile bootstrap with Bonferroni: how an earlier benchmark (segauge-benchmark) decides.

Kept by name, for comparison and so that its published table can be re-derived; no result of ours
uses it. Submissions are compared on the cases that all of them scored, which rewards failing on
hard cases, and with 10 equal submissions and 20 cases it declares somebody better in a quarter of
the test sets (``docs/methodology.md``).

Its random numbers are NumPy's, drawn as it draws them: one generator per quantity, all started from
the same seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from segtrial.errors import ResultsError
from segtrial.statistics.exact import Floats
from segtrial.statistics.intervals import Interval

RESAMPLES = 2000
SEED = 0
CONFIDENCE = 0.95
_RANK_TAIL = 0.025
"""The tail of its rank intervals, whatever the confidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedRow:
    """One submission under this rule.

    Attributes
    ----------
    submission : str
        Name.
    mean : float
        Over the common cases.
    first_share, mean_rank : float
        Share of resamples in first place (ties split it), and mean rank.
    ranks : Interval
        Unadjusted percentiles of the rank.
    """

    submission: str
    mean: float
    first_share: float
    mean_rank: float
    ranks: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedPair:
    """One pair under this rule: a ranks before b.

    Attributes
    ----------
    a, b : str
        Names.
    difference : float
        Mean of a minus mean of b.
    interval : Interval
        Percentile interval at the Bonferroni-adjusted confidence.
    distinguishable : bool
        Whether it leaves out 0.
    """

    a: str
    b: str
    difference: float
    interval: Interval
    distinguishable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedAnalysis:
    """A ranking under this rule, best first, and all its pairs."""

    cases: int
    adjusted_confidence: float
    ranking: list[SeedRow]
    pairs: list[SeedPair]


def percentile_bootstrap(
    values: Sequence[float] | Floats,
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval:
    """Percentile interval of a mean, as `segauge.bootstrap_ci` computes it.

    Parameters
    ----------
    values : sequence of float
        One per case, finite; at least two.
    confidence : float
        Of the interval.
    resamples, seed : int
        Of the bootstrap.
    """
    array = np.asarray(values, np.float64)
    means = np.array([array[drawn].mean() for drawn in _draws(array.size, resamples, seed)])
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail])
    return Interval(float(low), float(high))


def percentile_bonferroni(
    scores: Mapping[str, Mapping[str, float]],
    *,
    higher_is_better: bool,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> SeedAnalysis:
    """Rank submissions by this rule.

    Parameters
    ----------
    scores : mapping of str to mapping of str to float
        For each submission, its score by case. Cases that are not common to all, or not finite for
        all, are left out, as the rule has it.
    higher_is_better : bool
        Direction.
    confidence : float
        Before Bonferroni's correction for all pairs.
    resamples, seed : int
        Of every bootstrap.

    Returns
    -------
    SeedAnalysis
        Best first.

    Raises
    ------
    ResultsError
        Without a case common to all.
    """
    names = list(scores)
    cases = sorted(set.intersection(*(set(found) for found in scores.values()))) if names else []
    matrix = np.array([[scores[name][case] for case in cases] for name in names], np.float64)
    if cases:
        matrix = matrix[:, np.isfinite(matrix).all(axis=0)]
    if not cases or matrix.shape[1] == 0:
        raise ResultsError(
            "The submissions have no case in common, and this rule compares nothing else."
        )
    sign = 1.0 if higher_is_better else -1.0
    ranking, order = _ranking(names, matrix, sign, _draws(matrix.shape[1], resamples, seed))
    comparisons = max(1, len(names) * (len(names) - 1) // 2)
    adjusted = 1.0 - (1.0 - confidence) / comparisons
    pairs = []
    for a, b in combinations(order, 2):
        difference = matrix[a] - matrix[b]
        interval = percentile_bootstrap(
            difference, confidence=adjusted, resamples=resamples, seed=seed
        )
        pairs.append(
            SeedPair(
                a=names[a],
                b=names[b],
                difference=float(difference.mean()),
                interval=interval,
                distinguishable=not interval.low <= 0.0 <= interval.high,
            )
        )
    return SeedAnalysis(
        cases=matrix.shape[1], adjusted_confidence=adjusted, ranking=ranking, pairs=pairs
    )


def _ranking(
    names: Sequence[str], matrix: Floats, sign: float, draws: NDArray[np.int64]
) -> tuple[list[SeedRow], list[int]]:
    """Rows, best first; ``sign`` is -1 where less is better."""
    means = matrix.mean(axis=1)
    ranks = np.empty((len(draws), len(names)))
    first = np.zeros(len(names))
    for row, drawn in enumerate(draws):
        ranks[row] = _mean_ranks(-sign * matrix[:, drawn].mean(axis=1))
        best = ranks[row] == ranks[row].min()
        first += best / best.sum()
    low, high = np.quantile(ranks, _RANK_TAIL, axis=0), np.quantile(ranks, 1 - _RANK_TAIL, axis=0)
    order = [int(m) for m in np.argsort(-sign * means)]
    rows = [
        SeedRow(
            submission=names[m],
            mean=float(means[m]),
            first_share=float(first[m] / len(draws)),
            mean_rank=float(ranks[:, m].mean()),
            ranks=Interval(float(low[m]), float(high[m])),
        )
        for m in order
    ]
    return rows, order


def _draws(n: int, resamples: int, seed: int) -> NDArray[np.int64]:
    """Case numbers of every resample, shape (resamples, n): one stream, row after row."""
    return np.random.default_rng(seed).integers(0, n, (resamples, n))


def _mean_ranks(values: Floats) -> Floats:
    """Ranks from the smallest, ties sharing their mean."""
    below = (values[:, None] > values).sum(axis=1)
    equal = (values[:, None] == values).sum(axis=1)
    ranks: Floats = below + (equal + 1) / 2
    return ranks
