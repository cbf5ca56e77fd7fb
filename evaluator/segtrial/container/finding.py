"""One thing the doctor found out about a host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["holds", "broken", "untested", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding.

    Attributes
    ----------
    key
        Short name for programs.
    status
        ``holds`` and ``broken`` were measured; ``untested`` could not be; a ``note`` is neither.
    sentence
        What it means, in plain words; for what is broken, also what to do.
    """

    key: str
    status: Status
    sentence: str


def measured(key: str, *, holds: bool, good: str, bad: str) -> Finding:
    """Finding of a measurement with two possible ends."""
    return Finding(key=key, status="holds" if holds else "broken", sentence=good if holds else bad)


def may_rank(findings: tuple[Finding, ...]) -> bool:
    """Whether scores made on this host may be ranked: nothing measured is broken."""
    return all(finding.status != "broken" for finding in findings)
