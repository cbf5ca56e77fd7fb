"""Numbers of different signatures are never mixed, and the refusal names both."""

from __future__ import annotations

import numpy as np
import pytest

from metrics.masks import noise
from segtrial.errors import MetricInputError
from segtrial.metrics import (
    METRIC_VERSION,
    detection_signatures,
    evaluate_detection,
    evaluate_label_maps,
    metric_signatures,
    require_same_signature,
)

CHANGES: dict[str, dict[str, object]] = {
    "nsd": {"tolerances_mm": (1.0,)},
    "boundary_iou": {"boundary_width_mm": 1.5},
    "dice": {"ignore_labels": (255,)},
    "hd": {"dimensions": 2},
    "assd": {"dimensions": 2},
}


@pytest.mark.parametrize(("key", "change"), CHANGES.items(), ids=CHANGES)
def test_what_decides_a_value_is_in_its_signature(key: str, change: dict[str, object]) -> None:
    one, other = metric_signatures()[key], metric_signatures(**change)[key]  # type: ignore[arg-type]
    assert one != other
    with pytest.raises(MetricInputError) as refused:
        require_same_signature([one, one, other])
    assert one in str(refused.value)
    assert other in str(refused.value)


def test_what_does_not_decide_a_value_is_not_in_its_signature() -> None:
    other = metric_signatures(tolerances_mm=(1.0,), percentiles=(50.0,), directed=True)
    for key in ("dice", "iou", "hd", "assd", "masd"):
        assert metric_signatures()[key] == other[key]


def test_pooled_and_directed_percentiles_are_different_metrics() -> None:
    lines = metric_signatures(directed=True)
    mixed = [lines["hd95"], lines["hd95_pooled"], lines["hd95_reference_to_prediction"]]
    assert len({line.partition(";")[2] for line in mixed}) == 3


def test_the_version_is_in_every_signature() -> None:
    lines = metric_signatures(directed=True) | detection_signatures(
        connectivity=26, iou_threshold=0.1
    )
    assert all(f";version={METRIC_VERSION};" in line for line in lines.values())


def test_detection_names_its_rule() -> None:
    components = detection_signatures(connectivity=26, iou_threshold=0.1)["lesion_f1"]
    for other in (
        detection_signatures(connectivity=6, iou_threshold=0.1)["lesion_f1"],
        detection_signatures(connectivity=26, iou_threshold=0.5)["lesion_f1"],
        detection_signatures(connectivity=None, iou_threshold=0.1)["lesion_f1"],
    ):
        with pytest.raises(MetricInputError, match="They differ in"):
            require_same_signature([components, other])


ARGUMENTS: dict[str, dict[str, object]] = {
    "none": {},
    "whole numbers": {"tolerances_mm": (2, 3), "percentiles": (95, 50), "boundary_width_mm": 3},
    "one number": {"tolerances_mm": 3, "percentiles": 50, "ignore_labels": 255},
    "numbers of NumPy": {
        "tolerances_mm": (np.float64(1), np.int8(3)),
        "percentiles": np.array([95.0, 50.0]),
        "boundary_width_mm": np.float64(1.5),
        "ignore_labels": np.array([9, 3]),
    },
    "collections": {"tolerances_mm": [1, 4], "percentiles": [5], "ignore_labels": {7, 3}},
    "labels twice": {"ignore_labels": (255, 3, 255)},
    "no tolerance": {"tolerances_mm": (), "percentiles": ()},
}


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("how", ARGUMENTS.values(), ids=ARGUMENTS)
def test_signatures_are_those_of_the_records_for_the_same_arguments(
    how: dict[str, object], dimensions: int
) -> None:
    mask = noise(0.5, (4, 5, 6)[:dimensions], 1)
    spacing_mm = (1,) * dimensions
    record = evaluate_label_maps(
        mask,
        mask,
        spacing_mm=spacing_mm,
        structures={"s": 1},
        directed=True,
        **how,  # type: ignore[arg-type]
    )["s"]
    alone = metric_signatures(**how, directed=True, dimensions=dimensions)  # type: ignore[arg-type]
    assert alone == dict(record.signatures)


@pytest.mark.parametrize("instances", [False, True])
@pytest.mark.parametrize(("dimensions", "connectivity"), [(2, 8), (3, 26)])
def test_signatures_of_detection_are_those_of_its_record(
    *, instances: bool, dimensions: int, connectivity: int
) -> None:
    mask = noise(0.5, (4, 5, 6)[:dimensions], 1)
    found = evaluate_detection(
        mask,
        mask,
        spacing_mm=(1,) * dimensions,
        instances=instances,
        iou_threshold=1,
        ignore_labels=(9, 9, 3),
    )
    assert dict(found.signatures) == detection_signatures(
        connectivity=None if instances else np.int64(connectivity),  # type: ignore[arg-type]
        iou_threshold=np.float64(1),
        ignore_labels=np.array([3, 9]),
        dimensions=dimensions,  # type: ignore[arg-type]
    )


def test_instances_of_images_are_not_those_of_volumes() -> None:
    plane, space = (
        detection_signatures(connectivity=None, iou_threshold=0.1, dimensions=dimensions)
        for dimensions in (2, 3)
    )
    with pytest.raises(MetricInputError, match="differ in: dimensions=2, dimensions=3"):
        require_same_signature([plane["lesion_f1"], space["lesion_f1"]])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"tolerances_mm": (0,)}, "a tolerance is a positive"),
        ({"percentiles": (101,)}, "at most 100"),
        ({"boundary_width_mm": -1}, "boundary_width_mm is -1.0"),
        ({"ignore_labels": 0}, "label 0, which cannot exist"),
        ({"dimensions": 4}, "dimensions is 4; label maps have 2 or 3"),
        ({"dimensions": 3.0}, "dimensions is 3.0"),
    ],
)
def test_arguments_without_meaning_have_no_signature(how: dict[str, object], message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        metric_signatures(**how)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"connectivity": 8}, "connectivity is 8; in 3D"),
        ({"connectivity": 26.0}, "connectivity is 26.0; in 3D"),
        ({"connectivity": 26, "dimensions": 2}, "connectivity is 26; in 2D"),
        ({"connectivity": 26, "iou_threshold": 0}, "iou_threshold is 0"),
    ],
)
def test_detection_without_meaning_has_no_signature(how: dict[str, object], message: str) -> None:
    with pytest.raises(MetricInputError, match=message):
        detection_signatures(**{"iou_threshold": 0.1, **how})  # type: ignore[arg-type]


def test_the_same_signatures_give_theirs() -> None:
    line = metric_signatures()["nsd"]
    assert require_same_signature([line, line]) == line


def test_no_numbers_have_no_signature() -> None:
    with pytest.raises(MetricInputError, match="no numbers"):
        require_same_signature([])
