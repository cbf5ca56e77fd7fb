"""Made-up results with records as a run would leave them, and ways to change one thing in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from segtrial.contracts.attempt import Eligibility, Outcome, TrackVerdict
from segtrial.contracts.dataset_card import Licence
from segtrial.contracts.result import (
    CaseRow,
    DatasetRow,
    Protocol,
    Results,
    ScoreRecord,
    SubmissionRow,
    TrackRow,
    Unbounded,
    Value,
)
from segtrial.policy.failures import metric_rule
from segtrial.statistics.exact import Floats, quantise
from segtrial.statistics.scores import Family
from segtrial.statistics.settings import AnalysisSettings

FAST = AnalysisSettings(resamples=1000, flips=1999, permutations=999)
"""Enough draws for a law to hold, few enough for a test."""
DIAGONAL_MM, VOLUME_ML = 500.0, 40_000.0


def trial(
    *,
    submissions: int = 3,
    patients: int = 30,
    scans: int = 1,
    structures: tuple[str, ...] = ("kidney", "liver"),
    absent_every: int = 5,
    seed: int = 0,
    settings: AnalysisSettings = FAST,
) -> Results:
    """A track on which everybody ran and nobody failed.

    The last structure is absent from the reference of every ``absent_every``-th case; submissions
    get worse with their number.
    """
    random = np.random.default_rng(seed)
    cases = [
        _case(p, s, structures, absent_every, random) for p in range(patients) for s in range(scans)
    ]
    difficulty = random.normal(0, 0.04, (len(cases), len(structures)))
    records = []
    for m in range(submissions):
        for c, case in enumerate(cases):
            for k, structure in enumerate(structures):
                skill = 0.9 - 0.02 * m - difficulty[c, k]
                metrics = _metrics(skill, present=case.reference_ml[structure] > 0, random=random)
                records.append(
                    ScoreRecord(
                        submission=f"model-{m}",
                        case=case.case,
                        structure=structure,
                        outcome="ok",
                        eligibility="clean",
                        reference_present=case.reference_ml[structure] > 0,
                        metrics=metrics,
                    )
                )
    return results_of(cases, records, structures=structures, settings=settings)


def family_of(values: Floats, metric: str = "dice") -> Family:
    """One structure and metric: submissions in rows, patients in columns; infinite is a failure."""
    m, n = values.shape
    return Family(
        structure="kidney",
        rule=metric_rule(metric),
        patients=np.arange(n),
        cases=n,
        submissions=tuple(f"m{k}" for k in range(m)),
        bits=30,
        scores=quantise(np.where(np.isfinite(values), values, 400.0), 30),
        observed=values,
        failed=~np.isfinite(values),
        failed_cases=np.zeros(m, np.int64),
        comparable=np.ones(m, bool),
        unranked=(),
    )


def results_of(
    cases: Iterable[CaseRow],
    records: Iterable[ScoreRecord],
    *,
    structures: tuple[str, ...],
    settings: AnalysisSettings = FAST,
    verdicts: dict[str, TrackVerdict] | None = None,
) -> Results:
    """Results around cases and records; every submission that has a record is listed."""
    records = tuple(records)
    names = sorted({record.submission for record in records})
    return Results(
        segtrial_version="0",
        dataset=DatasetRow(
            id="made-up", title="Made up", version="1", modality="ct",
            licence=Licence(name="CC0-1.0"), references="public",
        ),
        track=TrackRow(id="all", title="All cases", structures=structures, tolerances_mm={}),
        protocol=Protocol(contract="segtrial/1", signatures={"dice": "dice 1"}),
        settings=settings.model_dump(mode="json"),
        submissions=tuple(
            SubmissionRow(
                id=name, name=name, version="1", authors=("A. N. Author",), licence="MIT",
                verdict=(verdicts or {}).get(name, "clean"),
            )
            for name in names
        ),
        cases=tuple(cases),
        records=records,
        analysis={},
    )  # fmt: skip


def change(
    results: Results,
    chosen: Callable[[ScoreRecord], bool],
    *,
    outcome: Outcome | None = None,
    metrics: dict[str, Value] | None = None,
    eligibility: Eligibility | None = None,
) -> Results:
    """The same results with some records changed; a failed one loses its metrics."""
    update: dict[str, Any] = {}
    if outcome is not None:
        update |= {"outcome": outcome, "metrics": {}}
    if metrics is not None:
        update["metrics"] = metrics
    if eligibility is not None:
        update["eligibility"] = eligibility
    records = tuple(
        record.model_copy(update=update) if chosen(record) else record for record in results.records
    )
    return results.model_copy(update={"records": records})


def without_submission(results: Results, name: str) -> Results:
    """The same results as if that submission had never been."""
    return results.model_copy(
        update={
            "submissions": tuple(row for row in results.submissions if row.id != name),
            "records": tuple(record for record in results.records if record.submission != name),
        }
    )


def with_verdict(results: Results, name: str, verdict: TrackVerdict) -> Results:
    """The same results with one submission's contamination verdict changed."""
    rows = (
        row.model_copy(update={"verdict": verdict}) if row.id == name else row
        for row in results.submissions
    )
    return results.model_copy(update={"submissions": tuple(rows)})


def with_clone(results: Results, name: str, clone: str) -> Results:
    """The same results with a copy of one submission under another name."""
    row = next(row for row in results.submissions if row.id == name)
    copies = tuple(
        record.model_copy(update={"submission": clone})
        for record in results.records
        if record.submission == name
    )
    return results.model_copy(
        update={
            "submissions": (*results.submissions, row.model_copy(update={"id": clone})),
            "records": results.records + copies,
        }
    )


def shuffled(results: Results, seed: int) -> Results:
    """The same results with everything listed in another order."""
    random = np.random.default_rng(seed)

    def mixed(rows: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(rows[k] for k in random.permutation(len(rows)))

    structures = mixed(results.track.structures)
    return results.model_copy(
        update={
            "track": results.track.model_copy(update={"structures": structures}),
            "submissions": mixed(results.submissions),
            "cases": mixed(results.cases),
            "records": mixed(results.records),
        }
    )


def _case(
    patient: int,
    scan: int,
    structures: tuple[str, ...],
    absent_every: int,
    random: np.random.Generator,
) -> CaseRow:
    volumes = {structure: float(random.gamma(4, 40)) for structure in structures}
    if absent_every and patient % absent_every == 0:
        volumes[structures[-1]] = 0.0
    return CaseRow(
        case=f"case{patient:03d}{'abc'[scan]}",
        patient=f"patient{patient:03d}",
        slices={"sex": "fm"[patient % 2], "site": "north" if patient % 3 else "south"},
        diagonal_mm=DIAGONAL_MM,
        volume_ml=VOLUME_ML,
        reference_ml=volumes,
    )


def _metrics(skill: float, *, present: bool, random: np.random.Generator) -> dict[str, Value]:
    if not present:
        wrong = float(random.gamma(2, 3)) if random.random() > skill else 0.0
        return {"specificity": float(wrong == 0.0), "false_positive_ml": wrong}
    dice = float(np.clip(skill + random.normal(0, 0.02), 0.01, 1))
    distance: Value = float(random.gamma(2, 8 * (1 - dice)))
    if random.random() < 0.02:
        distance = Unbounded()
    return {
        "dice": dice,
        "nsd": float(np.clip(dice + 0.03, 0, 1)),
        "hd95": distance,
        "volume_difference_ml": float(random.normal(0, 20)),
    }
