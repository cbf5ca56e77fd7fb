"""CHAOS: a folder of DICOM slices for the scan, a folder of PNG slices for the reference.

Only CT is read. What grey value means which organ in the MR half is not published with the data.
"""

from __future__ import annotations

from pathlib import Path

from segtrial.contracts.dataset_card import DatasetCard
from segtrial.datasets.found import FoundCase
from segtrial.datasets.patterns import fill, find


def find_cases(folder: Path, card: DatasetCard) -> list[FoundCase]:
    """Every case of a folder, with its folder of PNG slices where there is one."""
    found = []
    for files in card.files:
        for scan, names in find(folder, files.scan):
            slides = folder / fill(files.reference or "{case}/Ground", names)
            found.append(
                FoundCase(
                    id=fill(files.id, names),
                    scans=(scan,),
                    slides=slides if slides.is_dir() else None,
                    split=files.split,
                )
            )
    return found
