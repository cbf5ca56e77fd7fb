"""What an adapter finds of one case in a dataset's own folders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class FoundCase:
    """Files of one case, before the table is read.

    Attributes
    ----------
    id : str
        As the dataset writes it.
    scans : tuple of Path
        Files, or folders of a DICOM series.
    reference : Path or None
        An integer label map.
    masks : mapping of int to Path
        Instead of a label map: one file per label, by label id.
    slides : Path or None
        Instead of both: a folder of PNG images, one per slice.
    patient, split : str or None
        Where the folder itself says so.
    """

    id: str
    scans: tuple[Path, ...]
    reference: Path | None = None
    masks: Mapping[int, Path] = field(default_factory=dict)
    slides: Path | None = None
    patient: str | None = None
    split: str | None = None
