"""The sign-flip test, by a group of flips: exact whatever its size, and as fast as a transform.

If two submissions are equally good patient by patient, A's score minus B's is as likely to be d as
-d, so flipping signs patient by patient gives the distribution of its sum under that hypothesis
(Fisher 1935). The studentised statistic of one pair grows with the size of the sum, because
flipping leaves the sum of squares alone; so the sums decide, they are exact integers
(`segtrial.statistics.exact`), and a p-value is a ratio of two counts: the same on every machine.

Which flips. Every pattern of signs where there are few patients. Otherwise a *group* of 2**k
patterns: each patient gets k random bits (its code), and in pattern g its sign is the parity of the
bits that g and the code share. Flipping by one pattern and then by another is again a pattern of
the group, and for a group the test keeps its level exactly, whatever k (Hoeffding 1952,
doi:10.1214/aoms/1177729436; Hemerik and Goeman 2018, doi:10.1007/s11749-017-0571-1); independent
random flips keep it too, but need a matrix of flips times patients. Any two patterns are
independent of each other, so the p-value scatters no more than with independent flips. And the sums
of all patterns at once are a Walsh-Hadamard transform of the scores sorted by code: 2**17 sums of
7,000 patients take no longer than of 70.

Very many submissions. With more than 115 of them Holm's first step asks for a smaller p than
1 / 2**17, the smallest ratio there is, and nobody could be separated from anybody. A larger group
would cost minutes. Where no pattern but the observed one reached a pair's difference, its p-value
is then Hoeffding's bound (1963, doi:10.2307/2282952) on the share of *all* patterns that do,
2 exp(-(sum d)**2 / (2 sum d**2)). The level is kept at every threshold t: below 1 / 2**17 the
reported p can be at most t only where the bound is, above it only where the ratio is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from segtrial.statistics.exact import Floats, settled, sum_of_squares
from segtrial.statistics.scores import Family
from segtrial.statistics.settings import AnalysisSettings

Counts = NDArray[np.int64]
Codes = NDArray[np.uint32]
_BLOCK_BITS = 11
"""Patterns are taken 2**11 at a time: two submissions' sums then lie in the processor's cache."""
_INNER_BITS = 5


@dataclass(frozen=True, slots=True)
class PairCounts:
    """How often a pattern reached the observed difference, for all pairs of a family.

    Attributes
    ----------
    reached : int64 array, shape (pairs,)
        Patterns with a sum at least as large as the observed one, that one included.
    patterns : int
        Number of patterns, the observed signs included.
    bound : float64 array, shape (pairs,), or None
        Hoeffding's bound on the two-sided p-values; None where ratios are small enough to decide.
    """

    reached: Counts
    patterns: int
    bound: Floats | None = None

    @property
    def p(self) -> Floats:
        """Two-sided p-values."""
        ratio: Floats = self.reached / self.patterns
        if self.bound is None:
            return ratio
        p: Floats = np.where(self.reached == 1, np.minimum(ratio, self.bound), ratio)
        return p


def pairs(submissions: int) -> list[tuple[int, int]]:
    """All pairs (a, b), a before b, in the order every result on pairs uses.

    Examples
    --------
    >>> pairs(3)
    [(0, 1), (0, 2), (1, 2)]
    """
    return [(a, b) for a in range(submissions) for b in range(a + 1, submissions)]


def generators(settings: AnalysisSettings) -> int:
    """Bits of a code: the group is the first power of two above ``settings.flips``."""
    return settings.flips.bit_length()


def sign_flip_tests(
    families: Sequence[Family], codes: Codes, settings: AnalysisSettings
) -> list[PairCounts]:
    """Sign-flip tests of all pairs of several families with the same signs.

    Parameters
    ----------
    families : sequence of Family
        Each with submissions in the order in which its pairs are wanted.
    codes : uint32 array, shape (P,)
        From `segtrial.statistics.weights.flip_codes`, of all patients of the track.
    settings : AnalysisSettings
        Number of flips, and of patients up to which every pattern is tried.

    Returns
    -------
    list of PairCounts
        One for each family. A pair with a submission that is not comparable is reached by every
        pattern: p = 1.
    """
    return [_test(family, codes, settings) for family in families]


def decidable(n: int, comparisons: int, settings: AnalysisSettings) -> bool:
    """Whether the smallest p-value there can be is small enough for a verdict.

    Parameters
    ----------
    n : int
        Patients of the family.
    comparisons : int
        Pairs in the family.
    settings : AnalysisSettings
        Flips and error rate.

    Returns
    -------
    bool
        False for few patients and many submissions: then no pair is ever decided, however far
        apart. With ten submissions it takes eleven patients, with two hundred 28.

    Examples
    --------
    >>> decidable(10, 45, AnalysisSettings()), decidable(11, 45, AnalysisSettings())
    (False, True)
    """
    if n <= settings.exact_flips_up_to:
        smallest = 2.0 ** (1 - n)
    elif _needs_bound(comparisons, settings):
        smallest = 2 * math.exp(-n / 2)  # everybody differs by the same
    else:
        smallest = 2.0 ** -generators(settings)
    return comparisons > 0 and comparisons * smallest <= settings.alpha


def _needs_bound(comparisons: int, settings: AnalysisSettings) -> bool:
    """Whether the smallest ratio of the group is too large for Holm's first step."""
    return comparisons * 2.0 ** -generators(settings) > settings.alpha


def flipped_sums(scores: Floats, codes: Codes, bits: int) -> Iterator[Floats]:
    """Sums of scores under every pattern of the group, a block of patterns at a time.

    Parameters
    ----------
    scores : float64 array, shape (M, n)
        Integers.
    codes : uint32 array, shape (n,)
        Below 2**bits.
    bits : int
        The group has 2**bits patterns.

    Yields
    ------
    float64 array, shape (M, 2**min(bits, 11))
        Exact; pattern 0, the first of the first block, flips nobody.
    """
    low = min(bits, _BLOCK_BITS)
    inner = min(low, _INNER_BITS)
    place = codes & np.uint32((1 << low) - 1)
    order = np.argsort(place, kind="stable")
    places, starts = np.unique(place[order], return_index=True)
    rest = codes[order] >> np.uint32(low)
    sorted_scores = scores[:, order]
    outer_signs, inner_signs = _hadamard(low - inner), _hadamard(inner)
    for signs in _hadamard(bits - low):
        block = np.zeros((len(scores), 1 << low))
        block[:, places] = np.add.reduceat(sorted_scores * signs[rest], starts, axis=1)
        cube = block.reshape(len(scores), 1 << (low - inner), 1 << inner)
        yield (outer_signs @ cube @ inner_signs).reshape(len(scores), 1 << low)


def _test(family: Family, codes: Codes, settings: AnalysisSettings) -> PairCounts:
    n = family.patients.size
    if n <= settings.exact_flips_up_to:
        bits = n
        own = np.left_shift(np.uint32(1), np.arange(n, dtype=np.uint32))
    else:
        bits = generators(settings)
        own = codes[family.patients]
    m = len(family.submissions)
    reached = np.zeros(m * (m - 1) // 2, np.int64)
    if m > 1:
        for sums in flipped_sums(family.scores, own, bits):
            reached += _count(family, sums)
    bounded = n > settings.exact_flips_up_to and _needs_bound(len(reached), settings)
    return PairCounts(
        _untestable(family, reached, 1 << bits), 1 << bits, _hoeffding(family) if bounded else None
    )


def _hoeffding(family: Family) -> Floats:
    """Bound on the share of all patterns that reach each pair's observed sum; 1 for no spread."""
    bounds = []
    for a in range(len(family.submissions) - 1):
        difference = family.scores[a] - family.scores[a + 1 :]
        total, squared = difference.sum(axis=1), sum_of_squares(difference)
        size = np.divide(total * total, squared, out=np.zeros_like(total), where=squared > 0)
        bounds += [settled(2 * math.exp(-float(one) / 2)) for one in size]
    return np.array([min(bound, 1.0) for bound in bounds])


def _count(family: Family, sums: Floats) -> Counts:
    """Patterns that reach each pair's observed sum; ``sums`` holds one row per submission."""
    observed = family.scores.sum(axis=1)
    m = len(observed)
    reached = np.empty(m * (m - 1) // 2, np.int64)
    work = np.empty((m, sums.shape[1]))
    row = 0
    for a in range(m - 1):
        rest = m - 1 - a
        difference = np.subtract(sums[a + 1 :], sums[a], out=work[:rest])
        np.abs(difference, out=difference)
        least = np.abs(observed[a + 1 :] - observed[a])[:, None]
        reached[row : row + rest] = np.count_nonzero(difference >= least, axis=1)
        row += rest
    return reached


def _untestable(family: Family, reached: Counts, patterns: int) -> Counts:
    if family.comparable.all():
        return reached
    known = family.comparable
    testable = np.array([known[a] and known[b] for a, b in pairs(len(known))], bool)
    return np.where(testable, reached, patterns)


@lru_cache(maxsize=16)
def _hadamard(bits: int) -> Floats:
    """Sylvester's matrix: entry (g, c) is -1 if g and c share an odd number of bits."""
    matrix = np.ones((1, 1))
    for _ in range(bits):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix
