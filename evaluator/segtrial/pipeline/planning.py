"""The plan of a submission on a track: what is scored, in which order, and who may be ranked."""

from __future__ import annotations

from segtrial.contracts.limits import Relaxations
from segtrial.contracts.structures import labels_for
from segtrial.contracts.submission import Submission
from segtrial.datasets import Dataset
from segtrial.errors import SubmissionError
from segtrial.pipeline.entry import EntryBody, TrackBody
from segtrial.pipeline.judging import judge_track
from segtrial.store.identity import opaque_case_id
from segtrial.store.journal import TrackKey

Labels = dict[str, tuple[int, ...]]


def scored_labels(manifest: Submission, track: TrackBody, *, may_be_none: bool = False) -> Labels:
    """Native label ids of every structure of the track that the submission declares.

    Raises
    ------
    SubmissionError
        It declares none of them, unless that was asked for.
    """
    labels = {
        name: ids
        for name in track.structures
        if (ids := labels_for(name, manifest.labels)) is not None
    }
    if not labels and not may_be_none:
        raise SubmissionError(
            f"{manifest.id} declares none of the structures of "
            f"{track.dataset.id}/{track.track.id}: the track scores "
            f"{', '.join(track.structures)}; its labels mean "
            f"{', '.join(sorted(set(manifest.labels.values())))}. Choose another track, or correct "
            "the labels in submission.yaml."
        )
    return labels


def asked_structures(manifest: Submission, labels: Labels) -> tuple[str, ...]:
    """What the request asks for: what will be scored, or all it declares when nothing will be."""
    return tuple(labels) or tuple(sorted(set(manifest.labels.values())))


def make_entry(
    manifest: Submission,
    *,
    dataset: Dataset,
    track: TrackKey,
    prediction_labels: Labels,
    image_digest: str | None,
    granted: Relaxations,
    secret: bytes,
    run_keys: dict[str, str],
) -> EntryBody:
    """The plan, judged by the policy; cases in the order of their opaque ids.

    Raises
    ------
    SubmissionError
        The training declaration names something that does not exist, or contradicts itself.
    """
    judged = judge_track(manifest, dataset, track.track)
    opaque = {case: opaque_case_id(secret, submission=manifest.id, case=case) for case in run_keys}
    return EntryBody(
        manifest=manifest,
        image_digest=image_digest,
        granted=granted,
        limits=dataset.card.limits,
        verdict=judged.verdict,
        evidence=judged.evidence,
        eligibility=dict(judged.eligibility),
        prediction_labels=prediction_labels,
        order=tuple(sorted(opaque, key=opaque.__getitem__)),
        opaque=opaque,
        run_keys=run_keys,
    )
