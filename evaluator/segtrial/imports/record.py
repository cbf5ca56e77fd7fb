"""Imported scores on their way to results: rows, who was trained on what, and what was left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from segtrial import __version__
from segtrial.contracts.dataset_card import DatasetCard
from segtrial.contracts.result import DatasetRow, Results, ScoreRecord, SubmissionRow, TrackRow
from segtrial.contracts.structures import canonical
from segtrial.contracts.training import Training
from segtrial.datasets import load_lineage, load_models
from segtrial.datasets.eligibility import listed_everywhere
from segtrial.errors import ResultsError
from segtrial.policy.contamination import Judgement, TargetCase, judge
from segtrial.statistics.settings import AnalysisSettings
from segtrial.statistics.table import results_of_table

Row = tuple[str, Mapping[str, str]]
"""Where it stands, and its cells."""


@dataclass(frozen=True)
class Imported:
    """Results (not yet analysed) and everything that has no place in them."""

    results: Results
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """What is known of one model besides its scores."""

    name: str
    version: str = "not stated"
    licence: str = "not stated"
    training: Training | None = None
    known_model: str | None = None
    """Id of the known model that this is; its declaration counts then."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where the scores come from."""

    benchmark: str
    """Id of the importer; the contract that the numbers were made under."""
    track: str
    title: str
    signatures: Mapping[str, str]
    tolerance_mm: float | None = None


def assemble(
    rows: Iterable[Row],
    *,
    card: DatasetCard,
    entries: Sequence[Entry],
    source: Source,
    patients: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> Imported:
    """Results of rows ``submission, case, structure, metric, value``.

    Parameters
    ----------
    rows : iterable of Row
    card : DatasetCard
        The dataset the scores were made on.
    entries : sequence of Entry
        One for each submission, under the name that the rows use.
    source : Source
    patients : mapping of str to str, optional
        Patient of each case, where a patient has several.
    notes : sequence of str
        What the importer could not map.

    Raises
    ------
    ResultsError
        The rows contradict each other.
    """
    table = results_of_table(rows, name=card.id, segtrial_version=__version__)
    ids = {row.name: row.id for row in table.submissions}
    cases = [TargetCase(row.case, (patients or {}).get(row.case, "")) for row in table.cases]
    judged = {ids[entry.name]: _judge(entry, card, cases) for entry in entries if entry.name in ids}
    results = table.model_copy(
        update={
            "dataset": DatasetRow(**{n: getattr(card, n) for n in DatasetRow.model_fields}),
            "track": _track(table, source),
            "protocol": table.protocol.model_copy(
                update={
                    "contract": source.benchmark,
                    "signatures": {m: source.signatures[m] for m in table.protocol.signatures},
                }
            ),
            "settings": AnalysisSettings().model_dump(mode="json"),
            "submissions": tuple(
                _submission(row, entry, judged[row.id])
                for row in table.submissions
                for entry in entries
                if ids[entry.name] == row.id
            ),
            "records": tuple(_record(one, judged) for one in table.records),
        }
    )
    bare = [
        f"{entry.name}: none of its scores could be used, so it is not among the results"
        for entry in entries
        if entry.name not in ids
    ]
    return Imported(
        Results.model_validate(results.model_dump()), (*notes, *bare, *_missing(results))
    )


def known_structure(name: str) -> str | None:
    """Canonical structure of a name, or None where the vocabulary has none."""
    try:
        return canonical(name)
    except ValueError:
        return None


def model_named(name: str) -> str | None:
    """Id of the known model that a benchmark's name for it means, or None.

    Examples
    --------
    >>> model_named("TotalSegmentator-fast")
    'totalsegmentator_v2_total'
    """
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    names = {
        re.sub(r"[^a-z0-9]", "", spelling.lower()): model.id
        for model in load_models().values()
        for spelling in (model.id, model.title, *model.aliases)
    }
    if plain in names:
        return names[plain]
    begins = [(len(known), model) for known, model in names.items() if plain.startswith(known)]
    return max(begins)[1] if begins else None


def text_of(value: Any, where: str) -> str:  # noqa: ANN401 - a value of somebody's JSON
    """A number as a table cell."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ResultsError(f"{where}: {value!r} is no number. Is this file written by hand?")
    return repr(float(value))


def _judge(entry: Entry, card: DatasetCard, cases: Sequence[TargetCase]) -> Judgement:
    known = load_models()
    model = known[entry.known_model] if entry.known_model is not None else None
    return judge(
        entry.training if model is None else model.training,
        name=entry.name,
        dataset=card.id,
        cases=cases,
        also=listed_everywhere(card),
        graph=load_lineage(card),
        models=known,
    )


def _track(table: Results, source: Source) -> TrackRow:
    given = source.tolerance_mm
    structures = table.track.structures
    return TrackRow(
        id=source.track,
        title=source.title,
        structures=structures,
        tolerances_mm={} if given is None else dict.fromkeys(structures, given),
    )


def _submission(row: SubmissionRow, entry: Entry, judged: Judgement) -> SubmissionRow:
    declared = entry.training.sources if entry.training else ()
    said = tuple(f"{one.dataset} ({one.used_for})" for one in declared)
    if entry.known_model is not None:
        said = (f"as the known model {entry.known_model}",)
    return row.model_copy(
        update={
            "version": entry.version,
            "licence": entry.licence,
            "verdict": judged.verdict,
            "evidence": judged.evidence,
            "declared_training": said or None,
        }
    )


def _record(record: ScoreRecord, judged: Mapping[str, Judgement]) -> ScoreRecord:
    eligibility = judged[record.submission].eligibility[record.case]
    return record.model_copy(update={"eligibility": eligibility})


def _missing(results: Results) -> tuple[str, ...]:
    """Submissions that lack scores which others have."""
    lacking: dict[str, int] = {}
    for record in results.records:
        if record.outcome == "not_run: pending":
            lacking[record.submission] = lacking.get(record.submission, 0) + 1
    return tuple(
        f"{submission}: {count} scores that others have are missing; they count as not run, so "
        "the entry is incomplete there and not ranked"
        for submission, count in sorted(lacking.items())
    )
