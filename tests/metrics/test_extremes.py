"""Where single precision, tables and counters of the native core come to their ends."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from metrics.masks import noise
from metrics.test_agreement import PERCENTILES, assert_same, by_core, request
from segtrial.metrics import _core, evaluate_label_maps, native
from segtrial.metrics.reference import measure_structure

Mask = NDArray[np.uint8]


def cell_of(configuration: int) -> Mask:
    """One cell whose corners are set as the configuration's bits say."""
    mask = np.zeros((5, 5, 5), np.uint8)
    for bit, corner in enumerate(itertools.product((1, 2), repeat=3)):
        mask[corner] = configuration >> bit & 1
    return mask


@pytest.mark.parametrize("spacing_mm", [(0.7, 0.9, 2.5), (30.0, 1.0, 0.01)])
@pytest.mark.parametrize("first", range(1, 256, 32))
def test_every_cell_is_measured_to(first: int, spacing_mm: tuple[float, ...]) -> None:
    """Rectangles, triangles and quadrilaterals of a cell are its whole surface."""
    around = noise(0.5, (5, 5, 5), first).astype(np.uint8)
    for configuration in range(first, min(first + 32, 256)):
        maps = around, cell_of(configuration)
        plain = measure_structure(*maps, request(), spacing_mm=spacing_mm, percentiles=PERCENTILES)
        assert_same(by_core(*maps, request(), spacing_mm), plain)


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e6])
def test_scale_changes_nothing_but_the_scale(scale: float, dimensions: int) -> None:
    shape = (60, 50, 70)[-dimensions:]
    maps = [noise(0.02, shape, seed).astype(np.uint8) for seed in (1, 2)]
    spacing_mm = (0.7, 0.9, 2.5)[-dimensions:]
    expected = by_core(*maps, request(), spacing_mm).surface
    assert expected is not None
    asked = replace(
        request(boundary_width_mm=2.0 * scale), tolerances_mm=(2.0 * scale, scale, 0.5 * scale)
    )
    scaled_mm = [scale * step for step in spacing_mm]
    found = [by_core(*maps, asked, scaled_mm, instruction_set=s) for s in _core.instruction_sets()]
    assert all(one == found[0] for one in found)
    surface = found[0].surface
    assert surface is not None
    there, theirs = surface.to_prediction, expected.to_prediction
    assert there.maximum_mm / scale == pytest.approx(theirs.maximum_mm, rel=1e-9)
    assert there.moment / scale**dimensions == pytest.approx(theirs.moment, rel=1e-9)
    assert [p / scale for p in there.percentiles_mm] == pytest.approx(
        theirs.percentiles_mm, rel=1e-9
    )


def hausdorff_mm(length: int) -> float:
    """Of voxels at the ends of a line, and their neighbours inside."""
    ends, inner = np.zeros((2, length, 1, 1), np.uint8)
    ends[[0, -1]] = inner[[1, -2]] = 1
    # Cells so flat that a node is four of them long.
    found = evaluate_label_maps(
        ends, inner, spacing_mm=(10.0, 0.1, 0.1), structures={"s": 1}, threads=1
    )
    return float(found["s"].as_dict()["hd"])


def test_an_axis_of_millions_of_nodes() -> None:
    """As many levels of nodes as no other shape has."""
    assert hausdorff_mm(67_200_000) == pytest.approx(hausdorff_mm(20), rel=1e-9)


def shifted(shift: int) -> tuple[Mask, Mask]:
    planes = np.zeros((2, 40, 12, 12), np.uint8)
    planes[0, 3:20] = planes[1, 3 + shift : 20 + shift] = 1
    return planes[0], planes[1]


def growing() -> tuple[Mask, Mask]:
    """Distances over many powers of two."""
    maps = np.zeros((2, 3, 3, 400), np.uint8)
    maps[0, 1, 1] = maps[1, 1, 1, :4] = 1
    return maps[0], maps[1]


@pytest.mark.parametrize(
    "maps",
    [shifted(0), shifted(5), growing(), tuple(noise(0.3, (9, 8, 7), s) for s in (1, 2))],
    ids=["all are 0", "two values", "over powers of two", "noise"],
)
def test_percentiles_are_the_reference_implementations(maps: tuple[Mask, Mask]) -> None:
    percentiles = (5e-324, 1e-9, 1.0, 25.0, 50.0, 75.0, 99.0, 99.999999, 100.0)
    first, second = (mask.astype(np.uint8) for mask in maps)
    plain = measure_structure(
        first, second, request(), spacing_mm=(0.7, 0.9, 2.5), percentiles=percentiles
    )
    (found,) = native.measure_structures(
        first, second, [request()], spacing_mm=(0.7, 0.9, 2.5), percentiles=percentiles
    )
    assert_same(found, plain)


PEAK = """
import numpy as np
from segtrial.metrics import evaluate_label_maps

def peak_mib():
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024

reference, prediction = {maps}
options = dict(spacing_mm={spacing}, percentiles={percentiles}, structures={{"s": 1}}, threads=1)
evaluate_label_maps(reference[:8].copy(), prediction[:8].copy(), **options)
open("/proc/self/clear_refs", "w").write("5")
before = peak_mib()
evaluate_label_maps(reference, prediction, **options)
print(peak_mib() - before)
"""


def mib_above(maps: str, spacing: tuple[float, ...], percentiles: tuple[float, ...]) -> float:
    script = PEAK.format(maps=maps, spacing=spacing, percentiles=percentiles)
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    return float(done.stdout)


def test_a_filled_image_takes_memory_for_its_contour_only() -> None:
    maps = "(np.ones((3000, 3000), np.uint8), np.pad(np.ones((2998, 2998), np.uint8), 1))"
    assert mib_above(maps, (1.0, 1.0), (95.0,)) < 100


def test_percentiles_share_the_memory_they_take() -> None:
    maps = "((np.random.default_rng(0).random((2, 80, 80, 80)) < 0.2).astype(np.uint8))"
    many = tuple(np.linspace(1, 100, 50).tolist())
    one = mib_above(maps, (1.0, 1.0, 1.0), (95.0,))
    assert mib_above(maps, (1.0, 1.0, 1.0), many) < 2 * one
