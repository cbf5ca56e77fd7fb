"""2D: contours of images, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from segtrial.metrics import evaluate_label_maps


def test_a_pixel_against_its_neighbour_but_one() -> None:
    # At spacing 2 x 1 mm a pixel's contour is a rhombus with corners 1 mm up and down and 0.5 mm to
    # the sides: four segments of sqrt(1.25) mm. The other one lies 2 mm to the right.
    one, other = np.zeros((5, 7), np.uint8), np.zeros((5, 7), np.uint8)
    one[2, 2] = other[2, 4] = 1
    record = evaluate_label_maps(one, other, spacing_mm=(2.0, 1.0))["1"]
    # Midpoints lie 0.5 mm up or down and 0.25 mm aside. From the left ones the nearest point of the
    # other rhombus is on its left edges or their common tip at 1.5 mm.
    left_tip = 1.5
    far = distance_to_segment((0.5, -0.25), (0.0, left_tip), (1.0, 2.0))
    near = distance_to_segment((0.5, 0.25), (0.0, left_tip), (1.0, 2.0))
    assert record["hd"] == pytest.approx(far, rel=1e-12)
    assert record["assd"] == pytest.approx((far + near) / 2, rel=1e-12)
    assert record["nsd"] == 1.0
    assert record["reference_area_mm2"] == 2.0
    assert record["area_difference_mm2"] == 0.0
    assert record["relative_area_error"] == 0.0


def distance_to_segment(
    point: tuple[float, float], start: tuple[float, float], end: tuple[float, float]
) -> float:
    along = (end[0] - start[0], end[1] - start[1])
    square = along[0] ** 2 + along[1] ** 2
    share = (point[0] - start[0]) * along[0] + (point[1] - start[1]) * along[1]
    share = min(max(share / square, 0), 1)
    return math.dist(point, (start[0] + share * along[0], start[1] + share * along[1]))


def test_a_square_moved_by_a_pixel() -> None:
    # An octagon: four sides of 4 mm and four cut corners of sqrt(0.5) mm. Moved down by 1 mm, the
    # upper and lower sides lie 1 mm from the other contour. The other two sides slide along
    # themselves, but for the last segment, which the other's corner cuts off. The lower corners lie
    # inside, 0.25 mm from a side; the upper ones see the end of the other's corner.
    one, other = np.zeros((12, 12), np.uint8), np.zeros((12, 12), np.uint8)
    one[3:8, 3:8] = other[4:9, 3:8] = 1
    record = evaluate_label_maps(
        one, other, spacing_mm=(1.0, 1.0), tolerances_mm=(0.999, 0.3), directed=True
    )["1"]
    corner = math.sqrt(0.5)
    length = 16 + 4 * corner
    moment = 8 * 1.0 + 2 * corner * (math.hypot(0.25, 0.75) + 0.25) + 2 * 1.0 * math.sqrt(0.125)
    assert record["hd"] == 1.0
    assert record["assd"] == pytest.approx(moment / length, rel=1e-12)
    assert record["masd"] == pytest.approx(moment / length, rel=1e-12)
    assert record["nsd"] == pytest.approx((length - 8) / length, rel=1e-12)
    assert record["nsd_0.3mm"] == pytest.approx((6 + 2 * corner) / length, rel=1e-12)
    assert (record["dice"], record["iou"]) == (0.8, 20 / 30)


def test_pixels_that_touch_at_a_corner_have_two_contours() -> None:
    touching, apart = np.zeros((6, 6), np.uint8), np.zeros((6, 6), np.uint8)
    touching[2, 2] = touching[3, 3] = 1
    apart[2, 2] = 1
    record = evaluate_label_maps(touching, apart, spacing_mm=(1.0, 1.0), directed=True)["1"]
    # The second rhombus is as far from the first as its own far sides: were the two joined, its
    # near sides would not be there.
    assert record["hd_prediction_to_reference"] == 0.0
    assert record["hd_reference_to_prediction"] == pytest.approx(
        distance_to_segment((1.25, 1.25), (0.0, 0.5), (0.5, 0.0)), rel=1e-12
    )


def test_an_image_has_no_volume() -> None:
    image = np.ones((3, 3), np.uint8)
    record = evaluate_label_maps(image, image, spacing_mm=(1.0, 1.0))["1"]
    assert not [key for key in record.values if "volume" in key]
