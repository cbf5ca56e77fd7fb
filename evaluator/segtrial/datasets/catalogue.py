"""The cards, lineage nodes and known models that travel with segtrial.

``datasets/<id>/card.yaml`` is a dataset that can be evaluated; ``datasets/lineage/<id>.yaml`` one
that only occurs as the source of others; ``datasets/models/<id>.yaml`` a published model.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

from segtrial.contracts.dataset_card import DatasetCard
from segtrial.contracts.lineage import DatasetNode
from segtrial.contracts.reading import nearest, parse_yaml
from segtrial.contracts.training import KnownModel
from segtrial.errors import DatasetError
from segtrial.policy.declaration import find_model
from segtrial.policy.lineage_graph import LineageGraph, fold
from segtrial.resources import resource_dir

CARD_NAME = "card.yaml"
R = TypeVar("R", DatasetNode, KnownModel)


@cache
def list_cards() -> tuple[DatasetCard, ...]:
    """Every card that travels with segtrial, by id."""
    paths = sorted(resource_dir("datasets").glob(f"*/{CARD_NAME}"))
    return tuple(_in_its_folder(path) for path in paths)


def load_card(id_or_dir: str | Path) -> DatasetCard:
    """A dataset's card.

    Parameters
    ----------
    id_or_dir : str or Path
        An id or alias of the catalogue, or a folder that holds ``card.yaml``.

    Raises
    ------
    DatasetError
        There is no such card, or it breaks the contract; every problem is named.
    """
    folder = Path(id_or_dir)
    if (folder / CARD_NAME).is_file():
        return read_card(folder / CARD_NAME)
    direct = resource_dir("datasets") / str(id_or_dir) / CARD_NAME
    if isinstance(id_or_dir, str) and "/" not in id_or_dir and direct.is_file():
        return read_card(direct)
    if folder.is_dir():
        raise DatasetError(
            f"{folder} holds no {CARD_NAME}. Name a dataset of the catalogue, or make a folder "
            "with 'evaluate datasets make'."
        )
    return find_card(str(id_or_dir))


def find_card(name: str) -> DatasetCard:
    """A card of the catalogue by id, title or alias; `DatasetError` names the nearest."""
    cards = list_cards()
    for card in cards:
        if fold(name) in {fold(spelling) for spelling in (card.id, card.title, *card.aliases)}:
            return card
    ids = [card.id for card in cards]
    node = find_node(name)
    if node is not None:
        raise DatasetError(
            f"{node.id} ({node.title}) is known as a source of other datasets, but has no card and "
            f"cannot be evaluated. Datasets with a card: {', '.join(ids)}."
        )
    raise DatasetError(
        f"There is no dataset {name!r} in the catalogue and no folder of that name."
        f"{nearest(name, ids)} The catalogue has: {', '.join(ids) or 'nothing'}."
    )


def read_card(path: Path) -> DatasetCard:
    """Read one ``card.yaml``; `DatasetError` names every problem."""
    return parse_yaml(_bytes(path), DatasetCard, source=str(path), error=DatasetError)


@cache
def load_nodes() -> tuple[DatasetNode, ...]:
    """Datasets that only occur in the lineage of others, by id."""
    folder = resource_dir("datasets") / "lineage"
    return tuple(_named(path, DatasetNode) for path in sorted(folder.glob("*.yaml")))


@cache
def load_models() -> Mapping[str, KnownModel]:
    """Every known model by id."""
    folder = resource_dir("datasets") / "models"
    return {path.stem: _named(path, KnownModel) for path in sorted(folder.glob("*.yaml"))}


def load_model(name: str) -> KnownModel:
    """A known model by id, title or alias; `DatasetError` names the nearest."""
    models = load_models()
    found = find_model(name, models)
    if found is None:
        raise DatasetError(
            f"{name!r} is no known model.{nearest(name, models)} "
            f"Known models: {', '.join(models) or 'none'}."
        )
    return models[found]


def find_node(name: str) -> DatasetNode | None:
    """A dataset that only occurs in lineages, by id, title or alias; None where there is none."""
    for node in load_nodes():
        if fold(name) in {fold(spelling) for spelling in (node.id, node.title, *node.aliases)}:
            return node
    return None


def load_lineage(*cards: DatasetCard) -> LineageGraph:
    """The lineage of every dataset of the catalogue.

    Parameters
    ----------
    *cards : DatasetCard
        Further cards, of folders that are not in the catalogue; one with the id of a catalogue
        card takes its place.

    Raises
    ------
    DatasetError
        The lineage contradicts itself; see `LineageGraph.build`.
    """
    known = {card.id: card for card in list_cards()}
    if all(known.get(card.id) == card for card in cards):
        return _catalogue_lineage()
    return _build({**known, **{card.id: card for card in cards}})


@cache
def _catalogue_lineage() -> LineageGraph:
    return _build({card.id: card for card in list_cards()})


def _build(cards: Mapping[str, DatasetCard]) -> LineageGraph:
    nodes = [node for node in load_nodes() if node.id not in cards]
    return LineageGraph.build([*(card.node for card in cards.values()), *nodes])


def _in_its_folder(path: Path) -> DatasetCard:
    card = read_card(path)
    if card.id != path.parent.name:
        raise DatasetError(
            f"{path} declares the id {card.id!r}; a card's folder is named after it. Rename one."
        )
    return card


def _named(path: Path, record: type[R]) -> R:
    found = parse_yaml(_bytes(path), record, source=str(path), error=DatasetError)
    if found.id != path.stem:
        raise DatasetError(
            f"{path} declares the id {found.id!r}; a file is named after its id. Rename one."
        )
    return found


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise DatasetError(f"{path} cannot be read: {problem.strerror}.") from None
