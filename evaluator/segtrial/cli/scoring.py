"""Scores without a container: two label maps in, every metric out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from segtrial.cli.console import PANEL_SCORES, print_json, stderr, stdout
from segtrial.cli.options import STORE, DatasetOption, StoreOption, TrackOption
from segtrial.cli.summary import print_summary
from segtrial.errors import UsageError

if TYPE_CHECKING:
    from segtrial.metrics import DetectionMetrics, StructureMetrics
    from segtrial.scans import LabelMapPair

_UNBOUNDED, _UNDEFINED = "∞", "-"


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
    tolerance_mm: Annotated[
        list[str] | None,
        typer.Option(help="[NAME=]MM: tolerance of NSD, of one structure or of all; 2 by default."),
    ] = None,
    percentile: Annotated[
        list[float] | None, typer.Option(help="Percentile of HDp; 95 by default.")
    ] = None,
    ignore: Annotated[
        list[int] | None,
        typer.Option(help="Label of the reference where nobody is scored, such as 255."),
    ] = None,
    lesions: Annotated[
        bool, typer.Option("--lesions", help="Match each structure's lesions one to one, too.")
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Score one label map against another: Dice, IoU, NSD, HD, HD95, ASSD, MASD and more.

    Label 0 is background. Distances are exact, on the marching-cubes surface at true spacing;
    docs/metrics.md states every definition. --json has all values, and what decided each.
    """
    from segtrial import scans  # noqa: PLC0415 - quick --help
    from segtrial.metrics import evaluate_label_maps  # noqa: PLC0415

    structures = _structures(label) if label else None
    tolerances = _tolerances(tolerance_mm or ["2"], structures)
    pair = scans.read_label_maps(reference, prediction)
    measured = evaluate_label_maps(
        pair.reference.labels,
        pair.prediction.labels,
        spacing_mm=pair.reference.grid.spacing_mm,
        structures=structures,
        tolerances_mm=tolerances,
        percentiles=percentile or (95.0,),
        ignore_labels=ignore or (),
    )
    detected = _lesions(pair, measured, structures, ignore or ()) if lesions else {}
    if json_:
        print_json(_document(measured, detected))
        return
    if not measured:
        stdout().print("Neither label map has a label other than 0.")
        return
    _print_metrics(measured)
    if detected:
        _print_lesions(detected)


def _lesions(
    pair: LabelMapPair,
    measured: Mapping[str, StructureMetrics],
    structures: Mapping[str, tuple[int, ...]] | None,
    ignored: Sequence[int],
) -> dict[str, DetectionMetrics]:
    from segtrial.metrics import evaluate_detection  # noqa: PLC0415 - quick --help

    return {
        name: evaluate_detection(
            pair.reference.labels,
            pair.prediction.labels,
            spacing_mm=pair.reference.grid.spacing_mm,
            labels=structures[name] if structures else int(name),
            ignore_labels=ignored,
        )
        for name in measured
    }


def _document(
    measured: Mapping[str, StructureMetrics], detected: Mapping[str, DetectionMetrics]
) -> dict[str, Any]:
    structures = {
        name: {
            **record.as_dict(),
            **(detected[name].as_dict() if name in detected else {}),
        }
        for name, record in measured.items()
    }
    lines = {
        name: {**record.signatures, **(detected[name].signatures if name in detected else {})}
        for name, record in measured.items()
    }
    return {"structures": structures, "signatures": _signatures(lines)}


def _signatures(by_structure: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Signature of each metric; one that differs between structures as ``structure.metric``."""
    found: dict[str, str] = {}
    for key in dict.fromkeys(key for lines in by_structure.values() for key in lines):
        given = {name: lines[key] for name, lines in by_structure.items() if key in lines}
        if len(set(given.values())) == 1:
            found[key] = next(iter(given.values()))
        else:
            found |= {f"{name}.{key}": line for name, line in given.items()}
    return found


def _print_metrics(measured: Mapping[str, StructureMetrics]) -> None:
    values = {name: record.as_dict() for name, record in measured.items()}
    keys = list(dict.fromkeys(key for each in values.values() for key in each if _is_shown(key)))
    table = _table("structure", *keys)
    for name, each in values.items():
        table.add_row(escape(name), *(_number(each[key]) if key in each else "" for key in keys))
    stdout().print(table)
    shown = [each[key] for each in values.values() for key in keys if key in each]
    states = {value["state"] for value in shown if isinstance(value, dict)}
    words = ["HD, ASSD and MASD in mm."]
    if "unbounded" in states:
        words.append(f"{_UNBOUNDED}: one side does not have the structure.")
    if "undefined" in states:
        words.append(f"{_UNDEFINED}: neither side has the structure.")
    stdout().print(f"[dim]{' '.join(words)}[/]")


def _print_lesions(detected: Mapping[str, DetectionMetrics]) -> None:
    table = _table(
        "structure", "found", "missed", "spurious", "precision", "recall", "f1", "lesion dice"
    )
    for name, one in detected.items():
        scores = (one.as_dict()[f"lesion_{key}"] for key in ("precision", "recall", "f1", "dice"))
        counts = (str(count) for count in (one.found, one.missed, one.spurious))
        table.add_row(escape(name), *counts, *map(_number, scores))
    stdout().print(table)
    stdout().print("[dim]Lesions are connected components, matched at an IoU of 0.1 or more.[/]")


def _table(name: str, *numbers: str) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column(name, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _is_shown(key: str) -> bool:
    """Keys worth a column: HD and NSD of every kind that was asked for, but not pooled."""
    plain = key in ("dice", "iou", "assd", "masd")
    return plain or (key.startswith(("hd", "nsd")) and not key.endswith("_pooled"))


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
    found: dict[str, tuple[int, ...]] = {}
    for word in words:
        name, _, ids = word.partition("=")
        if name in found:
            raise UsageError(
                f"--label {word}: {name} was given before. Name all its labels at once, such as "
                "kidney=2,3."
            )
        try:
            found[name] = tuple(int(part) for part in ids.split(","))
        except ValueError:
            raise UsageError(
                f"--label {word}: write it as NAME=ID or NAME=ID,ID, such as kidney=2,3."
            ) from None
    return found


def _tolerances(
    words: list[str], structures: Mapping[str, tuple[int, ...]] | None
) -> tuple[float, ...] | dict[str, tuple[float, ...]]:
    """Tolerances of all structures, or of each where one is named."""
    of_all: list[float] = []
    of_one: dict[str, list[float]] = {}
    for word in words:
        name, _, number = word.rpartition("=")
        try:
            (of_one.setdefault(name, []) if name else of_all).append(float(number))
        except ValueError:
            raise UsageError(
                f"--tolerance-mm {word}: write it as MM or NAME=MM, such as 2 or kidney=1.5."
            ) from None
    if not of_one:
        return tuple(of_all)
    if structures is None:
        raise UsageError(
            f"--tolerance-mm {next(iter(of_one))}=... names a structure. Name its labels too, by "
            "--label."
        )
    default = of_all or [2.0]
    return {name: tuple(of_one.get(name, default)) for name in (*structures, *of_one)}


def _number(value: Any) -> str:  # noqa: ANN401 - a number or a state
    if isinstance(value, dict):
        return _UNBOUNDED if value["state"] == "unbounded" else _UNDEFINED
    return f"{value:.3f}"
