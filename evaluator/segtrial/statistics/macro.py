"""The average over structures: the one place where a claim is made across them.

The macro-average of a submission is the plain mean of its structures' means: every structure counts
the same, however many patients have it. It exists for metrics reported by means; there is no such
thing for medians. Submissions that are not ranked in every structure are not ranked in it.

Patients stay the unit. A patient's contribution is the sum over structures of score / (number of
patients with the structure), so the contributions sum to the macro-average, and flipping a
patient's sign flips all its structures at once. How much the average varies is read from the same
contributions taken around the observed means (its linearisation), because a resample changes the
number of patients with a structure together with their scores.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from segtrial.statistics.exact import Floats, quantise, score_bits
from segtrial.statistics.families import cases_of
from segtrial.statistics.records import MACRO_AVERAGE
from segtrial.statistics.resampling import Average
from segtrial.statistics.scores import FAILED, Family, TrackScores, Unranked

_LEAST_STRUCTURES = 2


def macro_average(track: TrackScores, families: Sequence[Family]) -> Average | None:
    """The average of one metric's families.

    Parameters
    ----------
    track : TrackScores
        The track they are from.
    families : sequence of Family
        All families of one metric.

    Returns
    -------
    Average or None
        None for fewer than two structures, or a metric reported by quantiles.
    """
    if len(families) < _LEAST_STRUCTURES or families[0].rule.reported_by_quantiles:
        return None
    common = set(families[0].submissions).intersection(*(f.submissions for f in families[1:]))
    names = tuple(sorted(common))
    members = tuple(
        np.array([f.submissions.index(name) for name in names], np.intp) for f in families
    )
    patients = np.unique(np.concatenate([f.patients for f in families]))
    shares = [patients.size / (f.patients.size * len(families)) for f in families]
    scores, influence = _contributions(families, members, patients, shares)
    bits = score_bits(
        bound=max(
            1.0, float(np.abs(scores).max(initial=0.0)), float(np.abs(influence).max(initial=0.0))
        ),
        patients=len(track.patients),
        dimensionless=families[0].rule.high is not None,
    )
    failed_cases = _failed_cases(track, families, names)
    return Average(
        Family(
            structure=MACRO_AVERAGE,
            rule=families[0].rule,
            patients=patients,
            cases=_cases(track, families),
            submissions=names,
            bits=bits,
            scores=quantise(scores, bits),
            observed=scores,
            failed=_failed_patients(families, members, patients),
            failed_cases=failed_cases,
            comparable=np.logical_and.reduce(
                [f.comparable[rows] for f, rows in zip(families, members, strict=True)]
            ),
            unranked=_unranked(families, common),
            influence=quantise(influence, bits),
        ),
        members,
    )


def without_each(average: Average, families: Sequence[Family]) -> tuple[Floats, NDArray[np.bool_]]:
    """The macro-average with one patient left out.

    Returns
    -------
    values : float64 array, shape (M, n)
        Column i: without patient i.
    exists : bool array, shape (n,)
        False where a structure loses its only patient.
    """
    patients = average.family.patients
    values = np.zeros((len(average.family.submissions), patients.size))
    exists = np.ones(patients.size, bool)
    for family, rows in zip(families, average.members, strict=True):
        here = np.searchsorted(patients, family.patients)
        scores = family.scores[rows]
        left = np.full(patients.size, float(family.patients.size))
        left[here] -= 1.0
        rest = np.repeat(scores.sum(axis=1)[:, None], patients.size, axis=1)
        rest[:, here] -= scores
        exists &= left > 0
        values += np.ldexp(rest, -family.bits) / np.maximum(left, 1.0)
    return values, exists


def _contributions(
    families: Sequence[Family],
    members: Sequence[NDArray[np.intp]],
    patients: NDArray[np.intp],
    shares: Sequence[float],
) -> tuple[Floats, Floats]:
    scores = np.zeros((members[0].size, patients.size))
    influence = np.zeros_like(scores)
    for family, rows, share in zip(families, members, shares, strict=True):
        here = np.searchsorted(patients, family.patients)
        values = np.ldexp(family.scores[rows], -family.bits)
        means = np.ldexp(family.scores[rows].sum(axis=1), -family.bits) / family.patients.size
        scores[:, here] += values * share
        influence[:, here] += (values - means[:, None]) * share
    return scores, influence


def _failed_patients(
    families: Sequence[Family], members: Sequence[NDArray[np.intp]], patients: NDArray[np.intp]
) -> NDArray[np.bool_]:
    failed = np.zeros((members[0].size, patients.size), bool)
    for family, rows in zip(families, members, strict=True):
        failed[:, np.searchsorted(patients, family.patients)] |= family.failed[rows]
    return failed


def _rows(track: TrackScores, families: Sequence[Family]) -> list[int]:
    return [track.structures.index(family.structure) for family in families]


def _cases(track: TrackScores, families: Sequence[Family]) -> int:
    """Cases that belong to any of the families."""
    scored = np.zeros(len(track.cases), bool)
    for family, row in zip(families, _rows(track, families), strict=True):
        scored |= cases_of(track, family.rule, row)
    return int(scored.sum())


def _failed_cases(
    track: TrackScores, families: Sequence[Family], names: Sequence[str]
) -> NDArray[np.int64]:
    """Cases in which any structure failed, by submission."""
    index = [track.submissions.index(name) for name in names]
    failed = np.zeros((len(index), len(track.cases)), bool)
    for family, row in zip(families, _rows(track, families), strict=True):
        failed |= (track.outcome[row][index] == FAILED) & cases_of(track, family.rule, row)
    total: NDArray[np.int64] = failed.sum(axis=1)
    return total


def _unranked(families: Sequence[Family], common: set[str]) -> tuple[Unranked, ...]:
    """Everybody else: the reason is that of the first structure that has one."""
    found: dict[str, Unranked] = {}
    for family in families:
        for one in family.unranked:
            if one.submission not in common:
                found.setdefault(one.submission, one)
    return tuple(
        Unranked(submission=name, reason=one.reason, scored=one.scored, mean=None, bounds=None)
        for name, one in sorted(found.items())
    )
