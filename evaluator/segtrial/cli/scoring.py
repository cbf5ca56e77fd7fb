"""Scores without a container: two label maps in, every metric out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from segtrial.cli.console import PANEL_SCORES, print_json, stderr, stdout
from segtrial.cli.options import STORE, DatasetOption, StoreOption, TrackOption
from segtrial.cli.summary import print_summary
from segtrial.errors import UsageError

_SHOWN = ("dice", "iou", "nsd", "hd", "hd95", "assd", "masd")


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(rich_help_panel=PANEL_SCORES)(metrics)
    app.command(rich_help_panel=PANEL_SCORES)(score)


def metrics(
    reference: Annotated[Path, typer.Argument(help="Label map of the annotators.")],
    prediction: Annotated[Path, typer.Argument(help="Label map to score, on the same grid.")],
    *,
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label", "-l", help="NAME=ID[,ID...]: a structure and its labels; all by default."
        ),
    ] = None,
    tolerance_mm: Annotated[float, typer.Option(help="Tolerance of NSD in mm.")] = 2.0,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Score one label map against another: Dice, IoU, NSD, HD, HD95, ASSD, MASD and more.

    Label 0 is background. Distances are exact, on the marching-cubes surface at true spacing;
    docs/metrics.md states every definition.
    """
    from segtrial import scans  # noqa: PLC0415 - quick --help
    from segtrial.metrics import evaluate_label_maps  # noqa: PLC0415

    expected = scans.read_label_map(reference)
    got = scans.read_label_map(prediction, grid=expected.grid)
    maps = [scans.to_canonical(m) for m in (expected, got)]
    measured = evaluate_label_maps(
        maps[0].labels,
        maps[1].labels,
        spacing_mm=maps[0].grid.spacing_mm,
        structures=_structures(label) if label else None,
        tolerances_mm=(tolerance_mm,),
    )
    found = {name: record.as_dict() for name, record in measured.items()}
    if json_:
        first = next(iter(measured.values()), None)
        print_json({"structures": found, "signatures": dict(first.signatures) if first else {}})
        return
    table = Table("structure", *_SHOWN)
    for name, values in found.items():
        table.add_row(escape(name), *(_number(values[key]) for key in _SHOWN))
    stdout().print(table)


def score(
    predictions: Annotated[Path, typer.Argument(help="Folder with one CASE.nii.gz per case.")],
    *,
    submission: Annotated[
        str,
        typer.Option("--submission", "-s", help="Folder whose submission.yaml says what it is."),
    ],
    dataset: DatasetOption,
    track: TrackOption = None,
    store: StoreOption = STORE,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to write results.json.")
    ] = None,
) -> None:
    """Score predictions that exist already: no container, no engine.

    The entry stands beside those that were run, marked as not run by anybody. A case without a
    file has failed.
    """
    from segtrial.cli.progress import RunProgress  # noqa: PLC0415 - quick --help
    from segtrial.pipeline.score_files import ScoreRequest, score_predictions  # noqa: PLC0415

    with RunProgress(stderr()) as watcher:
        path, results = score_predictions(
            ScoreRequest(
                predictions=predictions,
                submission=submission,
                dataset=dataset,
                track=track,
                store=store,
                out=out,
            ),
            watcher=watcher,
        )
    print_summary(results)
    stdout().print(f"results: {escape(str(path))}", soft_wrap=True)


def _structures(words: list[str]) -> dict[str, tuple[int, ...]]:
    found = {}
    for word in words:
        name, _, ids = word.partition("=")
        try:
            found[name] = tuple(int(part) for part in ids.split(","))
        except ValueError:
            raise UsageError(
                f"--label {word}: write it as NAME=ID or NAME=ID,ID, such as kidney=2,3."
            ) from None
    return found


def _number(value: Any) -> str:  # noqa: ANN401 - a number or a state
    return f"{value:.3f}" if isinstance(value, float) else str(value["state"])
