"""A table of per-case scores as results: for scores that were not made by a run of ours.

One row is one number: ``submission, case, structure, metric, value``, and where wanted ``patient``
(the case itself otherwise) and ``outcome`` (``ok`` where there is a value). Columns that describe
the case are read by name: ``diagonal_mm`` and ``volume_ml`` of the scan, ``reference_ml`` of the
structure; ``eligibility`` and ``signature`` describe the score. Any further column is a slice; one
of more than twelve different numbers (ages, volumes) is cut in thirds.

The case list of a structure is the one given, else the union over submissions, and the track's
title says which. A submission without a row for a case on that list is ``not_run`` there:
incomplete and unranked, never scored on the cases that happen to be in the table. An empty value
without an outcome is an error, because it can mean three things.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import get_args

from pydantic import ValidationError

from segtrial.contracts.attempt import Eligibility, Outcome, TrackVerdict
from segtrial.contracts.dataset_card import Licence
from segtrial.contracts.reading import explain, nearest
from segtrial.contracts.result import (
    CaseRow,
    DatasetRow,
    Protocol,
    Results,
    ScoreRecord,
    SubmissionRow,
    TrackRow,
    Value,
)
from segtrial.contracts.structures import OWN_PREFIX, canonical
from segtrial.errors import ResultsError
from segtrial.policy.failures import is_known, metric_rule
from segtrial.statistics.cells import (
    Row,
    named,
    outcome_and_value,
    printable,
    size_of,
    slug_of,
    with_bands,
)
from segtrial.statistics.settings import AnalysisSettings

REQUIRED = ("submission", "case", "structure", "metric", "value")
OPTIONAL = (
    "patient",
    "outcome",
    "eligibility",
    "signature",
    "diagonal_mm",
    "volume_ml",
    "reference_ml",
)
_ELIGIBILITIES: tuple[Eligibility, ...] = get_args(Eligibility)
_NOT_ASSESSED = "Not assessed: a table of scores does not say what a submission was trained on."
_NOT_STATED = "not stated"

TABLE_CONTRACT = "table"
"""Stands in the protocol of results that were made from a table."""

Key = tuple[str, str, str]
"""Submission, case, structure."""


@dataclass(slots=True)
class _Cell:
    """What the rows say of one submission, case and structure."""

    outcome: Outcome
    eligibility: Eligibility | None = None
    """None where no row says."""
    metrics: dict[str, Value] = field(default_factory=dict)
    seen: tuple[str, ...] = ()


@dataclass(slots=True)
class _Case:
    """What the rows say of one case."""

    patient: str = ""
    """Empty where no row says: then the case itself."""
    facts: dict[str, str] = field(default_factory=dict)
    reference_ml: dict[str, float] = field(default_factory=dict)
    present: dict[str, bool] = field(default_factory=dict)
    """By structure: whether the metrics given are those of a structure that the reference holds."""


def results_of_table(
    rows: Iterable[tuple[str, Row]],
    *,
    name: str,
    segtrial_version: str,
    case_list: Iterable[tuple[str, Row]] | None = None,
    settings: AnalysisSettings | None = None,
) -> Results:
    """Results (not yet analysed) of a table of scores.

    Parameters
    ----------
    rows : iterable of (str, mapping)
        Where each row stands (for messages) and its cells by column, as text; an empty cell is an
        empty string.
    name : str
        What to call the data set, usually the file's name without its ending.
    segtrial_version : str
        Kept in the results.
    case_list : iterable of (str, mapping), optional
        Rows with ``case`` and, where only some structures are present, ``structure``; further
        columns as in the table. The track's cases; otherwise the union over submissions.
    settings : AnalysisSettings, optional
        Kept in the results, with "unknown" added to what may be ranked.

    Returns
    -------
    Results
        Submission names are made into ids (lower case, no spaces) and kept beside them; structures
        get their canonical name, or ``x-<name>`` where the vocabulary has none.

    Raises
    ------
    ResultsError
        Naming the row and column of whatever does not fit.
    """
    table = _Table()
    for where, row in rows:
        try:
            table.take(row)
        except ResultsError as error:
            error.add_note(where)
            raise
    listed = None if case_list is None else table.take_case_list(case_list)
    if not table.cells:
        raise ResultsError(f"The table {name!r} has no row. Write one row for each score.")
    try:
        results = table.results(name, listed, settings or AnalysisSettings())
    except ValidationError as problem:
        # What no published record may hold: a name of 300 letters, a control character.
        raise ResultsError(explain(problem, Results, source=f"the table {name!r}")) from None
    return results.model_copy(update={"segtrial_version": segtrial_version})


_EVERY_FIELD = set(ScoreRecord.model_fields)
"""One set for all records, instead of one each."""


class _Table:
    """Rows taken in so far."""

    def __init__(self) -> None:
        self.cells: dict[Key, _Cell] = {}
        self.cases: dict[str, _Case] = {}
        self.submissions: dict[str, str] = {}
        self.structures: dict[str, str] = {}
        """Canonical name of each structure as written."""
        self.metrics: dict[str, str] = {}
        self.has_eligibility = False

    def take(self, row: Row) -> None:
        """One score."""
        submission = self._submission(row["submission"])
        structure = self._structure(row["structure"])
        case = sys.intern(named(row["case"], "case"))
        metric = named(row["metric"], "metric").lower()
        rule = metric_rule(metric)
        self._note_signature(metric, row.get("signature", ""))
        self._note_case(case, structure, row)
        outcome, value = outcome_and_value(row)
        key = (submission, case, structure)
        cell = self.cells.setdefault(key, _Cell(outcome))
        if metric in cell.seen:
            raise ResultsError(
                f"{metric} of submission {submission!r}, case {case!r}, structure {structure!r} is "
                "there twice. Keep the row that counts."
            )
        if cell.outcome != outcome:
            raise ResultsError(
                f"Submission {submission!r}, case {case!r}, structure {structure!r} has the "
                f"outcomes {cell.outcome!r} and {outcome!r}. An outcome belongs to the output, not "
                "to a metric: make the rows agree."
            )
        self._note_presence(metric, rule.endpoint == "present", case, structure)
        self._note_eligibility(cell, row, key)
        cell.seen += (sys.intern(metric),)
        if value is not None:
            cell.metrics[sys.intern(metric)] = value

    def take_case_list(self, rows: Iterable[tuple[str, Row]]) -> set[tuple[str, str]]:
        """The cases and structures of the track."""
        listed: set[tuple[str, str]] = set()
        for where, row in rows:
            try:
                listed |= self._listed(row)
            except ResultsError as error:
                error.add_note(where)
                raise
        strangers = sorted({(c, s) for _, c, s in self.cells} - listed)
        if strangers:
            case, structure = strangers[0]
            raise ResultsError(
                f"The table has scores of case {case!r}, structure {structure!r}, which is not on "
                f"the case list ({len(strangers)} such in all). "
                "A track's cases are fixed: correct the name, or leave the rows out."
                + nearest(case, {listed_case for listed_case, _ in listed})
            )
        return listed

    def _listed(self, row: Row) -> set[tuple[str, str]]:
        case = named(row["case"], "case")
        written = row.get("structure", "")
        names = [self._structure(written)] if written else None
        for structure in names or [""]:
            self._note_case(case, structure, row)
        return {(case, structure) for structure in names or self.structures.values()}

    def results(
        self, name: str, listed: set[tuple[str, str]] | None, settings: AnalysisSettings
    ) -> Results:
        """Everything that was taken in, with what is missing spelt out."""
        union = listed is None
        expected = {(c, s) for _, c, s in self.cells} if listed is None else listed
        verdicts = {s: self._verdict(s) for s in self.submissions}
        dataset = slug_of(name, "-") or "table"
        return Results(
            segtrial_version=_NOT_STATED,
            dataset=DatasetRow(
                id=dataset,
                title=f"Table of scores: {name}"[:200],
                version="table",
                modality=_NOT_STATED,
                licence=Licence(name=_NOT_STATED),
                references="public",
            ),
            track=TrackRow(
                id="table",
                title="Case list: " + ("union over submissions" if union else "as given"),
                structures=tuple(sorted(set(self.structures.values()))),
                tolerances_mm={},
            ),
            protocol=Protocol(
                contract=TABLE_CONTRACT,
                signatures={m: s or _NOT_STATED for m, s in sorted(self.metrics.items())},
            ),
            settings=_table_settings(settings).model_dump(mode="json"),
            submissions=tuple(
                SubmissionRow(
                    id=submission,
                    name=written,
                    version=_NOT_STATED,
                    authors=(),
                    licence=_NOT_STATED,
                    verdict=verdicts[submission],
                    evidence=() if self.has_eligibility else (_NOT_ASSESSED,),
                )
                for submission, written in sorted(self.submissions.items())
            ),
            cases=with_bands([self._case_row(case) for case in sorted(self.cases)]),
            records=tuple(self._records(expected)),
            analysis={},
        )

    def _records(self, expected: set[tuple[str, str]]) -> list[ScoreRecord]:
        records = []
        for submission in sorted(self.submissions):
            for case, structure in sorted(expected):
                cell = self.cells.pop((submission, case, structure), None)
                records.append(
                    # Millions of them, of what was checked cell by cell: not validated again.
                    ScoreRecord.model_construct(
                        _EVERY_FIELD,
                        submission=submission,
                        case=case,
                        structure=structure,
                        outcome=cell.outcome if cell else "not_run: pending",
                        eligibility=(cell.eligibility if cell else None) or "unknown",
                        reference_present=self.cases[case].present.get(structure, True),
                        metrics=dict(sorted(cell.metrics.items())) if cell else {},
                    )
                )
        return records

    def _case_row(self, name: str) -> CaseRow:
        case = self.cases[name]
        facts = dict(case.facts)
        return CaseRow(
            case=name,
            patient=case.patient or name,
            diagonal_mm=size_of(facts.pop("diagonal_mm", ""), "diagonal_mm", name),
            volume_ml=size_of(facts.pop("volume_ml", ""), "volume_ml", name),
            slices={column: value for column, value in sorted(facts.items()) if value},
            reference_ml=dict(sorted(case.reference_ml.items())),
        )

    def _submission(self, written: str) -> str:
        name = named(written, "submission")
        slug = sys.intern(slug_of(name, "-"))
        if not slug:
            raise ResultsError(
                f"The submission {name!r} has no letter or digit to make an id of. Give it a name "
                "in plain letters."
            )
        if self.submissions.setdefault(slug, name) != name:
            raise ResultsError(
                f"The submissions {self.submissions[slug]!r} and {name!r} would both get the id "
                f"{slug!r}. Spell them alike, or give one another name."
            )
        return slug

    def _structure(self, written: str) -> str:
        """The canonical structure, or one of the table's own, marked as such."""
        name = named(written, "structure")
        if name not in self.structures:
            try:
                self.structures[name] = canonical(name)
            except ValueError:
                self.structures[name] = OWN_PREFIX + (slug_of(name, "_")[:60] or "structure")
        return self.structures[name]

    def _note_signature(self, metric: str, signature: str) -> None:
        known = self.metrics.setdefault(metric, signature)
        if known != signature:
            raise ResultsError(
                f"{metric} has two signatures: {known or 'none'!r} and {signature or 'none'!r}. "
                "Numbers that were computed by different rules cannot be compared: score again "
                "with one rule, or analyse them apart."
            )

    def _note_case(self, name: str, structure: str, row: Row) -> None:
        case = self.cases.setdefault(name, _Case())
        patient = row.get("patient", "").strip()
        if patient and case.patient not in {"", patient}:
            raise ResultsError(
                f"Case {name!r} belongs to the patients {case.patient!r} and {patient!r}. "
                "A case has one patient."
            )
        case.patient = case.patient or patient
        for column in row:
            if column not in _OF_THE_SCORE:
                _agree(case.facts, column, printable(row[column].strip(), column), name)
        reference_ml = row.get("reference_ml", "").strip()
        if reference_ml and structure:
            size = size_of(reference_ml, "reference_ml", name)
            if case.reference_ml.setdefault(structure, size or 0.0) != size:
                raise ResultsError(
                    f"Case {name!r} has two values of reference_ml for {structure!r}: "
                    f"{case.reference_ml[structure]} and {reference_ml}. Correct one."
                )

    def _note_presence(self, metric: str, present: bool, case: str, structure: str) -> None:  # noqa: FBT001 - one fact of four
        """Presence belongs to the case: every row of it has to say the same."""
        known = self.cases[case]
        holds = "holds" if present else "lacks"
        if known.present.setdefault(structure, present) != present:
            raise ResultsError(
                f"{metric} of case {case!r}, structure {structure!r}: this metric is for cases "
                f"whose reference {holds} the structure, and another row of the case has a metric "
                "for the opposite. Correct one."
            )
        if structure in known.reference_ml and (known.reference_ml[structure] > 0) != present:
            raise ResultsError(
                f"{metric} of case {case!r}, structure {structure!r}: this metric is for cases "
                f"whose reference {holds} the structure, but its reference_ml is "
                f"{known.reference_ml[structure]:g}. Correct one."
            )

    def _note_eligibility(self, cell: _Cell, row: Row, key: Key) -> None:
        word = row.get("eligibility", "").strip()
        if not word:
            return
        self.has_eligibility = True
        found = next((known for known in _ELIGIBILITIES if word == known), None)
        if found is None:
            raise ResultsError(
                f"The eligibility {word!r} is none of {', '.join(_ELIGIBILITIES)}."
                f"{nearest(word, _ELIGIBILITIES)}"
            )
        if cell.eligibility not in {None, found}:
            submission, case, structure = key
            raise ResultsError(
                f"Submission {submission!r}, case {case!r}, structure {structure!r} has the "
                f"eligibilities {cell.eligibility!r} and {found!r}. It belongs to the case, not to "
                "a metric: make the rows agree."
            )
        cell.eligibility = found

    def _verdict(self, submission: str) -> TrackVerdict:
        found: set[Eligibility] = {
            cell.eligibility or "unknown"
            for (s, _, _), cell in self.cells.items()
            if s == submission
        }
        if len(found) == 1:
            return next(iter(found))
        if "contaminated" in found:
            return "partial"
        return "unknown" if "unknown" in found else "images_only"


_OF_THE_SCORE = frozenset(
    {*REQUIRED, "patient", "outcome", "eligibility", "signature", "reference_ml"}
)
"""Columns that do not describe the case."""


def _table_settings(settings: AnalysisSettings) -> AnalysisSettings:
    """Rank submissions of unknown training: a table knows nothing of it, and its rows say so."""
    allowed = tuple(sorted({*settings.ranked_verdicts, "unknown"}))
    return AnalysisSettings.model_validate(settings.model_dump() | {"ranked_verdicts": allowed})


def _agree(facts: dict[str, str], column: str, value: str, case: str) -> None:
    known = facts.setdefault(column, value)
    if known != value:
        raise ResultsError(
            f"Column {column!r} has two values for case {case!r}: {known!r} and {value!r}. Further "
            "columns are slices and belong to the case; leave this one out (--drop "
            f"{column}) if it does not."
        )


def check_columns(columns: Sequence[str], *, required: Sequence[str] = REQUIRED) -> None:
    """Raise a `ResultsError` unless every required column is there, once."""
    for column in required:
        if column not in columns:
            raise ResultsError(
                f"The column {column!r} is missing.{_why_missing(column, columns)} "
                f"Needed: {', '.join(required)}; found: {', '.join(columns) or 'none'}."
            )
    twice = sorted({column for column in columns if list(columns).count(column) > 1})
    if twice:
        raise ResultsError(f"The column {twice[0]!r} is there twice. Keep one.")


def _why_missing(column: str, columns: Sequence[str]) -> str:
    """What the header looks like instead, as a sentence with a space in front."""
    if len(columns) == 1:
        found = next((mark for mark in (";", "\t", "|", ",") if mark in columns[0]), None)
        if found is not None:
            return (
                f" The header is a single cell with {found!r} in it: save the table with commas "
                "between the cells (.csv) or tabs (.tsv), and a point in the numbers."
            )
    wide = [name for name in columns if is_known(name.lower())]
    if column in {"metric", "value"} and wide:
        return (
            f" {wide[0]!r} is a metric with a column of its own, but one row is one number: write "
            "the metric's name in 'metric' and its number in 'value' (pandas: DataFrame.melt)."
        )
    capital = next((name for name in columns if name.lower() == column), None)
    if capital is not None:
        return f" Rename {capital!r} to {column!r}."
    return nearest(column, columns)
