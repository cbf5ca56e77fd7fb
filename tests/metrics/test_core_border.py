"""At the border to C++: the surface of each cell, labels found, and growth without cliffs."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from skimage.measure import find_contours, marching_cubes

from metrics.masks import ball, noise
from segtrial.metrics import _core, evaluate_label_maps, native

NATIVE = Path(__file__).parents[2] / "evaluator" / "native"
LabelMap = NDArray[np.uint8]


def as_set(elements: NDArray[np.integer]) -> list[tuple[tuple[int, ...], ...]]:
    """Elements whatever their order, and that of their corners."""
    return sorted(tuple(sorted(map(tuple, element))) for element in elements.tolist())


def cell(configuration: int, dimensions: int) -> NDArray[np.float32]:
    voxels = np.zeros((2,) * dimensions, np.float32)
    for bit, corner in enumerate(itertools.product((0, 1), repeat=dimensions)):
        voxels[corner] = configuration >> bit & 1
    return voxels


@pytest.mark.parametrize("configuration", range(1, 255))
def test_each_cell_has_the_triangles_of_scikit_image(configuration: int) -> None:
    corners = np.array(_core.element_corners(3, configuration)).reshape(-1, 3, 3)
    vertices, faces, _, _ = marching_cubes(cell(configuration, 3), 0.5)
    assert as_set(corners) == as_set(np.rint(2 * vertices[faces]).astype(int))


@pytest.mark.parametrize("configuration", range(1, 15))
def test_each_pixel_cell_has_the_segments_of_scikit_image(configuration: int) -> None:
    # An image is the upper plane of its cells, so its corners are the upper four bits.
    corners = np.array(_core.element_corners(2, configuration << 4)).reshape(-1, 2, 3)
    lines = find_contours(cell(configuration, 2), 0.5, fully_connected="low")
    segments = np.concatenate([np.stack([line[:-1], line[1:]], axis=1) for line in lines])
    assert as_set(corners[..., 1:]) == as_set(np.rint(2 * segments).astype(int))
    assert not corners[..., 0].any()


@pytest.mark.parametrize("configuration", [0, 255])
def test_cells_without_a_surface_have_no_triangles(configuration: int) -> None:
    assert _core.element_corners(3, configuration) == []


def test_the_table_is_what_its_script_writes(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    script = tmp_path / "make_surface_table.py"
    script.write_text((NATIVE / "make_surface_table.py").read_text())
    subprocess.run([sys.executable, script], check=True)
    written = (tmp_path / "src" / "surface_table.inc").read_text()
    assert written == (NATIVE / "src" / "surface_table.inc").read_text()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64, np.int32])
def test_labels_found_are_those_of_numpy(dtype: type[np.integer]) -> None:
    labels = np.random.default_rng(0).choice([0, 0, 0, 1, 5, 100, 127], (9, 10, 200)).astype(dtype)
    for label_map in (labels, np.asfortranarray(labels), labels[:, ::-1, ::3]):
        expected = [int(label) for label in np.unique(label_map) if label]
        assert native.labels_found(label_map, "reference", threads=2) == expected


def test_a_volume_out_of_memory_order_is_refused_by_the_core() -> None:
    with pytest.raises(ValueError, match="memory order"):
        _core.find_labels(np.zeros((3, 4, 5), np.uint8, order="F"), 1)


def cpu_s(reference: LabelMap, prediction: LabelMap) -> float:
    """Processor time of one thread, best of three: other work on the machine is not in it."""
    times = []
    for _ in range(3):
        started = time.process_time()
        evaluate_label_maps(
            reference, prediction, spacing_mm=(0.78, 0.78, 2.5), structures={"s": 1}, threads=1
        )
        times.append(time.process_time() - started)
    return min(times)


def test_noise_takes_time_in_proportion_to_its_surface() -> None:
    def per_voxel(shape: tuple[int, int, int]) -> float:
        maps = [noise(0.2, shape, seed).astype(np.uint8) for seed in (1, 2)]
        return cpu_s(*maps) / maps[0].size

    # Eight times the voxels: growth by the square would make each voxel eight times as costly.
    assert per_voxel((64, 64, 64)) < 3 * per_voxel((32, 32, 32))


def test_distance_between_the_surfaces_costs_little() -> None:
    shape = (400, 400, 120)
    near = ball((60, 60, 60), (30, 30, 30), 18)
    maps = {}
    for name, corner in (("near", (20, 18, 20)), ("far", (340, 340, 60))):
        label_map = np.zeros(shape, np.uint8)
        label_map[tuple(slice(c, c + 60) for c in corner)] = near
        maps[name] = label_map
    reference = np.zeros(shape, np.uint8)
    reference[:60, :60, :60] = near
    assert cpu_s(reference, maps["far"]) < 5 * cpu_s(reference, maps["near"]) + 0.05


def test_a_stray_voxel_costs_little() -> None:
    reference = np.zeros((400, 400, 120), np.uint8)
    reference[:60, :60, :60] = ball((60, 60, 60), (30, 30, 30), 25)
    prediction = np.roll(reference, 1, axis=0)
    strayed = prediction.copy()
    strayed[399, 399, 119] = 1
    assert cpu_s(reference, strayed) < 3 * cpu_s(reference, prediction) + 0.05
