"""What an adapter finds of one case in a dataset's own folders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Slides:
    """A reference that is a folder of PNG pictures, one for each slice.

    Attributes
    ----------
    folder : Path
    grey_levels : mapping of int to (int, int)
        Label id to the darkest and the brightest pixel that means it; 0 is background.
    """

    folder: Path
    grey_levels: Mapping[int, tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class FoundCase:
    """Files of one case, before the table is read.

    Attributes
    ----------
    id : str
        As the dataset writes it.
    scans : tuple of Path
        Files, or folders of a DICOM series. The first is there; a further one may be missing.
    reference : Path or None
        An integer label map.
    masks : mapping of int to Path
        Instead of a label map: one file per label, by label id.
    slides : Slides or None
        Instead of both: pictures.
    patient, split : str or None
        Where the folder itself says so.
    """

    id: str
    scans: tuple[Path, ...]
    reference: Path | None = None
    masks: Mapping[int, Path] = field(default_factory=dict)
    slides: Slides | None = None
    patient: str | None = None
    split: str | None = None
