"""``results.json``: everything that is published about one track.

The per-case records are the source; ``analysis`` follows from them and ``settings`` alone, and
``evaluate reanalyze`` recomputes it byte for byte. ``measured`` holds times and resources, which no
rerun repeats, and is set aside when two results are compared. No date, host name, path, true case
id or reference is in here: case and patient are pseudonyms.
"""

from __future__ import annotations

from typing import Any, Literal

from segtrial.contracts.attempt import Eligibility, Measured, Outcome, TrackVerdict
from segtrial.contracts.dataset_card import Licence, Publication
from segtrial.contracts.limits import Limits, Relaxations
from segtrial.contracts.record import HttpsUrl, Id, Line, Paragraph, Record, Sha256
from segtrial.contracts.structures import StructureName


class Unbounded(Record):
    """A distance without a bound: one of two masks is empty."""

    state: Literal["unbounded"] = "unbounded"


Value = float | Unbounded


class DatasetRow(Record):
    """What the public is told about the dataset version."""

    id: Id
    title: Line
    version: Line
    modality: str
    licence: Licence
    citation: Paragraph | None = None
    homepage: HttpsUrl | None = None
    references: Literal["public", "gated", "private"]
    publication: Publication = Publication()


class TrackRow(Record):
    """The track that was run."""

    id: Id
    title: Line
    structures: tuple[StructureName, ...]
    tolerances_mm: dict[StructureName, float]


class SubmissionRow(Record):
    """One entry, ranked or not."""

    id: Id
    name: Line
    version: Line
    authors: tuple[Line, ...]
    licence: Line
    summary: Paragraph | None = None
    paper: HttpsUrl | None = None
    code: HttpsUrl | None = None
    baseline: bool = False
    image_digest: str | None = None
    """Config digest of the container image; None for imported scores."""
    granted: Relaxations = Relaxations()
    verdict: TrackVerdict
    evidence: tuple[str, ...] = ()
    """Paths through the lineage that led to the verdict, one sentence each."""
    declared_training: tuple[str, ...] | None = None
    """Declared sources, one line each; None when nothing was declared."""
    tries: int = 1
    """How many versions of this submission have been run on this track so far."""


class CaseRow(Record):
    """One case of the track, under its pseudonym."""

    case: str
    patient: str
    slices: dict[str, str] = {}
    diagonal_mm: float | None = None
    """Physical diagonal of the scan: what a failed distance counts as in a mean. None only in an
    analysis of a table of scores that does not say."""
    volume_ml: float | None = None
    """Volume of the scan: what a failed volume difference counts as. None as above."""
    reference_ml: dict[StructureName, float] = {}
    """Reference volume of each structure; 0 where it is absent, left out where not known."""


class ScoreRecord(Record):
    """One submission, case and structure."""

    submission: Id
    case: str
    structure: StructureName
    outcome: Outcome
    eligibility: Eligibility
    reference_present: bool
    metrics: dict[str, Value] = {}
    """Only when the outcome is ok: by metric key; mm, ml or dimensionless as the key says."""


class MeasuredRow(Record):
    """Times and resources of one attempt."""

    submission: Id
    case: str
    measured: Measured


class Protocol(Record):
    """What decides the value of every number in the file."""

    contract: str
    limits: Limits | None = None
    """None for scores that were imported, not run."""
    signatures: dict[str, str]
    """Signature of each metric key."""


class Results(Record):
    """One track of one dataset version with every entry on it."""

    schema_version: Literal["segtrial-results/1"] = "segtrial-results/1"
    segtrial_version: str
    dataset: DatasetRow
    track: TrackRow
    protocol: Protocol
    settings: dict[str, Any]
    """Seed, resamples, margins and families of the analysis."""
    submissions: tuple[SubmissionRow, ...]
    cases: tuple[CaseRow, ...]
    records: tuple[ScoreRecord, ...]
    analysis: dict[str, Any]
    measured: tuple[MeasuredRow, ...] = ()
    environment: dict[str, Any] = {}
    """Host, engine and GPU of the runs; set aside with ``measured`` when results are compared."""
    content_sha256: Sha256 | None = None
    """Of the canonical JSON without ``measured``, ``environment`` and this field."""
