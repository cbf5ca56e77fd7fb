"""``evaluate doctor``: what this host can and cannot promise."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from segtrial.cli.console import PANEL_RUN, print_json, stderr, stdout
from segtrial.errors import EXIT_NO

if TYPE_CHECKING:
    from segtrial.container.finding import Finding

_MARKS = {
    "holds": "[green]holds[/]",
    "broken": "[bold red]BROKEN[/]",
    "untested": "[yellow]not tested[/]",
    "note": "[dim]note[/]",
}


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("doctor", rich_help_panel=PANEL_RUN)(doctor)


def doctor(
    *, as_json: Annotated[bool, typer.Option("--json", help="For a program.")] = False
) -> None:
    """Measure, by starting containers, which limits this host really keeps.

    Exit code 0: scores made here may be ranked. 1: something does not hold. 4: no engine.
    """
    from segtrial.container.finding import may_rank  # noqa: PLC0415 - loads docker

    findings = tuple(_examine())
    if as_json:
        print_json(
            {
                "schema_version": "segtrial-doctor/1",
                "may_rank": may_rank(findings),
                "findings": [asdict(finding) for finding in findings],
            }
        )
    else:
        _show(findings, ranked=may_rank(findings))
    if not may_rank(findings):
        raise typer.Exit(EXIT_NO)


def _examine() -> list[Finding]:
    from segtrial.container.base_image import ensure_base_image  # noqa: PLC0415 - loads docker
    from segtrial.container.host_check import remember  # noqa: PLC0415 - as above
    from segtrial.container.image_facts import read_image  # noqa: PLC0415 - as above
    from segtrial.container.preflight import examine  # noqa: PLC0415 - as above
    from segtrial.container.sandbox import open_sandbox  # noqa: PLC0415 - as above

    console = stderr()
    with open_sandbox() as sandbox:
        base = ensure_base_image(sandbox.engine, announce=console.print)
        image = read_image(sandbox.engine, base.id, labels=sandbox.owner.labels)
        with console.status("Starting probes ..."):
            findings = list(examine(sandbox, image))
        remember(sandbox, findings)
        return findings


def _show(findings: tuple[Finding, ...], *, ranked: bool) -> None:
    from rich.markup import escape  # noqa: PLC0415 - drawn when asked for
    from rich.table import Table  # noqa: PLC0415 - as above

    table = Table("", "what", "in plain words", box=None, pad_edge=False)
    for finding in findings:
        table.add_row(_MARKS[finding.status], escape(finding.key), escape(finding.sentence))
    out = stdout()
    out.print(table)
    out.print()
    if ranked:
        out.print("[green]Scores made on this host may be ranked.[/]")
    else:
        out.print("[bold red]Scores made on this host must not be ranked.[/] See BROKEN above.")
