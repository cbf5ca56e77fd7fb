"""Commands that run containers: run, check, demo; and status, which reads a store."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from segtrial.cli.console import PANEL_RUN, print_json, stderr, stdout
from segtrial.cli.grants import parse_grants
from segtrial.cli.options import (
    STORE,
    BuildNetworkOption,
    DatasetOption,
    GpuOption,
    GrantOption,
    SlotsOption,
    StoreOption,
    TrackOption,
)
from segtrial.cli.summary import print_summary
from segtrial.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(rich_help_panel=PANEL_RUN)(run)
    app.command(rich_help_panel=PANEL_RUN)(check)
    app.command(rich_help_panel=PANEL_RUN)(demo)
    app.command(rich_help_panel=PANEL_RUN)(status)
    app.command(rich_help_panel=PANEL_RUN)(init)


def run(
    submissions: Annotated[
        list[str], typer.Argument(help="Folders with a submission.yaml, or ids of shipped models.")
    ],
    dataset: DatasetOption,
    *,
    track: TrackOption = None,
    cases: Annotated[
        int | None,
        typer.Option("--cases", "-n", min=1, help="Only the first N cases, as a trial track."),
    ] = None,
    store: StoreOption = STORE,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to write results.json.")
    ] = None,
    slots: SlotsOption = None,
    gpu: GpuOption = None,
    grant: GrantOption = None,
    build: Annotated[
        bool, typer.Option("--build", help="Build strangers' Dockerfiles, too.")
    ] = False,
    build_network: BuildNetworkOption = False,
    budget_h: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Hours that a submission may hold GPUs (slots) on the track, over all its runs; "
            "only final attempts count, no fault of the platform.",
        ),
    ] = None,
    images_gib: Annotated[
        float,
        typer.Option(
            min=0,
            help="Disk that submissions' images may take; the longest unused ones are removed.",
        ),
    ] = 200,
) -> None:
    """Run submissions on a track, sealed off, and score what they wrote.

    What is final is never run again: after an interruption, the same command goes on.
    """
    from segtrial.cli.progress import RunProgress  # noqa: PLC0415 - quick --help
    from segtrial.pipeline.session import RunRequest, run_track  # noqa: PLC0415

    with _stopping() as stop, RunProgress(stderr()) as watcher:
        path, results = run_track(
            RunRequest(
                submissions=tuple(submissions),
                dataset=dataset,
                track=track,
                first_cases=cases,
                store=store,
                out=out,
                slots=slots,
                gpus=tuple(one for one in gpu if one != "none") if gpu else None,
                grant=parse_grants(grant or []),
                build=build,
                build_network=build_network,
                budget_h=budget_h,
                images_gib=images_gib,
            ),
            watcher=watcher,
            stop=stop,
        )
    print_summary(results)
    stdout().print(f"results: {escape(str(path))}", soft_wrap=True)


def check(
    submission: Annotated[Path, typer.Argument(help="Folder with your submission.yaml.")],
    *,
    dataset: DatasetOption = "phantom",
    case: Annotated[str | None, typer.Option(help="Case to run; the first by default.")] = None,
    grant: GrantOption = None,
    build_network: BuildNetworkOption = False,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Try a submission on one case, exactly as the real run would, and say what came of it.

    Builds a Dockerfile where the submission comes as one. Exit code 0: the real run accepts it;
    1: it would not, and the output says why.
    """
    from segtrial.cli.checking import print_check  # noqa: PLC0415 - quick --help
    from segtrial.cli.progress import RunProgress  # noqa: PLC0415
    from segtrial.pipeline.check import check_submission  # noqa: PLC0415

    with _stopping() as stop, RunProgress(stderr()) as watcher:
        checked = check_submission(
            submission,
            dataset=dataset,
            case=case,
            grant=parse_grants(grant or []),
            build_network=build_network,
            watcher=watcher,
            stop=stop,
        )
    if json_:
        print_json(checked.as_dict())
    else:
        print_check(checked)
    if not checked.accepted:
        raise typer.Exit(1)


def demo(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the store and the board.")] = Path(
        "segtrial-demo"
    ),
    slots: SlotsOption = None,
) -> None:
    """Run the shipped models on the embedded dataset, in real containers, and make a board.

    Run again, it does only what is left.
    """
    from segtrial.cli.progress import RunProgress  # noqa: PLC0415 - quick --help
    from segtrial.pipeline.demo import run_demo  # noqa: PLC0415

    with _stopping() as stop, RunProgress(stderr()) as watcher:
        made = run_demo(out, slots=slots, watcher=watcher, stop=stop)
    print_summary(made.results)
    console = stdout()
    console.print(f"results: {escape(str(made.results_path))}", soft_wrap=True)
    console.print(f"board:   {escape(str(made.board))}  (open it in a browser)", soft_wrap=True)


def status(
    store: Annotated[Path, typer.Argument(help="Folder that `evaluate run --store` used.")] = STORE,
    *,
    author: Annotated[
        str | None,
        typer.Option(help="Print only what the author of this submission may be told."),
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show what a store holds: how far each submission is on each track."""
    from segtrial.pipeline.results import store_status  # noqa: PLC0415 - quick --help

    rows = store_status(store)
    if author is not None:
        _tell_author(author, rows)
        return
    if json_:
        print_json(rows)
        return
    table = Table("track", "submission", "final", "outcomes")
    for row in rows:
        outcomes = ", ".join(f"{count} {name}" for name, count in row["outcomes"].items())
        table.add_row(
            escape(row["track"]),
            escape(row["submission"]),
            f"{row['final']}/{row['cases']}",
            escape(outcomes),
        )
    stdout().print(table)


def _tell_author(submission: str, rows: list[dict[str, Any]]) -> None:
    """Verdicts of ours, counted: no case, no order, no time, no byte of an output or a log."""
    from segtrial.policy.disclosure import run_summary  # noqa: PLC0415 - quick --help

    told = [row for row in rows if row["submission"] == submission]
    if not told:
        known = ", ".join(sorted({row["submission"] for row in rows})) or "none"
        raise UsageError(
            f"--author {submission}: the store has no such submission; it has {known}."
        )
    for row in told:
        summary = run_summary(Counter(row["outcomes"]).elements())
        stdout().print(f"{submission} on {row['track']}", markup=False, soft_wrap=True)
        stdout().print(str(summary), markup=False, highlight=False, soft_wrap=True)


def init(
    folder: Annotated[Path, typer.Argument(help="A folder that does not exist yet.")],
) -> None:
    """Copy the submission template to start a model from."""
    from segtrial.pipeline.check import copy_template  # noqa: PLC0415 - quick --help

    copy_template(folder)
    stdout().print(
        f"{escape(str(folder))} is ready: edit segment() in predict.py, say in submission.yaml "
        f"what its labels mean, then run `evaluate check {escape(str(folder))}`.",
        soft_wrap=True,
    )


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """An event that SIGINT, SIGTERM and a lost terminal set; a second one ends it the hard way."""
    stop = threading.Event()

    def ask(number: int, _frame: object) -> None:
        if stop.is_set():
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        stop.set()
        with suppress(OSError):  # the terminal may be what was lost
            stderr().print("stopping: killing containers, keeping everything that is final")

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # else started by nohup: go on
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, ask) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
