"""The command line as a test uses it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Protocol


class Evaluate(Protocol):
    """Runs ``evaluate`` with some words and waits for it."""

    def __call__(
        self, *words: object, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run it."""


def evaluate_in(folder: Path) -> Evaluate:
    """The command, as a user would type it in a folder."""

    def call(*words: object, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "segtrial", *map(str, words)],
            cwd=folder,
            env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200", **(env or {})},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return call
