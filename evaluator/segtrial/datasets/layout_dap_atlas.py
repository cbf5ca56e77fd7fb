"""DAP Atlas: masks named after the patient and the end of the study's UID, images of another set.

A mask ``AutoPET_<patient>_<last 5 digits>.nii.gz`` belongs to the CT
``fdg_<patient>_<study>-<last 5 digits>_0000.nii.gz`` of the NIfTI release of FDG-PET-CT-Lesions.
"""

from __future__ import annotations

import re
from pathlib import Path

from segtrial.contracts.dataset_card import DatasetCard
from segtrial.datasets.found import FoundCase
from segtrial.datasets.patterns import find
from segtrial.errors import DatasetError

_MASK = re.compile(r"AutoPET_(?P<patient>[^_]+)_(?P<study>[^_.]+)")
_SCAN = re.compile(r"fdg_(?P<patient>[^_]+)_.*?(?P<study>[^-_]+)_0000")


def find_cases(folder: Path, card: DatasetCard) -> list[FoundCase]:
    """Every case whose image is here, with its mask.

    Raises
    ------
    DatasetError
        Masks are here without their images.
    """
    images: dict[tuple[str, str], Path] = {}
    masks: dict[tuple[str, str], Path] = {}
    for files in card.files:
        images |= {_key(_SCAN, path): path for path, _ in find(folder, files.scan)}
        masks |= {_key(_MASK, path): path for path, _ in find(folder, files.reference or "")}
    found = [
        FoundCase(
            id=mask.name.removesuffix(".nii.gz"),
            scans=(images[key],),
            reference=mask,
            patient=key[0],
        )
        for key, mask in masks.items()
        if key in images and key[0]
    ]
    if masks and not found:
        raise DatasetError(
            f"{folder} holds {len(masks)} masks of {card.id} and none of their images. Put the "
            "folder imagesTr of FDG-PET-CT-Lesions (files fdg_*_0000.nii.gz) beside them."
        )
    return found


def _key(pattern: re.Pattern[str], path: Path) -> tuple[str, str]:
    found = pattern.match(path.name)
    return (found["patient"], found["study"]) if found else ("", path.name)
