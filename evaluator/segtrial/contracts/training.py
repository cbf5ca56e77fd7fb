"""What a model was trained on, as its authors declare it.

No declaration at all is *unknown*, never clean; ``training: {sources: []}`` says "on nothing".
Two reserved dataset ids say what no public id can: ``private`` (data that is in no public dataset)
and ``undisclosed`` (data the authors do not name; every verdict is then at best unknown).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from segtrial.contracts.case_list import CaseList
from segtrial.contracts.lineage import Confidence
from segtrial.contracts.record import HttpsUrl, Id, LabelId, Line, Paragraph, Record
from segtrial.contracts.structures import StructureName

Use = Literal["labels", "pseudo_labels", "images", "selection"]
"""What the data were used for: supervision, labels made by another model, images without labels
(self-supervision), or choosing a checkpoint or setting."""

PRIVATE = "private"
UNDISCLOSED = "undisclosed"


def _several(value: Any) -> Any:  # noqa: ANN401 - whatever the file held; pydantic checks it
    return (value,) if isinstance(value, str) else value


class TrainingSource(Record):
    """One dataset, or a part of one, that took part in training."""

    dataset: Line
    """A dataset's id or one of its aliases; ``evaluate datasets list`` shows them."""
    split: Line | None = None
    """A split named in the dataset's card; None means the whole dataset."""
    cases: CaseList = ()
    """Case ids, if only some were used; empty means all of the split."""
    used_for: Use = "labels"
    extent: Literal["all", "some"] = "all"
    """some: not all of what is named above, and it is not published which."""
    count: Annotated[int, Field(ge=1)] | None = None
    """How many, where the extent is some and the number is known."""
    evidence: Annotated[tuple[Line, ...], BeforeValidator(_several), Field(max_length=20)] = ()
    """Where this can be read: links or sections of the paper."""
    confidence: Confidence = "high"
    """How sure that is; an author who was there leaves it at high."""
    note: Line | None = None


class Training(Record):
    """Everything a model has seen, itself or through the weights and teachers it inherits from."""

    sources: Annotated[tuple[TrainingSource, ...], Field(max_length=500)] = ()
    initialised_from: Annotated[tuple[Line, ...], Field(max_length=50)] = ()
    """Known models whose weights it started from."""
    teachers: Annotated[tuple[Line, ...], Field(max_length=50)] = ()
    """Known models whose predictions it learned from."""


class KnownModel(Record):
    """A published model: what its labels mean and what it was trained on, with evidence.

    Known models are declared by us from what their authors published, not by their authors.
    """

    schema_version: Literal["segtrial-model/1"] = "segtrial-model/1"
    id: Id
    title: Line
    aliases: Annotated[tuple[Line, ...], Field(max_length=50)] = ()
    homepage: HttpsUrl | None = None
    weights: Line | None = None
    """Where the weights can be had."""
    code_licence: Line | None = None
    weights_licence: Line | None = None
    labels: Annotated[dict[LabelId, StructureName], Field(max_length=4096)] = {}
    """Each native label id and the structure it means; empty for a promptable model."""
    ignore: Annotated[tuple[LabelId, ...], Field(max_length=4096)] = ()
    label_evidence: Annotated[tuple[HttpsUrl, ...], Field(max_length=20)] = ()
    declaration: Paragraph
    """How complete the authors' own statement about the training data is."""
    training: Training | None = None
    note: Paragraph | None = None
