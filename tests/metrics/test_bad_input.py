"""Input without meaning ends in a named error with the values in it, before any work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from segtrial.errors import MetricInputError
from segtrial.metrics import evaluate_label_maps

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
    "label above the dtype": ({"structures": {"a": 300}}, "label 300.*cannot exist.* above 255"),
    "the background": ({"structures": {"a": 0}}, "label 0, which cannot exist"),
    "a negative label": ({"structures": {"a": (1, -4)}}, "label -4, which cannot exist"),
    "a label beyond integers": ({"structures": {"a": 2**40}}, "label 1099511627776"),
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
    "a percentile twice": ({"percentiles": (95, 95)}, "may be named once"),
    "a negative width": ({"structures": ONE, "boundary_width_mm": -1}, "boundary_width_mm is -1.0"),
    "no thread": ({"threads": 0}, "threads is 0"),
    "half a thread": ({"threads": 1.5}, "threads is 1.5"),
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


def test_a_label_that_only_one_array_can_hold_is_no_error() -> None:
    reference = MAP.astype(np.uint16)
    reference[1, 1, 1] = 300
    record = evaluate_label_maps(reference, MAP, spacing_mm=(1, 1, 1), structures={"rare": 300})[
        "rare"
    ]
    assert (record.reference_empty, record.prediction_empty) == (False, True)


def test_label_maps_without_labels_have_no_structures() -> None:
    assert evaluate_label_maps(MAP, MAP, spacing_mm=(1, 1, 1)) == {}
