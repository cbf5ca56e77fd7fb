"""Read both label maps of a case."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from segtrial.scans.grid import Grid, corner_shift_mm, same_grid
from segtrial.scans.label_map import LabelMap, canonical_grid, to_canonical
from segtrial.scans.prediction import read_prediction
from segtrial.scans.trusted import read_grid, read_label_map
from segtrial.scans.volume import open_volume, unusable


@dataclass(frozen=True, eq=False)
class LabelMapPair:
    """Reference and prediction of one case, on one grid."""

    reference: LabelMap
    prediction: LabelMap


def read_pair(
    reference: str | os.PathLike[str],
    prediction: str | os.PathLike[str],
    *,
    allowed_labels: frozenset[int],
    max_bytes: int,
    grid: Grid | None = None,
    allow_links: bool = False,
) -> LabelMapPair:
    """Read the reference and the prediction of a case at once, each in a thread of its own.

    Parameters
    ----------
    reference : path
        The maintainer's file, as for `read_label_map`.
    prediction : path
        The submission's file, as for `read_prediction`.
    allowed_labels : frozenset of int
        Label ids the submission declared.
    max_bytes : int
        Largest size of the prediction as written, in bytes.
    grid : Grid, optional
        Grid of the scan; the reference's own where it is not given.
    allow_links : bool
        As for `read_prediction`.

    Returns
    -------
    LabelMapPair

    Raises
    ------
    DatasetError
        As `read_label_map`; it wins over the next.
    PredictionError
        As `read_prediction`.
    """
    expected = grid or read_grid(reference)
    with ThreadPoolExecutor(max_workers=1) as pool:
        other = pool.submit(
            read_prediction,
            prediction,
            grid=expected,
            allowed_labels=allowed_labels,
            max_bytes=max_bytes,
            allow_links=allow_links,
        )
        ours = read_label_map(reference, grid=expected)
        return LabelMapPair(ours, other.result())


def read_label_maps(
    reference: str | os.PathLike[str], prediction: str | os.PathLike[str]
) -> LabelMapPair:
    """Read two label maps of the maintainer's own at once, each in a thread of its own.

    Parameters
    ----------
    reference, prediction : path
        As for `read_label_map`. The same voxels in space; in which axis order and direction
        either file stores them does not matter.

    Returns
    -------
    LabelMapPair
        Both in canonical axes, on the grid of the reference.

    Raises
    ------
    DatasetError
        As `read_label_map`, or the prediction is on another grid; no voxel was read then.
    """
    opened = [open_volume(path) for path in (reference, prediction)]
    if opened[0].sparse != opened[1].sparse:
        # One leaves out slices without labels: it is put into the other's grid.
        grid = opened[opened[0].sparse].grid
        found = [to_canonical(read_label_map(volume.path, grid=grid)) for volume in opened]
        return LabelMapPair(*found)
    stored, other_stored = (volume.grid for volume in opened)
    stored_alike = same_grid(stored, other_stored)
    if not stored_alike:
        _demand_same_place(stored, other_stored, prediction)
    with ThreadPoolExecutor(max_workers=1) as pool:
        other = pool.submit(read_label_map, prediction)
        ours = to_canonical(read_label_map(reference))
        theirs = other.result()
    if stored_alike:
        # Halfway between two world axes, rounding says which is closer: one file says it for both.
        theirs = LabelMap(theirs.labels, stored)
    return LabelMapPair(ours, LabelMap(to_canonical(theirs).labels, ours.grid))


def _demand_same_place(reference: Grid, other: Grid, prediction: str | os.PathLike[str]) -> None:
    """Raise where two grids differ by more than the order and direction of their axes."""
    expected, got = canonical_grid(reference), canonical_grid(other)
    if expected.shape != got.shape:
        raise unusable(
            prediction,
            f"it has shape {got.shape} in canonical axes, the reference has {expected.shape}. "
            "Bring it to the reference's grid, by nearest neighbour.",
        )
    if not same_grid(expected, got):
        raise unusable(
            prediction,
            "it is not where the reference is: a corner of the volume is "
            f"{corner_shift_mm(expected, got):.4g} mm off. Save it with the affine of the "
            "reference, or bring it to that grid by nearest neighbour.",
        )
