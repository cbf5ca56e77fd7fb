"""TotalSegmentator's layout: one folder per case, one binary file per structure.

The label map of a case is made of its masks when a track is run (`segtrial.datasets.merging`).
"""

from __future__ import annotations

from pathlib import Path

from segtrial.contracts.dataset_card import DatasetCard
from segtrial.datasets.found import FoundCase
from segtrial.datasets.patterns import fill, find


def find_cases(folder: Path, card: DatasetCard) -> list[FoundCase]:
    """Every case of a folder, with the files of its masks by label id."""
    found = []
    for files in card.files:
        for scan, names in find(folder, files.scan):
            masks = folder / fill(files.reference or "{case}/segmentations", names)
            found.append(
                FoundCase(
                    id=fill(files.id, names),
                    scans=(scan,),
                    masks=mask_files(masks, card) if masks.is_dir() else {},
                    split=files.split,
                )
            )
    return found


def mask_files(folder: Path, card: DatasetCard) -> dict[int, Path]:
    """File of each label's mask; ``native_names`` where it is not named after the structure."""
    return {
        label: folder / f"{card.native_names.get(label, structure)}.nii.gz"
        for label, structure in card.labels.items()
    }
