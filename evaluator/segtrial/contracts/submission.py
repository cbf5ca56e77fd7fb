"""``submission.yaml``: what an author says about a model image (contract segtrial/1)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from segtrial.contracts.limits import Relaxations
from segtrial.contracts.reading import parse_yaml
from segtrial.contracts.record import HttpsUrl, Id, LabelId, Line, Paragraph, Record
from segtrial.contracts.structures import StructureName
from segtrial.contracts.training import Training
from segtrial.errors import SubmissionError

CONTRACT = "segtrial/1"
Modality = Literal["ct", "mr", "pet", "us"]


class ImageSource(Record):
    """Where the container image comes from; exactly one of the three."""

    archive: Line | None = None
    """A ``docker save`` archive, as a path relative to ``submission.yaml``."""
    reference: Line | None = None
    """A registry reference pinned to a digest (``host/name@sha256:...``), or a local image id."""
    dockerfile: Line | None = None
    """A Dockerfile beside ``submission.yaml``, for the author's own check."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        given = [name for name in ("archive", "reference", "dockerfile") if getattr(self, name)]
        if len(given) != 1:
            named = ", ".join(given) or "none"
            raise ValueError(
                f"give exactly one of archive, reference and dockerfile; {named} given"
            )
        return self


class Submission(Record):
    """An author's entry: who made it, what its labels mean, what it was trained on."""

    read_more: ClassVar[str] = "submission_template/submission.yaml explains every key."

    schema_version: Literal["segtrial/1"]
    id: Id
    name: Line
    version: Line
    authors: Annotated[tuple[Line, ...], Field(min_length=1, max_length=100)]
    licence: Line
    """SPDX expression where there is one, of code and weights."""
    summary: Paragraph | None = None
    paper: HttpsUrl | None = None
    code: HttpsUrl | None = None
    image: ImageSource = ImageSource(dockerfile="Dockerfile")
    modalities: Annotated[tuple[Modality, ...], Field(min_length=1, max_length=4)] = ("ct",)
    gpu: Literal["none", "optional", "required"] = "optional"
    labels: Annotated[dict[LabelId, StructureName], Field(min_length=1, max_length=4096)]
    """Each native label id and the canonical structure (or union) that it means."""
    ignore: Annotated[tuple[LabelId, ...], Field(max_length=4096)] = ()
    """Label ids the model may write and that mean nothing here."""
    training: Training | None = None
    """None is unknown, never clean; such an entry is shown and not ranked."""
    relaxations: Relaxations = Relaxations()
    baseline: bool = False
    """A trivial baseline: shown as the floor of the ranking."""

    @model_validator(mode="after")
    def _ignored_labels_have_no_meaning(self) -> Self:
        both = sorted(set(self.ignore) & set(self.labels))
        if both:
            raise ValueError(f"label {both[0]} is in labels and in ignore; keep it in one of them")
        return self

    @property
    def label_ids(self) -> frozenset[int]:
        """Every label id the model may write besides 0."""
        return frozenset(self.labels) | frozenset(self.ignore)


def parse_submission(text: str | bytes, *, source: str) -> Submission:
    """Read ``submission.yaml``; `SubmissionError` names every problem."""
    return parse_yaml(text, Submission, source=source, error=SubmissionError)
