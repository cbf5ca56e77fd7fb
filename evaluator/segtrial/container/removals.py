"""Things to be removed, newest first, and again later if they would not go."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from segtrial.container.engine import ENGINE_FAULTS, explanation

Removal = tuple[str, Callable[[], object]]
"""What it is, and how to remove it; removing what is gone is no error."""


@dataclass(slots=True)
class Removals:
    """A list of things to remove, safe to share between threads."""

    _waiting: list[Removal] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, what: str, remove: Callable[[], object]) -> None:
        """Remember a thing, as soon as it may exist."""
        with self._lock:
            self._waiting.append((what, remove))

    def run(self) -> list[str]:
        """Remove all; returns what would not go and why. That stays on the list."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        failed: dict[str, str] = {}
        for what, remove in reversed(waiting):
            try:
                remove()
            except (*ENGINE_FAULTS, OSError) as error:
                failed[what] = f"{what}: {explanation(error)}"
        for what, remove in waiting:
            if what in failed:
                self.add(what, remove)
        return list(failed.values())

    def hand_over(self, to: Removals) -> None:
        """Give what is left to another list."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for what, remove in waiting:
            to.add(what, remove)
