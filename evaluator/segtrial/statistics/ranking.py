"""Ranks: the interval that the verdicts leave open, and how often a resample gives each.

Two different things, never mixed. A *rank interval* is a claim: it follows from the pairwise
verdicts and holds with their family-wise error. A *rank frequency* is a description: the share of
bootstrap resamples in which a submission came k-th. It is not the probability of being k-th best;
two equal submissions can have 0.95 and 0.05.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from segtrial.statistics.exact import Floats
from segtrial.statistics.scores import Family

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RankInterval:
    """Ranks that the verdicts do not rule out, 1 being the best.

    Attributes
    ----------
    low : int
        1 + number of submissions that are better by verdict.
    high : int
        M - number of submissions that are worse by verdict.
    """

    low: int
    high: int

    @property
    def tied_for_first(self) -> bool:
        """Whether nobody is better by verdict."""
        return self.low == 1


def rank_intervals(submissions: int, better: Sequence[tuple[int, int]]) -> list[RankInterval]:
    """Rank interval of each submission from the pairs decided.

    Parameters
    ----------
    submissions : int
        Number of ranked submissions, M.
    better : sequence of (int, int)
        Pairs (a, b) with the verdict "a is better than b".

    Returns
    -------
    list of RankInterval
        In the order of the indices.

    Examples
    --------
    >>> rank_intervals(3, [(0, 2)])
    [RankInterval(low=1, high=2), RankInterval(low=1, high=3), RankInterval(low=2, high=3)]
    """
    beaten_by, beats = [0] * submissions, [0] * submissions
    for winner, loser in better:
        beats[winner] += 1
        beaten_by[loser] += 1
    return [
        RankInterval(1 + lost, submissions - won)
        for lost, won in zip(beaten_by, beats, strict=True)
    ]


def order_by_goodness(goodness: Floats, names: Sequence[str]) -> list[int]:
    """Indices, best first; equal sums in the order of their names."""
    return sorted(range(len(names)), key=lambda m: (-float(goodness[m]), names[m]))


@dataclass(slots=True)
class RankTally:
    """Counts of ranks over resamples.

    An exact tie of g submissions over ranks k to k + g - 1 gives each of them 1/g of each of these
    ranks; whole numbers are kept per size of tie, and divided once at the end.
    """

    family: Family
    order: list[int]
    resamples: int = 0
    empty: int = 0
    """Resamples that drew no patient of the family."""
    by_tie_size: dict[int, Counts] = field(default_factory=dict)
    agreement: list[NDArray[np.int32]] = field(default_factory=list)
    """Per resample, pairs in the observed order minus pairs in the opposite order."""

    @classmethod
    def of(cls, family: Family) -> RankTally:
        """An empty tally; the observed order is that of the sums."""
        sums = np.where(family.comparable, family.goodness.sum(axis=1), -np.inf)
        return cls(family, order_by_goodness(sums, family.submissions))

    def add(self, totals: Floats, drawn: Floats) -> None:
        """Count the ranks of some resamples.

        Parameters
        ----------
        totals : float64 array, shape (M, b)
            Sums of scores (integers); any number where nothing was drawn.
        drawn : float64 array, shape (b,)
            Number of patients of the family in each resample.
        """
        used = drawn > 0
        self.empty += int(drawn.size - used.sum())
        self.resamples += int(used.sum())
        if not used.all():
            totals = totals[:, used]
        goodness = totals if self.family.rule.higher_is_better else -totals
        if not self.family.comparable.all():
            goodness = np.where(self.family.comparable[:, None], goodness, -np.inf)
        ahead = goodness[self.order]
        self._count_ranks(ahead)
        self.agreement.append(_agreement(ahead))

    def frequency(self) -> Floats:
        """Share of resamples with each rank, shape (M, M), rows in the family's order.

        Rows sum to 1. The k-th column is rank k + 1. Zeros if every resample was empty.
        """
        m = len(self.order)
        total = np.zeros((m, m))
        for size in sorted(self.by_tie_size):
            total += self.by_tie_size[size] / size
        in_family_order = np.empty_like(total)
        in_family_order[self.order] = total
        return in_family_order / max(self.resamples, 1)

    def _count_ranks(self, ahead: Floats) -> None:
        m = ahead.shape[0]
        rows = np.ascontiguousarray(ahead.T)
        order = np.argsort(-rows, axis=1, kind="stable")
        ranked = np.take_along_axis(rows, order, axis=1)
        equal = ranked[:, 1:] == ranked[:, :-1]
        tied = equal.any(axis=1)
        self._add(1, _cells(order[~tied], np.arange(m), m))
        if tied.any():
            self._count_tied(order[tied], equal[tied])

    def _count_tied(self, order: NDArray[np.intp], equal: NDArray[np.bool_]) -> None:
        rows, m = order.shape
        first = np.ones((rows, m), bool)
        first[:, 1:] = ~equal
        start = np.maximum.accumulate(np.where(first, np.arange(m), 0), axis=1)
        last = np.ones((rows, m), bool)
        last[:, :-1] = ~equal
        flipped = np.where(last, np.arange(m), m - 1)[:, ::-1]
        stop = np.minimum.accumulate(flipped, axis=1)[:, ::-1]
        size = stop - start + 1
        for g in np.unique(size).tolist():
            here = size == g
            for step in range(g):
                cells = order[here] * m + start[here] + step
                self._add(g, np.bincount(cells, minlength=m * m))

    def _add(self, size: int, cells: Counts) -> None:
        m = len(self.order)
        if size not in self.by_tie_size:
            self.by_tie_size[size] = np.zeros((m, m), np.int64)
        self.by_tie_size[size] += cells.reshape(m, m)


def _cells(order: NDArray[np.intp], position: NDArray[np.intp], m: int) -> Counts:
    return np.bincount((order * m + position).ravel(), minlength=m * m)


def _agreement(ahead: Floats) -> NDArray[np.int32]:
    """Concordant minus discordant pairs of each column, rows being in the observed order."""
    total = np.zeros(ahead.shape[1], np.int32)
    for a in range(ahead.shape[0] - 1):
        rest = ahead[a + 1 :]
        total += (ahead[a] > rest).sum(axis=0, dtype=np.int32)
        total -= (ahead[a] < rest).sum(axis=0, dtype=np.int32)
    return total
