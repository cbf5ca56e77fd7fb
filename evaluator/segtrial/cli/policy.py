"""``evaluate policy``: who may be ranked on what, and why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from segtrial.cli.console import PANEL_DATA, print_json, stdout
from segtrial.errors import UsageError

if TYPE_CHECKING:
    from segtrial.datasets.eligibility import DatasetAnswer
    from segtrial.policy.contamination import EvidencePath, Judgement

_STYLE = {
    "clean": "green",
    "partial": "yellow",
    "contaminated": "red",
    "images_only": "magenta",
    "unknown": "dim",
}
_LETTER = {"clean": ".", "partial": "P", "contaminated": "C", "images_only": "I", "unknown": "?"}


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("policy", rich_help_panel=PANEL_DATA)(policy)


def policy(
    submission: Annotated[
        str,
        typer.Argument(
            help="Submission folder or file, or the id of a known model; "
            "'matrix' draws all known models against all datasets."
        ),
    ],
    *,
    dataset: Annotated[
        str | None, typer.Option(help="Dataset id or alias, or a folder with card.yaml.")
    ] = None,
    track: Annotated[str | None, typer.Option(help="Only this track.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For a program.")] = False,
) -> None:
    """Say on which tracks of a dataset a submission may be ranked, with the evidence."""
    if submission == "matrix":
        _matrix(as_json=as_json)
        return
    if dataset is None:
        raise UsageError("Name the dataset with --dataset; 'evaluate datasets list' shows them.")
    found = _answer(submission, dataset, track)
    if as_json:
        print_json(found.as_json())
    else:
        _show(found)


def _answer(submission: str, dataset: str, track: str | None) -> DatasetAnswer:
    from segtrial.datasets import eligibility, load_card  # noqa: PLC0415 - read when asked for

    card = load_card(dataset)
    return eligibility.answer(
        eligibility.find_entry(submission),
        card,
        dataset=eligibility.dataset_here(dataset, card),
        track=track,
    )


def _show(found: DatasetAnswer) -> None:
    from rich.markup import escape  # noqa: PLC0415 - drawn when asked for
    from rich.padding import Padding  # noqa: PLC0415 - as above
    from rich.table import Table  # noqa: PLC0415 - as above

    out = stdout()
    verdict = found.overall.verdict
    out.print(
        f"{escape(found.entry.name)} on {escape(found.card.title)}: [{_STYLE[verdict]}]{verdict}[/]"
        f"  (declared by {found.entry.declared_by}; references are {found.card.references})"
    )
    table = Table("track", "verdict", "ranked", "cases", box=None, pad_edge=False)
    for track, judged in found.tracks.items():
        table.add_row(track, *_row(judged))
    out.print(table)
    if not found.overall.paths:
        out.print("No path leads from what is declared to these cases.")
    for number, path in enumerate(found.overall.paths, start=1):
        out.print(f"\n[bold]{number}.[/] {escape(_headline(path))}")
        for step in path.steps:
            said = f"{escape(step.sentence)}  [dim]({step.confidence} confidence)[/]"
            if out.is_terminal:
                out.print(Padding(said, (0, 0, 0, 3)))  # a long sentence stays below its beginning
            else:
                out.print(f"   {said}", soft_wrap=True)
            for link in step.evidence:
                out.print(f"     [dim]{escape(link)}[/]", soft_wrap=True)


def _row(judged: Judgement) -> tuple[str, str, str]:
    counts = ", ".join(f"{count} {name}" for name, count in judged.counts.items() if count)
    return (
        f"[{_STYLE[judged.verdict]}]{judged.verdict}[/]",
        "yes" if judged.ranked else "no",
        counts,
    )


def _headline(path: EvidencePath) -> str:
    some = f", at least {path.least} of them took part" if path.least else ""
    counted = "1 case is" if path.cases == 1 else f"{path.cases} cases are"
    return f"{counted} {path.eligibility}{some}:"


def _matrix(*, as_json: bool) -> None:
    from segtrial.datasets.eligibility import matrix  # noqa: PLC0415 - read when asked for

    found = matrix()
    if as_json:
        print_json(
            {
                model: {track: judged.verdict for track, judged in row.items()}
                for model, row in found.items()
            }
        )
        return
    _draw(found)


def _draw(found: dict[str, dict[str, Judgement]]) -> None:
    out = stdout()
    tracks = list(next(iter(found.values()), {}))
    for number, track in enumerate(tracks, start=1):
        out.print(f"{number:>3} {track}")
    width = max((len(model) for model in found), default=0)
    numbers = " ".join(f"{number:>2}" for number in range(1, len(tracks) + 1))
    out.print(f"{'':{width}} {numbers}", soft_wrap=True)
    for model, row in found.items():
        cells = " ".join(
            f" [{_STYLE[judged.verdict]}]{_LETTER[judged.verdict]}[/]" for judged in row.values()
        )
        out.print(f"{model:<{width}} {cells}", soft_wrap=True)
    out.print("\n. clean  P partial  C contaminated  I images_only  ? unknown; ranked where clean")
