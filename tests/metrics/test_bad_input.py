"""Input without meaning ends in a named error with the values in it, before any work."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from segtrial.errors import MetricInputError
from segtrial.metrics import evaluate_detection, evaluate_label_maps, native

MAP = np.zeros((4, 5, 6), np.uint8)
ONE = {"liver": 1}

ARRAYS: dict[str, tuple[Any, Any, str]] = {
    "shapes that differ": (MAP, MAP[:, :4], r"expected shape \(4, 5, 6\), got \(4, 4, 6\)"),
    "a list": ([[0]], MAP, "reference is a list, not a NumPy array"),
    "floats": (MAP, MAP.astype(float), "prediction has dtype float64; labels are integers"),
    "complex": (MAP.astype(complex), MAP, "reference has dtype complex128"),
    "text": (MAP, MAP.astype(str), "prediction has dtype <U"),
    "a masked array": (np.ma.masked_array(MAP, MAP == 0), MAP, "reference is a masked array"),
    "one dimension": (MAP[0, 0], MAP[0, 0], r"has 1 dimensions, shape \(6,\)"),
    "four dimensions": (MAP[None], MAP[None], r"has 4 dimensions, shape \(1, 4, 5, 6\)"),
    "no voxels": (MAP[:0], MAP[:0], r"has no voxels, shape \(0, 5, 6\)"),
    "negative labels in the prediction": (
        MAP,
        np.full_like(MAP, -7, dtype=np.int16),
        "prediction has voxels of label -7",
    ),
    "negative labels in the reference": (
        np.full_like(MAP, -1, dtype=np.int64),
        MAP,
        "reference has voxels of label -1",
    ),
    "larger than memory": (
        np.broadcast_to(np.uint8(1), (10**6, 10**6, 1000)),
        np.broadcast_to(np.uint8(1), (10**6, 10**6, 1000)),
        r"shape \(1000000, 1000000, 1000\).* no memory for its 1000000000000000 bytes",
    ),
    "larger than memory, in another order than its axes": (
        np.broadcast_to(np.ones(50, np.uint8), (10**6, 10**7, 50)),
        np.broadcast_to(np.ones(50, np.uint8), (10**6, 10**7, 50)),
        r"shape \(1000000, 10000000, 50\).* no memory for its 500000000000000 bytes",
    ),
    "an axis too long to number": (
        np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (2**31, 1, 1), (1, 1, 1)),
        np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (2**31, 1, 1), (1, 1, 1)),
        r"shape \(2147483648, 1, 1\)",
    ),
}

PARAMETERS: dict[str, tuple[dict[str, Any], str]] = {
    "zero spacing": ({"spacing_mm": (1, 0, 1)}, r"spacing_mm is \(1.0, 0.0, 1.0\)"),
    "negative spacing": ({"spacing_mm": (1, -0.5, 1)}, r"spacing_mm is \(1.0, -0.5, 1.0\)"),
    "spacing that is no number": ({"spacing_mm": (1, float("nan"), 1)}, "spacing_mm is .*nan"),
    "infinite spacing": ({"spacing_mm": (1, float("inf"), 1)}, "spacing_mm is .*inf"),
    "spacing in metres of a cell": ({"spacing_mm": (1e-9, 1, 1)}, "between 1e-06 and 1e[+]06 mm"),
    "spacing of another image": ({"spacing_mm": (1, 1)}, r"spacing_mm has 2 numbers, \(1.0, 1.0\)"),
    "no spacing": ({"spacing_mm": None}, "spacing_mm is None"),
    "spacing as text": ({"spacing_mm": ("1", 1, 1)}, "spacing_mm has '1', which is not a number"),
    "spacing beyond all floats": ({"spacing_mm": (1, 10**400, 1)}, r"is \(1.0, inf, 1.0\)"),
    "spacing below all floats": ({"spacing_mm": (1, -(10**400), 1)}, r"is \(1.0, -inf, 1.0\)"),
    "the background": ({"structures": {"a": 0}}, "label 0, which cannot exist"),
    "a negative label": ({"structures": {"a": (1, -4)}}, "label -4, which cannot exist"),
    "a label beyond integers": ({"structures": {"a": 2**40}}, "label 1099511627776"),
    "a label too long to write": (
        {"structures": {"a": 10**5000}},
        "asks for label <int too long to write>",
    ),
    "true": ({"structures": {"a": True}}, "label True; label ids are integers"),
    "an array of halves": ({"structures": {"a": np.array([1.5])}}, "and dtype float64"),
    "an array of bools": ({"structures": {"a": np.array([True])}}, "and dtype bool"),
    "a table of labels": ({"structures": {"a": np.ones((2, 2), int)}}, r"array of shape \(2, 2\)"),
    "an array with the background": ({"structures": {"a": np.arange(2)}}, "label 0, which cannot"),
    "an array without labels": ({"structures": {"a": np.array([], int)}}, "has no label id"),
    "an iterator at its end": ({"structures": {"a": iter(())}}, "has no label id"),
    "half a label in the prediction": (
        {"structures": {"a": 1}, "prediction_structures": {"a": np.array(0.5)}},
        r"prediction_structures\['a'\] is an array of shape \(\) and dtype float64",
    ),
    "half a label": ({"structures": {"a": 1.5}}, "is 1.5; give a label id"),
    "halves of labels": ({"structures": {"a": (1, 1.5)}}, "label 1.5; label ids are integers"),
    "no label": ({"structures": {"a": ()}}, "has no label id"),
    "no structure": ({"structures": {}}, "names no structure"),
    "names without labels": ({"structures": ["liver"]}, "structures is a list"),
    "a name that is no text": ({"structures": {3: 3}}, "has the key 3"),
    "a misspelt structure": (
        {"structures": ONE, "prediction_structures": {"livre": 1}},
        "Did you mean 'liver'?",
    ),
    "a structure the prediction leaves out": (
        {"structures": {"liver": 1, "spleen": 2}, "prediction_structures": ONE},
        "does not say which labels are 'spleen'",
    ),
    "labels of the prediction only": ({"prediction_structures": ONE}, "without structures"),
    "a tolerance for nothing": (
        {"structures": ONE, "tolerances_mm": {"livers": 2}},
        "Did you mean 'liver'?",
    ),
    "no tolerance at all": (
        {"structures": ONE, "tolerances_mm": (0,)},
        r"is \(0.0,\); a tolerance",
    ),
    "a negative tolerance": ({"structures": ONE, "tolerances_mm": (-1,)}, "positive, finite"),
    "a tolerance twice": ({"structures": ONE, "tolerances_mm": (2, 2.0)}, "may be named once"),
    "percentile 0": ({"percentiles": (0,)}, r"percentiles is \(0.0,\)"),
    "percentile 101": ({"percentiles": (101,)}, "above 0 and at most 100"),
    "a percentile twice": ({"percentiles": (95, 95.0)}, "may be named once"),
    "a percentile beyond all floats": ({"percentiles": Fraction(10**400)}, r"is \(inf,\)"),
    "a negative width": ({"structures": ONE, "boundary_width_mm": -1}, "boundary_width_mm is -1.0"),
    "no thread": ({"threads": 0}, "threads is 0"),
    "half a thread": ({"threads": 1.5}, "threads is 1.5"),
    "more threads than are counted": ({"threads": 10**30}, "threads is 10+; .* to 2147483647"),
    "a number of threads too long to write": ({"threads": 10**5000}, "threads is <int too long"),
    "a label asked for and ignored": (
        {"structures": ONE, "ignore_labels": (9, 1)},
        "label 1, which ignore_labels leaves out",
    ),
}


@pytest.mark.parametrize(("reference", "prediction", "message"), ARRAYS.values(), ids=ARRAYS)
def test_arrays(reference: Any, prediction: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(MetricInputError, match=message):
        evaluate_label_maps(reference, prediction, spacing_mm=(1, 1, 1), structures=ONE)


@pytest.mark.parametrize(("how", "message"), PARAMETERS.values(), ids=PARAMETERS)
def test_parameters(how: dict[str, Any], message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        evaluate_label_maps(MAP, MAP, **{"spacing_mm": (1, 1, 1), **how})


def test_a_negative_label_is_found_when_all_labels_are_asked_for() -> None:
    with pytest.raises(MetricInputError, match="prediction has voxels of label -7"):
        evaluate_label_maps(MAP, np.full_like(MAP, -7, dtype=np.int8), spacing_mm=(1, 1, 1))


def test_a_label_above_all_ids_is_found_when_all_labels_are_asked_for() -> None:
    beyond = np.full_like(MAP, 2**63, dtype=np.uint64)
    with pytest.raises(MetricInputError, match="reference has voxels of label 9223372036854775808"):
        evaluate_label_maps(beyond, MAP, spacing_mm=(1, 1, 1))


def test_one_tolerance_and_one_percentile_need_no_sequence() -> None:
    full = np.ones_like(MAP)
    one = evaluate_label_maps(full, full, spacing_mm=(1, 1, 1), tolerances_mm=3, percentiles=50)
    assert {"nsd", "hd50"} <= set(one["1"].values)


def test_an_image_larger_than_memory_is_named_by_its_own_shape() -> None:
    huge = np.broadcast_to(np.ones(50, np.uint8), (10**13, 50))
    for structures in (None, ONE):
        with pytest.raises(MetricInputError, match=r"shape \(10000000000000, 50\)"):
            evaluate_label_maps(huge, huge, spacing_mm=(1, 1), structures=structures)


def test_no_memory_for_the_labels_found_is_a_named_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object, **__: object) -> list[int]:
        raise MemoryError

    monkeypatch.setattr(native, "labels_found", exhausted)
    with pytest.raises(MetricInputError, match=r"not enough memory .* shape \(4, 5, 6\)"):
        evaluate_label_maps(MAP, MAP, spacing_mm=(1, 1, 1))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.uint16, np.int32, np.int64])
@pytest.mark.parametrize("label", [2**8 + 1, 2**16 + 1, 2**31 - 1])
def test_a_label_that_no_array_can_hold_is_an_empty_structure(
    dtype: type[np.generic], label: int
) -> None:
    """Files are read into the dtype of the labels they have; the label's last bits are there."""
    full = np.ones_like(MAP, dtype=dtype)
    how: dict[str, Any] = {"spacing_mm": (1, 1, 1)}
    found = evaluate_label_maps(full, full, **how, structures={"rare": label, "both": (1, label)})
    assert (found["rare"].reference_empty, found["rare"].prediction_empty) == (True, True)
    assert set(map(found["rare"].values.get, ("dice", "iou", "nsd", "hd", "assd"))) == {None}
    assert found["both"]["dice"] == 1.0
    absent = evaluate_detection(full, full, **how, labels=label)
    assert (absent.lesions, absent["lesion_f1"]) == ((), None)


def test_a_label_that_only_one_array_can_hold_is_empty_in_the_other() -> None:
    reference = MAP.astype(np.uint16)
    reference[1, 1, 1] = 300
    prediction = np.full_like(MAP, 300 % 256)
    record = evaluate_label_maps(
        reference, prediction, spacing_mm=(1, 1, 1), structures={"rare": 300}
    )["rare"]
    assert (record.reference_empty, record.prediction_empty) == (False, True)
    assert record["dice"] == 0.0


WAYS_TO_GIVE_IDS: dict[str, Callable[[], Any]] = {
    "list": lambda: [2, 3],
    "set": lambda: {3, 2},
    "map": lambda: map(int, ("2", "3")),
    "generator": lambda: (label for label in (2, 3, 3)),
    "array": lambda: np.array([3, 2], np.uint8),
    "unsigned array": lambda: np.array([2, 3], np.uint64),
    "numpy integers": lambda: (np.int16(2), np.int64(3)),
}


def two_of_three() -> np.ndarray[Any, Any]:
    return np.arange(MAP.size, dtype=np.uint8).reshape(MAP.shape) % 4


@pytest.mark.parametrize("ids", WAYS_TO_GIVE_IDS.values(), ids=WAYS_TO_GIVE_IDS)
def test_label_ids_come_in_any_collection_and_are_the_same_on_both_sides(
    ids: Callable[[], Any],
) -> None:
    reference, prediction = two_of_three(), np.roll(two_of_three(), 1, axis=2)
    how: dict[str, Any] = {"spacing_mm": (1, 1, 1)}
    for given in (
        {"structures": {"a": ids()}},
        {"structures": {"a": (2, 3)}, "prediction_structures": {"a": ids()}},
    ):
        expected = evaluate_label_maps(reference, prediction, **how, structures={"a": (2, 3)})
        assert evaluate_label_maps(reference, prediction, **how, **given) == expected
    detected = evaluate_detection(reference, prediction, **how, labels=(2, 3))
    assert evaluate_detection(reference, prediction, **how, labels=ids()) == detected
    assert detected["lesion_f1"] != 0


def test_an_array_without_axes_is_one_label() -> None:
    one = evaluate_label_maps(
        two_of_three(), two_of_three(), spacing_mm=(1, 1, 1), structures={"a": np.array(2)}
    )
    assert one["a"]["reference_volume_ml"] == MAP.size / 4 / 1000


def test_a_prediction_without_the_label_may_say_so_by_an_empty_array() -> None:
    found = evaluate_label_maps(
        two_of_three(),
        two_of_three(),
        spacing_mm=(1, 1, 1),
        structures={"a": 2},
        prediction_structures={"a": np.array([])},
    )
    assert (found["a"].prediction_empty, found["a"]["dice"]) == (True, 0.0)


def test_tolerances_from_an_iterator_are_those_of_every_structure() -> None:
    found = evaluate_label_maps(
        two_of_three(), two_of_three(), spacing_mm=(1, 1, 1), tolerances_mm=iter((1, 3))
    )
    assert [{"nsd", "nsd_3mm"} <= set(record.values) for record in found.values()] == [True] * 3


def test_a_label_above_all_ids_is_background_where_structures_are_named() -> None:
    reference = MAP.astype(np.uint64)
    reference[1:3], reference[0] = 1, 2**63
    record = evaluate_label_maps(
        reference, (reference == 1).astype(np.uint8), spacing_mm=(1, 1, 1), structures=ONE
    )["liver"]
    assert record["dice"] == 1.0


def test_label_maps_without_labels_have_no_structures() -> None:
    assert evaluate_label_maps(MAP, MAP, spacing_mm=(1, 1, 1)) == {}
