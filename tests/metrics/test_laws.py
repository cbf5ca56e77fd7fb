"""Laws that hold for any pair of masks; each test's name is its law."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from segtrial.metrics import StructureMetrics, evaluate_label_maps

LabelMap = NDArray[np.uint8]
LENGTHS = ("hd", "hd95", "hd95_pooled", "assd", "masd")
SCORES = ("dice", "iou", "boundary_iou", "nsd")
CLOSE = {"rel": 1e-9, "abs": 1e-12}

spacings = st.tuples(*[st.floats(0.2, 6.0)] * 3)
quick = settings(max_examples=40, deadline=None)


@st.composite
def mask_pairs(draw: st.DrawFn) -> tuple[LabelMap, LabelMap]:
    shape = draw(st.tuples(*[st.integers(1, 9)] * 3))
    # Few voxels, many, or boxes: random bits alone would never have an interior.
    kind = draw(st.sampled_from(["bits", "boxes"]))
    if kind == "bits":
        bits = arrays.arrays(np.uint8, shape, elements=st.integers(0, 1))
        return draw(bits), draw(bits)
    pair = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
    for mask in pair:
        for _ in range(draw(st.integers(1, 3))):
            corners = [sorted(draw(st.tuples(*[st.integers(0, n)] * 2))) for n in shape]
            mask[tuple(slice(low, high) for low, high in corners)] = 1
    return pair


def measure(
    reference: LabelMap, prediction: LabelMap, spacing_mm: tuple[float, ...], **how: object
) -> StructureMetrics:
    settings_: dict[str, object] = {"structures": {"s": 1}, **how}
    found = evaluate_label_maps(reference, prediction, spacing_mm=spacing_mm, **settings_)  # type: ignore[arg-type]
    return found["s"]


def assert_close(
    found: StructureMetrics, expected: StructureMetrics, keys: Iterable[str], *, factor: float = 1
) -> None:
    for key in keys:
        value = expected[key]
        if value is None:
            assert found[key] is None, key
        else:
            assert found[key] == pytest.approx(factor * value, **CLOSE), key


@quick
@given(mask_pairs(), spacings)
def test_swapping_reference_and_prediction_changes_no_symmetric_metric(
    pair: tuple[LabelMap, LabelMap], spacing_mm: tuple[float, ...]
) -> None:
    there = measure(*pair, spacing_mm, directed=True)
    back = measure(*pair[::-1], spacing_mm, directed=True)
    assert_close(there, back, (*SCORES, *LENGTHS))
    assert there["hd95_reference_to_prediction"] == back["hd95_prediction_to_reference"]


@quick
@given(mask_pairs(), spacings)
def test_a_mask_is_at_no_distance_from_itself(
    pair: tuple[LabelMap, LabelMap], spacing_mm: tuple[float, ...]
) -> None:
    assume(pair[0].any())
    record = measure(pair[0], pair[0].copy(), spacing_mm)
    assert [record[key] for key in SCORES] == [1, 1, 1, 1]
    assert [record[key] for key in LENGTHS] == [0, 0, 0, 0, 0]
    assert (record["volume_difference_ml"], record["relative_volume_error"]) == (0, 0)


@quick
@given(mask_pairs(), spacings)
def test_values_stay_in_their_bounds(
    pair: tuple[LabelMap, LabelMap], spacing_mm: tuple[float, ...]
) -> None:
    record = measure(*pair, spacing_mm, directed=True)
    padded = [n + 1 for n in pair[0].shape]
    diagonal = math.hypot(*(n * s for n, s in zip(padded, spacing_mm, strict=True)))
    for key, value in record.values.items():
        assert value is None or value >= 0, key
        if value is not None and key in SCORES:
            assert value <= 1, key
        if value is not None and not math.isinf(value) and key in LENGTHS:
            assert value <= diagonal, key
    if all(mask.any() for mask in pair):
        values = {key: value for key, value in record.values.items() if value is not None}
        assert values["masd"] <= values["hd"] * (1 + 1e-12)
        assert values["assd"] <= values["hd"] * (1 + 1e-12)
        assert values["hd95"] <= values["hd"]
        assert values["hd95_pooled"] <= values["hd95"] * (1 + 1e-12)
        assert values["hd"] == max(
            values["hd_reference_to_prediction"], values["hd_prediction_to_reference"]
        )


@quick
@given(mask_pairs(), spacings, st.sampled_from([0.125, 0.5, 2.0, 3.7, 10.0]))
def test_scaling_the_spacing_scales_distances_and_leaves_scores(
    pair: tuple[LabelMap, LabelMap], spacing_mm: tuple[float, ...], factor: float
) -> None:
    assume(all(mask.any() for mask in pair))
    small = measure(*pair, spacing_mm, tolerances_mm=(1.3,))
    scaled = tuple(factor * s for s in spacing_mm)
    large = measure(*pair, scaled, tolerances_mm=(1.3 * factor,))
    assert_close(large, small, LENGTHS, factor=factor)
    assert_close(large, small, SCORES)


@quick
@given(mask_pairs(), spacings, st.tuples(*[st.integers(0, 70)] * 3))
def test_moving_both_masks_changes_nothing(
    pair: tuple[LabelMap, LabelMap], spacing_mm: tuple[float, ...], steps: tuple[int, ...]
) -> None:
    moved = [np.pad(mask, [(step, 1) for step in steps]) for mask in pair]
    here, there = measure(*pair, spacing_mm), measure(moved[0], moved[1], spacing_mm)
    assert_close(there, here, here.values)


@quick
@given(st.data(), spacings)
def test_a_union_of_labels_is_the_mask_of_the_union(
    data: st.DataObject, spacing_mm: tuple[float, ...]
) -> None:
    shape = data.draw(st.tuples(*[st.integers(1, 8)] * 3))
    labels = arrays.arrays(np.uint8, shape, elements=st.sampled_from([0, 1, 2, 7]))
    pair = data.draw(labels), data.draw(labels)
    found = evaluate_label_maps(
        *pair, spacing_mm=spacing_mm, structures={"union": (1, 7), "other": 2, "one": 7}
    )
    masks = [np.isin(label_map, (1, 7)).astype(np.uint8) for label_map in pair]
    assert found["union"].values == measure(masks[0], masks[1], spacing_mm).values
    ones = [(label_map == 7).astype(np.uint8) for label_map in pair]
    assert found["one"].values == measure(ones[0], ones[1], spacing_mm).values


@quick
@given(st.data(), spacings)
def test_naming_the_prediction_labels_is_renumbering_the_prediction(
    data: st.DataObject, spacing_mm: tuple[float, ...]
) -> None:
    labels = arrays.arrays(np.uint8, (5, 6, 4), elements=st.integers(0, 3))
    reference, prediction = data.draw(labels), data.draw(labels)
    renumbered = np.choose(prediction, [0, 30, 10, 20]).astype(np.uint8)
    named = evaluate_label_maps(
        reference,
        renumbered,
        spacing_mm=spacing_mm,
        structures={"a": 1, "b": (2, 3)},
        prediction_structures={"a": 30, "b": (10, 20)},
    )
    plain = evaluate_label_maps(
        reference, prediction, spacing_mm=spacing_mm, structures={"a": 1, "b": (2, 3)}
    )
    assert {k: r.values for k, r in named.items()} == {k: r.values for k, r in plain.items()}


@quick
@given(mask_pairs(), spacings)
def test_dice_and_iou_say_the_same(
    pair: tuple[LabelMap, LabelMap], spacing_mm: tuple[float, ...]
) -> None:
    record = measure(*pair, spacing_mm)
    dice, iou = record["dice"], record["iou"]
    assert (dice is None) == (iou is None)
    if dice is not None and iou is not None:
        assert dice == pytest.approx(2 * iou / (1 + iou), **CLOSE)


@quick
@given(mask_pairs(), spacings)
def test_nsd_grows_with_the_tolerance(
    pair: tuple[LabelMap, LabelMap], spacing_mm: tuple[float, ...]
) -> None:
    tolerances = (0.25, 0.5, 1.0, 2.0, 4.0, 1000.0)
    record = measure(*pair, spacing_mm, tolerances_mm=tolerances)
    values = [record["nsd"], *(record[f"nsd_{t:g}mm"] for t in tolerances[1:])]
    if values[0] is None:
        assert values == [None] * len(tolerances)
    else:
        assert values == sorted(values)  # type: ignore[type-var]
        assert values[-1] == (1.0 if all(mask.any() for mask in pair) else 0.0)


@quick
@given(mask_pairs(), spacings)
def test_hdp_grows_with_p_up_to_hd(
    pair: tuple[LabelMap, LabelMap], spacing_mm: tuple[float, ...]
) -> None:
    assume(all(mask.any() for mask in pair))
    record = measure(*pair, spacing_mm, percentiles=(1, 25, 50, 95, 99.9, 100), directed=True)
    for key in ("hd{}", "hd{}_pooled", "hd{}_reference_to_prediction"):
        values = [record[key.format(p)] for p in ("1", "25", "50", "95", "99.9", "100")]
        assert values == sorted(values)  # type: ignore[type-var]
    assert record["hd100"] == record["hd100_pooled"] == record["hd"]


@quick
@given(mask_pairs(), spacings)
def test_boundary_iou_of_a_wide_band_is_iou(
    pair: tuple[LabelMap, LabelMap], spacing_mm: tuple[float, ...]
) -> None:
    record = measure(*pair, spacing_mm, boundary_width_mm=1000.0)
    assert record["boundary_iou"] == record["iou"]


@quick
@given(mask_pairs(), spacings)
def test_an_empty_side_is_a_state_and_never_nan(
    pair: tuple[LabelMap, LabelMap], spacing_mm: tuple[float, ...]
) -> None:
    nothing = np.zeros_like(pair[0])
    something = pair[0].any()
    record = measure(pair[0], nothing, spacing_mm, directed=True)
    assert record.prediction_empty
    assert record.reference_empty == (not something)
    for key in ("hd", "hd95", "hd95_pooled", "assd", "masd", "hd_prediction_to_reference"):
        assert record[key] == (math.inf if something else None)
        assert record.as_dict()[key] == {"state": "unbounded" if something else "undefined"}
    for key in SCORES:
        assert record[key] == (0.0 if something else None)
    assert record["relative_volume_error"] == (1.0 if something else None)
    assert measure(nothing, pair[0], spacing_mm)["relative_volume_error"] is None
