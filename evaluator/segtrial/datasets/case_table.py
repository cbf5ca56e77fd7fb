"""The case table of a dataset: patients, splits and the values that results are sliced by."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from segtrial.contracts.dataset_card import DatasetCard, Metadata, Slice
from segtrial.errors import DatasetError
from segtrial.policy.case_names import CaseIndex

NOT_KNOWN = "unknown"
"""Slice value of a case whose table has none."""
_MAX_ROWS = 1_000_000
_YEARS = re.compile(r"^(\d{3})Y$")
"""An age as DICOM writes it."""


@dataclass(frozen=True)
class Row:
    """What the table says of one case."""

    patient: str | None
    split: str | None
    values: Mapping[str, str]


def read_table(folder: Path, card: DatasetCard, ids: CaseIndex) -> dict[str, Row]:
    """What the dataset's table says of each case, or patient, that is here.

    Parameters
    ----------
    folder : Path
        The dataset's folder.
    card : DatasetCard
        Its ``metadata`` says which file and columns; without it there is no table.
    ids : CaseIndex
        Ids of the cases, or of the patients, that were found.

    Returns
    -------
    dict of str to Row
        By case or patient id. Empty where there is no table: then every slice is unknown. Values
        on which several rows of one id disagree are unknown, too.

    Raises
    ------
    DatasetError
        The table names patients and is missing, cannot be read, or lacks a declared column.
    """
    metadata = card.metadata
    if metadata is None or not (_needed(card) or (folder / metadata.file).is_file()):
        return {}
    return read_rows_of(folder / metadata.file, card, ids)


def read_rows_of(path: Path, card: DatasetCard, ids: CaseIndex) -> dict[str, Row]:
    """As `read_table`, from a file that may lie anywhere."""
    if card.metadata is None:
        return {}
    found: dict[str, Row] = {}
    for raw in _rows(path, card.metadata):
        case = ids.find(_id(raw, card.metadata))
        if case is not None:
            row = _row(raw, card)
            found[case] = _agreed(found[case], row) if case in found else row
    return found


def _needed(card: DatasetCard) -> bool:
    return card.metadata is not None and (
        card.metadata.patient_column is not None or card.metadata.split_column is not None
    )


def _id(raw: Mapping[str, str | None], metadata: Metadata) -> str:
    text = (raw.get(metadata.case_column) or "").strip().removeprefix(metadata.prefix)
    if metadata.case_format and text.isdigit():
        return metadata.case_format.format(n=int(text))
    return text


def _agreed(one: Row, other: Row) -> Row:
    return Row(
        patient=one.patient if one.patient == other.patient else None,
        split=one.split if one.split == other.split else None,
        values={
            name: value if other.values.get(name) == value else NOT_KNOWN
            for name, value in one.values.items()
        },
    )


def unknown_cases(folder: Path, card: DatasetCard, cases: CaseIndex) -> tuple[str, ...]:
    """Cases that the table names and that are not here, in its order."""
    if card.metadata is None:
        return ()
    rows = _rows(folder / card.metadata.file, card.metadata)
    names = (_id(row, card.metadata) for row in rows)
    return tuple(name for name in names if name and cases.find(name) is None)


def band(value: float, part: Slice) -> str:
    """The group a number falls into: ``<45``, ``45-65``, ``>=65``.

    Examples
    --------
    >>> band(50, Slice(name="age", bands=(45, 65)))
    '45-65'
    """
    borders = [f"{border:g}" for border in part.bands]
    above = [border <= value for border in part.bands]
    if not any(above):
        return f"<{borders[0]}"
    if all(above):
        return f">={borders[-1]}"
    last = above.index(False)
    return f"{borders[last - 1]}-{borders[last]}"


def _rows(path: Path, metadata: Metadata) -> list[dict[str, str | None]]:
    try:
        text = path.read_text(encoding=f"{metadata.encoding}{_bom(metadata)}")
        rows = _json_rows(text) if metadata.format == "json" else _csv_rows(text, metadata)
    except FileNotFoundError:
        raise DatasetError(
            f"{path} is missing. It says which patient each case is of; "
            "fetch it with the scans, the card says from where."
        ) from None
    except (OSError, UnicodeDecodeError, csv.Error, ValueError) as problem:
        raise DatasetError(f"{path} cannot be read as a table: {problem}.") from None
    columns = list(rows[0]) if rows else []
    for wanted in (metadata.case_column, metadata.patient_column, metadata.split_column):
        if wanted is not None and wanted not in columns:
            raise DatasetError(
                f"{path} has no column {wanted!r}; it has: {', '.join(columns) or 'none'}."
            )
    return rows


def _csv_rows(text: str, metadata: Metadata) -> list[dict[str, str | None]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=metadata.separator)
    reader.fieldnames = [name.strip() for name in reader.fieldnames or ()]
    return [row for row, _ in zip(reader, range(_MAX_ROWS), strict=False)]


def _json_rows(text: str) -> list[dict[str, str | None]]:
    value = json.loads(text)
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise ValueError("it is no list of objects")
    return [
        {key: None if item is None else str(item) for key, item in row.items()} for row in value
    ]


def _bom(metadata: Metadata) -> str:
    return "-sig" if metadata.encoding == "utf-8" else ""


def _row(raw: Mapping[str, str | None], card: DatasetCard) -> Row:
    assert card.metadata is not None  # noqa: S101 - the caller returned otherwise
    return Row(
        patient=_cell(raw, card.metadata.patient_column),
        split=_cell(raw, card.metadata.split_column),
        values={
            part.name: _value(_cell(raw, part.column or part.name), part) for part in card.slices
        },
    )


def _cell(raw: Mapping[str, str | None], column: str | None) -> str | None:
    return ((raw.get(column) or "").strip() or None) if column else None


def _value(text: str | None, part: Slice) -> str:
    if text is None:
        return NOT_KNOWN
    if part.values:
        folded = {key.lower(): value for key, value in part.values.items()}
        return folded.get(text.lower(), NOT_KNOWN)
    if not part.bands:
        return text[:200]
    try:
        number = float(_YEARS.sub(r"\1", text))
    except ValueError:
        return NOT_KNOWN
    return band(number, part) if math.isfinite(number) else NOT_KNOWN
