"""The plain layout: one folder per case, one table, nothing else.

::

    DIR/card.yaml
    DIR/cases.csv                        case,patient,... (the card's ``metadata`` names columns)
    DIR/cases/<case>/scan.nii.gz         further scans: scan_<something>.nii.gz
    DIR/cases/<case>/reference.nii.gz    integer label map with the card's ids

``evaluate datasets make`` writes it; the phantoms are made in it.
"""

from __future__ import annotations

from pathlib import Path

from segtrial.contracts.dataset_card import DatasetCard
from segtrial.datasets.found import FoundCase
from segtrial.errors import DatasetError

SCAN = "scan.nii.gz"
REFERENCE = "reference.nii.gz"


def find_cases(folder: Path, card: DatasetCard) -> list[FoundCase]:
    """Every case of a folder in the plain layout; `DatasetError` where it is not one."""
    root = folder / "cases"
    if not root.is_dir():
        raise DatasetError(
            f"{folder} has no folder 'cases', which the layout of {card.id} needs. "
            "Is this the dataset's folder, and is the download complete?"
        )
    found = []
    for path in sorted(part for part in root.iterdir() if part.is_dir()):
        first = path / SCAN
        if not first.is_file():
            raise DatasetError(
                f"Case {path.name!r} has no {SCAN} in {path}. Add the scan or remove the folder."
            )
        reference = path / REFERENCE
        found.append(
            FoundCase(
                id=path.name,
                scans=(first, *sorted(path.glob("scan_*.nii.gz"))),
                reference=reference if reference.is_file() else None,
            )
        )
    return found
