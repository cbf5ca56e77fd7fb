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


def in_memory(
    labels: NDArray[np.uint8], order: tuple[int, ...], falling: tuple[bool, ...]
) -> NDArray[np.uint8]:
    """The same array; its memory has the axes in another order, and some of them backwards."""
    steps = tuple(slice(None, None, -1 if falls else None) for falls in falling)
    moved = np.ascontiguousarray(labels[steps].transpose(order)).transpose(np.argsort(order))
    return moved[steps]


SHAPES_WITH_ONE = [
    shape
    for dimensions in (2, 3)
    for shape in itertools.product(*((1, length) for length in (5, 6, 7)[:dimensions]))
    if 1 in shape
]


@pytest.mark.parametrize("shape", SHAPES_WITH_ONE)
def test_an_axis_of_one_voxel_may_lie_in_memory_in_any_way(shape: tuple[int, ...]) -> None:
    maps = [noise(0.6, shape, seed).astype(np.uint8) for seed in (3, 4)]
    maps[0].flat[0] = maps[1].flat[-1] = 1
    dimensions = len(shape)
    how = {"spacing_mm": (1.0, 2.0, 3.5)[:dimensions], "directed": True}
    expected = evaluate_label_maps(*maps, **how)  # type: ignore[arg-type]
    ways = [
        (order, falling)
        for order in itertools.permutations(range(dimensions))
        for falling in itertools.product((False, True), repeat=dimensions)
    ]
    for way in ways:
        stored = [in_memory(label_map, *way) for label_map in maps]
        for reference, prediction in (stored, (stored[0], maps[1]), (maps[0], stored[1])):
            assert evaluate_label_maps(reference, prediction, **how) == expected  # type: ignore[arg-type]


def test_one_slice_from_a_file_that_runs_the_other_way_is_measured() -> None:
    labels = noise(0.5, (8, 9, 1), 1).astype(np.uint8)
    other_way = np.diag([-1.0, -1.0, -3.0, 1.0])
    slice_map = to_canonical(LabelMap(labels, Grid(labels.shape, other_way))).labels
    plain = np.ascontiguousarray(slice_map)
    found, expected = (
        evaluate_label_maps(array, array, spacing_mm=(1, 1, 3)) for array in (slice_map, plain)
    )
    assert found == expected


def test_the_triangulation_itself_is_not_symmetric() -> None:
    # Why the affine has to come first: flipping the array alone is another surface.
    maps = [noise(0.4, SHAPE, seed).astype(np.uint8) for seed in (1, 2)]
    plain = evaluate_label_maps(*maps, spacing_mm=(1, 1, 1))["1"]
    flipped = evaluate_label_maps(*(m[::-1] for m in maps), spacing_mm=(1, 1, 1))["1"]
    assert plain["dice"] == flipped["dice"]
    assert plain["assd"] != flipped["assd"]
