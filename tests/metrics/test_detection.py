"""Lesions matched one to one by IoU: rules by hand, laws, and an oracle that tries everything."""

from __future__ import annotations

import itertools
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from scipy import ndimage

from metrics.masks import noise
from segtrial.errors import MetricInputError
from segtrial.metrics import DetectionMetrics, evaluate_detection

LabelMap = NDArray[np.uint8]
SPACING_MM = (1.0, 1.0, 2.0)


def line(*runs: tuple[int, int], label: int = 1) -> LabelMap:
    """Voxels in a row, from first to last of each run."""
    label_map = np.zeros((1, 1, 40), np.uint8)
    for first, last in runs:
        label_map[0, 0, first : last + 1] = label
    return label_map


def detect(reference: LabelMap, prediction: LabelMap, **how: object) -> DetectionMetrics:
    return evaluate_detection(reference, prediction, spacing_mm=SPACING_MM, **how)  # type: ignore[arg-type]


def test_counts_dice_and_volumes_by_hand() -> None:
    found = detect(line((0, 9), (15, 18), (30, 30)), line((2, 9), (20, 25)))
    assert (found.found, found.missed, found.spurious) == (1, 2, 1)
    match, *others = found.lesions
    assert (match.iou, match.dice) == (0.8, 16 / 18)
    assert (match.reference_size, match.prediction_size) == (0.02, 0.016)
    assert [one.outcome for one in others] == ["missed", "missed", "spurious"]
    assert [one.reference_size for one in others[:2]] == [0.008, 0.002]
    assert dict(found.values) == {
        "lesion_precision": 1 / 2,
        "lesion_recall": 1 / 3,
        "lesion_f1": 2 / 5,
        "lesion_dice": pytest.approx(16 / 18 / 4),
    }


def test_the_largest_total_iou_wins_over_the_best_single_pair() -> None:
    # The second prediction overlaps both lesions, the first one only the first lesion. Taking the
    # best pair first, the second prediction with the first lesion, would lose the second lesion.
    reference = line((0, 9), label=1) + line((10, 13), label=2)
    prediction = line((0, 2), label=1) + line((3, 13), label=2)
    found = detect(reference, prediction, instances=True)
    assert [lesion.iou for lesion in found.lesions] == [3 / 10, 4 / 11]
    assert (found.found, found.missed, found.spurious) == (2, 0, 0)


def test_one_prediction_over_two_lesions_finds_one() -> None:
    found = detect(line((0, 9), (12, 19)), line((0, 19)))
    assert (found.found, found.missed, found.spurious) == (1, 1, 0)


def test_an_iou_equal_to_the_threshold_is_a_match() -> None:
    # 1 of 10: the quotient 0.1 is not a number of base two.
    assert detect(line((0, 9)), line((9, 9))).found == 1
    assert detect(line((0, 10)), line((10, 10))).found == 0


def test_connectivity_decides_what_a_lesion_is() -> None:
    diagonal = np.zeros((4, 4, 4), np.uint8)
    diagonal[1, 1, 1] = diagonal[2, 2, 2] = diagonal[2, 3, 2] = 1
    edge = np.zeros((4, 4, 4), np.uint8)
    edge[1, 1, 1] = edge[1, 2, 2] = 1
    for label_map, counts in ((diagonal, {26: 1, 18: 2, 6: 2}), (edge, {26: 1, 18: 1, 6: 2})):
        for connectivity, count in counts.items():
            found = detect(label_map, label_map, connectivity=connectivity)
            assert (found.found, found.missed, found.spurious) == (count, 0, 0)
    assert detect(diagonal, diagonal).found == 1


def test_images_have_areas_and_their_own_neighbours() -> None:
    image = np.eye(4, dtype=np.uint8)
    found = evaluate_detection(image, image, spacing_mm=(2.0, 1.5))
    assert (found.found, found.lesions[0].reference_size, found.size_unit) == (1, 12.0, "mm2")
    assert evaluate_detection(image, image, spacing_mm=(2.0, 1.5), connectivity=4).found == 4
    with pytest.raises(MetricInputError, match="in 2D a voxel has 4 or 8 neighbours"):
        evaluate_detection(image, image, spacing_mm=(1, 1), connectivity=26)


def test_labels_choose_the_lesions_and_may_differ_between_the_sides() -> None:
    reference = line((0, 4), label=2) + line((10, 14), label=3) + line((20, 24), label=1)
    prediction = line((0, 4), label=7) + line((20, 24), label=2)
    found = detect(reference, prediction, labels=(2, 3), prediction_labels=7)
    assert (found.found, found.missed, found.spurious) == (1, 1, 0)


def test_a_prediction_may_have_no_label_for_lesions() -> None:
    found = detect(line((0, 4)), line((0, 4)), labels=1, prediction_labels=())
    assert (found.found, found.missed, found.spurious) == (0, 1, 0)


@pytest.mark.parametrize(
    ("reference", "prediction", "values"),
    [
        (line(), line((0, 3)), (0.0, None, 0.0, 0.0)),
        (line((0, 3)), line(), (None, 0.0, 0.0, 0.0)),
        (line(), line(), (None, None, None, None)),
    ],
    ids=["reference empty", "prediction empty", "both empty"],
)
def test_empty_sides(
    reference: LabelMap, prediction: LabelMap, values: tuple[float | None, ...]
) -> None:
    found = detect(reference, prediction)
    assert tuple(found.values.values()) == values
    assert [one == {"state": "undefined"} for one in list(found.as_dict().values())[:4]] == [
        value is None for value in values
    ]


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from([0.05, 0.1, 0.3, 0.5, 0.8, 1.0]))
def test_the_matching_is_the_best_there_is(data: st.DataObject, threshold: float) -> None:
    instances = arrays.arrays(np.uint8, (3, 4, 3), elements=st.integers(0, 4))
    reference, prediction = data.draw(instances), data.draw(instances)
    found = detect(reference, prediction, instances=True, iou_threshold=threshold)
    total = sum(lesion.iou for lesion in found.lesions)
    assert total == pytest.approx(best_total(reference, prediction, threshold), rel=1e-12)
    assert all(
        lesion.iou >= threshold * (1 - 1e-9)
        for lesion in found.lesions
        if lesion.outcome == "found"
    )


def best_total(reference: LabelMap, prediction: LabelMap, threshold: float) -> float:
    """Largest total IoU over every one-to-one matching of the candidates."""
    rows = [label for label in range(1, 5) if (reference == label).any()]
    columns = [label for label in range(1, 5) if (prediction == label).any()]
    gain = np.zeros((len(rows), len(columns) + len(rows)))  # the last columns: no match
    for (i, a), (j, b) in itertools.product(enumerate(rows), enumerate(columns)):
        one, other = reference == a, prediction == b
        iou = np.count_nonzero(one & other) / np.count_nonzero(one | other)
        gain[i, j] = iou if iou >= threshold * (1 - 1e-9) else 0.0
    choices = itertools.permutations(range(gain.shape[1]), len(rows))
    return max(sum(gain[i, j] for i, j in enumerate(choice)) for choice in choices)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_swapping_the_sides_swaps_precision_and_recall(data: st.DataObject) -> None:
    masks = arrays.arrays(np.uint8, (5, 5, 5), elements=st.integers(0, 1))
    reference, prediction = data.draw(masks), data.draw(masks)
    there, back = detect(reference, prediction), detect(prediction, reference)
    assert (there["lesion_precision"], there["lesion_recall"]) == (
        back["lesion_recall"],
        back["lesion_precision"],
    )
    assert there["lesion_f1"] == back["lesion_f1"]
    assert (there.found, there.missed, there.spurious) == (back.found, back.spurious, back.missed)


def test_components_are_those_of_scipy() -> None:
    masks = [noise(0.12, (20, 21, 22), seed).astype(np.uint8) for seed in (1, 2)]
    numbered = [ndimage.label(mask, np.ones((3, 3, 3)))[0].astype(np.int32) for mask in masks]
    by_components = detect(*masks)
    by_instances = detect(*numbered, instances=True)
    assert by_components.values == by_instances.values
    assert sorted(map(repr, by_components.lesions)) == sorted(map(repr, by_instances.lesions))


def test_small_masks_of_every_shape_have_the_components_of_scipy() -> None:
    neighbours = {(3, 6): 1, (3, 18): 2, (3, 26): 3, (2, 4): 1, (2, 8): 2}
    random = np.random.default_rng(0)
    for (dimensions, connectivity), reach in neighbours.items():
        joined = ndimage.generate_binary_structure(dimensions, reach)
        for shape in itertools.product(range(1, 7), repeat=dimensions):
            mask = (random.random(shape) < 0.4).astype(np.uint8)
            found = evaluate_detection(
                mask, mask, spacing_mm=(1000.0, 1.0, 1.0)[:dimensions], connectivity=connectivity
            )
            numbered, count = ndimage.label(mask, joined)
            assert found.found == count
            sizes = sorted(np.bincount(numbered[numbered > 0])[1:] * 1000 ** (dimensions == 2))
            assert sorted(lesion.reference_size for lesion in found.lesions) == sizes


def test_a_lesion_for_every_voxel_takes_no_table_of_all_pairs() -> None:
    # 30,000 lesions on either side: a table of all pairs would take 7 GB.
    spread = np.zeros((63, 63, 63), np.uint8)
    spread[::2, ::2, ::2] = 1
    found = detect(spread, spread)
    assert (found.found, found["lesion_f1"]) == (32**3, 1.0)


def test_lesions_come_out_the_same_in_any_memory_order() -> None:
    masks = [noise(0.15, (16, 17, 18), seed).astype(np.uint8) for seed in (1, 2)]
    expected = detect(*masks)
    assert detect(*map(np.asfortranarray, masks)) == expected
    assert detect(*(m[::-1].copy()[::-1] for m in masks)) == expected


def test_voxels_ignored_belong_to_no_lesion() -> None:
    reference = line((0, 3)) + line((10, 14), label=2)
    prediction = line((0, 3), (10, 14))
    plain = detect(reference, prediction, labels=1)
    ignored = detect(reference, prediction, labels=1, ignore_labels=2)
    assert (plain.spurious, ignored.spurious) == (1, 0)
    assert plain.signatures["lesion_f1"] != ignored.signatures["lesion_f1"]


def test_many_labels_make_the_same_mask_as_all() -> None:
    labels = np.random.default_rng(1).integers(0, 30, (9, 9, 9)).astype(np.uint8)
    every = detect(labels, labels[::-1], labels=tuple(range(1, 30)))
    assert every.lesions == detect(labels, labels[::-1]).lesions


def test_a_volume_larger_than_memory_is_refused() -> None:
    huge = np.broadcast_to(np.uint8(1), (10**6, 10**6, 1000))
    with pytest.raises(MetricInputError, match=r"memory .* shape \(1000000, 1000000, 1000\)"):
        detect(huge, huge)


def test_what_is_written_is_json() -> None:
    found = detect(line((0, 9), (15, 18)), line((2, 9), (20, 25)))
    written = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert (written["lesions_found"], written["lesions_missed"], written["lesions_spurious"]) == (
        1,
        1,
        1,
    )
    assert written["lesions"][1] == {
        "outcome": "missed",
        "reference_ml": 0.008,
        "iou": 0.0,
        "dice": 0.0,
    }
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 - our own bytes


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"iou_threshold": 0}, "iou_threshold is 0; it is above 0"),
        ({"iou_threshold": 1.5}, "at most 1"),
        ({"iou_threshold": "half"}, "iou_threshold is 'half'"),
        ({"iou_threshold": float("nan")}, "iou_threshold is nan"),
        ({"connectivity": 8}, "in 3D a voxel has 6, 18 or 26 neighbours"),
        ({"iou_threshold": 10**400}, "at most 1"),
        ({"connectivity": "all"}, "connectivity is 'all'; in 3D"),
        ({"labels": -1}, "label -1, which cannot exist"),
        ({"labels": ()}, "labels has no label id. Name at least one, or pass None"),
        ({"labels": (), "prediction_labels": 1}, "labels has no label id"),
        ({"labels": np.array([0.5])}, "labels is an array of shape .* dtype float64"),
    ],
)
def test_parameters_without_meaning_are_refused(how: dict[str, object], message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        detect(line((0, 1)), line((0, 1)), **how)


def test_negative_labels_are_refused() -> None:
    with pytest.raises(MetricInputError, match="prediction has voxels of label -1"):
        evaluate_detection(line((0, 1)), line().astype(np.int16) - 1, spacing_mm=SPACING_MM)
