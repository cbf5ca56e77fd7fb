"""Datasets that keep scans and label maps in files named alike, wherever that is.

The card's ``files`` say where: one entry for each folder of scans, with the pattern of the
reference that belongs to each. Most public datasets are read by this adapter.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from segtrial.contracts.dataset_card import DatasetCard, Files
from segtrial.datasets.found import FoundCase
from segtrial.datasets.patterns import fill, find
from segtrial.errors import DatasetError


def find_cases(folder: Path, card: DatasetCard) -> list[FoundCase]:
    """Every case of a folder, by the patterns of its card.

    Raises
    ------
    DatasetError
        Two files claim to be the scan of one case.
    """
    found: dict[str, FoundCase] = {}
    for files in card.files:
        for case in _cases(folder, files):
            other = found.setdefault(case.id, case)
            if other is not case:
                raise DatasetError(
                    f"Two files are the scan of case {case.id!r} of {card.id}: {other.scans[0]} "
                    f"and {case.scans[0]}. Keep the one that belongs to this dataset."
                )
    return list(found.values())


def _cases(folder: Path, files: Files) -> Iterator[FoundCase]:
    for scan, names in find(folder, files.scan):
        case = fill(files.id, names)
        more = (folder / fill(pattern, names) for pattern in files.more_scans)
        reference = folder / fill(files.reference, names) if files.reference else None
        yield FoundCase(
            id=case,
            scans=(scan, *more),
            reference=reference if reference is not None and reference.is_file() else None,
            patient=fill(files.patient, names) if files.patient else names.get("patient"),
            split=files.split,
        )
