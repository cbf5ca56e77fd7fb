"""From scores by case to families: what a failure counts as, and the patient as the unit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segtrial.policy.failures import MetricRule, best_value, metric_rule, worst_values
from segtrial.statistics.exact import quantise, score_bits
from segtrial.statistics.scores import (
    ABSENT,
    FAILED,
    NOT_RUN,
    NOT_SCORED,
    OK,
    PRESENT,
    UNSUPPORTED,
    Bools,
    Family,
    Floats,
    TrackScores,
    Unranked,
)

_UNKNOWN_BOUND = 2.0**17
"""Largest distance or volume of a scan of unknown size, in mm or ml."""


def families(track: TrackScores, metric: str) -> list[Family]:
    """The families of one metric, one for each structure in which it has patients and scores.

    Parameters
    ----------
    track : TrackScores
        The track.
    metric : str
        Metric key.

    Returns
    -------
    list of Family
        In the order of the track's structures.

    Raises
    ------
    ResultsError
        For an unknown metric.
    """
    rule = metric_rule(metric)
    built = (_family(track, rule, index) for index in range(len(track.structures)))
    return [family for family in built if family is not None]


def cases_of(track: TrackScores, rule: MetricRule, structure: int) -> Bools:
    """Cases in which a metric of a structure is defined and anybody was scored, shape (C,)."""
    code = PRESENT if rule.endpoint == "present" else ABSENT
    scored = (track.outcome[structure] != NOT_SCORED).any(axis=0)
    here: Bools = (track.endpoint[structure] == code) & scored
    return here


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """One structure and metric, case by case, all submissions (M of them) and cases (C)."""

    steps: Floats
    """Counted values times 2**bits, integers; NaN where a worst value is not known."""
    bits: int
    observed: Floats
    outcome: NDArray[np.int8]
    missing: Bools
    worst: Floats
    starts: NDArray[np.intp]
    """Where each patient's cases begin."""
    scans: NDArray[np.int64]
    """How many each patient has."""


def _family(track: TrackScores, rule: MetricRule, index: int) -> Family | None:
    here = cases_of(track, rule, index)
    if not _scored(track, rule, index, here):
        return None
    block = _block(track, rule, index, here)
    reasons = _reasons(track, block)
    ranked = np.array([m for m, name in enumerate(track.submissions) if name not in reasons], int)
    failed = block.outcome[ranked] == FAILED
    steps = block.steps[ranked]
    comparable = np.isfinite(steps).all(axis=1)
    by_patient = np.add.reduceat(np.where(comparable[:, None], steps, 0.0), block.starts, axis=1)
    return Family(
        structure=track.structures[index],
        rule=rule,
        patients=track.patient_of_case[here][block.starts],
        cases=int(here.sum()),
        submissions=tuple(track.submissions[m] for m in ranked),
        bits=block.bits,
        scores=np.rint(by_patient / block.scans),
        observed=np.add.reduceat(block.observed[ranked], block.starts, axis=1) / block.scans,
        failed=np.logical_or.reduceat(failed, block.starts, axis=1),
        failed_cases=failed.sum(axis=1),
        comparable=comparable,
        unranked=tuple(
            _unranked(rule, block, m, submission=name, reason=reasons[name])
            for m, name in enumerate(track.submissions)
            if name in reasons
        ),
    )


def _scored(track: TrackScores, rule: MetricRule, index: int, here: Bools) -> bool:
    """Whether anybody has the metric of this structure, or everybody failed and nobody could."""
    if (track.given[rule.key][index] & here).any():
        return True
    outcome = track.outcome[index][:, here]
    return bool((outcome == FAILED).any() and not (outcome == OK).any())


def _block(track: TrackScores, rule: MetricRule, index: int, here: Bools) -> _Block:
    outcome = track.outcome[index][:, here]
    given = track.given[rule.key][index][:, here]
    values = track.values[rule.key][index][:, here]
    worst = worst_values(
        rule,
        diagonal_mm=track.diagonal_mm[here],
        scan_volume_ml=track.scan_volume_ml[here],
        reference_ml=track.reference_ml[index, here],
    )
    failed = outcome == FAILED
    size = np.abs(values) if rule.signed else values
    at_worst = np.broadcast_to(worst, size.shape)
    # A real value is never worse than no output: clipped to the worst value where that is known.
    clipped = size if rule.high else np.where(size > at_worst, at_worst, size)
    counted = np.where(failed, at_worst, clipped)
    bits = score_bits(
        bound=rule.high or float(np.nan_to_num(worst, nan=_UNKNOWN_BOUND).max()),
        patients=len(track.patients),
        dimensionless=rule.high is not None,
    )
    _, starts, scans = np.unique(track.patient_of_case[here], return_index=True, return_counts=True)
    return _Block(
        steps=quantise(np.where(np.isfinite(counted), counted, np.nan), bits),
        bits=bits,
        observed=np.where(failed, np.inf, size) if rule.reported_by_quantiles else counted,
        outcome=outcome,
        missing=(outcome == NOT_RUN) | (outcome == NOT_SCORED) | ((outcome == OK) & ~given),
        worst=worst,
        starts=starts,
        scans=scans,
    )


def _reasons(track: TrackScores, block: _Block) -> dict[str, str]:
    """Why each unranked submission is not ranked."""
    incomplete_anywhere = (track.outcome == NOT_RUN).any(axis=(0, 2))
    reasons: dict[str, str] = {}
    for m, name in enumerate(track.submissions):
        if name in track.excluded:
            reasons[name] = track.excluded[name]
        elif (block.outcome[m] == UNSUPPORTED).any():
            reasons[name] = "unsupported"
        elif incomplete_anywhere[m] or block.missing[m].any():
            reasons[name] = "incomplete"
    return reasons


def _unranked(rule: MetricRule, block: _Block, m: int, *, submission: str, reason: str) -> Unranked:
    usable = ~block.missing[m] & (block.outcome[m] != UNSUPPORTED) & np.isfinite(block.steps[m])
    steps = np.where(usable, block.steps[m], 0.0)
    scans = np.add.reduceat(usable.astype(np.int64), block.starts)
    has = scans > 0
    total = np.add.reduceat(steps, block.starts)[has]
    bounds = None
    if reason == "incomplete" and np.isfinite(block.worst).all():
        bounds = _bounds(rule, block, steps, usable)
    return Unranked(
        submission=submission,
        reason=reason,
        scored=int(has.sum()),
        mean=_mean(total, scans[has], block.bits) if has.any() else None,
        bounds=bounds,
    )


def _bounds(rule: MetricRule, block: _Block, steps: Floats, usable: Bools) -> tuple[float, float]:
    """Mean if everything missing were the worst, and if it were perfect; ascending."""
    perfect = np.full_like(block.worst, best_value(rule))
    ends = []
    for filling in (block.worst, perfect):
        filled = np.where(usable, steps, quantise(filling, block.bits))
        ends.append(_mean(np.add.reduceat(filled, block.starts), block.scans, block.bits))
    return min(ends), max(ends)


def _mean(total: Floats, scans: NDArray[np.int64], bits: int) -> float:
    """Mean over patients of each patient's mean."""
    return math.ldexp(float(np.rint(total / scans).sum()), -bits) / total.size
