"""Intervals, each for the quantity it is right for.

===================== ============================================================================
quantity              interval
===================== ============================================================================
mean of a score       bootstrap-t (Efron 1981; Hall 1988, doi:10.1214/aos/1176350933), clipped to
                      the metric's range: scores are skewed, and misses of the percentile interval
                      flatter the submission
paired difference     Student t; Bonferroni-t where all pairs are meant at once
median, percentile    order statistics (Thompson 1936, doi:10.1214/aoms/1177732502), exact for any
                      distribution, failures being unbounded
failure rate          Clopper and Pearson 1934 (doi:10.1093/biomet/26.4.404)
===================== ============================================================================

`percentile_interval` and `bca_interval` are there for comparison, by name.

An interval that cannot be had says why (`NotEstimable`); it is never a point with two equal ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from segtrial.statistics.exact import Floats, settled


@dataclass(frozen=True, slots=True)
class Interval:
    """Two ends; infinite where unbounded."""

    low: float
    high: float

    def containing(self, estimate: float) -> Interval:
        """The same, widened where needed so that it holds the estimate.

        Studentised tails of a very skewed sample can both lie on one side of it.
        """
        return Interval(min(self.low, estimate), max(self.high, estimate))

    def clipped(self, low: float, high: float) -> Interval:
        """The part inside the metric's range."""
        return Interval(min(max(self.low, low), high), max(min(self.high, high), low))


@dataclass(frozen=True, slots=True)
class NotEstimable:
    """Why there is no interval: a word for programs and readers."""

    reason: str


ZERO_VARIANCE = NotEstimable("zero variance")
UNSTABLE = NotEstimable("most resamples have no variance")


def too_few(n: int, minimum: int) -> NotEstimable:
    """Not estimable because of the number of patients."""
    return NotEstimable(f"n = {n}, below {minimum}")


def bootstrap_t_interval(
    t: Floats, *, mean: float, error: float, alpha: float
) -> Interval | NotEstimable:
    """Studentised bootstrap interval of a mean.

    Parameters
    ----------
    t : float64 array, shape (B,)
        Studentised resamples; NaN where a resample has no variance.
    mean, error : float
        Observed mean and its standard error.
    alpha : float
        1 - confidence.

    Returns
    -------
    Interval or NotEstimable
        Not clipped. Not estimable without variance, or when fewer than half of the resamples have
        any (then nearly all patients score the same, and the rest decides by chance). The ends are
        order statistics of ``t``, so no interpolation rule enters.
    """
    if error <= 0.0:
        return ZERO_VARIANCE
    usable = t[~np.isnan(t)]
    if 2 * usable.size < t.size:
        return UNSTABLE
    tail = max(1, math.floor(usable.size * alpha / 2))
    ends = np.partition(usable, [tail - 1, usable.size - tail])
    # The tails change sides: large t means the resample's mean was too high for its spread.
    high_t, low_t = float(ends[usable.size - tail]), float(ends[tail - 1])
    return Interval(mean - high_t * error, mean - low_t * error).containing(mean)


def t_interval(
    *, mean: float, error: float, n: int, alpha: float, comparisons: int = 1
) -> Interval | NotEstimable:
    """Student t interval of a mean; Bonferroni-simultaneous for several comparisons.

    Parameters
    ----------
    mean, error : float
        Mean and its standard error.
    n : int
        Number of patients.
    alpha : float
        1 - confidence, of all comparisons together.
    comparisons : int
        Number of intervals meant at once.

    Returns
    -------
    Interval or NotEstimable
        Not estimable for fewer than two patients or without variance.
    """
    if n < 2:  # noqa: PLR2004 - one value has no spread
        return too_few(n, 2)
    if error <= 0.0:
        return ZERO_VARIANCE
    half = t_quantile(1 - alpha / (2 * comparisons), n - 1) * error
    return Interval(mean - half, mean + half)


def clopper_pearson(failed: int, n: int, *, alpha: float) -> Interval:
    """Exact interval of a share.

    Parameters
    ----------
    failed, n : int
        Number of failures among n patients, n at least 1.
    alpha : float
        1 - confidence.

    Returns
    -------
    Interval
        In [0, 1]; with no failure the upper end is about 3.7/n (two-sided) at 95 %.

    Examples
    --------
    >>> round(clopper_pearson(0, 20, alpha=0.05).high, 4)
    0.1684
    """
    from scipy import stats  # noqa: PLC0415 - SciPy takes half a second; only callers pay

    low = 0.0 if failed == 0 else settled(float(stats.beta.ppf(alpha / 2, failed, n - failed + 1)))
    high = (
        1.0
        if failed == n
        else settled(float(stats.beta.ppf(1 - alpha / 2, failed + 1, n - failed)))
    )
    return Interval(low, high)


def quantile(ascending: Floats, q: float) -> float:
    """Quantile of sorted values by linear interpolation (NumPy's default), infinities allowed.

    Parameters
    ----------
    ascending : float64 array, shape (n,)
        Sorted; failures are infinite and come last.
    q : float
        In [0, 1].

    Returns
    -------
    float
        Infinite as soon as an infinite value has any weight in it.

    Examples
    --------
    >>> quantile(np.array([1.0, 2.0, np.inf, np.inf]), 0.5)
    inf
    """
    position = q * (ascending.size - 1)
    below = math.floor(position)
    weight = position - below
    if weight == 0.0:
        return float(ascending[below])
    low, high = float(ascending[below]), float(ascending[below + 1])
    return high if math.isinf(high) else low + (high - low) * weight


def quantile_interval(ascending: Floats, q: float, *, alpha: float) -> Interval | NotEstimable:
    """Distribution-free interval of a quantile from order statistics.

    Parameters
    ----------
    ascending : float64 array, shape (n,)
        Sorted values; failures infinite.
    q : float
        Which quantile.
    alpha : float
        1 - confidence.

    Returns
    -------
    Interval or NotEstimable
        ``[x_(l), x_(u)]`` with each tail of Binomial(n, q) at most alpha / 2. The upper end is
        infinite where no order statistic is high enough (the 90th percentile of fewer than 36
        patients at 95 %), the lower end 0 where none is low enough; not estimable if neither is, or
        if all values are equal. Ties can make the two ends equal otherwise; that is exact.
    """
    n = ascending.size
    if ascending[0] == ascending[-1]:
        return ZERO_VARIANCE
    low_index, high_index = _order_indices(n, q, alpha)
    if low_index < 0 and high_index >= n:
        return NotEstimable(f"n = {n}, too few for this quantile")
    low = float(ascending[low_index]) if low_index >= 0 else 0.0
    high = float(ascending[high_index]) if high_index < n else math.inf
    return Interval(low, high).containing(quantile(ascending, q))


def percentile_interval(means: Floats, *, alpha: float) -> Interval:
    """Percentile bootstrap interval: for comparison; too short for skewed scores.

    Parameters
    ----------
    means : float64 array, shape (B,)
        Means of the resamples.
    alpha : float
        1 - confidence.
    """
    low, high = np.quantile(means, [alpha / 2, 1 - alpha / 2])
    return Interval(float(low), float(high))


def bca_interval(values: Floats, means: Floats, *, alpha: float) -> Interval | NotEstimable:
    """Bias-corrected and accelerated bootstrap interval of a mean: for comparison.

    Parameters
    ----------
    values : float64 array, shape (n,)
        One value per patient.
    means : float64 array, shape (B,)
        Means of the resamples.
    alpha : float
        1 - confidence.

    Returns
    -------
    Interval or NotEstimable
        Not estimable without variance.

    References
    ----------
    Efron 1987, doi:10.1080/01621459.1987.10478410.
    """
    from scipy import stats  # noqa: PLC0415 - as in clopper_pearson

    mean = math.fsum(values) / values.size
    centred = values - mean  # what each patient adds: the jackknife up to a factor
    scale = math.fsum(centred**2)
    if scale == 0.0:
        return ZERO_VARIANCE
    acceleration = math.fsum(centred**3) / (6 * scale**1.5)
    below = (int((means < mean).sum()) + int((means <= mean).sum())) / (2 * means.size)
    bias = float(stats.norm.ppf(below))
    levels = []
    for tail in (alpha / 2, 1 - alpha / 2):
        z = bias + float(stats.norm.ppf(tail))
        levels.append(settled(float(stats.norm.cdf(bias + z / (1 - acceleration * z)))))
    low, high = np.quantile(means, levels)
    return Interval(float(low), float(high))


@lru_cache(maxsize=4096)
def t_quantile(probability: float, degrees: int) -> float:
    """Quantile of Student's t, rounded to 10 significant digits."""
    from scipy import stats  # noqa: PLC0415 - as in clopper_pearson

    return settled(float(stats.t.ppf(probability, degrees)))


@lru_cache(maxsize=4096)
def _order_indices(n: int, q: float, alpha: float) -> tuple[int, int]:
    """Zero-based order statistics of both ends; -1 and n where there is none."""
    from scipy import stats  # noqa: PLC0415 - as in clopper_pearson

    # Rounded, so that the last bits of a special function decide nothing.
    below = np.round(stats.binom.cdf(np.arange(n), n, q), 12)
    above = np.round(stats.binom.sf(np.arange(n), n, q), 12)
    # x_(l) is above the quantile only if fewer than l values lie below it: P(Bin <= l - 1).
    low = int((below <= alpha / 2).sum()) - 1
    # x_(u) is below the quantile only if at least u values lie below it: P(Bin >= u).
    high = int((above > alpha / 2).sum())
    return low, high
