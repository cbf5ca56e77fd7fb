"""Commands that show results: the page and its figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segtrial.cli import publishing
from segtrial.cli.console import PANEL_PUBLISH, print_json, stderr, stdout
from segtrial.cli.publishing import lineage

_Json = Annotated[bool, typer.Option("--json", help="Print what was done as JSON.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file, and those that publish."""
    app.command(rich_help_panel=PANEL_PUBLISH)(board)
    app.command(rich_help_panel=PANEL_PUBLISH)(figures)
    app.command(rich_help_panel=PANEL_PUBLISH)(pictures)
    publishing.register(app)


def board(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS...", help="results.json, one for each track."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")] = Path("board"),
    *,
    as_json: _Json = False,
) -> None:
    """Write the public page of one or more tracks: one folder that any disk or server can show."""
    from segtrial.board import read_results, render  # noqa: PLC0415 - only when the command runs

    page = render([read_results(path) for path in results], out, lineage=lineage())
    if as_json:
        print_json({"page": str(page), "tracks": len(results)})
        return
    stdout().print(str(page), soft_wrap=True)
    stderr().print(f"Open it in a browser: {page.resolve().as_uri()}", soft_wrap=True)


def figures(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="results.json of one track.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")] = Path("figures"),
    *,
    structure: Annotated[
        list[str] | None, typer.Option(help="Only this structure; may be given again.")
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(help="Only this metric; may be given again.")
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option("--format", help="svg or png; both by default.")
    ] = None,
    as_json: _Json = False,
) -> None:
    """Write the figures of a track for papers: scores, ranks, verdicts, patients, slices."""
    from segtrial.board import read_results, write_figures  # noqa: PLC0415 - as above
    from segtrial.board.figures import FORMATS  # noqa: PLC0415

    written = write_figures(
        read_results(results),
        out,
        structures=structure or (),
        metrics=metric or (),
        formats=kind or FORMATS,
    )
    if as_json:
        print_json({"files": [str(path) for path in written]})
        return
    stdout().print(str(out), soft_wrap=True)
    stderr().print(f"{len(written)} files.")


def pictures(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="Folder of runs and scores.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write.")] = Path("pictures"),
    *,
    track: Annotated[
        str | None, typer.Option(help="DATASET/TRACK, where a store holds several.")
    ] = None,
    structure: Annotated[
        str | None, typer.Option(help="Structure to look at; the track's first by default.")
    ] = None,
    each: Annotated[int, typer.Option(min=1, max=200, help="How many of each kind.")] = 6,
    as_json: _Json = False,
) -> None:
    """Draw the worst and the disputed cases, for a maintainer's eyes: a page that stays here."""
    from segtrial.pipeline.case_pictures import write_store_pictures  # noqa: PLC0415 - as above

    page, cases = write_store_pictures(store, out, track=track, structure=structure, each=each)
    if as_json:
        print_json({"page": str(page), "cases": cases})
        return
    stdout().print(str(page), soft_wrap=True)
    stderr().print(
        f"{cases} cases. These are patients' scans: keep the folder where the dataset is.",
        soft_wrap=True,
    )
