"""Which dataset shares images with which: the facts that contamination is computed from.

A dataset's images are named by *case* inside *splits*. Splits do not share cases; a split whose
case ids are nowhere published is known by its size alone. A `Relation` says that images of one
dataset are in another, how many, under which ids, who says so and how sure that is.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from segtrial.contracts.case_list import CaseList
from segtrial.contracts.record import HttpsUrl, Id, Line, Paragraph, Record

Confidence = Literal["high", "medium", "low"]
"""high: the owners say so, or their file lists were compared; medium: a third party says so, or
names agree; low: inferred."""


class CaseNames(Record):
    """How case ids on the two sides correspond: the same number, written in two ways.

    ``{n:05}`` stands for the number with five digits, ``{n}`` for the bare number.
    """

    own: Annotated[str, Field(max_length=120, pattern=r"^[^{}]*\{n(:0\d)?\}[^{}]*$")]
    theirs: Annotated[str, Field(max_length=120, pattern=r"^[^{}]*\{n(:0\d)?\}[^{}]*$")]


class Relation(Record):
    """Images of this dataset and of another one are the same."""

    relation: Literal["contains", "derived_from", "overlaps"]
    """contains: images of ``dataset`` are in this one; derived_from: this dataset's images were
    taken from ``dataset``; overlaps: each has some of the other's."""
    dataset: Id
    split: Line | None = None
    """Split of the other dataset; None means all of it."""
    cases: CaseList = ()
    """Cases of the other dataset, where only some are meant and it is known which."""
    own_split: Line | None = None
    """Split of this dataset that is meant; None: not known, or all of it."""
    overlap: Literal["full", "partial"] = "full"
    """full: every image named above; partial: some of them, it is not published which."""
    names: Literal["same"] | CaseNames | None = None
    """How the case ids correspond; None where that is not published."""
    pairs: Annotated[dict[Line, Line], Field(max_length=10_000)] = {}
    """Case id here to case id there, where no rule says it. An overlap is those pairs and nothing
    else, unless `count` says that there are more."""
    count: Annotated[int, Field(ge=1)] | None = None
    confidence: Confidence
    evidence: Annotated[tuple[HttpsUrl, ...], Field(min_length=1, max_length=20)]
    note: Paragraph | None = None

    @model_validator(mode="after")
    def _one_way_to_name_cases(self) -> Self:
        if self.pairs and self.names is not None:
            raise ValueError("give names or pairs, not both")
        return self


class DatasetNode(Record):
    """A dataset as the lineage knows it; a `DatasetCard` carries the same facts and more."""

    schema_version: Literal["segtrial-node/1"] = "segtrial-node/1"
    id: Id
    title: Line
    aliases: Annotated[tuple[Line, ...], Field(max_length=50)] = ()
    licence: Line | None = None
    homepage: HttpsUrl | None = None
    count: Annotated[int, Field(ge=1)] | None = None
    """Number of cases, where it is known."""
    splits: dict[Line, CaseList] = {}
    """Case ids of each split; splits share no case."""
    unlisted: dict[Line, int | None] = {}
    """Splits whose case ids are not published, with their size where that is known."""
    groups: dict[Line, tuple[Line, ...]] = {}
    """Names for several splits together, such as ``train`` for two modalities."""
    several_scans_per_patient: bool = False
    """Whether some patients have several cases here: then one that was used says something about
    the others."""
    lineage: Annotated[tuple[Relation, ...], Field(max_length=500)] = ()
    note: Paragraph | None = None

    @model_validator(mode="after")
    def _splits_are_told_apart(self) -> Self:
        check_splits(self.splits, self.unlisted, self.groups)
        return self


def check_splits(
    splits: dict[str, tuple[str, ...]],
    unlisted: dict[str, int | None],
    groups: dict[str, tuple[str, ...]],
) -> None:
    """Raise ValueError where a split is listed twice, shares cases, or a group names none."""
    both = sorted(set(splits) & set(unlisted))
    if both:
        raise ValueError(f"split {both[0]!r} is in splits and in unlisted; keep it in one of them")
    owner: dict[str, str] = {}
    for split, cases in splits.items():
        for case in cases:
            if owner.setdefault(case, split) != split:
                raise ValueError(f"case {case!r} is in the splits {owner[case]!r} and {split!r}")
    for group, members in groups.items():
        if group in splits or group in unlisted:
            raise ValueError(f"group {group!r} has the name of a split; choose another name")
        lost = [member for member in members if member not in splits and member not in unlisted]
        if lost:
            raise ValueError(f"group {group!r} names the split {lost[0]!r}, which is not declared")
