"""The same anatomy, stored in any axis order and direction, has the same metrics."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from metrics.masks import noise
from segtrial.metrics import evaluate_label_maps
from segtrial.scans import Grid, LabelMap, to_canonical

SHAPE = (9, 10, 11)
OBLIQUE = np.array(
    [[0.78, 0.02, 0.0, -5.0], [-0.02, 0.9, 0.1, 8.0], [0.0, -0.11, 2.5, 1.0], [0, 0, 0, 1]]
)
STORAGES = [
    (axes, flips)
    for axes in itertools.permutations(range(3))
    for flips in itertools.product((False, True), repeat=3)
]


def stored(
    labels: NDArray[np.uint8], axes: tuple[int, ...], flips: tuple[bool, ...]
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """The array in another axis order and direction, and the affine that puts it in place."""
    moved = labels.transpose(axes)[tuple(slice(None, None, -1 if f else None) for f in flips)]
    to_old = np.zeros((4, 4))
    to_old[3, 3] = 1
    for new, (old, flip) in enumerate(zip(axes, flips, strict=True)):
        to_old[old, new] = -1 if flip else 1
        to_old[old, 3] = labels.shape[old] - 1 if flip else 0
    return np.ascontiguousarray(moved), OBLIQUE @ to_old


@pytest.mark.parametrize(("axes", "flips"), STORAGES)
def test_moving_array_and_affine_together_changes_nothing(
    axes: tuple[int, ...], flips: tuple[bool, ...]
) -> None:
    maps = [noise(0.4, SHAPE, seed).astype(np.uint8) for seed in (1, 2)]
    spacing_mm = Grid(SHAPE, OBLIQUE).spacing_mm
    expected = evaluate_label_maps(*maps, spacing_mm=spacing_mm, directed=True)["1"]
    canonical = []
    for labels in maps:
        array, affine = stored(labels, axes, flips)
        canonical.append(to_canonical(LabelMap(array, Grid(array.shape, affine))))
    found = evaluate_label_maps(
        canonical[0].labels,
        canonical[1].labels,
        spacing_mm=canonical[0].grid.spacing_mm,
        directed=True,
    )["1"]
    assert dict(found.values) == pytest.approx(dict(expected.values), rel=1e-9)


def test_the_triangulation_itself_is_not_symmetric() -> None:
    # Why the affine has to come first: flipping the array alone is another surface.
    maps = [noise(0.4, SHAPE, seed).astype(np.uint8) for seed in (1, 2)]
    plain = evaluate_label_maps(*maps, spacing_mm=(1, 1, 1))["1"]
    flipped = evaluate_label_maps(*(m[::-1] for m in maps), spacing_mm=(1, 1, 1))["1"]
    assert plain["dice"] == flipped["dice"]
    assert plain["assd"] != flipped["assd"]
