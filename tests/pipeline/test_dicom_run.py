"""A track of DICOM series: staged as NIfTI, run in a real container, scored against pictures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

import chaos_files as chaos
import tiny
from evaluate_command import Evaluate
from segtrial.datasets import load_card

pytestmark = pytest.mark.docker

PROGRAM = """\
import json, nibabel, numpy as np
request = json.load(open("/input/request.json"))
assert [scan["modality"] for scan in request["scans"]] == ["mr", "mr"], request
first, second = (nibabel.load("/input/" + scan["file"]) for scan in request["scans"])
voxels = np.asarray(first.dataobj)
assert (np.asarray(second.dataobj) == voxels + 1).all()
labels = np.where(voxels == 100, 7, np.where(voxels == 400, 9, 0)).astype(np.uint8)
nibabel.save(nibabel.Nifti1Image(labels, first.affine), "/output/segmentation.nii.gz")
"""


def test_two_phases_of_a_patient_reach_the_container_and_are_scored(
    evaluate: Evaluate, tmp_path: Path
) -> None:
    folder = tmp_path / "chaos"
    cases = [f"mr_{patient}_t1dual" for patient in chaos.MR[:2]]
    for patient in chaos.MR[:2]:
        chaos.write_mr(folder, patient)
    card = load_card("chaos").model_dump(mode="python", exclude_defaults=True)
    card["tracks"] = [
        {"id": "two", "title": "Two", "cases": cases, "modality": "mr",
         "structures": ["liver", "spleen"]}
    ]  # fmt: skip
    text = json.loads(json.dumps(card, default=list))
    text["labels"] = card["labels"]
    for files, ours in zip(text["files"], card["files"], strict=True):
        files["grey_levels"] = {key: list(value) for key, value in ours["grey_levels"].items()}
    (folder / "card.yaml").write_text(yaml.safe_dump(text))
    model = tiny.make_submission(tmp_path / "phases", name="phases", program=PROGRAM)

    done = evaluate("run", model, "--build", "-d", folder, "--store", "s", "-o", "r.json")

    assert done.returncode == 0, done.stderr
    records = json.loads((tmp_path / "r.json").read_text())["records"]
    assert [record["metrics"]["dice"] for record in records] == [1.0] * 4
