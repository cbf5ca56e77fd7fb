"""What a run tells whoever watches it: facts, no formatting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from segtrial.contracts.attempt import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseDone:
    """One case of one submission has its outcome."""

    submission: str
    number: int
    """How many of the cases are done, this one included."""
    total: int
    outcome: Outcome
    time_s: float | None
    reason: str = ""
    kept: bool = False
    """It was final already; nothing was run."""


class Watcher(Protocol):
    """Whoever watches a run."""

    def step(self, text: str) -> None:
        """A step begins; one line."""

    def work(self, what: str, *, done: int, total: int) -> None:
        """Progress of the step that was announced last."""

    def case(self, event: CaseDone) -> None:
        """A case is done."""


class Silent:
    """A watcher that looks away."""

    def step(self, text: str) -> None:
        """Ignore it."""

    def work(self, what: str, *, done: int, total: int) -> None:
        """Ignore it."""

    def case(self, event: CaseDone) -> None:
        """Ignore it."""
