"""What a caller gets: keys, order, states, and records that travel between processes."""

from __future__ import annotations

import dataclasses
import json
import pickle

import numpy as np
import pytest

from metrics.masks import noise
from segtrial.metrics import StructureMetrics, evaluate_label_maps


def two_structures(**how: object) -> dict[str, StructureMetrics]:
    maps = [noise(0.3, (6, 7, 8), seed).astype(np.uint8) for seed in (1, 2)]
    maps[0][0, 0, 0] = 9
    return evaluate_label_maps(*maps, spacing_mm=(1.0, 1.0, 2.0), **how)  # type: ignore[arg-type]


def test_the_default_keys() -> None:
    record = two_structures(structures={"spleen": 1})["spleen"]
    assert list(record.as_dict()) == [
        "dice",
        "iou",
        "boundary_iou",
        "hd",
        "hd95",
        "assd",
        "masd",
        "nsd",
        "hd95_pooled",
        "reference_volume_ml",
        "prediction_volume_ml",
        "volume_difference_ml",
        "relative_volume_error",
        "reference_empty",
        "prediction_empty",
    ]


def test_further_tolerances_and_percentiles_have_keys_of_their_own() -> None:
    record = two_structures(
        structures={"spleen": 1}, tolerances_mm=(1, 2.5), percentiles=(50, 99.5), directed=True
    )["spleen"]
    assert {"nsd", "nsd_2.5mm", "hd50", "hd99.5", "hd99.5_pooled"} <= set(record.values)
    assert "hd95" not in record.values
    assert "hd50_reference_to_prediction" in record.values


def test_keys_have_every_digit_of_their_number() -> None:
    record = two_structures(
        structures={"spleen": 1},
        tolerances_mm=(1, 2.0000001, 2, 1234567.5),
        percentiles=(99.99999, 100, 1e-9),
        directed=True,
    )["spleen"]
    assert {"nsd_2.0000001mm", "nsd_2mm", "nsd_1234567.5mm"} <= set(record.values)
    assert {"hd99.99999", "hd100", "hd1e-09", "hd99.99999_pooled"} <= set(record.values)
    assert "hd99.99999_reference_to_prediction" in record.values
    assert "percentile=99.99999;" in record.signatures["hd99.99999"]
    assert "tolerance_mm=2.0000001;" in record.signatures["nsd_2.0000001mm"]


def test_each_structure_has_its_own_tolerance() -> None:
    structures = {"spleen": 1, "other": 9}
    found = two_structures(structures=structures, tolerances_mm={"spleen": 0.5})
    assert "tolerance_mm=0.5" in found["spleen"].signatures["nsd"]
    assert "tolerance_mm=2.0" in found["other"].signatures["nsd"]
    alone = two_structures(structures=structures, tolerances_mm=(0.5,))
    assert found["spleen"]["nsd"] == alone["spleen"]["nsd"]
    assert found["spleen"]["nsd"] != two_structures(structures=structures)["spleen"]["nsd"]


def test_all_labels_found_are_structures_by_their_number_in_order() -> None:
    assert list(two_structures()) == ["1", "9"]
    assert list(two_structures(ignore_labels=(9,))) == ["1"]


def test_structures_come_in_the_order_they_were_asked_for() -> None:
    assert list(two_structures(structures={"b": 9, "a": 1})) == ["b", "a"]


def test_unbounded_and_undefined_values_are_states_in_json() -> None:
    found = two_structures(structures={"missed": 9, "nowhere": 5})
    written = json.loads(json.dumps({k: r.as_dict() for k, r in found.items()}, allow_nan=False))
    assert written["missed"]["hd"] == {"state": "unbounded"}
    assert written["missed"]["relative_volume_error"] == 1.0
    assert written["nowhere"]["hd"] == {"state": "undefined"}
    assert written["nowhere"]["dice"] == {"state": "undefined"}
    assert written["nowhere"]["volume_difference_ml"] == 0.0
    assert written["nowhere"]["reference_empty"] is True


def test_every_value_has_a_signature() -> None:
    record = two_structures(structures={"s": 1}, directed=True, ignore_labels=(3,))["s"]
    assert list(record.signatures) == list(record.values)
    assert all(line.startswith(f"{key};version=") for key, line in record.signatures.items())


def test_a_record_cannot_be_changed() -> None:
    record = two_structures()["1"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.structure = "2"  # type: ignore[misc]
    with pytest.raises(TypeError):
        record.values["dice"] = 1.0  # type: ignore[index]


def test_a_record_goes_to_another_process_and_back() -> None:
    record = two_structures()["1"]
    assert pickle.loads(pickle.dumps(record)) == record  # noqa: S301 - our own bytes


def test_ignored_voxels_count_for_neither_side() -> None:
    reference = np.zeros((8, 8, 8), np.uint8)
    prediction = np.zeros_like(reference)
    reference[2:6, 2:6, 2:6] = 1
    reference[2:6, 2:6, 6:] = 255
    prediction[2:6, 2:6, 2:] = 1
    found = evaluate_label_maps(reference, prediction, spacing_mm=(1, 1, 1), ignore_labels=255)
    assert list(found) == ["1"]
    assert (found["1"]["dice"], found["1"]["hd"]) == (1.0, 0.0)
