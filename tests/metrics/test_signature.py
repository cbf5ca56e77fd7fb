"""Numbers of different signatures are never mixed, and the refusal names both."""

from __future__ import annotations

import pytest

from segtrial.errors import MetricInputError
from segtrial.metrics import (
    METRIC_VERSION,
    detection_signatures,
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


def test_the_same_signatures_give_theirs() -> None:
    line = metric_signatures()["nsd"]
    assert require_same_signature([line, line]) == line


def test_no_numbers_have_no_signature() -> None:
    with pytest.raises(MetricInputError, match="no numbers"):
        require_same_signature([])
