"""Per-case scores of the Touchstone benchmark (https://github.com/MrGiovanni/Touchstone).

Its repository holds ``<dataset>_results/<model>/dsc.csv`` and ``nsd.csv``: a row for each case, a
column for each structure, ``nan`` where there is no number. A structure that is ``nan`` for every
model is absent from the reference; one that only this model lacks was not run. Its NSD tolerance is
not stated beside the files, so it is part of the signature as unknown.

Every model was trained on AbdomenAtlas 1.0 Mini, says its README; those that are known models here
are judged by what is known of them.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from segtrial.contracts.dataset_card import DatasetCard
from segtrial.contracts.training import Training, TrainingSource
from segtrial.datasets import load_card
from segtrial.datasets.case_table import read_rows_of
from segtrial.errors import ResultsError
from segtrial.imports.record import Entry, Imported, Row, Source, assemble, known_structure
from segtrial.policy.case_names import CaseIndex

_FOLDERS = {"totalsegmentator_results": "totalsegmentator_v2", "dapatlas_results": "dap_atlas"}
_FILES = {"dsc.csv": "dice", "nsd.csv": "nsd"}
_README = "https://github.com/MrGiovanni/Touchstone/blob/f32135a934/README.md"
_KNOWN = {
    "segvol": "segvol_abdomenatlas",
    "stunet": "stunet_abdomenatlas",
    "nnunetresencl": "nnunet_resencl_abdomenatlas",
    "resencl": "nnunet_resencl_abdomenatlas",
    "mednext": "mednext_abdomenatlas",
}
"""Its names, folded, and without the framework they were trained in."""
_FRAMEWORK = re.compile(r"^_?(monai|nnu-?net|vision_language)_", re.IGNORECASE)
_PATIENT = re.compile(r"^AutoPET_([^_]+)_")


@dataclass(frozen=True)
class _Model:
    """Numbers of one model: by metric, case and column."""

    name: str
    numbers: Mapping[str, Mapping[str, Mapping[str, str]]]


def import_touchstone(folder: Path, *, metadata: Path | None = None) -> tuple[Imported, ...]:
    """Results of a copy of Touchstone's repository.

    Parameters
    ----------
    folder : Path
        The repository, or one of its folders ``..._results``.
    metadata : Path, optional
        Table of the cases for slices: ``metaTotalSeg.csv`` or the clinical metadata of
        FDG-PET-CT-Lesions, as the dataset's card describes it.

    Returns
    -------
    tuple of Imported
        One for each dataset that has scores.

    Raises
    ------
    ResultsError
        There are no such scores, or a table is not well-formed.
    """
    found = [(folder / name, card) for name, card in _FOLDERS.items() if (folder / name).is_dir()]
    if not found and folder.name in _FOLDERS:
        found = [(folder, _FOLDERS[folder.name])]
    if not found:
        raise ResultsError(
            f"{folder} holds no scores of Touchstone: there is none of the folders "
            f"{', '.join(_FOLDERS)}. Name a copy of its repository."
        )
    return tuple(_import(path, load_card(card), metadata) for path, card in found)


def _import(folder: Path, card: DatasetCard, metadata: Path | None) -> Imported:
    notes: list[str] = []
    models = list(_models(folder, notes))
    if not models:
        raise ResultsError(f"{folder} holds no model with a dsc.csv or nsd.csv.")
    columns = _columns(models, notes)
    if not columns:
        raise ResultsError(
            f"No column of the tables in {folder} is a known structure: {'; '.join(notes)}. The "
            "columns of Touchstone are named like 'aorta' or 'gall_bladder'."
        )
    cases = sorted({case for m in models for rows in m.numbers.values() for case in rows})
    patients = {c: found[1] for c in cases if (found := _PATIENT.match(c))}
    slices = _slices(card, metadata, cases, patients, notes)
    rows = _rows(folder, models, columns, slices, patients)
    return assemble(
        rows,
        card=card,
        entries=[_entry(model.name) for model in models],
        source=Source(
            benchmark="touchstone",
            track="touchstone",
            title=f"Touchstone's cases of {card.title}",
            signatures={
                "dice": "dice;source=touchstone",
                "nsd": "nsd;source=touchstone;tolerance_mm=not_stated",
            },
        ),
        patients=patients,
        notes=[*notes, *_absent(models, columns)],
    )


def _models(folder: Path, notes: list[str]) -> Iterator[_Model]:
    for path in sorted(part for part in folder.iterdir() if part.is_dir()):
        files = {metric: path / name for name, metric in _FILES.items() if (path / name).is_file()}
        others = sorted(p.name for p in path.iterdir() if p.name not in _FILES)
        if others:
            notes.append(f"{path.name}: {', '.join(others)} is not read")
        if not files:
            notes.append(f"{path.name}: neither dsc.csv nor nsd.csv, so there is nothing to import")
            continue
        yield _Model(path.name, {metric: _table(file) for metric, file in files.items()})


def _table(path: Path) -> dict[str, dict[str, str]]:
    """Cells of a table by case and column."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, strict=True)
            if not reader.fieldnames or reader.fieldnames[0] != "name":
                raise ResultsError(f"{path} does not begin with the column 'name'.")
            found: dict[str, dict[str, str]] = {}
            for line, row in enumerate(reader, start=2):
                case = row.pop("name")
                if case in found:
                    raise ResultsError(f"{path}, line {line}: the case {case!r} is there twice.")
                found[case] = {column: cell or "" for column, cell in row.items() if column}
            return found
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise ResultsError(f"{path} cannot be read as a table: {problem}.") from None


def _columns(models: list[_Model], notes: list[str]) -> dict[str, str]:
    """Canonical structure of every column that has one."""
    names = {
        column
        for model in models
        for rows in model.numbers.values()
        for cells in rows.values()
        for column in cells
    }
    found = {name: structure for name in sorted(names) if (structure := known_structure(name))}
    notes += [f"the column {name!r} is no known structure" for name in sorted(names - set(found))]
    return found


def _rows(
    folder: Path,
    models: list[_Model],
    columns: Mapping[str, str],
    slices: Mapping[str, Mapping[str, str]],
    patients: Mapping[str, str],
) -> Iterator[Row]:
    for model in models:
        for metric, table in model.numbers.items():
            for case, cells in table.items():
                for column, cell in cells.items():
                    if column not in columns or _is_empty(cell):
                        continue
                    where = f"{folder / model.name}, {metric} of {case}, {column}"
                    yield (
                        where,
                        {
                            **slices.get(case, {}),
                            "submission": model.name,
                            "case": case,
                            "patient": patients.get(case, case),
                            "structure": columns[column],
                            "metric": metric,
                            "value": cell,
                        },
                    )


def _is_empty(cell: str) -> bool:
    """An empty cell is no zero: it says that there is no number."""
    try:
        return math.isnan(float(cell))
    except ValueError:
        return not cell.strip()


def _absent(models: list[_Model], columns: Mapping[str, str]) -> list[str]:
    scored: set[tuple[str, str]] = set()
    asked: set[tuple[str, str]] = set()
    for model in models:
        for table in model.numbers.values():
            for case, cells in table.items():
                for column in columns.keys() & cells.keys():
                    asked.add((case, column))
                    if not _is_empty(cells[column]):
                        scored.add((case, column))
    lost = len(asked - scored)
    if not lost:
        return []
    note = (
        f"{lost} of {len(asked)} pairs of case and structure have no number from any model: the "
        "structure is absent from the reference there, and Touchstone publishes nothing for that"
    )
    return [note]


def _slices(
    card: DatasetCard,
    metadata: Path | None,
    cases: list[str],
    patients: Mapping[str, str],
    notes: list[str],
) -> dict[str, dict[str, str]]:
    if metadata is None or card.metadata is None:
        return {}
    by_patient = card.metadata.rows == "patients"
    ids = CaseIndex(patients.values() if by_patient else cases)
    rows = read_rows_of(metadata, card, ids)
    found = {}
    for case in cases:
        row = rows.get(patients.get(case, "") if by_patient else case)
        if row is None:
            notes.append(f"{metadata.name} says nothing of {case}")
        else:
            found[case] = dict(row.values)
    return found


def _entry(name: str) -> Entry:
    plain = re.sub(r"[^a-z0-9]", "", _FRAMEWORK.sub("", name).lower())
    folded = re.sub(r"[^a-z0-9]", "", name.lower())
    known = next(
        (m for k, m in _KNOWN.items() if plain.startswith(k) or folded.startswith(k)), None
    )
    if known is not None:
        return Entry(name=name, known_model=known)
    source = TrainingSource(dataset="abdomenatlas_1_0_mini", evidence=(_README,))
    return Entry(name=name, training=Training(sources=(source,)))
