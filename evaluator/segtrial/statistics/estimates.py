"""What is said of one submission in one family: its score, interval and failure rate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from segtrial.statistics.exact import Floats, spread
from segtrial.statistics.intervals import (
    ZERO_VARIANCE,
    Interval,
    NotEstimable,
    bca_interval,
    bootstrap_t_interval,
    clopper_pearson,
    percentile_interval,
    quantile,
    quantile_interval,
    too_few,
)
from segtrial.statistics.resampling import Resampled
from segtrial.statistics.scores import Family
from segtrial.statistics.settings import AnalysisSettings

MEDIAN, P90 = 0.5, 0.9
BOOTSTRAP_T = "bootstrap-t"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """One submission's row.

    Attributes
    ----------
    submission : str
        Id.
    mean : float or NotEstimable
        Mean over patients, failures at their worst value.
    interval : Interval or NotEstimable
        Of the mean (bootstrap-t, no further out than the guarded one), or for metrics reported by
        quantiles of the median.
    guarded : Interval, NotEstimable or None
        Of the mean, also against failures that were not seen; None for a metric without a fixed
        range.
    median, p90 : float
        Infinite where unbounded; of the observed values.
    p90_interval : Interval or NotEstimable
        From order statistics.
    failed : int
        Patients with a failed scan.
    failed_cases : int
        Failed scans.
    failure_interval : Interval
        Clopper-Pearson, of the share of patients.
    """

    submission: str
    mean: float | NotEstimable
    interval: Interval | NotEstimable
    guarded: Interval | NotEstimable | None
    median: float
    p90: float
    p90_interval: Interval | NotEstimable
    failed: int
    failed_cases: int
    failure_interval: Interval


def estimates(
    family: Family,
    resampled: Resampled,
    guarded: Sequence[Interval] | None,
    settings: AnalysisSettings,
) -> list[Estimate]:
    """Rows of a family, in its order of submissions.

    Parameters
    ----------
    family : Family
        At least one patient.
    resampled : Resampled
        Of the family, in the same order; with shifts where the settings ask for another interval
        than bootstrap-t.
    guarded : sequence of Interval, or None
        From `segtrial.statistics.guard`, in the same order.
    settings : AnalysisSettings
        Confidence and minimum sizes.
    """
    n = family.patients.size
    sums = family.scores.sum(axis=1)
    deviation = spread(family.linear) if n > 1 else np.zeros(len(sums))
    rows = []
    for m, name in enumerate(family.submissions):
        mean = math.ldexp(float(sums[m]), -family.bits) / n
        error = math.ldexp(float(deviation[m]), -family.bits) / math.sqrt(n)
        ascending = np.sort(family.observed[m])
        guard = guarded[m].containing(mean) if guarded else None
        if family.rule.reported_by_quantiles:
            interval = _of_quantile(ascending, MEDIAN, settings)
        elif n < settings.minimum_n:
            interval = too_few(n, settings.minimum_n)
        else:
            interval = _clipped(
                _of_mean(family, resampled, m, mean=mean, error=error, settings=settings),
                family,
                guard if settings.interval == BOOTSTRAP_T else None,
            )
        failed = int(family.failed[m].sum())
        rows.append(
            Estimate(
                submission=name,
                mean=mean if family.comparable[m] else NotEstimable("size of the scan not known"),
                interval=interval,
                guarded=too_few(n, settings.minimum_n) if n < settings.minimum_n else guard,
                median=quantile(ascending, MEDIAN),
                p90=quantile(ascending, P90),
                p90_interval=_of_quantile(ascending, P90, settings),
                failed=failed,
                failed_cases=int(family.failed_cases[m]),
                failure_interval=clopper_pearson(failed, n, alpha=settings.alpha),
            )
        )
    return rows


def _of_mean(
    family: Family,
    resampled: Resampled,
    m: int,
    *,
    mean: float,
    error: float,
    settings: AnalysisSettings,
) -> Interval | NotEstimable:
    """The interval that the settings name, not clipped."""
    alpha = settings.alpha
    if resampled.shifts is None or settings.interval == BOOTSTRAP_T:
        return bootstrap_t_interval(resampled.t[m], mean=mean, error=error, alpha=alpha)
    if error <= 0.0:
        return ZERO_VARIANCE
    shifts = resampled.shifts[m]
    means = mean + shifts[~np.isnan(shifts)]
    if settings.interval == "percentile":
        return percentile_interval(means, alpha=alpha)
    linear = np.ldexp(family.linear[m], -family.bits)
    return bca_interval(mean + (linear - linear.mean()), means, alpha=alpha)


def _clipped(
    found: Interval | NotEstimable, family: Family, guard: Interval | None
) -> Interval | NotEstimable:
    """Inside the metric's range, and no further out than the guarded interval."""
    if isinstance(found, NotEstimable):
        return found
    if guard is not None:
        return found.clipped(guard.low, guard.high)
    return found.clipped(0.0, family.rule.high or math.inf)


def _of_quantile(
    ascending: Floats, q: float, settings: AnalysisSettings
) -> Interval | NotEstimable:
    if ascending.size < settings.minimum_n:
        return too_few(ascending.size, settings.minimum_n)
    return quantile_interval(ascending, q, alpha=settings.alpha)
