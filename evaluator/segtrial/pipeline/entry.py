"""What the journal keeps of a track and of a submission on it: results need nothing else."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Self

from segtrial.contracts.attempt import Eligibility, TrackVerdict
from segtrial.contracts.limits import Limits, Relaxations
from segtrial.contracts.record import Record
from segtrial.contracts.result import DatasetRow, TrackRow
from segtrial.contracts.submission import Submission
from segtrial.datasets import Dataset
from segtrial.store.journal import TrackKey


class TrackBody(Record):
    """A track as it was when it was run: what is scored, on what, and what of it is public."""

    dataset: DatasetRow
    track: TrackRow
    case_ids: tuple[str, ...]
    patients: dict[str, str]
    slices: dict[str, dict[str, str]]
    reference_labels: dict[str, tuple[int, ...]]
    limits: Limits

    @property
    def structures(self) -> tuple[str, ...]:
        """What is scored, in the track's order."""
        return self.track.structures

    def to_json(self) -> dict[str, Any]:
        """As the journal keeps it."""
        return self.model_dump(mode="json")


class EntryBody(Record):
    """One submission on one track, as it was run."""

    manifest: Submission
    image_digest: str | None
    """Config digest of what was run; None for predictions that were given as files."""
    granted: Relaxations
    limits: Limits
    verdict: TrackVerdict
    evidence: tuple[str, ...]
    eligibility: dict[str, Eligibility]
    prediction_labels: dict[str, tuple[int, ...]]
    """Native label ids of each supported structure; the others are unsupported."""
    order: tuple[str, ...]
    """Case ids in the order they are run."""
    opaque: dict[str, str]
    run_keys: dict[str, str]
    environment: dict[str, str] = {}  # noqa: RUF012 - pydantic copies defaults
    """What it was measured on."""

    def to_json(self) -> dict[str, Any]:
        """As the journal keeps it."""
        return self.model_dump(mode="json")

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Self:
        """From what the journal kept; JSON's keys are text, so label ids come as text."""
        return cls.model_validate_json(json.dumps(body))


def entry_identity(entry: EntryBody) -> str:
    """What makes two runs of a submission on a track the same entry."""
    parts = {
        "manifest": entry.manifest.model_dump(mode="json"),
        "image": entry.image_digest,
        "granted": entry.granted.model_dump(),
        "limits": entry.limits.model_dump(),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def track_body(dataset: Dataset, key: TrackKey) -> TrackBody:
    """Everything about the track that its results depend on."""
    card = dataset.card
    track = dataset.track(key.track)
    cases = dataset.cases_of(key.track)
    # The card was refused when it was read if a track asked for what its labels do not give.
    reference_labels = {name: card.reference_labels(name) or () for name in track.structures}
    return TrackBody(
        dataset=DatasetRow(
            **{name: getattr(card, name) for name in DatasetRow.model_fields},
        ),
        track=TrackRow(
            id=track.id,
            title=track.title,
            structures=track.structures,
            tolerances_mm={name: card.tolerance_mm(name) for name in track.structures},
        ),
        case_ids=tuple(case.id for case in cases),
        patients={case.id: case.patient for case in cases},
        slices={case.id: dict(case.slices) for case in cases},
        reference_labels=reference_labels,
        limits=card.limits,
    )
