"""CHAOS: a folder of DICOM slices for each scan, a folder of PNG pictures for the reference.

The MR half has two cases for each patient: T1-DUAL, whose in-phase and out-of-phase images share
one reference, and T2-SPIR. Its patients are not those of the CT half, though their numbers are.
"""

from __future__ import annotations

from pathlib import Path

from segtrial.contracts.dataset_card import DatasetCard
from segtrial.datasets.found import FoundCase, Slides
from segtrial.datasets.patterns import fill, find


def find_cases(folder: Path, card: DatasetCard) -> list[FoundCase]:
    """Every case of a folder, with its folder of PNG pictures where there is one."""
    found = []
    for files in card.files:
        for scan, names in find(folder, files.scan):
            pictures = folder / fill(files.reference, names) if files.reference else None
            found.append(
                FoundCase(
                    id=fill(files.id, names),
                    scans=(scan, *(folder / fill(more, names) for more in files.more_scans)),
                    slides=(
                        Slides(pictures, files.grey_levels)
                        if pictures is not None and pictures.is_dir()
                        else None
                    ),
                    patient=fill(files.patient, names) if files.patient else None,
                    split=files.split,
                )
            )
    return found
