"""Label maps made of masks or of slices, for datasets that ship no label map.

Done once for each case, when a track is run, into the cache; where a label map exists, it is used
as it is. Masks that overlap are merged in the order of their ids, the last one on top, as the
dataset's own tools do.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from segtrial.datasets.found import Slides
from segtrial.datasets.progress import Progress
from segtrial.datasets.slides import merge_slides
from segtrial.errors import DatasetError
from segtrial.scans import Grid, read_grid, read_label_map, write_volume


@dataclass(frozen=True)
class Parts:
    """What one reference is made of, and where it is kept."""

    case: str
    scan: Path
    target: Path
    masks: Mapping[int, Path]
    slides: Slides | None = None

    @property
    def stale(self) -> bool:
        """Whether the kept label map is missing or older than what it is made of."""
        if not self.target.is_file():
            return True
        made = self.target.stat().st_mtime_ns
        folder = self.slides.folder if self.slides else next(iter(self.masks.values())).parent
        return any(path.stat().st_mtime_ns > made for path in (folder, *folder.iterdir()))


def merge_all(parts: Sequence[Parts], *, progress: Progress | None = None) -> None:
    """Make every label map that is missing or out of date.

    Raises
    ------
    DatasetError
        A mask is missing, damaged or not on its scan's grid.
    """
    todo = [one for one in parts if one.stale]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for done, _ in enumerate(pool.map(_merge, todo), start=1):
            if progress:
                progress(done, len(todo))


def _merge(parts: Parts) -> None:
    try:
        grid = read_grid(parts.scan)
        if parts.slides is not None:
            labels = merge_slides(parts.slides, parts.scan, grid)
        else:
            labels = merge_masks(parts.masks, grid)
    except DatasetError as error:
        error.add_note(f"case {parts.case}")
        raise
    parts.target.parent.mkdir(parents=True, exist_ok=True)
    write_volume(parts.target, labels, grid.affine)


def merge_masks(masks: Mapping[int, Path], grid: Grid) -> NDArray[np.uint16]:
    """One label map of one binary file per label.

    Parameters
    ----------
    masks : mapping of int to Path
        File of each label id.
    grid : Grid
        The scan's; every mask has to be on it.

    Returns
    -------
    uint16 array, shape ``grid.shape``
    """
    merged = np.zeros(grid.shape, dtype=np.uint16, order="F")
    for label, path in sorted(masks.items()):
        merged[read_label_map(path, grid=grid).labels != 0] = label
    return merged
