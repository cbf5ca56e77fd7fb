"""Eligibility of every case of a track for one submission."""

from __future__ import annotations

from segtrial.contracts.submission import Submission
from segtrial.datasets import Case, Dataset, load_lineage, load_models
from segtrial.policy.contamination import Judgement, TargetCase, judge


def judge_track(manifest: Submission, dataset: Dataset, track: str) -> Judgement:
    """What the policy says of a submission on a track.

    Raises
    ------
    SubmissionError
        Its training declaration names something that does not exist, or contradicts itself.
    """
    return judge(
        manifest.training,
        name=manifest.id,
        dataset=dataset.card.id,
        cases=[_target(case) for case in dataset.cases_of(track)],
        # A training scan that is not on the track still tells of its patient, who may be.
        also=[_target(case) for case in dataset.cases],
        graph=load_lineage(dataset.card),
        models=load_models(),
    )


def _target(case: Case) -> TargetCase:
    return TargetCase(id=case.id, patient=case.patient, split=case.split)
