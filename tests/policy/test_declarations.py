"""Declarations that cannot be used: each problem is named, with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from segtrial.contracts.training import Training
from segtrial.datasets import load_lineage, load_models
from segtrial.errors import SubmissionError
from segtrial.policy.contamination import TargetCase, judge

GOLDEN = Path(__file__).parent / "golden" / "declaration-error"


def message_of(path: Path) -> str:
    training = Training.model_validate(yaml.safe_load(path.read_text()))
    with pytest.raises(SubmissionError) as caught:
        judge(
            training,
            name="my-model",
            dataset="kits23",
            cases=[TargetCase("case_00000")],
            graph=load_lineage(),
            models=load_models(),
        )
    return str(caught.value) + "\n"


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_message_is_the_golden_one(path: Path) -> None:
    assert message_of(path) == path.with_suffix(".txt").read_text()


@pytest.mark.parametrize(
    "written", ["case_400", "CASE_00400", "case_00400.nii.gz", "dataset/case_00400"]
)
def test_case_ids_in_another_spelling_are_understood(written: str) -> None:
    training = Training.model_validate({"sources": [{"dataset": "kits23", "cases": [written]}]})
    found = judge(
        training,
        name="m",
        dataset="kits23",
        cases=[TargetCase("case_00400"), TargetCase("case_00401")],
        graph=load_lineage(),
        models=load_models(),
    )
    assert found.eligibility == {"case_00400": "contaminated", "case_00401": "clean"}
