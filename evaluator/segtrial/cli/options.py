"""Options that several commands share, spelt once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

STORE = Path("segtrial-store")

DatasetOption = Annotated[
    str, typer.Option("--dataset", "-d", help="Id of a dataset, or a folder with a card.yaml.")
]
StoreOption = Annotated[Path, typer.Option("--store", help="Where everything is kept.")]
TrackOption = Annotated[
    str | None, typer.Option("--track", "-t", help="Track of the dataset; its first by default.")
]
SlotsOption = Annotated[
    int | None,
    typer.Option(
        "--slots", min=1, max=64, help="Attempts at once; every free GPU, or one without GPUs."
    ),
]
GpuOption = Annotated[
    list[str] | None,
    typer.Option("--gpu", help="UUID of a GPU to use, or none; every free one by default."),
]
GrantOption = Annotated[
    list[str] | None,
    typer.Option("--grant", help="A relaxation you allow, such as root or shm_gib=4."),
]
BuildNetworkOption = Annotated[
    bool, typer.Option("--build-network", help="Let RUN lines use the network while building.")
]
