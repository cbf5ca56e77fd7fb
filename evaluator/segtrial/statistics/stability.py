"""How much the observed order owes to single patients, and who is the same model twice.

Descriptions, not tests: they say how the order would have looked, never who is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from segtrial.statistics.exact import Floats, centred, room, shortened
from segtrial.statistics.ranking import RankTally
from segtrial.statistics.scores import Family

NEAR_DUPLICATE = 0.999
"""Correlation of patients' scores from which two submissions are called near duplicates: models
trained apart share the difficulty of the patients and stay well below it."""
_LEAST_TAU = 0.05


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """What becomes of the order when one patient is left out.

    Attributes
    ----------
    patients : int
        Patients that can be left out.
    changing_order, changing_first : int
        How many of them change the order, and the first place.
    ranks : list of (int, int)
        Best and worst rank of each submission over them.
    """

    patients: int
    changing_order: int
    changing_first: int
    ranks: list[tuple[int, int]]


def leave_one_out(without: Floats) -> LeaveOneOut:
    """Ranks with each patient left out.

    Parameters
    ----------
    without : float64 array, shape (M, n)
        Goodness (more is better) of the M submissions, in the observed order, without patient i.

    Returns
    -------
    LeaveOneOut
        An exact tie shares the better rank and does not count as a change.
    """
    m, n = without.shape
    if m == 0 or n == 0:
        return LeaveOneOut(n, 0, 0, [])
    changed = (without[1:] > without[:-1]).any(axis=0)
    beaten = (without[1:] > without[0]).any(axis=0)
    ranks = []
    for row in without:
        rank = 1 + (without > row).sum(axis=0)
        ranks.append((int(rank.min()), int(rank.max())))
    return LeaveOneOut(n, int(changed.sum()), int(beaten.sum()), ranks)


def sums_without_each(family: Family) -> Floats:
    """Goodness summed over all patients but one, shape (M, n); nothing for a single patient."""
    goodness = np.where(family.comparable[:, None], family.goodness, 0.0)
    rest: Floats = goodness.sum(axis=1)[:, None] - goodness
    rest[~family.comparable] = -np.inf
    return rest if goodness.shape[1] > 1 else rest[:, :0]


@dataclass(frozen=True, slots=True)
class KendallTau:
    """Agreement of resampled orders with the observed one, in [-1, 1].

    Attributes
    ----------
    mean : float
        Over resamples.
    low : float
        Exceeded by 95 % of them.
    """

    mean: float
    low: float


def kendall_tau(tally: RankTally) -> KendallTau | None:
    """Kendall's tau (ties counting nothing) over resamples; None for fewer than two submissions."""
    m = len(tally.order)
    if m < 2 or tally.resamples == 0:  # noqa: PLR2004 - one submission has no order
        return None
    possible = m * (m - 1) // 2
    agreement = np.sort(np.concatenate(tally.agreement))
    low = int(agreement[math.floor(_LEAST_TAU * agreement.size)])
    total = int(agreement.sum(dtype=np.int64))
    return KendallTau(total / (agreement.size * possible), low / possible)


def near_duplicates(family: Family) -> list[tuple[int, int, float]]:
    """Pairs whose patients' scores are correlated above `NEAR_DUPLICATE`.

    Returns
    -------
    list of (int, int, float)
        Indices in the family's order, and the correlation. Identical submissions without any
        variance count as correlated by 1.
    """
    deviations, _ = centred(family.scores)
    integers = shortened(deviations, digits=room(deviations.shape[1]) // 2)
    products = integers @ integers.T
    size = np.diag(products)
    found = []
    for a in range(len(size)):
        for b in range(a + 1, len(size)):
            same = bool((family.scores[a] == family.scores[b]).all())
            scale = math.sqrt(size[a]) * math.sqrt(size[b])
            correlation = 1.0 if same else float(products[a, b]) / scale if scale else 0.0
            if correlation > NEAR_DUPLICATE:
                found.append((a, b, min(correlation, 1.0)))
    return found


def tau_b(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Kendall's tau-b of two scores of the same submissions; None if either is all ties.

    Examples
    --------
    >>> tau_b([3, 2, 1], [3, 1, 2])
    0.3333333333333333
    """
    agreeing = opposed = untied_a = untied_b = 0
    for i in range(len(a)):
        for j in range(i + 1, len(a)):
            left, right = _sign(a[i], a[j]), _sign(b[i], b[j])
            agreeing += left * right == 1
            opposed += left * right == -1
            untied_a += left != 0
            untied_b += right != 0
    if not untied_a or not untied_b:
        return None
    return (agreeing - opposed) / math.sqrt(untied_a * untied_b)


def _sign(x: float, y: float) -> int:
    return (x > y) - (x < y)
