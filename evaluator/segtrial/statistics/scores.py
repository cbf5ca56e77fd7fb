"""Scores as arrays, in two forms.

`TrackScores` holds what the records say, case by case, and is the same whatever their order.
`Family` holds one structure and metric, ready for statistics: ranked submissions only, worst values
filled in, scans of one patient averaged, everything quantised. `segtrial.statistics.records` makes
the first, `segtrial.statistics.families` the second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from segtrial.policy.failures import MetricRule

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

OK, FAILED, NOT_RUN, UNSUPPORTED, NOT_SCORED = range(5)
"""Codes of `TrackScores.outcome`. The last: nobody has a record of this case and structure."""
PRESENT, ABSENT = 0, 1
"""Codes of `TrackScores.endpoint`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackScores:
    """All scores of a track, case by case.

    Attributes
    ----------
    track : str
        Full name of the track, dataset and version included: a key of the random numbers.
    patients : tuple of str
        Sorted pseudonyms.
    cases : tuple of str
        Sorted by patient, then by case.
    patient_of_case : intp array, shape (C,)
        Index into ``patients``; ascending.
    slices : mapping of str to tuple of (str or None)
        For each slice, the level of each patient; None where it is not known.
    structures : tuple of str
        Sorted.
    diagonal_mm, scan_volume_ml : float64 array, shape (C,)
        Of the scan; NaN where not known.
    reference_ml : float64 array, shape (S, C)
        Volume of the structure in the reference; NaN where not known.
    endpoint : int8 array, shape (S, C)
        Whether the reference holds the structure: `PRESENT` or `ABSENT`.
    submissions : tuple of str
        Sorted.
    excluded : mapping of str to str
        Submissions that may not be ranked for a reason other than their outcomes, and the reason.
    outcome : int8 array, shape (S, M, C)
        `OK`, `FAILED`, `NOT_RUN`, `UNSUPPORTED` or `NOT_SCORED`.
    values : mapping of str to float64 array, shape (S, M, C)
        By metric; infinite where unbounded; meaningless where not ``given``.
    given : mapping of str to bool array, shape (S, M, C)
        Where there is a value.
    """

    track: str
    patients: tuple[str, ...]
    cases: tuple[str, ...]
    patient_of_case: NDArray[np.intp]
    slices: Mapping[str, tuple[str | None, ...]]
    structures: tuple[str, ...]
    diagonal_mm: Floats
    scan_volume_ml: Floats
    reference_ml: Floats
    endpoint: NDArray[np.int8]
    submissions: tuple[str, ...]
    excluded: Mapping[str, str]
    outcome: NDArray[np.int8]
    values: Mapping[str, Floats]
    given: Mapping[str, Bools]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One structure and metric: every ranked submission on the same patients.

    Attributes
    ----------
    structure : str
        Structure.
    rule : MetricRule
        Direction, range and worst value of the metric.
    patients : intp array, shape (n,)
        Which patients of the track, ascending.
    cases : int
        Number of cases these patients have on this endpoint.
    submissions : tuple of str
        Ranked submissions, sorted by name (M of them).
    bits : int
        Binary digits after the point of ``scores``.
    scores : float64 array, shape (M, n)
        Integers: the patient's mean score times 2**bits, failures at their worst value.
    observed : float64 array, shape (M, n)
        The patient's mean in the metric's unit; for metrics reported by quantiles, infinite where
        any of the patient's scans failed or has an empty prediction.
    failed : bool array, shape (M, n)
        Whether any scan of the patient failed.
    failed_cases : int64 array, shape (M,)
        Number of failed cases.
    comparable : bool array, shape (M,)
        False where a failure's worst value is not known (a table without scan sizes): such a
        submission has no mean, no test, and the last rank in every resample.
    unranked : tuple of Unranked
        Everybody else, with the reason.
    influence : float64 array, shape (M, n), or None
        For an average over structures, what each patient contributes to it, linearised around the
        observed means (integers, mean about 0): its spread is the spread of the estimate. None
        where that is the scores themselves.
    """

    structure: str
    rule: MetricRule
    patients: NDArray[np.intp]
    cases: int
    submissions: tuple[str, ...]
    bits: int
    scores: Floats
    observed: Floats
    failed: Bools
    failed_cases: NDArray[np.int64]
    comparable: Bools
    unranked: tuple[Unranked, ...]
    influence: Floats | None = None

    @property
    def linear(self) -> Floats:
        """Values whose mean over patients moves as the estimate does, shape (M, n)."""
        return self.scores if self.influence is None else self.influence

    @property
    def goodness(self) -> Floats:
        """Scores turned so that more is better, shape (M, n)."""
        return self.scores if self.rule.higher_is_better else -self.scores

    def ordered(self, order: Sequence[int]) -> Family:
        """The same family with its submissions in another order."""
        rows = list(order)
        return replace(
            self,
            submissions=tuple(self.submissions[m] for m in rows),
            scores=self.scores[rows],
            observed=self.observed[rows],
            failed=self.failed[rows],
            failed_cases=self.failed_cases[rows],
            comparable=self.comparable[rows],
            influence=None if self.influence is None else self.influence[rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Unranked:
    """A submission shown below the ranking.

    Attributes
    ----------
    submission : str
        Id.
    reason : str
        ``incomplete``, ``unsupported``, ``contaminated``, ``partial``, ``images_only`` or
        ``unknown``.
    scored : int
        Patients with a score, out of the family's.
    mean : float or None
        Mean over them; None without any.
    bounds : tuple of float or None
        Mean if everything missing were the worst and the best; only for ``incomplete``.
    """

    submission: str
    reason: str
    scored: int
    mean: float | None
    bounds: tuple[float, float] | None
