"""``evaluate datasets``: what data there are, where they come from, and what is in them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from segtrial.cli import dataset_files
from segtrial.cli.console import PANEL_DATA, print_json, stderr, stdout

group = typer.Typer(no_args_is_help=True, help="Datasets: list, show, fetch, verify, make.")


def register(app: typer.Typer) -> None:
    """Add the group to the command line."""
    dataset_files.add_to(group)
    app.add_typer(group, name="datasets", rich_help_panel=PANEL_DATA)


@group.command("list")
def list_datasets(
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Also datasets that only occur in lineages.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For a program.")] = False,
) -> None:
    """List the datasets of the catalogue with their tracks."""
    from segtrial.datasets import list_cards, load_nodes  # noqa: PLC0415 - read when asked for

    cards, nodes = list_cards(), load_nodes() if everything else ()
    if as_json:
        rows: list[dict[str, object]] = [
            {"id": card.id, "title": card.title, "aliases": list(card.aliases),
             "tracks": [track.id for track in card.tracks]}
            for card in cards
        ]  # fmt: skip
        rows += [
            {"id": node.id, "title": node.title, "aliases": list(node.aliases), "tracks": []}
            for node in nodes
        ]
        print_json(rows)
        return
    from rich.table import Column, Table  # noqa: PLC0415 - drawn when asked for

    ids = [Column(name, no_wrap=True) for name in ("id", "tracks", "references")]
    words = [Column(name, overflow="fold") for name in ("title", "licence")]
    table = Table(*ids, *words, box=None, pad_edge=False)
    for card in cards:
        tracks = "\n".join(track.id for track in card.tracks)
        table.add_row(card.id, tracks, card.references, card.title, card.licence.name)
    for node in nodes:
        table.add_row(node.id, "", "", node.title, node.licence or "", style="dim")
    stdout().print(table)


@group.command("show")
def show(
    dataset: Annotated[str, typer.Argument(help="Id or alias, or a folder with card.yaml.")],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="The whole card, for a program.")] = False,
) -> None:
    """Show a dataset's card: terms, sources, labels, tracks, and where its images also are."""
    from segtrial.cli.dataset_page import node_page, page  # noqa: PLC0415 - read when asked for
    from segtrial.datasets import find_node, load_card  # noqa: PLC0415 - as above

    node = find_node(dataset)
    card = None if node else load_card(dataset)
    if as_json:
        print_json((node or card).model_dump(mode="json"))  # type: ignore[union-attr] # one is there
        return
    for line in node_page(node) if node else page(card):  # type: ignore[arg-type] # as above
        stdout().print(line, markup=False, soft_wrap=True)


@group.command("structures")
def list_structures(
    *, as_json: Annotated[bool, typer.Option("--json", help="For a program.")] = False
) -> None:
    """List the canonical structures with their SNOMED CT codes."""
    from segtrial.contracts.structures import STRUCTURES  # noqa: PLC0415 - read when asked for

    if as_json:
        print_json([one._asdict() for one in STRUCTURES.values()])
        return
    from rich.table import Table  # noqa: PLC0415 - drawn when asked for

    table = Table("structure", "SNOMED CT", "meaning", box=None, pad_edge=False)
    for one in STRUCTURES.values():
        table.add_row(one.name, one.snomed_code or "", one.snomed_meaning or "")
    stdout().print(table)


@group.command("make")
def make(
    folder: Annotated[Path, typer.Argument(help="New folder to write.")],
    *,
    dataset_id: Annotated[str, typer.Option("--id", help="Id of the dataset.")],
    case: Annotated[
        list[str], typer.Option("--case", help="CASE=SCAN,REFERENCE; once for each case.")
    ],
    labels: Annotated[
        str,
        typer.Option(help="A YAML file {id: structure}, or the id of a known model or dataset."),
    ],
    title: Annotated[str, typer.Option(help="Title of the dataset.")] = "",
    modality: Annotated[str, typer.Option(help="ct, mr, pet or us.")] = "ct",
    licence: Annotated[str, typer.Option(help="Licence of the data.")] = "not stated",
) -> None:
    """Make a dataset folder from NIfTI files: linked or copied, never converted."""
    from segtrial.datasets.label_presets import labels_of  # noqa: PLC0415 - read when asked for
    from segtrial.datasets.making import make_dataset, parse_case  # noqa: PLC0415 - as above

    card = make_dataset(
        folder,
        dataset_id=dataset_id,
        title=title or dataset_id,
        cases=[parse_case(text) for text in case],
        labels=labels_of(labels),
        modality=modality,
        licence=licence,
    )
    stderr().print(
        f"{folder}: {len(case)} cases, track {card.id}/all with "
        f"{len(card.tracks[0].structures)} structures."
    )
