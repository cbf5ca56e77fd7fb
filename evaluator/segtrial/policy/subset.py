"""Parts of a dataset: whole splits and single cases, without listing what nobody has published."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from segtrial.contracts.lineage import DatasetNode

WHOLE = ""
"""The only split of a dataset whose splits are not known."""


@dataclass(frozen=True)
class Subset:
    """Some of a dataset's images: every image of ``splits``, and the cases in ``cases``.

    Attributes
    ----------
    splits, cases : frozenset of str
    among : frozenset of str, optional
        Splits that hold those of ``cases`` that no list has; None where nothing is known of that.
    exact : bool
        Whether ids are written as the dataset does: a published mapping gave them, not a person.
    """

    splits: frozenset[str] = frozenset()
    cases: frozenset[str] = frozenset()
    among: frozenset[str] | None = None
    exact: bool = False

    def __bool__(self) -> bool:
        return bool(self.splits or self.cases)


class Shelf:
    """One dataset's splits and case ids, prepared for set arithmetic."""

    def __init__(self, node: DatasetNode) -> None:
        self.node = node
        self.listed = {split: frozenset(cases) for split, cases in node.splits.items()}
        self.splits = frozenset([*node.splits, *node.unlisted]) or frozenset([WHOLE])

    @cached_property
    def split_of(self) -> dict[str, str]:
        """Split of every case id that is published."""
        return {case: split for split, cases in self.listed.items() for case in cases}

    @property
    def unlisted(self) -> frozenset[str]:
        """Splits whose case ids are not published."""
        return self.splits - frozenset(self.listed)

    @property
    def everything(self) -> Subset:
        """All images of the dataset."""
        return Subset(self.splits)

    def named(
        self, split: str | None, cases: Iterable[str] = (), *, among: frozenset[str] | None = None
    ) -> Subset:
        """A split, a group of splits, a case list, or everything; the split must exist."""
        listed = frozenset(cases)
        if listed:
            return self.tidy(Subset(cases=listed, among=among))
        if split is None:
            return self.everything
        return Subset(frozenset(self.node.groups.get(split, (split,))))

    def tidy(self, part: Subset) -> Subset:
        """The same images, with complete case lists replaced by their split."""
        if not part.cases:
            return part
        full = {
            split for split, cases in self.listed.items() if cases and cases <= part.cases
        } | part.splits
        inside = frozenset[str]().union(*(self.listed.get(split, ()) for split in full))
        return replace(part, splits=frozenset(full), cases=part.cases - inside)

    def in_no_list(self, cases: Iterable[str]) -> frozenset[str]:
        """Those of the cases whose split is not published."""
        return frozenset(case for case in cases if case not in self.split_of)

    def hidden_places(self, part: Subset) -> frozenset[str]:
        """Splits that may hold those cases of a part that are in no list."""
        return self.unlisted if part.among is None else part.among

    def is_everything(self, part: Subset) -> bool:
        """Whether no image is left out."""
        return self.splits <= part.splits

    def covers(self, part: Subset, other: Subset) -> bool:
        """Whether every image of ``other`` is surely in ``part``."""
        if not other.splits <= part.splits:
            return False
        rest = other.cases - part.cases
        return self._inside(rest, self.hidden_places(other), part.splits) == rest

    def common(self, one: Subset, other: Subset) -> Subset:
        """Images that are surely in both."""
        cases = one.cases & other.cases
        for part, place in ((one, other), (other, one)):
            cases |= self._inside(part.cases, self.hidden_places(part), place.splits)
        return self.tidy(replace(one, splits=one.splits & other.splits, cases=cases))

    def perhaps_common(self, one: Subset, other: Subset) -> frozenset[str]:
        """Cases of either whose split is not published, and that may be in the other."""
        found = frozenset[str]()
        for part, place in ((one, other), (other, one)):
            hidden = self.hidden_places(part)
            if hidden & place.splits and not hidden <= place.splits:
                found |= self.in_no_list(part.cases - place.cases)
        return found

    def known_cases(self, part: Subset) -> tuple[frozenset[str], frozenset[str]]:
        """Case ids of a part, and its splits whose ids are not published."""
        cases = part.cases.union(*(self.listed.get(split, ()) for split in part.splits))
        return cases, part.splits - frozenset(self.listed)

    def size(self, part: Subset) -> int | None:
        """Number of images of a tidy part, or None where a split's size is not known."""
        total = len(part.cases)
        for split in part.splits:
            if split in self.listed:
                count: int | None = len(self.listed[split])
            else:
                count = self.node.count if split == WHOLE else self.node.unlisted[split]
            if count is None:
                return None
            total += count
        return total

    def _inside(
        self, cases: frozenset[str], hidden: frozenset[str], splits: frozenset[str]
    ) -> frozenset[str]:
        """Those of the cases that are surely in one of the splits.

        ``hidden`` are the splits that may hold the cases that are in no list.
        """
        listed = (self.listed[split] for split in splits if split in self.listed)
        found = frozenset[str]().union(*(cases & one for one in listed))
        if hidden and hidden <= splits:
            found |= self.in_no_list(cases)
        return found
