"""The verdict on each pair of a family, and what it rests on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from segtrial.statistics.comparison import (
    Differences,
    differences,
    equivalence_p,
    holm,
)
from segtrial.statistics.intervals import Interval, NotEstimable, t_interval, too_few
from segtrial.statistics.planning import patients_needed
from segtrial.statistics.scores import Family
from segtrial.statistics.settings import AnalysisSettings
from segtrial.statistics.signflip import PairCounts, pairs

Verdict = Literal["better", "equivalent", "inconclusive"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One pair: a stands before b in the ranking.

    Attributes
    ----------
    a, b : int
        Positions in the ranking.
    difference, deviation : float
        Mean of a minus mean of b, and the standard deviation of the paired differences, in the
        metric's unit.
    interval, simultaneous : Interval or NotEstimable
        Student t for this pair alone, and Bonferroni-t for all pairs of the family at once.
    p, p_adjusted : float
        Sign-flip test, and Holm over the family.
    p_equivalent : float or None
        Two one-sided tests, Holm over the family; None without a margin or with too few patients.
    verdict : str
        ``better`` (a is better than b), ``equivalent`` or ``inconclusive``.
    effect_size : float or None
        Mean difference over the standard deviation of the differences; None without variance.
    win_rate : float
        Share of patients on whom a is better, ties half.
    patients_needed : int or None
        Patients for the power of the settings at the observed difference and spread; None where no
        number is enough (no difference), or none can be given (too few patients).
    comparable : bool
        False where a failure's worst value is not known, so that nothing could be tested.
    """

    a: int
    b: int
    difference: float
    deviation: float
    interval: Interval | NotEstimable
    simultaneous: Interval | NotEstimable
    p: float
    p_adjusted: float
    p_equivalent: float | None
    verdict: Verdict
    effect_size: float | None
    win_rate: float
    patients_needed: int | None
    comparable: bool


def compare(family: Family, counts: PairCounts, settings: AnalysisSettings) -> list[Comparison]:
    """Verdicts on all pairs.

    Parameters
    ----------
    family : Family
        Submissions in ranking order, best first.
    counts : PairCounts
        Sign-flip tests in that order.
    settings : AnalysisSettings
        Error rate, margins, minimum sizes.

    Returns
    -------
    list of Comparison
        In the order of `segtrial.statistics.signflip.pairs`.
    """
    found = differences(family)
    p, adjusted = counts.p, holm(counts.p)
    equivalent = _equivalence(family, found, settings)
    compared = []
    for k, (a, b) in enumerate(pairs(len(family.submissions))):
        comparable = bool(family.comparable[a] and family.comparable[b])
        p_equivalent = None if equivalent is None or not comparable else float(equivalent[k])
        compared.append(
            Comparison(
                a=a,
                b=b,
                difference=float(found.mean[k]),
                deviation=float(found.deviation[k]),
                interval=_interval(family, found, k, settings, comparisons=1),
                simultaneous=_interval(family, found, k, settings, comparisons=len(p)),
                p=float(p[k]),
                p_adjusted=float(adjusted[k]),
                p_equivalent=p_equivalent,
                verdict=_verdict(
                    family,
                    float(found.mean[k]),
                    p_adjusted=float(adjusted[k]),
                    p_equivalent=p_equivalent,
                    alpha=settings.alpha,
                ),
                effect_size=_effect(found, k),
                win_rate=float(found.win_rate[k]),
                patients_needed=_needed(family, found, k, settings, comparisons=len(p)),
                comparable=comparable,
            )
        )
    return compared


def _verdict(
    family: Family,
    difference: float,
    *,
    p_adjusted: float,
    p_equivalent: float | None,
    alpha: float,
) -> Verdict:
    ahead = difference > 0 if family.rule.higher_is_better else difference < 0
    # A ranking by median can put first what the test on means would put second: no verdict then,
    # so that a page cannot contradict itself.
    if p_adjusted <= alpha and ahead:
        return "better"
    if p_equivalent is not None and p_equivalent <= alpha:
        return "equivalent"
    return "inconclusive"


def _equivalence(
    family: Family, found: Differences, settings: AnalysisSettings
) -> list[float] | None:
    margin = settings.margins.get(family.rule.key)
    n = family.patients.size
    if margin is None or n < max(settings.low_n, 2) or not found.mean.size:
        return None
    return [float(p) for p in holm(equivalence_p(found, n=n, margin=margin))]


def _interval(
    family: Family, found: Differences, k: int, settings: AnalysisSettings, *, comparisons: int
) -> Interval | NotEstimable:
    n = family.patients.size
    if n < settings.minimum_n:
        return too_few(n, settings.minimum_n)
    return t_interval(
        mean=float(found.mean[k]),
        error=float(found.error[k]),
        n=n,
        alpha=settings.alpha,
        comparisons=comparisons,
    )


def _effect(found: Differences, k: int) -> float | None:
    deviation = float(found.deviation[k])
    return float(found.mean[k]) / deviation if deviation > 0 else None


def _needed(
    family: Family, found: Differences, k: int, settings: AnalysisSettings, *, comparisons: int
) -> int | None:
    difference = math.fabs(float(found.mean[k]))
    if family.patients.size < settings.minimum_n or difference == 0.0:
        return None
    return patients_needed(
        difference=difference,
        deviation=float(found.deviation[k]),
        alpha=settings.alpha / comparisons,
        power=settings.power,
    )
