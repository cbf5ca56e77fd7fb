"""Label maps that can be named instead of written: those of known models, cards, and files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from segtrial.contracts.reading import load_yaml, nearest, validate
from segtrial.contracts.record import LabelId, Record
from segtrial.contracts.structures import StructureName
from segtrial.datasets.catalogue import list_cards, load_models
from segtrial.errors import DatasetError


class LabelFile(Record):
    """``{labels: {1: liver, ...}}`` or ``{1: liver, ...}``."""

    labels: dict[LabelId, StructureName] = Field(min_length=1, max_length=4096)


def labels_of(file_or_preset: str | Path) -> Mapping[int, str]:
    """Label ids and the structures they mean.

    Parameters
    ----------
    file_or_preset : str or Path
        A YAML or JSON file of ``id: structure``, or the id of a known model or of a card.

    Raises
    ------
    DatasetError
        There is neither; or the file does not hold a label map.
    """
    path = Path(file_or_preset)
    if path.is_file():
        return _from_file(path)
    presets = {model.id: model.labels for model in load_models().values() if model.labels}
    presets |= {card.id: card.labels for card in list_cards()}
    found = presets.get(str(file_or_preset))
    if found is None:
        raise DatasetError(
            f"{str(file_or_preset)!r} is neither a file nor a known label map."
            f"{nearest(str(file_or_preset), presets)} Known are: {', '.join(sorted(presets))}."
        )
    return found


def _from_file(path: Path) -> Mapping[int, str]:
    try:
        value = load_yaml(path.read_bytes(), source=str(path), error=DatasetError)
    except OSError as problem:
        raise DatasetError(f"{path} cannot be read: {problem.strerror}.") from None
    if isinstance(value, dict) and "labels" not in value:
        value = {"labels": {_id(key): structure for key, structure in value.items()}}
    return validate(value, LabelFile, source=str(path), error=DatasetError).labels


def _id(key: object) -> object:
    """JSON has text keys only."""
    return int(key) if isinstance(key, str) and key.isdigit() else key
