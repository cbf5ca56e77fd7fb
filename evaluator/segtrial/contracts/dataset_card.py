"""``card.yaml``: what a dataset is, which labels it has, its tracks, and where its images also are.

A track is a fixed list of cases and structures, declared here before anyone is run; no entry can
change it. One card is one version: a corrected reference or a withdrawn patient is a new version.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from segtrial.contracts.case_list import CaseList
from segtrial.contracts.limits import Limits
from segtrial.contracts.lineage import DatasetNode, Relation, check_splits
from segtrial.contracts.record import HttpsUrl, Id, LabelId, Line, Paragraph, Record
from segtrial.contracts.structures import StructureName, labels_for
from segtrial.contracts.submission import Modality

DEFAULT_TOLERANCE_MM = 2.0
"""NSD tolerance where a card gives none; about the in-plane uncertainty of a CT contour."""


class Licence(Record):
    """Under what terms the data may be used."""

    name: Line
    url: HttpsUrl | None = None
    conflicts: tuple[Paragraph, ...] = ()
    """Statements of the source that contradict each other, each with where it stands."""


class Source(Record):
    """One place where files of the dataset can be had."""

    title: Line
    url: HttpsUrl | None = None
    how: Literal["direct", "per_case", "gated", "manual", "generated"]
    """direct: one download; per_case: ``url`` holds ``{case}``; gated: after registration;
    manual: by hand; generated: made on this machine."""
    file: Line | None = None
    """Where it belongs inside the dataset's folder; may hold ``{case}``."""
    size_bytes: Annotated[int, Field(ge=1)] | None = None
    md5: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    instructions: Paragraph | None = None
    """What a person has to do where no program may."""


class Tolerance(Record):
    """The NSD tolerance of one structure and where it comes from."""

    mm: Annotated[float, Field(gt=0, le=100)]
    source: Line


class Track(Record):
    """A fixed case list and structure list; the id is unique within the dataset."""

    id: Id
    title: Line
    cases: Annotated[CaseList, Field(min_length=1)] | None = None
    """Case ids; None means every case of the dataset version."""
    split: Line | None = None
    """A split of this card instead of a case list."""
    modality: Modality | None = None
    """Of its scans, where it is not the dataset's."""
    structures: Annotated[tuple[StructureName, ...], Field(min_length=1)]
    note: Paragraph | None = None

    @model_validator(mode="after")
    def _one_case_list(self) -> Self:
        if self.cases is not None and self.split is not None:
            raise ValueError("give cases or split, not both")
        return self


class Slice(Record):
    """A declared subgroup variable: a column of the case table."""

    name: Id
    column: Line | None = None
    """The column it is read from; its own name by default."""
    bands: tuple[float, ...] = ()
    """For numbers: the borders between groups, ascending."""
    values: dict[Line, Line] = {}
    """Value as the table writes it to the value that is shown."""

    @model_validator(mode="after")
    def _bands_ascend(self) -> Self:
        if list(self.bands) != sorted(set(self.bands)):
            raise ValueError("bands must ascend, each border once")
        return self


GreyLevel = Annotated[int, Field(ge=1, le=65_535)]


class Files(Record):
    """Where the files of some cases lie, as patterns below the dataset's folder.

    ``{case}`` stands for the case id, ``{n}`` for a number, ``{patient}`` for a patient's name,
    ``{any}`` for anything else within one folder's name.
    """

    scan: Line
    more_scans: tuple[Line, ...] = ()
    """Further scans of the case, with ``{case}``, ``{n}`` and ``{patient}`` as in ``scan``."""
    reference: Line | None = None
    """Label map; or a folder, where the layout has several files for each reference."""
    id: Line = "{case}"
    """The case id, made of the names in ``scan``."""
    patient: Line | None = None
    """Whose case it is, made of the names in ``scan``; ``{patient}`` where that is one of them."""
    split: Line | None = None
    """The split that every case found here is in."""
    grey_levels: dict[LabelId, tuple[GreyLevel, GreyLevel]] = {}
    """For references that are pictures: the darkest and brightest pixel that means a label."""


class Metadata(Record):
    """The table that patients and slices are read from."""

    file: Line
    """Inside the dataset's folder."""
    format: Literal["csv", "json"] = "csv"
    """json: a list of objects, one for each row."""
    rows: Literal["cases", "patients"] = "cases"
    """What a row is about; patients are matched by ``{patient}`` in the file names."""
    case_column: Line
    """Column with the id of the case, or of the patient."""
    prefix: Annotated[str, Field(max_length=60)] = ""
    """What the column writes before the id."""
    case_format: (
        Annotated[str, Field(max_length=120, pattern=r"^[^{}]*\{n(:0\d)?\}[^{}]*$")] | None
    ) = None
    """How a bare number in the column is written as a case id, such as ``amos_{n:04}``."""
    patient_column: Line | None = None
    """None: every case is a patient of its own."""
    split_column: Line | None = None
    separator: Annotated[str, Field(min_length=1, max_length=1)] = ","
    encoding: Literal["utf-8", "latin-1"] = "utf-8"


class Raters(Record):
    """Several people drew the same case."""

    count: Annotated[int, Field(ge=1)]
    files: Line | None = None
    """Glob of the single drawings inside the folder, where they are published."""
    note: Paragraph | None = None


class ReferenceOrigin(Record):
    """Who or what drew the references, where that favours some models."""

    how: Paragraph
    effect: Paragraph | None = None
    evidence: tuple[HttpsUrl, ...] = ()


class Publication(Record):
    """What may leave the host."""

    per_case_scores: bool = True
    predictions: bool = False
    case_pictures: bool = False
    slice_values: bool = True
    masks: bool = False
    """The references themselves."""


class DatasetCard(Record):
    """One version of one dataset."""

    schema_version: Literal["segtrial-card/1"]
    id: Id
    title: Line
    aliases: Annotated[tuple[Line, ...], Field(max_length=50)] = ()
    version: Line
    former_versions: dict[Line, Paragraph] = {}
    """Earlier versions and what was wrong with or different in them."""
    summary: Paragraph | None = None
    licence: Licence
    citation: Paragraph | None = None
    homepage: HttpsUrl | None = None
    evidence: Annotated[tuple[HttpsUrl, ...], Field(max_length=20)] = ()
    """Where labels, case lists and quirks can be read."""
    sources: tuple[Source, ...] = ()
    references: Literal["public", "gated", "private"]
    """Who can see the reference labels; public ones can be baked into an image."""
    reference_origin: ReferenceOrigin | None = None
    modality: Modality
    layout: Line
    """Name of the adapter that turns the folder as downloaded into cases."""
    roots: tuple[Line, ...] = ()
    """Folders that a download wraps around the dataset, such as ``amos22``."""
    files: tuple[Files, ...] = ()
    """Where files lie, for the layouts that read patterns."""
    scan_modalities: tuple[Modality, ...] = ()
    """Modality of each scan of a case, where they differ; else all are ``modality``."""
    labels: Annotated[dict[LabelId, StructureName], Field(min_length=1)]
    """Reference label ids and the structure each means."""
    ignore: tuple[LabelId, ...] = ()
    """Reference label ids that mean nothing, such as "left to annotate"."""
    structures: dict[StructureName, tuple[LabelId, ...]] = {}
    """Structures that are unions of label ids, where the plain label is not what is scored."""
    native_names: dict[LabelId, Line] = {}
    """File names of the structures, in layouts with one file per structure."""
    quirks: tuple[Paragraph, ...] = ()
    count: Annotated[int, Field(ge=1)] | None = None
    splits: dict[Line, CaseList] = {}
    unlisted: dict[Line, int | None] = {}
    groups: dict[Line, tuple[Line, ...]] = {}
    several_scans_per_patient: bool = False
    tracks: Annotated[tuple[Track, ...], Field(min_length=1)]
    tolerances: dict[StructureName, Tolerance] = {}
    limits: Limits = Limits()
    metadata: Metadata | None = None
    slices: tuple[Slice, ...] = ()
    raters: Raters | None = None
    publication: Publication = Publication()
    lineage: Annotated[tuple[Relation, ...], Field(max_length=500)] = ()

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        check_splits(self.splits, self.unlisted, self.groups)
        self._ids_are_told_apart()
        self._tracks_can_be_read()
        return self

    def _ids_are_told_apart(self) -> None:
        for kind, ids in (
            ("track", [track.id for track in self.tracks]),
            ("slice", [part.name for part in self.slices]),
        ):
            twice = next((one for one in ids if ids.count(one) > 1), None)
            if twice is not None:
                raise ValueError(f"two {kind}s have the id {twice!r}; give each its own")
        both = sorted(set(self.ignore) & set(self.labels))
        if both:
            raise ValueError(f"label {both[0]} is in labels and in ignore; keep it in one of them")

    def _tracks_can_be_read(self) -> None:
        known = {case for cases in self.splits.values() for case in cases}
        for track in self.tracks:
            if track.split is not None and not self._is_split(track.split):
                valid = ", ".join([*self.splits, *self.unlisted, *self.groups]) or "none"
                raise ValueError(
                    f"track {track.id!r} names the split {track.split!r}; declared are: {valid}"
                )
            lost = [case for case in track.cases or () if known and case not in known]
            if lost and not self.unlisted:
                raise ValueError(f"track {track.id!r} lists {lost[0]!r}, which is in no split")
            for structure in track.structures:
                if self.reference_labels(structure) is None:
                    raise ValueError(
                        f"track {track.id!r} asks for {structure!r}, which the labels do not give"
                    )

    def _is_split(self, name: str) -> bool:
        return name in self.splits or name in self.unlisted or name in self.groups

    def reference_labels(self, structure: str) -> tuple[int, ...] | None:
        """Reference label ids whose union is ``structure``, or None where there is none."""
        return self.structures.get(structure) or labels_for(structure, self.labels)

    def tolerance_mm(self, structure: str) -> float:
        """NSD tolerance of a structure, in mm; 2 mm where the card gives none."""
        given = self.tolerances.get(structure)
        return given.mm if given else DEFAULT_TOLERANCE_MM

    def track(self, track_id: str) -> Track:
        """The track of that id; ValueError naming the valid ones otherwise."""
        for track in self.tracks:
            if track.id == track_id:
                return track
        valid = ", ".join(track.id for track in self.tracks)
        raise ValueError(f"{self.id} has no track {track_id!r}; it has: {valid}")

    def modalities(self, track: Track) -> tuple[Modality, ...]:
        """Modality of each scan of a case of the track; one where all have the same."""
        if track.modality is not None:
            return (track.modality,)
        return self.scan_modalities or (self.modality,)

    def listed_cases(self, track: Track) -> tuple[str, ...] | None:
        """Case ids of a track as far as the card itself lists them; None where it does not."""
        if track.cases is not None:
            return track.cases
        if track.split is None:
            names = (*self.splits, *self.unlisted)
        else:
            names = self.groups.get(track.split, (track.split,))
        if not names or any(name not in self.splits for name in names):
            return None
        return tuple(case for name in names for case in self.splits[name])

    @property
    def node(self) -> DatasetNode:
        """What the lineage needs of this card."""
        return DatasetNode(
            id=self.id,
            title=self.title,
            aliases=self.aliases,
            licence=self.licence.name,
            homepage=self.homepage,
            count=self.count,
            splits=self.splits,
            unlisted=self.unlisted,
            groups=self.groups,
            several_scans_per_patient=self.several_scans_per_patient,
            lineage=self.lineage,
        )
