"""What became of every entry of a track, in one small table."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from segtrial.cli.console import stdout

if TYPE_CHECKING:
    from segtrial.contracts.result import Results


def print_summary(results: Results) -> None:
    """Print how many cases of each entry are ok, failed and not run."""
    table = Table(title=f"{results.dataset.id} {results.dataset.version} / {results.track.id}")
    table.add_column("submission")
    table.add_column("verdict")
    for heading in ("ok", "failed", "not run"):
        table.add_column(heading, justify="right")
    by_case = {
        (record.submission, record.case): record.outcome.split(":")[0]
        for record in results.records
        if record.outcome != "unsupported"
    }
    for row in results.submissions:
        count = Counter(kind for (submission, _), kind in by_case.items() if submission == row.id)
        table.add_row(
            escape(row.id),
            row.verdict,
            *(str(count[kind]) for kind in ("ok", "failed", "not_run")),
        )
    stdout().print(table)
