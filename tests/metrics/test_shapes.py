"""Shapes whose distances are known without a computer, and convergence to them on finer grids."""

from __future__ import annotations

import math

import numpy as np
import pytest

from metrics.masks import Mask, ball
from segtrial.metrics import StructureMetrics, evaluate_label_maps


def measure(
    reference: Mask, prediction: Mask, spacing_mm: tuple[float, ...], **how: object
) -> StructureMetrics:
    found = evaluate_label_maps(
        reference,
        prediction,
        spacing_mm=spacing_mm,
        structures={"s": 1},
        **how,  # type: ignore[arg-type]
    )
    return found["s"]


def slab(thickness: int, first: int) -> Mask:
    mask = np.zeros((20, 60, 60), dtype=bool)
    mask[first : first + thickness] = True
    return mask


def test_shifted_planes_lie_at_the_shift() -> None:
    # Both faces of a slab that fills the volume sideways are moved by two planes of 1.5 mm; the
    # rim, where the volume ends, is all that differs.
    record = measure(slab(5, 3), slab(5, 5), (1.5, 1.0, 1.0), percentiles=(50,))
    assert record["hd50"] == 3.0
    assert record["hd"] == 3.0


def test_a_plane_is_on_the_tolerance_that_it_is_shifted_by() -> None:
    one, other = slab(5, 3), slab(5, 5)
    record = measure(one, other, (1.5, 1.0, 1.0), tolerances_mm=(3.0, 2.999))
    assert record["nsd"] == 1.0
    assert 0 < record.values["nsd_2.999mm"] < 0.3  # type: ignore[operator] # a part of the rim


@pytest.mark.parametrize(
    ("spacing_mm", "furthest_mm"),
    # Between the faces lie four voxels; from the middle of the inner box's last face it is less to
    # the side, 12 voxels of 0.5 mm.
    [((1.0, 1.0, 1.0), 4.0), ((0.5, 2.0, 3.0), 6.0)],
)
def test_boxes_inside_each_other(
    spacing_mm: tuple[float, float, float], furthest_mm: float
) -> None:
    outer = np.zeros((30, 30, 30), dtype=bool)
    outer[3:27, 3:27, 3:27] = True
    inner = np.zeros_like(outer)
    inner[7:23, 7:23, 7:23] = True
    record = measure(outer, inner, spacing_mm, directed=True)
    nearest_mm = 4 * min(spacing_mm) * (1 - 1e-12)
    assert record["hd_prediction_to_reference"] == pytest.approx(furthest_mm, abs=0.4)
    assert record["mean_distance_prediction_to_reference"] >= nearest_mm  # type: ignore[operator]
    corner_mm = 4 * math.hypot(*spacing_mm) * (1 + 1e-12)
    assert record["hd_reference_to_prediction"] <= corner_mm  # type: ignore[operator]
    assert record["dice"] == 2 * 16**3 / (16**3 + 24**3)
    assert record["volume_difference_ml"] == pytest.approx(
        (24**3 - 16**3) * math.prod(spacing_mm) / 1000, rel=1e-12
    )


def test_boxes_against_each_other_by_hand() -> None:
    # Two single voxels of 1 mm, three apart: each is an octahedron of radius 0.5 mm. The centroids
    # of its faces lie at (1/6, 1/6, 1/6) mm; the nearest point of the other is its tip, at 2.5 mm.
    one, other = np.zeros((5, 5, 9), dtype=bool), np.zeros((5, 5, 9), dtype=bool)
    one[2, 2, 2] = other[2, 2, 5] = True
    far = math.hypot(2.5 + 1 / 6, 1 / 6, 1 / 6)
    near = math.hypot(2.5 - 1 / 6, 1 / 6, 1 / 6)
    record = measure(one, other, (1.0, 1.0, 1.0), percentiles=(50, 95), tolerances_mm=(2.5,))
    assert record["hd"] == pytest.approx(far, rel=1e-12)
    assert record["hd95"] == pytest.approx(far, rel=1e-12)
    assert record["hd50"] == pytest.approx(near, rel=1e-12)  # half of the faces, exactly
    assert record["assd"] == pytest.approx((far + near) / 2, rel=1e-12)
    assert record["masd"] == pytest.approx((far + near) / 2, rel=1e-12)
    assert record["nsd"] == pytest.approx(0.5, rel=1e-12)
    assert (record["dice"], record["iou"], record["boundary_iou"]) == (0, 0, 0)


def spheres(step_mm: float) -> StructureMetrics:
    """Concentric spheres of 20 and 16 mm on a grid of some spacing."""
    size = round(50 / step_mm)
    centre = ((size - 1) / 2,) * 3
    outer = ball((size,) * 3, centre, 20 / step_mm)
    inner = ball((size,) * 3, centre, 16 / step_mm)
    return measure(outer, inner, (step_mm,) * 3, tolerances_mm=(3.5, 4.5))


def test_spheres_converge_to_the_difference_of_their_radii() -> None:
    coarse, middle, fine = spheres(1.0), spheres(0.5), spheres(0.25)
    for key in ("assd", "masd", "hd"):
        errors = [abs(one.values[key] - 4.0) for one in (coarse, middle, fine)]  # type: ignore[operator]
        # The steps of the grid are what is wrong, so the error falls with their size.
        assert errors[1] < 0.7 * errors[0]
        assert errors[2] < 0.7 * errors[1]
        assert errors[2] < 0.1
    assert fine.values["nsd"] < 0.02  # type: ignore[operator]
    assert fine.values["nsd_4.5mm"] > 0.98  # type: ignore[operator]
    volumes = fine.values["prediction_volume_ml"], fine.values["reference_volume_ml"]
    assert volumes == pytest.approx((4 / 3 * math.pi * 4.096, 4 / 3 * math.pi * 8), rel=5e-3)


def test_boundary_iou_of_shifted_boxes_by_hand() -> None:
    # Squares of 6 x 6 pixels of 1 mm, shifted by one pixel; the band within 1 mm of the edge is two
    # pixels wide (0.5 and 1.5 mm away: only the first is within 1 mm), so one pixel: 20 of each.
    one, other = np.zeros((12, 12), dtype=bool), np.zeros((12, 12), dtype=bool)
    one[2:8, 2:8] = other[3:9, 2:8] = True
    record = measure(one, other, (1.0, 1.0), boundary_width_mm=1.0)
    # Rows 3 to 7 share their two outer columns; row 7 is the last of the first square and row 3 the
    # first of the second: 4 inner pixels each are in one band only.
    assert record["boundary_iou"] == 10 / 30
    wide = measure(one, other, (1.0, 1.0), boundary_width_mm=1.5)
    # Two pixels wide: bands of 32, sharing the four outer columns of rows 3 to 7, and of rows 4 and
    # 6 the two inner ones.
    assert wide["boundary_iou"] == 24 / 40
