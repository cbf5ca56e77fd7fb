"""A dataset on this machine: its card and, for each case, the files and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from segtrial.contracts.dataset_card import DatasetCard, Track
from segtrial.contracts.reading import nearest
from segtrial.datasets.found import Slides
from segtrial.datasets.progress import Progress
from segtrial.errors import DatasetError
from segtrial.policy.case_names import CaseIndex


@dataclass(frozen=True, kw_only=True)
class Case:
    """One case: its files and its place in the dataset."""

    id: str
    patient: str
    """Cases of one patient share it."""
    scans: tuple[Path, ...]
    """The first one's grid is the grid of the answer."""
    reference: Path | None
    """Label map with the ids of the card, or None where there is none."""
    slices: Mapping[str, str] = field(default_factory=dict)
    split: str | None = None
    masks: Mapping[int, Path] = field(default_factory=dict)
    """What ``reference`` is made of, where the dataset has one file per label."""
    slides: Slides | None = None
    """What ``reference`` is made of, where the dataset has one picture per slice."""


@dataclass(frozen=True)
class Dataset:
    """A card and the cases that were found."""

    card: DatasetCard
    cases: tuple[Case, ...]
    folder: Path
    progress: Progress | None = None

    def track(self, track_id: str) -> Track:
        """The track of that id.

        Raises
        ------
        DatasetError
            There is no such track; the message names those there are.
        """
        try:
            return self.card.track(track_id)
        except ValueError as problem:
            hint = nearest(track_id, [track.id for track in self.card.tracks])
            raise DatasetError(f"{problem}.{hint}") from None

    def cases_of(self, track: str | Track) -> tuple[Case, ...]:
        """Cases of a track in its order, each with a reference.

        Parameters
        ----------
        track : str or Track

        Raises
        ------
        DatasetError
            A case of the track is not here, or has no reference.
        """
        wanted = self.track(track) if isinstance(track, str) else track
        found = self.select(wanted)
        self._merge(found)
        bare = [case.id for case in found if case.reference is None]
        if bare:
            raise DatasetError(
                f"{_some(bare)} no reference in {self.folder}, which {self.card.id}/{wanted.id} "
                "needs. "
                "A track is scored against references: add the files, "
                f"or see 'evaluate datasets verify {self.card.id} {self.folder}'."
            )
        return found

    def _merge(self, cases: tuple[Case, ...]) -> None:
        """Make the label maps that the dataset ships as single masks or pictures."""
        if not any(case.masks or case.slides for case in cases):
            return
        from segtrial.datasets.merging import Parts, merge_all  # noqa: PLC0415 - loads numpy

        parts = [
            Parts(case.id, case.scans[0], case.reference, case.masks, case.slides)
            for case in cases
            if case.reference is not None and (case.masks or case.slides)
        ]
        merge_all(parts, progress=self.progress)

    def select(self, track: Track) -> tuple[Case, ...]:
        """Cases of a track as they were found, whether or not they have references."""
        listed = self.card.listed_cases(track)
        if listed is None:
            return self._by_split(track)
        here = {case.id: case for case in self.cases}
        index = CaseIndex(here)
        ids = [(case, index.find(case)) for case in listed]
        lost = [case for case, found in ids if found is None]
        if lost:
            raise DatasetError(
                f"{self.folder} lacks {len(lost)} of the {len(listed)} cases of "
                f"{self.card.id}/{track.id}, {lost[0]!r} first. Fetch the rest ('evaluate datasets "
                f"fetch {self.card.id}'), or choose a track whose cases are all here."
            )
        return tuple(here[found] for _, found in ids if found is not None)

    def _by_split(self, track: Track) -> tuple[Case, ...]:
        """A track whose split is written in the dataset's own table, or that takes every case."""
        names = None if track.split is None else self.card.groups.get(track.split, (track.split,))
        found = tuple(case for case in self.cases if names is None or case.split in names)
        if not found:
            raise DatasetError(
                f"No case in {self.folder} is in {self.card.id}/{track.id}"
                + (f" (split {track.split!r})" if track.split else "")
                + ". The split is read from the dataset's own table; check that it is there."
            )
        return found


def _some(cases: list[str]) -> str:
    if len(cases) == 1:
        return f"Case {cases[0]!r} has"
    return f"{len(cases)} cases, {cases[0]!r} first, have"
