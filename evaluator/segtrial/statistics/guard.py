"""An interval that failures nobody has seen cannot break.

Resampling cannot draw a failure that is not in the sample. If 2 % of patients would fail and none
of 20 did, every resampling interval lies too high. The guarded interval adds one patient who was
not there: for its lower end with the worst score, for its upper end with the best, and draws the
shares of all of them at random from the uniform distribution on divisions of a whole (Gaffke 2005;
Learned-Miller and Thomas 2019, arXiv:1905.06208). For scores that are 0 or 1 it is the interval of
Clopper and Pearson; that it holds its confidence for every distribution on [0, 1] is a conjecture
that no one has found an exception to, and ``docs/methodology.md`` shows it holding where
resampling fails.

It is published beside the bootstrap-t interval, and bounds it: where a sample has one or two
failures, resamples without them have next to no spread, and studentised tails run far outside
anything the sample allows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segtrial.statistics.exact import Floats, room
from segtrial.statistics.intervals import Interval
from segtrial.statistics.resampling import Average
from segtrial.statistics.scores import Family

_BLOCK_BYTES = 24 << 20
_MEAN_SHARE = 2048


@dataclass(frozen=True, slots=True)
class _Ends:
    """Means with the missing patient at the worst and at the best score, shape (M, B)."""

    low: Floats
    high: Floats

    @classmethod
    def empty(cls, family: Family, draws: int) -> _Ends:
        shape = (len(family.submissions), draws)
        return cls(np.zeros(shape), np.zeros(shape))


def guarded_intervals(
    families: Sequence[Family],
    shares: NDArray[np.uint16],
    *,
    alpha: float,
    average: Average | None = None,
) -> list[list[Interval]] | None:
    """Guarded intervals of the means of several families of one metric.

    Parameters
    ----------
    families : sequence of Family
        Families of one metric.
    shares : uint16 array, shape (B, P + 1)
        From `segtrial.statistics.weights.spacings`.
    alpha : float
        1 - confidence; half of it in each tail.
    average : Average, optional
        Their average over structures: the missing patient has every structure.

    Returns
    -------
    list of list of Interval, or None
        For each family, in its order, and last for the average; None for a metric without a fixed
        range, which has no worst score to guard against.
    """
    if not families or families[0].rule.high is None:
        return None
    everyone = [*families, average.family] if average else list(families)
    ends = [_Ends.empty(family, len(shares)) for family in everyone]
    digits = room(_MEAN_SHARE * shares.shape[1])
    used = np.unique(np.concatenate([family.patients for family in families]))
    rows = [_rows(family, used, digits) for family in families]
    matrix = np.concatenate([row for row, _ in rows])
    for where, drawn, missing in _blocks(shares, used, len(matrix)):
        products = matrix @ drawn.T
        start = 0
        for index, (row, bits) in enumerate(rows):
            part = products[start : start + len(row)]
            start += len(row)
            low = part[1:] / (part[0] + missing)
            high = (part[1:] + missing * math.ldexp(1.0, bits)) / (part[0] + missing)
            ends[index].low[:, where] = np.ldexp(low, -bits)
            ends[index].high[:, where] = np.ldexp(high, -bits)
            if average is not None:
                chosen = average.members[index]
                ends[-1].low[:, where] += ends[index].low[chosen, where] / len(families)
                ends[-1].high[:, where] += ends[index].high[chosen, where] / len(families)
    return [_intervals(one, alpha) for one in ends]


def _rows(family: Family, used: NDArray[np.intp], digits: int) -> tuple[Floats, int]:
    """Presence and scores on the patients used, and the digits the scores keep."""
    drop = max(0, family.bits - digits)
    rows = np.zeros((1 + len(family.submissions), used.size))
    here = np.searchsorted(used, family.patients)
    rows[0, here] = 1.0
    rows[1:, here] = np.rint(np.ldexp(family.scores, -drop))
    return rows, family.bits - drop


def _blocks(
    shares: NDArray[np.uint16], used: NDArray[np.intp], rows: int
) -> Iterator[tuple[slice, Floats, Floats]]:
    size = max(1, _BLOCK_BYTES // (8 * max(used.size, rows)))
    for start in range(0, len(shares), size):
        where = slice(start, min(start + size, len(shares)))
        block = shares[where]
        yield where, block[:, used].astype(np.float64), block[:, -1].astype(np.float64)


def _intervals(ends: _Ends, alpha: float) -> list[Interval]:
    tail = max(1, math.floor(ends.low.shape[1] * alpha / 2))
    low = np.partition(ends.low, tail - 1, axis=1)[:, tail - 1]
    high = np.partition(ends.high, -tail, axis=1)[:, -tail]
    return [Interval(float(a), float(b)) for a, b in zip(low, high, strict=True)]
