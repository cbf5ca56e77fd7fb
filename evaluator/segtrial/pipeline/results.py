"""From a store to ``results.json``: every entry of a track, its records, and their analysis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segtrial import __version__
from segtrial.contracts.attempt import Attempt, Outcome
from segtrial.contracts.result import (
    CaseRow,
    MeasuredRow,
    Protocol,
    Results,
    ScoreRecord,
    SubmissionRow,
)
from segtrial.contracts.submission import CONTRACT
from segtrial.contracts.training import Training
from segtrial.errors import StoreError
from segtrial.pipeline.cases import CaseFacts, facts_from
from segtrial.pipeline.entry import EntryBody, TrackBody
from segtrial.pipeline.outcomes import CaseOutcome, case_outcomes, score_task, signatures
from segtrial.pipeline.scoring import Scorer
from segtrial.statistics.analysis import analyse_results
from segtrial.statistics.settings import SETTINGS
from segtrial.store import Store, open_store
from segtrial.store.identity import pseudonym, public_key
from segtrial.store.journal import TrackKey


def results_from_store(path: Path, *, track: str | None = None) -> list[Results]:
    """Results of every track in a store, or of one.

    Parameters
    ----------
    path : Path
        The store's folder.
    track : str, optional
        ``dataset/track``, where the store holds several.

    Raises
    ------
    StoreError
        There is no store, or no such track in it.
    """
    with open_store(path, create=False) as store:
        keys = [k for k in store.journal.tracks() if track in {None, f"{k.dataset}/{k.track}"}]
        if not keys:
            known = ", ".join(f"{k.dataset}/{k.track}" for k in store.journal.tracks()) or "none"
            raise StoreError(
                f"The store {path} has no results for {track or 'any track'}; it has: {known}."
            )
        return [track_results(store, key) for key in keys]


def track_results(store: Store, key: TrackKey) -> Results:
    """Results of one track: the newest entry of every submission, scored and analysed."""
    track = TrackBody.model_validate(store.journal.tracks()[key])
    bodies = store.journal.cases(dataset=key.dataset, version=key.dataset_version)
    facts = {case: facts_from(bodies[case]) for case in track.case_ids}
    entries = newest_entries(store, key)
    names = Names.of(store, key, track)
    done = [_read_entry(store, track, facts, entry, tries) for entry, tries in entries]
    results = Results(
        segtrial_version=__version__,
        dataset=track.dataset,
        track=track.track,
        protocol=Protocol(contract=CONTRACT, limits=track.limits, signatures=_signatures(track)),
        settings=SETTINGS.model_dump(mode="json"),
        submissions=tuple(_submission_row(entry.body, entry.tries) for entry in done),
        cases=tuple(sorted(_case_rows(track, facts, names), key=lambda row: row.case)),
        records=tuple(
            sorted(
                (record for entry in done for record in _records(track, facts, entry, names)),
                key=lambda r: (r.submission, r.case, r.structure),
            )
        ),
        analysis={},
        environment=_merged(entry.body.environment for entry in done),
        measured=tuple(
            sorted(
                (row for entry in done for row in _measured_rows(entry, names)),
                key=lambda row: (row.submission, row.case),
            )
        ),
    )
    return analyse_results(results)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """One entry with everything that became of it."""

    body: EntryBody
    tries: int
    attempts: dict[str, Attempt]
    outcomes: dict[str, CaseOutcome]


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Pseudonyms of the track's cases and patients."""

    case: dict[str, str]
    patient: dict[str, str]

    @classmethod
    def of(cls, store: Store, key: TrackKey, track: TrackBody) -> Names:
        """Those of one track; public references need no secret."""
        mac_key = (
            public_key(dataset=key.dataset, version=key.dataset_version)
            if track.dataset.references == "public"
            else store.secret
        )

        def name(kind: str, true_name: str) -> str:
            return pseudonym(
                mac_key,
                kind=kind,
                dataset=key.dataset,
                version=key.dataset_version,
                name=true_name,
            )

        return cls(
            case={case: name("case", case) for case in track.case_ids},
            patient={case: name("patient", track.patients[case]) for case in track.case_ids},
        )


def newest_entries(store: Store, key: TrackKey) -> list[tuple[EntryBody, int]]:
    """The newest entry of each submission, and how many images or versions it has had here."""
    bodies: dict[str, list[EntryBody]] = {}
    for entry in store.journal.entries(key):
        bodies.setdefault(entry.submission, []).append(EntryBody.from_json(entry.body))
    return [
        (found[-1], len({(body.image_digest, body.manifest.version) for body in found}))
        for _, found in sorted(bodies.items())
    ]


def _read_entry(
    store: Store, track: TrackBody, facts: dict[str, CaseFacts], entry: EntryBody, tries: int
) -> _Entry:
    by_key = store.journal.attempts(set(entry.run_keys.values()))
    attempts = {case: by_key[key] for case, key in entry.run_keys.items() if key in by_key}
    return _Entry(
        body=entry,
        tries=tries,
        attempts=attempts,
        outcomes=case_outcomes(
            entry, attempts=attempts, scores=_scores(store, track, facts, entry, attempts)
        ),
    )


def _scores(
    store: Store,
    track: TrackBody,
    facts: dict[str, CaseFacts],
    entry: EntryBody,
    attempts: dict[str, Attempt],
) -> dict[str, dict[str, Any]]:
    """Scores of every output, computed where a metric, label map or reference has changed."""
    tasks = {
        case: score_task(
            entry, track, facts[case], attempt, output=store.blobs.get(attempt.output_sha256)
        )
        for case, attempt in attempts.items()
        if attempt.outcome == "ok" and attempt.output_sha256 is not None
    }
    known = store.journal.scores({task.score_key for task in tasks.values()})
    missing = {case: task for case, task in tasks.items() if task.score_key not in known}
    if missing:
        scorer = Scorer(processes=1)
        try:
            futures = {case: scorer.submit(task) for case, task in missing.items()}
            for case, task in missing.items():
                body = scorer.result(task, futures[case]).body()
                store.journal.add_scores(task.score_key, body)
                known[task.score_key] = body
        finally:
            scorer.close()
    return {case: known[task.score_key] for case, task in tasks.items()}


def _records(
    track: TrackBody, facts: dict[str, CaseFacts], entry: _Entry, names: Names
) -> list[ScoreRecord]:
    """One record for each case and structure, whatever became of it."""
    records = []
    for case in track.case_ids:
        reference_ml = _reference_ml(track, facts[case])
        came_to = entry.outcomes[case]
        for structure in track.structures:
            supported = structure in entry.body.prediction_labels
            scored = came_to.structures.get(structure, {}) if supported else {}
            records.append(
                ScoreRecord(
                    submission=entry.body.manifest.id,
                    case=names.case[case],
                    structure=structure,
                    outcome=came_to.outcome if supported else "unsupported",
                    eligibility=entry.body.eligibility[case],
                    reference_present=reference_ml[structure] > 0,
                    metrics=scored,
                )
            )
    return records


def _reference_ml(track: TrackBody, facts: CaseFacts) -> dict[str, float]:
    return {name: facts.reference_ml(ids) for name, ids in track.reference_labels.items()}


def _case_rows(track: TrackBody, facts: dict[str, CaseFacts], names: Names) -> list[CaseRow]:
    return [
        CaseRow(
            case=names.case[case],
            patient=names.patient[case],
            slices=track.slices[case],
            diagonal_mm=facts[case].diagonal_mm,
            volume_ml=facts[case].volume_ml,
            reference_ml=_reference_ml(track, facts[case]),
        )
        for case in track.case_ids
    ]


def _measured_rows(entry: _Entry, names: Names) -> list[MeasuredRow]:
    return [
        MeasuredRow(
            submission=entry.body.manifest.id, case=names.case[case], measured=attempt.measured
        )
        for case, attempt in entry.attempts.items()
    ]


def _submission_row(entry: EntryBody, tries: int) -> SubmissionRow:
    manifest = entry.manifest
    return SubmissionRow(
        id=manifest.id,
        name=manifest.name,
        version=manifest.version,
        authors=manifest.authors,
        licence=manifest.licence,
        summary=manifest.summary,
        paper=manifest.paper,
        code=manifest.code,
        baseline=manifest.baseline,
        image_digest=entry.image_digest,
        granted=entry.granted,
        verdict=entry.verdict,
        evidence=entry.evidence,
        declared_training=_declared(manifest.training),
        tries=tries,
    )


def _declared(training: Training | None) -> tuple[str, ...] | None:
    """One line for each declared source; None when nothing was declared."""
    if training is None:
        return None
    lines = []
    for source in training.sources:
        part = f", split {source.split}" if source.split else ""
        some = f", {len(source.cases)} cases" if source.cases else ""
        lines.append(f"{source.dataset}{part}{some} ({source.used_for})")
    lines += [f"weights of {name}" for name in training.initialised_from]
    lines += [f"predictions of {name}" for name in training.teachers]
    return tuple(lines)


def _signatures(track: TrackBody) -> dict[str, str]:
    """Signature of each metric key; by structure where tolerances differ."""
    by_structure = signatures(track)
    merged: dict[str, str] = {}
    for structure, found in by_structure.items():
        for key, signature in found.items():
            same = all(other[key] == signature for other in by_structure.values())
            merged[key if same else f"{structure}.{key}"] = signature
    return merged


def store_status(path: Path) -> list[dict[str, Any]]:
    """How far every submission is on every track of a store, for ``evaluate status``."""
    rows = []
    with open_store(path, create=False) as store:
        for key in store.journal.tracks():
            for body, tries in newest_entries(store, key):
                final, outcomes = _status(store, key, body)
                rows.append(
                    {
                        "track": f"{key.dataset}/{key.track}",
                        "submission": body.manifest.id,
                        "version": body.manifest.version,
                        "verdict": body.verdict,
                        "tries": tries,
                        "cases": len(body.order),
                        "final": final,
                        "outcomes": dict(sorted(outcomes.items())),
                    }
                )
    return rows


def _status(store: Store, key: TrackKey, body: EntryBody) -> tuple[int, Counter[Outcome]]:
    """How many cases of an entry are final, and how every case ended as far as it is known."""
    track = TrackBody.model_validate(store.journal.tracks()[key])
    facts = store.journal.cases(dataset=key.dataset, version=key.dataset_version)
    by_key = store.journal.attempts(set(body.run_keys.values()))
    attempts = {case: by_key[run] for case, run in body.run_keys.items() if run in by_key}
    keys = {
        case: score_task(
            body, track, facts_from(facts[case]), attempt, output=store.blobs.path(sha256)
        ).score_key
        for case, attempt in attempts.items()
        if (sha256 := attempt.output_sha256) is not None
    }
    known = store.journal.scores(set(keys.values()))
    scores = {case: known[score] for case, score in keys.items() if score in known}
    found = case_outcomes(body, attempts=attempts, scores=scores)
    return len(attempts), Counter(case.outcome for case in found.values())


def _merged(environments: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """One account of several: values that differ stand side by side.

    Examples
    --------
    >>> _merged([{"cpu": "A", "engine": "1"}, {"cpu": "B", "engine": "1"}])
    {'cpu': 'A; B', 'engine': '1'}
    """
    values: dict[str, set[str]] = {}
    for environment in environments:
        for key, value in environment.items():
            values.setdefault(key, set()).add(value)
    return {key: "; ".join(sorted(found)) for key, found in sorted(values.items())}
