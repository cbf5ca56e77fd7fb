"""Case ids in another spelling: the same case written as people and tools write it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_ENDINGS = re.compile(r"(\.nii\.gz|\.nii|\.nrrd|\.mha|\.npz)$")
_CHANNEL = re.compile(r"_0000$")
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")


def folded(case: str) -> str:
    """A case id without folders, file ending, case, punctuation and leading zeros.

    Examples
    --------
    >>> folded("imagesTr/amos_0001.nii.gz") == folded("AMOS-1")
    True
    """
    name = _ENDINGS.sub("", case.strip().replace("\\", "/").rstrip("/").rsplit("/", 1)[-1].lower())
    return _ZEROS.sub("", re.sub(r"[^a-z0-9]+", "_", name).strip("_"))


class CaseIndex:
    """Finds case ids of one dataset in any spelling that means exactly one of them."""

    def __init__(self, cases: Iterable[str]) -> None:
        self.cases = frozenset(cases)
        self._folded: dict[str, str | None] | None = None

    def find(self, written: str) -> str | None:
        """The id that ``written`` means, or None where none or several fit."""
        if written in self.cases:
            return written
        table = self._table()
        key = folded(written)
        return table.get(key) or table.get(folded(_CHANNEL.sub("", written)))

    def nearest(self, written: str) -> str:
        """' Did you mean ...?' for the nearest id, or the empty string."""
        table = self._table()
        close = difflib.get_close_matches(folded(written), list(table)[:20_000], n=1, cutoff=0.6)
        case = table[close[0]] if close else None
        return f" Did you mean {case!r}?" if case else ""

    def alike(self, written: str) -> frozenset[str]:
        """Every id that ``written`` may mean; several where they differ in punctuation alone."""
        keys = {folded(written), folded(_CHANNEL.sub("", written))} & self._table().keys()
        if not keys:
            return frozenset()
        return frozenset(case for case in self.cases if folded(case) in keys)

    def _table(self) -> dict[str, str | None]:
        if self._folded is None:
            self._folded = {}
            for case in sorted(self.cases):
                key = folded(case)
                self._folded[key] = None if key in self._folded else case
        return self._folded
