"""What every command prints with: results on standard output, everything else on standard error."""

from __future__ import annotations

import json
import sys

from rich.console import Console
from rich.markup import escape

from segtrial.errors import SegtrialError

PANEL_RUN = "Run trials"
PANEL_SCORES = "Scores and statistics"
PANEL_PUBLISH = "Show and publish"
PANEL_DATA = "Data and contamination"


def stdout() -> Console:
    """Console for what was asked for."""
    return Console(highlight=False)


def stderr() -> Console:
    """Console for progress, notes and errors."""
    return Console(stderr=True, highlight=False)


def print_json(value: object) -> None:
    """Write one JSON document for a program to read."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def report(error: SegtrialError) -> None:
    """Show an error to a person: message, then where, as its notes say."""
    console = stderr()
    console.print(f"[bold red]error:[/] {escape(str(error))}", soft_wrap=True)
    for note in getattr(error, "__notes__", ()):
        console.print(f"  {escape(note)}", soft_wrap=True)
