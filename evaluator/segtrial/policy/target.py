"""The cases that are scored, matched to what a model has seen of their dataset."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from segtrial.contracts.attempt import Eligibility
from segtrial.policy.case_names import CaseIndex
from segtrial.policy.evidence import EvidencePath
from segtrial.policy.exposure import Exposure, Step
from segtrial.policy.subset import Shelf, Subset


@dataclass(frozen=True)
class TargetCase:
    """One case that is to be scored."""

    id: str
    patient: str = ""
    """Cases of one patient share it; empty means a patient of its own."""
    split: str | None = None
    """Its split, where the dataset's own files say so and the card does not list it."""
    nameless: bool = False
    """Whether the id only stands for a case whose own id is not known."""


class Target:
    """The cases of one track, and what is known of the other cases of their dataset.

    Parameters
    ----------
    shelf : Shelf
        The dataset.
    cases : sequence of TargetCase
        Those that are scored.
    also : sequence of TargetCase
        Others of the dataset: a scan among them may be of a patient who is scored.
    """

    def __init__(
        self, shelf: Shelf, cases: Sequence[TargetCase], also: Sequence[TargetCase] = ()
    ) -> None:
        self.shelf = shelf
        self.scored = {case.id for case in cases}
        known = {case.id: case for case in (*also, *cases)}
        self.index = CaseIndex(known)
        self.nameless = {case.id for case in known.values() if case.nameless}
        # Either list may be the one that knows whose scan it is.
        self.patient_of = {case.id: case.patient for case in (*also, *cases) if case.patient}
        several = shelf.node.several_scans_per_patient
        self.patients_known = bool(self.patient_of) or not several
        self.alone = {split: frozenset([split]) for split in shelf.splits}
        self.by_split: dict[frozenset[str], set[str]] = {}
        """Cases by their split, or by every split they may be in."""
        for split, published in shelf.listed.items():
            if here := published & known.keys():
                self.by_split[self.alone[split]] = set(here)
        unlisted = known.keys() - shelf.split_of.keys()
        listed = CaseIndex(shelf.split_of if unlisted else ())
        for case in unlisted:
            self.by_split.setdefault(self._splits(known[case], listed), set()).add(case)

    def _splits(self, case: TargetCase, listed: CaseIndex) -> frozenset[str]:
        """The split of a case that is written otherwise than published, or all it may be in."""
        known = listed.find(case.id)
        if known is not None:
            return self.alone[self.shelf.split_of[known]]
        if case.split is not None and case.split in self.shelf.splits:
            return frozenset([case.split])
        group = self.shelf.node.groups.get(case.split or "", ())
        return frozenset(group) or self.shelf.unlisted or self.shelf.splits

    def paths(self, exposure: Exposure) -> list[tuple[EvidencePath, set[str]]]:
        """Cases that an exposure reaches, by what they become, with the path to each group."""
        sure, possible = self._reached(exposure.part)
        inside = len(sure & self.scored)
        if not exposure.sure:
            sure, possible = set(), sure | possible
        siblings = self._siblings(sure)
        possible_siblings = self._siblings(possible) - sure - siblings
        if not self.patients_known:
            possible_siblings = self.scored - sure - possible
        least = 0
        if not exposure.sure:
            outside = min(self._size(exposure) - inside, self._not_scored)
            least = int(max(exposure.least - max(outside, 0), 0))
            least = min(least, len(possible & self.scored))
        words = "is" if self.patients_known else "may be"
        same_patient = Step(f"another scan of the same patient {words} scored here", (), "high")
        full: Eligibility = "contaminated" if exposure.kind == "labels" else "images_only"
        groups: list[tuple[Eligibility, set[str], tuple[Step, ...], int]] = [
            (full, sure, (), 0),
            (full, siblings, (same_patient,), 0),
            ("unknown", possible - siblings, (), least),
            ("unknown", possible_siblings, (same_patient,), 0),
        ]
        return [
            (
                EvidencePath(
                    becomes, len(scored), (*exposure.path, *extra), exposure.confidence,
                    exposure.kind, some,
                ),
                scored,
            )
            for becomes, cases, extra, some in groups
            if (scored := cases & self.scored)
        ]  # fmt: skip

    def _reached(self, part: Subset) -> tuple[set[str], set[str]]:
        """Cases that are in a part for sure, and those that may be."""
        sure: set[str] = set()
        possible: set[str] = set()
        for splits, cases in self.by_split.items():
            if splits <= part.splits:
                sure |= cases
            elif splits & part.splits:
                possible |= cases
        named = part.cases & self.index.cases
        found = {case: self.index.find(case) for case in part.cases - named}
        sure |= named | {case for case in found.values() if case is not None}
        lost = {written for written, case in found.items() if case is None}
        possible = possible.union(*map(self.index.alike, lost), self._may_be_meant(part, lost))
        return sure, possible - sure

    def _may_be_meant(self, part: Subset, lost: set[str]) -> set[str]:
        """Cases that ids in no list and among no known cases may mean.

        A person may have written any id of a split that publishes none; a published mapping writes
        ids as they are, so that only cases whose own id is not known may be meant.
        """
        if not self.shelf.in_no_list(lost):
            return set()
        hidden = self.shelf.hidden_places(part)
        cases = set().union(*(there for splits, there in self.by_split.items() if splits & hidden))
        return cases & self.nameless if part.exact else cases

    @cached_property
    def _not_scored(self) -> float:
        """Images of the dataset that are not scored; infinite where its size is not known."""
        size = self.shelf.size(self.shelf.everything)
        return math.inf if size is None else max(size - len(self.scored), 0)

    def _size(self, exposure: Exposure) -> int:
        """Images that an exposure names; without a limit where that is not known."""
        size = self.shelf.size(exposure.part)
        return size if size is not None else exposure.least + len(self.scored)

    def _siblings(self, cases: set[str]) -> set[str]:
        """Other scans of the patients of ``cases``."""
        following = self._following_scan
        found: set[str] = set()
        for case in following.keys() & cases:
            scan = following[case]
            while scan not in cases:  # from that one on it is done there
                found.add(scan)
                scan = following[scan]
        return found

    @cached_property
    def _following_scan(self) -> dict[str, str]:
        """The scans of each patient who has several, as a ring.

        Strings alone: a list for every patient takes the garbage collector longer than all else.
        """
        first: dict[str, str] = {}
        following: dict[str, str] = {}
        for case, patient in self.patient_of.items():
            other = first.setdefault(patient, case)
            if other != case:
                following[case] = following.get(other, other)
                following[other] = case
        return following
