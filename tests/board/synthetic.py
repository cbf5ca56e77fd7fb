"""Seeded, realistic results: many models, structures and patients, no real data."""

from __future__ import annotations

import hashlib

import numpy as np

from segtrial.contracts.attempt import Eligibility, Measured, Outcome, TrackVerdict
from segtrial.contracts.dataset_card import Licence, Publication
from segtrial.contracts.limits import Limits, Relaxations
from segtrial.contracts.result import (
    CaseRow,
    DatasetRow,
    MeasuredRow,
    Protocol,
    Results,
    ScoreRecord,
    SubmissionRow,
    TrackRow,
    Unbounded,
    Value,
)
from segtrial.statistics import analyse_results
from segtrial.statistics.settings import AnalysisSettings

NAMES = (
    "Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Ginkgo", "Hazel", "Ironwood", "Juniper",
    "Kapok", "Larch", "Maple", "Nutmeg", "Oak", "Pine", "Quince", "Rowan", "Spruce", "Teak",
)  # fmt: skip
STRUCTURES = (
    "kidney", "kidney_tumor", "kidney_cyst", "liver", "spleen", "pancreas", "stomach",
    "gallbladder", "esophagus", "aorta", "inferior_vena_cava", "portal_vein_and_splenic_vein",
    "adrenal_gland_left", "adrenal_gland_right", "duodenum", "urinary_bladder", "prostate",
    "femur_left", "femur_right", "colon", "small_bowel", "lung_left", "lung_right", "heart",
    "trachea",
)  # fmt: skip
SIGNATURES = {
    "dice": "dice/1; empty=separate",
    "nsd": "nsd/1; tolerance=card; surface=area-weighted",
    "hd95": "hd95/1; directed-max; surface=area-weighted",
    "boundary_iou": "boundary_iou/1; width=0.02 diagonal",
    "false_positive_ml": "false_positive_ml/1",
    "specificity": "specificity/1",
}
"""What each metric key means, as a results file states it."""
_ABSENT = ("false_positive_ml", "specificity")


def make_results(
    *,
    models: int = 12,
    structures: int = 3,
    cases: int = 63,
    metrics: tuple[str, ...] = ("dice", "nsd", "hd95", "boundary_iou"),
    seed: int = 7,
    track: str = "clean-400-588",
    unranked: bool = True,
    publication: Publication | None = None,
) -> Results:
    """Results of one track whose scores look like real ones."""
    rng = np.random.default_rng(seed)
    names = STRUCTURES[:structures]
    rows = submission_rows(models, unranked=unranked)
    case_rows = [_case(index, names, rng) for index in range(cases)]
    records = [
        record
        for position, row in enumerate(rows)
        for record in _records(row, position=position, cases=case_rows, metrics=metrics, rng=rng)
    ]
    results = Results(
        segtrial_version="0.1.0",
        dataset=DatasetRow(
            id="kits23",
            title="Synthetic kidney trial",
            version="1.0",
            modality="ct",
            licence=Licence(name="CC-BY-NC-SA-4.0"),
            citation="A synthetic dataset, made from a seed; it describes no patient.",
            homepage="https://data.example.org/synthetic",
            references="gated",
            publication=publication or Publication(),
        ),
        track=TrackRow(
            id=track,
            title="Cases 400 to 588",
            structures=names,
            tolerances_mm=dict.fromkeys(names, 2.0),
        ),
        protocol=Protocol(
            contract="segtrial/1",
            limits=Limits(),
            signatures={m: s for m, s in SIGNATURES.items() if m in (*metrics, *_ABSENT)},
        ),
        settings=AnalysisSettings(
            seed=seed, resamples=1000, flips=9999, permutations=999
        ).model_dump(mode="json"),
        submissions=tuple(rows),
        cases=tuple(case_rows),
        records=tuple(records),
        analysis={},
        measured=tuple(
            MeasuredRow(submission=row.id, case=case.case, measured=_measured(position, rng))
            for position, row in enumerate(rows)
            for case in case_rows
        ),
    )
    return analyse_results(results)


def submission_rows(models: int, *, unranked: bool) -> list[SubmissionRow]:
    """Ranked entries, a baseline at the end, and where asked one entry of each unranked kind."""
    rows = [
        SubmissionRow(
            id=_id(index),
            name=_name(index),
            version=f"1.{index % 4}.0",
            authors=("A. Forester", "B. Ranger")[: 1 + index % 2],
            licence=("Apache-2.0", "CC-BY-NC-4.0", "MIT")[index % 3],
            summary="A network made up for tests.",
            paper="https://papers.example.org/1" if index % 2 else None,
            code="https://code.example.org/model" if index % 3 else None,
            image_digest="sha256:" + hashlib.sha256(_id(index).encode()).hexdigest(),
            granted=Relaxations(shm_gib=4) if index == 1 else Relaxations(),
            verdict="clean",
            evidence=("declares no source that reaches this dataset",),
            declared_training=("btcv, all cases, labels", "private-hospital, 900 cases, labels"),
            tries=1 + index % 3,
        )
        for index in range(models)
    ]
    rows.append(
        SubmissionRow(
            id="empty-mask",
            name="Empty mask",
            version="1",
            authors=("segtrial",),
            licence="Apache-2.0",
            summary="Writes no structure at all.",
            baseline=True,
            verdict="clean",
            evidence=("it has no training",),
            declared_training=(),
        )
    )
    trained_on = "mangrove was trained on kits23 (labels); kits23 holds cases 400 to 588"
    includes = "willow lists abdomenatlas; abdomenatlas includes 41 of 60 cases"
    if unranked:
        rows += [
            _unranked("mangrove", "Mangrove", "contaminated", (trained_on,)),
            _unranked("willow", "Willow", "partial", (includes,)),
            _unranked("yew", "Yew", "unknown", ()),
            _unranked("sumac", "Sumac", "clean", ("no source reaches this dataset",)),
        ]
    return rows


def _unranked(
    key: str, name: str, verdict: TrackVerdict, evidence: tuple[str, ...]
) -> SubmissionRow:
    return SubmissionRow(
        id=key,
        name=name,
        version="0.9",
        authors=("C. Warden",),
        licence="MIT",
        verdict=verdict,
        evidence=evidence,
        declared_training=None if verdict == "unknown" else ("abdomenatlas, labels",),
    )


def _id(index: int) -> str:
    return _name(index).lower().replace(" ", "-")


def _name(index: int) -> str:
    name, turn = NAMES[index % len(NAMES)], index // len(NAMES)
    return name if turn == 0 else f"{name} {turn + 1}"


def _case(index: int, structures: tuple[str, ...], rng: np.random.Generator) -> CaseRow:
    pseudonym = hashlib.sha256(f"case{index}".encode()).hexdigest()[:12]
    return CaseRow(
        case=f"c{pseudonym}",
        patient=f"p{pseudonym}",
        slices={"sex": ("female", "male")[index % 2], "scanner": ("A", "B", "C")[index % 3]},
        diagonal_mm=round(float(rng.uniform(500, 700)), 3),
        volume_ml=round(float(rng.uniform(20_000, 60_000)), 3),
        reference_ml={
            name: 0.0
            if name == "kidney_cyst" and index % 3 == 0
            else round(float(rng.lognormal(4, 0.5)), 3)
            for name in structures
        },
    )


def _records(
    row: SubmissionRow,
    *,
    position: int,
    cases: list[CaseRow],
    metrics: tuple[str, ...],
    rng: np.random.Generator,
) -> list[ScoreRecord]:
    made = []
    for number, case in enumerate(cases):
        for place, (structure, volume_ml) in enumerate(case.reference_ml.items()):
            hard = 0.03 * place % 0.3 + 0.05 * abs(np.sin(number * 1.7 + place))
            skill = 0.97 - 0.004 * position - hard
            dice = float(np.clip(skill + rng.normal(0, 0.03), 0, 1))
            outcome = _outcome(row, position, late=number >= len(cases) // 2, rng=rng)
            made.append(
                ScoreRecord(
                    submission=row.id,
                    case=case.case,
                    structure=structure,
                    outcome=outcome,
                    eligibility=_eligibility(row, number),
                    reference_present=volume_ml > 0,
                    metrics=_values(0.0 if row.baseline else dice, metrics, present=volume_ml > 0)
                    if outcome == "ok"
                    else {},
                )
            )
    return made


def _outcome(row: SubmissionRow, position: int, *, late: bool, rng: np.random.Generator) -> Outcome:
    if row.id == "sumac" and late:
        return "not_run: stopped"
    failed = not row.baseline and rng.random() < 0.004 * (position % 4)
    return "failed: timeout" if failed else "ok"


def _eligibility(row: SubmissionRow, number: int) -> Eligibility:
    if row.verdict == "partial":
        return "contaminated" if number % 3 else "clean"
    return row.verdict


def _values(dice: float, metrics: tuple[str, ...], *, present: bool) -> dict[str, Value]:
    if not present:
        return {"false_positive_ml": round(10 * (1 - dice), 6) if dice and dice < 0.95 else 0.0}
    values: dict[str, Value] = {
        "dice": round(dice, 9),
        "nsd": round(min(1.0, dice * 1.02), 9),
        "hd95": round((1.02 - dice) * 30, 9) if dice > 0 else Unbounded(),
        "boundary_iou": round(dice * 0.9, 9),
    }
    return {key: value for key, value in values.items() if key in metrics}


def _measured(position: int, rng: np.random.Generator) -> Measured:
    time_s = float(rng.gamma(8, (1 + position) * 0.4))
    return Measured(
        time_s=round(time_s, 3),
        cpu_s=round(time_s * 1.6, 3),
        peak_memory_mib=round(float(rng.uniform(1500, 2000) * (1 + position % 5)), 1),
        gpu_memory_mib=round(float(rng.uniform(3000, 12_000)), 1),
        gpu_utilisation=0.6,
        energy_j=round(time_s * 140, 1),
    )


def widened(results: Results, structures: int) -> Results:
    """The same analysis for many structures: for what depends on size alone."""
    names = STRUCTURES[:structures]
    block = results.analysis[results.track.structures[0]]
    track = results.track.model_copy(update={"structures": names})
    analysis = dict.fromkeys((*names, "macro_average"), block)
    return results.model_copy(update={"track": track, "analysis": analysis})
