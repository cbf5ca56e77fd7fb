"""The track in one small table: who ranks where, and what became of every entry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich import box
from rich.markup import escape
from rich.table import Table

from segtrial.cli.console import stdout

if TYPE_CHECKING:
    from segtrial.contracts.result import Results


def print_summary(results: Results) -> None:
    """Print rank, mean and interval of each entry, best first, and how many cases are not ok."""
    title, metric, ranking = _headline(results.analysis)
    table = Table(
        title=f"{results.dataset.id} {results.dataset.version} / {results.track.id}",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=True,
    )
    table.add_column("rank", no_wrap=True)
    table.add_column("submission", overflow="fold")
    table.add_column(metric, justify="right")
    table.add_column("95 % interval", no_wrap=True)
    for heading in ("ok", "failed", "not run"):
        table.add_column(heading, justify="right")
    table.add_column("verdict")
    verdicts = {row.id: row.verdict for row in results.submissions}
    counts = _counts(results)
    for submission, cells in _rows(verdicts, ranking):
        table.add_row(
            *cells[:1],
            escape(submission),
            *cells[1:],
            *(str(counts[submission, kind]) for kind in ("ok", "failed", "not_run")),
            verdicts[submission],
        )
    console = stdout()
    console.print(table)
    if title:
        console.print(title, markup=False, highlight=False, soft_wrap=True)


def _headline(analysis: dict[str, Any]) -> tuple[str, str, list[dict[str, Any]]]:
    """What the table ranks by: Dice of the macro-average, or the first bounded metric there is."""
    for structure in sorted(analysis, key=lambda name: name != "macro_average"):
        metrics = analysis[structure]
        for metric in sorted(metrics, key=lambda name: name != "dice"):
            found = metrics[metric]
            if found["ranking"] and "mean" in found["ranking"][0]:
                name = structure.replace("_", " ")
                title = f"Ranked by {metric}, {name}, over {found['n']} patients."
                return title, metric, found["ranking"]
    return "", "mean", []


def _rows(
    submissions: dict[str, Any], ranking: list[dict[str, Any]]
) -> Iterator[tuple[str, tuple[str, str, str]]]:
    for row in ranking:
        yield row["submission"], (_rank(row["rank_interval"]), _number(row["mean"]), _interval(row))
    for submission in sorted(submissions.keys() - {row["submission"] for row in ranking}):
        yield submission, ("-", "", "not ranked")


def _rank(interval: list[int]) -> str:
    low, high = interval
    return str(low) if low == high else f"{low}-{high}"


def _number(value: float | dict[str, str]) -> str:
    return f"{value:.3f}" if isinstance(value, (int, float)) else _state(value)


def _interval(row: dict[str, Any]) -> str:
    ends = row["interval"]
    return _state(ends) if isinstance(ends, dict) else " to ".join(_number(end) for end in ends)


def _state(value: dict[str, str]) -> str:
    return value.get("reason", value["state"])


def _counts(results: Results) -> Counter[tuple[str, str]]:
    by_case = {
        (record.submission, record.case): record.outcome.split(":")[0]
        for record in results.records
        if record.outcome != "unsupported"
    }
    return Counter((submission, kind) for (submission, _), kind in by_case.items())
