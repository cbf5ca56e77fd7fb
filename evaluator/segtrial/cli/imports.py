"""``evaluate import``: published scores of earlier benchmarks become results of ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segtrial.cli.console import PANEL_SCORES, print_json, stderr, stdout

if TYPE_CHECKING:
    from segtrial.imports import Imported

group = typer.Typer(
    no_args_is_help=True, help="Turn published scores of earlier benchmarks into results."
)

Output = Annotated[
    Path, typer.Option("--output", "-o", help="Folder for DATASET-TRACK.json, analysed.")
]
AsJson = Annotated[bool, typer.Option("--json", help="For a program.")]


def register(app: typer.Typer) -> None:
    """Add the group to the command line."""
    app.add_typer(group, name="import", rich_help_panel=PANEL_SCORES)


@group.command("segbench")
def segbench(
    file: Annotated[Path, typer.Argument(help="A results file of segauge-benchmark.")],
    *,
    output: Output = Path(),
    as_json: AsJson = False,
) -> None:
    """Import a results file of segauge-benchmark."""
    from segtrial.imports import import_segbench  # noqa: PLC0415 - loads NumPy

    _finish((import_segbench(file),), output, as_json=as_json)


@group.command("touchstone")
def touchstone(
    folder: Annotated[Path, typer.Argument(help="A copy of Touchstone's repository.")],
    *,
    metadata: Annotated[
        Path | None, typer.Option(help="Table of the cases, for slices: metaTotalSeg.csv.")
    ] = None,
    output: Output = Path(),
    as_json: AsJson = False,
) -> None:
    """Import the per-case scores of Touchstone."""
    from segtrial.imports import import_touchstone  # noqa: PLC0415 - loads NumPy

    _finish(import_touchstone(folder, metadata=metadata), output, as_json=as_json)


def _finish(imported: tuple[Imported, ...], output: Path, *, as_json: bool) -> None:
    from segtrial.pipeline.results_file import write_results  # noqa: PLC0415 - loads NumPy
    from segtrial.statistics import analyse_results  # noqa: PLC0415 - as above

    written = []
    for one in imported:
        results = analyse_results(one.results)
        path = output / f"{results.dataset.id}-{results.track.id}.json"
        write_results(results, path)
        written.append({"output": str(path), "notes": list(one.notes)})
        if not as_json:
            for note in one.notes:
                stderr().print(f"note: {note}", markup=False, soft_wrap=True)
            stdout().print(str(path), markup=False, soft_wrap=True)
    if as_json:
        print_json(written)
