"""How a check is shown: the outcome first, then what it rests on."""

from __future__ import annotations

from typing import Any

from rich.markup import escape
from rich.table import Table

from segtrial.cli.console import stdout
from segtrial.pipeline.check import Checked

_SHOWN = ("dice", "nsd", "hd95", "assd")


def print_check(checked: Checked) -> None:
    """Print a check for the author of the submission."""
    console = stdout()
    if checked.accepted:
        console.print(
            f"[bold green]accepted[/]: {escape(checked.submission)} ran on case "
            f"{escape(checked.case)} of {escape(checked.dataset)}{_used(checked)}"
        )
        if checked.metrics:
            console.print(_scores(checked))
        else:
            console.print("Nothing was scored: the sample has none of the declared structures.")
    else:
        console.print(
            f"[bold red]not accepted[/]: {escape(checked.outcome)}{_used(checked)}", soft_wrap=True
        )
        console.print(str(checked.reason), markup=False, soft_wrap=True)
    if checked.log is None:
        console.print(
            f"What the container printed is not shown: the references of {escape(checked.dataset)} "
            "are not public. Check on a public dataset, such as phantom, to see it.",
            soft_wrap=True,
        )
    elif str(checked.log):
        console.print("\n[dim]what your container printed last:[/]")
        console.print(str(checked.log), markup=False, highlight=False, soft_wrap=True)
    if checked.verdict != "clean":
        console.print(f"\ntraining data: {checked.verdict}; it would be shown and not ranked.")
        for sentence in checked.evidence:
            console.print(f"  {escape(sentence)}", soft_wrap=True)


def _used(checked: Checked) -> str:
    parts = []
    if checked.time_s is not None:
        parts.append(f"{checked.time_s:.2f} s")
    if checked.peak_memory_mib is not None:
        parts.append(f"{checked.peak_memory_mib:.0f} MiB at most")
    return f" ({', '.join(parts)})" if parts else ""


def _scores(checked: Checked) -> Table:
    table = Table("structure", *_SHOWN)
    for structure, metrics in checked.metrics.items():
        if "specificity" in metrics:
            volume = metrics["false_positive_ml"]
            table.add_row(structure, "[dim]absent here[/]", f"{volume:.1f} ml predicted")
        else:
            table.add_row(structure, *(_number(metrics.get(key)) for key in _SHOWN))
    return table


def _number(value: Any) -> str:  # noqa: ANN401 - a number or a state
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else "unbounded"
