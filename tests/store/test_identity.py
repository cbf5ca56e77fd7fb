"""Opaque ids and pseudonyms are stable where they must be and tell nothing elsewhere."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from segtrial.contracts.limits import Limits, Relaxations
from segtrial.store.identity import opaque_case_id, pseudonym, public_key
from segtrial.store.keys import run_key, score_key

names = st.text(min_size=1, max_size=20)
secrets = st.binary(min_size=32, max_size=32)


@given(secrets, names, names, names)
def test_two_submissions_see_different_ids_of_a_case(s: bytes, case: str, a: str, b: str) -> None:
    same = opaque_case_id(s, submission=a, case=case) == opaque_case_id(s, submission=b, case=case)
    assert same == (a == b)


@given(secrets, names, names)
def test_case_and_patient_of_one_name_differ(s: bytes, dataset: str, name: str) -> None:
    case = pseudonym(s, kind="case", dataset=dataset, version="1", name=name)
    patient = pseudonym(s, kind="patient", dataset=dataset, version="1", name=name)
    assert case[1:] != patient[1:]


@given(secrets, names, names)
def test_a_pseudonym_does_not_carry_over_to_another_version(s: bytes, d: str, n: str) -> None:
    first = pseudonym(s, kind="case", dataset=d, version="1", name=n)
    assert first != pseudonym(s, kind="case", dataset=d, version="2", name=n)


def test_public_pseudonyms_are_the_same_everywhere() -> None:
    key = public_key(dataset="phantom", version="1.0")
    name = pseudonym(key, kind="case", dataset="phantom", version="1.0", name="phantom_001")
    assert name == "c42b572e0e3e55a3d"


BASE = {
    "contract": "segtrial/1",
    "image_digest": "sha256:1",
    "case_input": "a",
    "structures": ("liver",),
    "granted": Relaxations(),
    "limits": Limits(),
    "gpu_model": None,
    "runtime": "runc",
}


def test_whatever_could_change_the_output_changes_the_run_key() -> None:
    changes = {
        "contract": "flare",
        "image_digest": "sha256:2",
        "case_input": "b",
        "structures": ("liver", "spleen"),
        "granted": Relaxations(root=True),
        "limits": Limits(time_s=1),
        "gpu_model": "GPU",
        "runtime": "runsc",
    }
    keys = {run_key(**{**BASE, name: value}) for name, value in changes.items()}  # type: ignore[arg-type]
    assert len(keys | {run_key(**BASE)}) == len(changes) + 1  # type: ignore[arg-type]


def test_a_new_reference_label_map_or_metric_is_a_new_score() -> None:
    base = {
        "run": "r",
        "output": "o",
        "reference": "f",
        "reference_labels": {"liver": (1,)},
        "prediction_labels": {"liver": (5,)},
        "signature": "dice;version=1",
    }
    changes = {
        "run": "r2",
        "output": "o2",
        "reference": "f2",
        "reference_labels": {"liver": (1, 2)},
        "prediction_labels": {"liver": (6,)},
        "signature": "dice;version=2",
    }
    keys = {score_key(**{**base, name: value}) for name, value in changes.items()}  # type: ignore[arg-type]
    assert len(keys | {score_key(**base)}) == len(changes) + 1  # type: ignore[arg-type]
