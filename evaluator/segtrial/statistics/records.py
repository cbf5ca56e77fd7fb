"""Records of ``results.json`` to `TrackScores`, with everything that does not fit named.

The case list is the track's. A case and structure for which nobody has a record is not scored at
all (a table of scores lists no case for an absent structure); one for which some have a record is
``not_run`` for the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from segtrial.contracts.attempt import Eligibility
from segtrial.contracts.reading import nearest
from segtrial.contracts.result import CaseRow, ScoreRecord, SubmissionRow, Unbounded
from segtrial.errors import ResultsError
from segtrial.policy.failures import (
    MetricRule,
    Status,
    is_known,
    is_score,
    metric_rule,
    status,
)
from segtrial.statistics.scores import (
    ABSENT,
    FAILED,
    NOT_RUN,
    NOT_SCORED,
    OK,
    PRESENT,
    UNSUPPORTED,
    TrackScores,
)
from segtrial.statistics.settings import AnalysisSettings

MACRO_AVERAGE = "macro_average"
"""Reserved structure name of the average over structures."""

_CODE: dict[Status, int] = {
    "ok": OK,
    "failed": FAILED,
    "not_run": NOT_RUN,
    "unsupported": UNSUPPORTED,
}
_GRAVEST_FIRST = ("contaminated", "unknown", "images_only")
_LARGEST_UNKNOWN = 1e5
"""A distance (mm) or volume (ml) above this, on a scan of unknown size, is a mistake of units."""


def track_scores(
    *,
    track: str,
    structures: Sequence[str],
    cases: Sequence[CaseRow],
    submissions: Sequence[SubmissionRow],
    records: Iterable[ScoreRecord],
    settings: AnalysisSettings,
    metrics: Iterable[str] = (),
) -> TrackScores:
    """Arrays of a track's records.

    Parameters
    ----------
    track : str
        Full name of the track, dataset and version included.
    structures : sequence of str
        The track's structures.
    cases, submissions, records : sequences of records
        As in ``results.json``; their order does not matter.
    settings : AnalysisSettings
        Says which verdicts may be ranked.
    metrics : iterable of str
        What was to be computed; without it, a metric that nobody got because everybody failed
        would not be there at all. Keys that are no scores are passed over.

    Returns
    -------
    TrackScores
        Sorted by name in every direction.

    Raises
    ------
    ResultsError
        For a duplicate, a case, structure or submission that the track does not list, a value out
        of range or without outcome ``ok``, presence that differs between submissions.
    """
    reader = _Reader(track, structures, cases, submissions, settings)
    for key in metrics:
        reader.expect(key)
    return reader.read(records)


class _Reader:
    """The indices of one track, and the arrays being filled."""

    def __init__(
        self,
        track: str,
        structures: Sequence[str],
        cases: Sequence[CaseRow],
        submissions: Sequence[SubmissionRow],
        settings: AnalysisSettings,
    ) -> None:
        if MACRO_AVERAGE in structures:
            raise ResultsError(
                f"The structure name {MACRO_AVERAGE!r} is reserved for the average over structures."
                " Give the structure another name."
            )
        self.track = track
        self.settings = settings
        self.cases = sorted(cases, key=lambda row: (row.patient, row.case))
        self.submissions = sorted(submissions, key=lambda row: row.id)
        self.structure = _index("structure", structures)
        self.case = _index("case", [row.case for row in self.cases])
        self.submission = _index("submission", [row.id for row in self.submissions])
        self.rules: dict[str, MetricRule] = {}
        self.shape = (len(self.structure), len(self.submission), len(self.case))
        self.outcome = np.full(self.shape, NOT_SCORED, np.int8)
        self.endpoint = np.full((self.shape[0], self.shape[2]), -1, np.int8)
        self.values: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]] = {}
        self.given: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]] = {}
        self.not_clean: dict[str, Eligibility] = {}

    def read(self, records: Iterable[ScoreRecord]) -> TrackScores:
        for record in records:
            self._take(record)
        excluded = self._excluded()
        self._settle_case_list(excluded)
        self._derive_absent()
        patients = tuple(sorted({row.patient for row in self.cases}))
        place = {patient: index for index, patient in enumerate(patients)}
        return TrackScores(
            track=self.track,
            patients=patients,
            cases=tuple(row.case for row in self.cases),
            patient_of_case=np.array([place[row.patient] for row in self.cases], np.intp),
            slices=_slices(self.cases, patients),
            structures=tuple(self.structure),
            diagonal_mm=_known([row.diagonal_mm for row in self.cases]),
            scan_volume_ml=_known([row.volume_ml for row in self.cases]),
            reference_ml=np.array(
                [[row.reference_ml.get(s, math.nan) for row in self.cases] for s in self.structure]
            ).reshape(len(self.structure), len(self.cases)),
            endpoint=np.where(self.endpoint == -1, np.int8(PRESENT), self.endpoint),
            submissions=tuple(self.submission),
            excluded=excluded,
            outcome=self.outcome,
            values=self.values,
            given=self.given,
        )

    def expect(self, key: str) -> None:
        """Make room for a metric that was to be computed."""
        if key not in self.rules and is_score(key) and is_known(key):
            self._start(key)

    def _start(self, key: str) -> MetricRule:
        rule = self.rules[key] = metric_rule(key)
        self.values[key] = np.zeros(self.shape)
        self.given[key] = np.zeros(self.shape, bool)
        return rule

    def _take(self, record: ScoreRecord) -> None:
        where = (
            _place(self.structure, record.structure, "structure", record),
            _place(self.submission, record.submission, "submission", record),
            _place(self.case, record.case, "case", record),
        )
        if self.outcome[where] != NOT_SCORED:
            raise ResultsError(
                f"{_name(record)} has two records. Keep the one that counts; scores are never "
                "averaged over repetitions."
            )
        self.outcome[where] = _CODE[status(record.outcome)]
        self._note_presence(record, where)
        if record.eligibility != "clean":
            found = self.not_clean.get(record.submission, record.eligibility)
            self.not_clean[record.submission] = min(
                found, record.eligibility, key=_GRAVEST_FIRST.index
            )
        if record.metrics and record.outcome != "ok":
            raise ResultsError(
                f"{_name(record)} has the outcome {record.outcome!r} and values as well. A failure "
                "has no values of its own: leave them out."
            )
        for key, value in record.metrics.items():
            if is_score(key):
                self._note_value(record, where, key, value)
            elif key == "prediction_volume_ml" and not record.reference_present:
                # Whatever is predicted of an absent structure is false.
                self._note_value(record, where, "false_positive_ml", value)

    def _note_presence(self, record: ScoreRecord, where: tuple[int, int, int]) -> None:
        code = PRESENT if record.reference_present else ABSENT
        seen = self.endpoint[where[0], where[2]]
        if seen not in (-1, code):
            holds = "holds" if record.reference_present else "does not hold"
            raise ResultsError(
                f"{_name(record)} says that the reference {holds} the structure; another "
                "submission's record says the opposite. Presence belongs to the case: correct one."
            )
        self.endpoint[where[0], where[2]] = code

    def _note_value(
        self,
        record: ScoreRecord,
        where: tuple[int, int, int],
        key: str,
        value: float | Unbounded,
    ) -> None:
        rule = self.rules.get(key) or self._start(key)
        self.values[key][where] = _checked(rule, value, record, self.cases[where[2]])
        self.given[key][where] = True

    def _settle_case_list(self, excluded: dict[str, str]) -> None:
        """A case is scored where anybody who may be ranked has a record; the others are not run.

        Somebody who may not be ranked adds no case to the list (unless nobody else is there).
        """
        scored = self.outcome != NOT_SCORED
        judged = [m for name, m in self.submission.items() if name not in excluded]
        listed = (scored[:, judged] if judged else scored).any(axis=1, keepdims=True)
        self.outcome[~scored & listed] = NOT_RUN
        self.outcome[scored & ~listed] = NOT_SCORED

    def _derive_absent(self) -> None:
        """Specificity where only the false-positive volume is given."""
        volume = self.values.get("false_positive_ml")
        if volume is None:
            return
        given = self.given["false_positive_ml"]
        if "specificity" not in self.values:
            self.values["specificity"] = np.zeros(self.shape)
            self.given["specificity"] = np.zeros(self.shape, bool)
        missing = given & ~self.given["specificity"]
        self.values["specificity"][missing] = volume[missing] == 0.0
        self.given["specificity"] |= given

    def _excluded(self) -> dict[str, str]:
        """Submissions that contamination keeps out, whatever their outcomes."""
        allowed = self.settings.ranked_verdicts
        excluded: dict[str, str] = {}
        for row in self.submissions:
            if row.verdict not in allowed:
                excluded[row.id] = row.verdict
            elif self.not_clean.get(row.id, "clean") not in allowed:
                # The per-case evidence overrules a verdict that says otherwise.
                excluded[row.id] = self.not_clean[row.id]
        return excluded


def _index(kind: str, names: Sequence[str]) -> dict[str, int]:
    ordered = sorted(names) if kind == "structure" else list(names)
    index = {name: position for position, name in enumerate(ordered)}
    if len(index) != len(ordered):
        twice = next(name for name in ordered if ordered.count(name) > 1)
        raise ResultsError(f"The {kind} {twice!r} is listed twice. Keep one.")
    return index


def _place(index: dict[str, int], name: str, kind: str, record: ScoreRecord) -> int:
    if name not in index:
        raise ResultsError(
            f"{_name(record)}: the track has no {kind} {name!r}.{nearest(name, index)} Scores of "
            "other cases or structures belong to another track."
        )
    return index[name]


def _name(record: ScoreRecord) -> str:
    return f"Submission {record.submission!r}, case {record.case!r}, structure {record.structure!r}"


def _known(sizes: Sequence[float | None]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([math.nan if size is None else size for size in sizes], np.float64)


def _checked(
    rule: MetricRule, value: float | Unbounded, record: ScoreRecord, case: CaseRow
) -> float:
    if isinstance(value, Unbounded):
        if rule.may_be_unbounded:
            return math.inf
        raise ResultsError(
            f"{_name(record)}: {rule.key} cannot be unbounded; it lies between 0 and {rule.high}."
        )
    if value < 0 and not rule.signed:
        raise ResultsError(f"{_name(record)}: {rule.key} is {value}, below 0. Check the sign.")
    if rule.high is not None and value > rule.high:
        raise ResultsError(
            f"{_name(record)}: {rule.key} is {value}, above {rule.high:g}. If it is a percentage, "
            "divide by 100."
        )
    unknown_size = case.diagonal_mm is None or case.volume_ml is None
    if rule.high is None and unknown_size and abs(value) > _LARGEST_UNKNOWN:
        raise ResultsError(
            f"{_name(record)}: {rule.key} is {value} {rule.unit}, which no scan is large enough "
            f"for. Check the unit; where no surface exists, write 'unbounded'."
        )
    return value


def _slices(cases: Sequence[CaseRow], patients: Sequence[str]) -> dict[str, tuple[str | None, ...]]:
    """Level of each patient; ``several`` where the patient's scans differ."""
    levels: dict[str, dict[str, set[str]]] = {}
    for row in cases:
        for name, level in row.slices.items():
            levels.setdefault(name, {}).setdefault(row.patient, set()).add(level)
    return {
        name: tuple(_level(levels[name].get(patient, set())) for patient in patients)
        for name in sorted(levels)
    }


def _level(found: set[str]) -> str | None:
    if len(found) > 1:
        return "several"
    return next(iter(found), None)
