"""Holm's correction, paired differences, and equivalence: what stands around the sign-flip test.

All pairs of a family are tested with the same signs (`segtrial.statistics.signflip`), and Holm's
correction holds the probability of any false verdict in the family at alpha. One family is one
structure and metric; the tests say nothing across families.

What the test cannot do: its null hypothesis is exchangeability of the two scores of a patient, not
equality of the means alone. A submission that fails on 2 % of patients and is a little better on
all others can look better than it is on a small test set, because the failures are not in it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segtrial.statistics.exact import Floats, settled, spread
from segtrial.statistics.scores import Family

Counts = NDArray[np.int64]


def holm(p: Floats) -> Floats:
    """Holm-adjusted p-values.

    Parameters
    ----------
    p : float64 array, shape (k,)
        P-values of one family.

    Returns
    -------
    float64 array, shape (k,)
        At most 1; rejecting those up to alpha holds the family-wise error at alpha.

    References
    ----------
    Holm 1979, Scandinavian Journal of Statistics 6, 65-70.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate((p.size - np.arange(p.size)) * p[order])
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


@dataclass(frozen=True, slots=True)
class Differences:
    """What the paired differences of a family show, pair by pair (k pairs), a minus b.

    Attributes
    ----------
    mean, error : float64 array, shape (k,)
        Mean difference of the scores and its standard error, in the metric's unit.
    deviation : float64 array, shape (k,)
        Standard deviation of the differences.
    win_rate : float64 array, shape (k,)
        Share of patients on whom a is better, ties counting half.
    ties : int64 array, shape (k,)
        Patients on whom both score the same.
    """

    mean: Floats
    error: Floats
    deviation: Floats
    win_rate: Floats
    ties: Counts


def differences(family: Family) -> Differences:
    """Moments of all paired differences of a family.

    Parameters
    ----------
    family : Family
        At least one patient. With one patient the spread is 0.

    Returns
    -------
    Differences
        From exact sums. Whether a patient is won by distance is decided by the observed values, so
        that two failures are a tie.
    """
    m, n = family.scores.shape
    sums, deviations, wins, ties = [], [], [], []
    better = -family.observed if family.rule.reported_by_quantiles else family.goodness
    for a in range(m - 1):
        sums.append((family.scores[a] - family.scores[a + 1 :]).sum(axis=1))
        difference = family.linear[a] - family.linear[a + 1 :]
        deviations.append(spread(difference) if n > 1 else np.zeros(len(difference)))
        wins.append((better[a] > better[a + 1 :]).sum(axis=1))
        ties.append((better[a] == better[a + 1 :]).sum(axis=1))
    if not sums:
        nothing = np.zeros(0)
        return Differences(nothing, nothing, nothing, nothing, np.zeros(0, np.int64))
    tied = np.concatenate(ties)
    deviation = np.ldexp(np.concatenate(deviations), -family.bits)
    return Differences(
        mean=np.ldexp(np.concatenate(sums), -family.bits) / n,
        error=deviation / np.sqrt(n),
        deviation=deviation,
        win_rate=(np.concatenate(wins) + tied / 2) / n,
        ties=tied,
    )


def equivalence_p(found: Differences, *, n: int, margin: float) -> Floats:
    """Two one-sided t tests of a mean difference inside (-margin, margin).

    Parameters
    ----------
    found : Differences
        Of a family.
    n : int
        Number of patients, at least 2.
    margin : float
        In the metric's unit, declared before the analysis.

    Returns
    -------
    float64 array, shape (k,)
        The larger of the two one-sided p-values. Without variance it is 0 inside the margin and
        1 outside.

    References
    ----------
    Schuirmann 1987, doi:10.1007/BF01068419.
    """
    from scipy import stats  # noqa: PLC0415 - SciPy takes half a second; only callers pay

    room = margin - np.abs(found.mean)
    exact = np.where(room > 0, 0.0, 1.0)
    spread_out = found.error > 0
    t = np.divide(room, found.error, out=np.zeros_like(room), where=spread_out)
    p = np.where(spread_out, stats.t.sf(t, n - 1), exact)
    return np.array([settled(float(value)) for value in p])
