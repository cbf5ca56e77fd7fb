"""Parts of a dataset: whole splits and single cases, without listing what nobody has published."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from segtrial.contracts.lineage import DatasetNode

WHOLE = ""
"""The only split of a dataset whose splits are not known."""


@dataclass(frozen=True)
class Subset:
    """Some of a dataset's images: every image of ``splits``, and the cases in ``cases``."""

    splits: frozenset[str] = frozenset()
    cases: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.splits or self.cases)

    def __or__(self, other: Subset) -> Subset:
        return Subset(self.splits | other.splits, self.cases | other.cases)


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

    def named(self, split: str | None, cases: Iterable[str] = ()) -> Subset:
        """A split, a group of splits, a case list, or everything; the split must exist."""
        listed = frozenset(cases)
        if listed:
            return self.tidy(Subset(cases=listed))
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
        return Subset(frozenset(full), part.cases - inside)

    def is_everything(self, part: Subset) -> bool:
        """Whether no image is left out."""
        return self.splits <= part.splits

    def covers(self, part: Subset, other: Subset) -> bool:
        """Whether every image of ``other`` is surely in ``part``."""
        if not other.splits <= part.splits:
            return False
        return all(self.split_of.get(case) in part.splits for case in other.cases - part.cases)

    def common(self, one: Subset, other: Subset) -> Subset:
        """Images that are in both, as far as the lists say."""
        cases = one.cases & other.cases
        cases |= self._inside(one.cases, other.splits) | self._inside(other.cases, one.splits)
        return self.tidy(Subset(one.splits & other.splits, cases))

    def known_cases(self, part: Subset) -> tuple[frozenset[str], frozenset[str]]:
        """Case ids of a part, and its splits whose ids are not published."""
        cases = part.cases.union(*(self.listed.get(split, ()) for split in part.splits))
        return cases, part.splits - frozenset(self.listed)

    def size(self, part: Subset) -> int | None:
        """Number of images, or None where a split's size is not known."""
        cases, hidden = self.known_cases(part)
        total = len(cases)
        for split in hidden:
            count = self.node.count if split == WHOLE else self.node.unlisted[split]
            if count is None:
                return None
            total += count
        return total

    def _inside(self, cases: frozenset[str], splits: frozenset[str]) -> frozenset[str]:
        """Those of the cases that are in one of the splits."""
        listed = (self.listed[split] for split in splits if split in self.listed)
        return frozenset[str]().union(*(cases & one for one in listed))
