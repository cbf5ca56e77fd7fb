"""How many patients it takes, and what a test set can see at all.

Sizes are for the paired comparison of two submissions, two-sided, at the level of the first step of
Holm's correction (alpha divided by the number of pairs): the level a pair must reach when it is the
only one that differs. They take the observed spread for the true one; with few patients, failures
too rare to have been seen are not in it, and the true number is larger.
"""

from __future__ import annotations

import math
from functools import lru_cache

from segtrial.statistics.exact import settled
from segtrial.statistics.intervals import t_quantile

MOST = 1_000_000
"""Larger numbers of patients are not told apart: nobody will collect them."""


def patients_needed(
    *, difference: float, deviation: float, alpha: float, power: float
) -> int | None:
    """Number of patients at which a difference of means is found with the power asked for.

    Parameters
    ----------
    difference : float
        True mean difference, positive, in the metric's unit.
    deviation : float
        Standard deviation of the paired differences, in the same unit.
    alpha : float
        Two-sided level of the one comparison.
    power : float
        Probability of finding it.

    Returns
    -------
    int or None
        None above `MOST` or without a difference. Never fewer than the sign-flip test needs to
        reach the level at all, however large the difference.

    References
    ----------
    Guenther 1981, doi:10.2307/2683136: the normal approximation plus z**2 / 2 agrees with the
    noncentral t to one patient from about ten on.

    Examples
    --------
    >>> patients_needed(difference=0.01, deviation=0.05, alpha=0.05, power=0.8)
    199
    """
    if difference <= 0.0:
        return None
    z_level, z_power = normal_quantile(1 - alpha / 2), normal_quantile(power)
    needed = ((z_level + z_power) * deviation / difference) ** 2 + z_level**2 / 2
    if needed > MOST:
        return None
    return max(fewest_for_level(alpha), math.ceil(needed - 1e-9))


def fewest_for_level(alpha: float) -> int:
    """Fewest patients with whom the smallest two-sided sign-flip p-value is at most alpha.

    Examples
    --------
    >>> fewest_for_level(0.05), fewest_for_level(0.05 / 45)
    (6, 11)
    """
    return 1 + math.ceil(-math.log2(alpha))


def detectable_difference(*, deviation: float, n: int, alpha: float, power: float) -> float:
    """Smallest true mean difference that a test set finds with the power asked for.

    Parameters
    ----------
    deviation : float
        Standard deviation of the paired differences.
    n : int
        Number of patients, at least 2.
    alpha : float
        Two-sided level of the one comparison.
    power : float
        Probability of finding it.

    Returns
    -------
    float
        In the unit of ``deviation``.

    Examples
    --------
    >>> round(detectable_difference(deviation=0.05, n=199, alpha=0.05, power=0.8), 4)
    0.01
    """
    reach = t_quantile(1 - alpha / 2, n - 1) + t_quantile(power, n - 1)
    return reach * deviation / math.sqrt(n)


def smallest_visible_rate(n: int) -> float:
    """Failure rate below which n patients most likely (95 %) show no failure: 3/n.

    References
    ----------
    Hanley and Lippman-Hand 1983, doi:10.1001/jama.1983.03330370053031.
    """
    return min(1.0, 3.0 / n)


@lru_cache(maxsize=1024)
def normal_quantile(probability: float) -> float:
    """Quantile of the standard normal, rounded to 10 significant digits."""
    from scipy import stats  # noqa: PLC0415 - SciPy takes half a second; only callers pay

    return settled(float(stats.norm.ppf(probability)))
