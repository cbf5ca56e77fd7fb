"""A new version of a dataset, and the results that it touches."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from segtrial.cli import app
from segtrial.datasets import load_card
from segtrial.datasets.comparing import DatasetChange, compare, touched
from segtrial.imports import import_segbench
from segtrial.pipeline.results_file import write_results

Writer = Callable[..., Path]


def changed(**changes: object) -> DatasetChange:
    old = load_card("kits23")
    return compare(old, old.replace(version="next", **changes))


def test_the_same_card_touches_nothing() -> None:
    assert not any(track.touches for track in changed().tracks)


def test_a_withdrawn_patient_touches_every_track_that_has_the_case() -> None:
    splits = dict(load_card("kits23").splits)
    splits["added"] = tuple(case for case in splits["added"] if case != "case_00401")
    found = {track.track: track.withdrawn for track in changed(splits=splits).tracks}
    assert found == {
        "clean-400-588": ("case_00401",),
        "lesions-400-588": ("case_00401",),
        "train": ("case_00401",),
    }


def test_another_tolerance_or_label_touches_its_structure() -> None:
    tolerances = {"kidney": {"mm": 2, "source": "changed"}}
    found = {track.track: track for track in changed(tolerances=tolerances).tracks}
    assert found["train"].tolerances == ("kidney",)
    moved = changed(labels={1: "kidney_parenchyma", 2: "kidney_cyst", 3: "kidney_tumor"})
    by_track = {track.track: track.structures for track in moved.tracks}
    assert by_track == {
        "clean-400-588": (),
        "lesions-400-588": ("kidney_tumor",),
        "train": (),
    }


def test_a_corrected_reference_is_found_voxel_by_voxel(tmp_path: Path, write: Writer) -> None:
    for version, labels in (("1", (1, 1)), ("2", (1, 0))):
        folder = tmp_path / version
        for case, voxels in (("a", labels), ("b", (1,))):
            write(folder / "cases" / case / "scan.nii.gz")
            write(folder / "cases" / case / "reference.nii.gz", labels=voxels)
        card = {
            "schema_version": "segtrial-card/1", "id": "mine", "title": "Mine", "version": version,
            "licence": {"name": "CC0"}, "references": "public", "modality": "ct",
            "layout": "segtrial", "labels": {1: "liver"},
            "tracks": [{"id": "all", "title": "All", "structures": ["liver"]}],
        }  # fmt: skip
        (folder / "card.yaml").write_text(yaml.safe_dump(card))
    done = CliRunner().invoke(
        app, ["datasets", "diff", str(tmp_path / "1"), str(tmp_path / "2"), "--json"]
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["tracks"] == {"all": ["corrected cases: a"]}


@pytest.mark.parametrize("track", ["kept", "gone"])
def test_results_of_a_changed_version_are_named(tmp_path: Path, track: str) -> None:
    scores = {
        "dataset": {"name": "kits23"},
        "models": [
            {
                "name": "MOOSE",
                "per_organ": {"kidney": {"per_case": [{"case_id": "case_00000", "dice": 0.9}]}},
            }
        ],
    }
    (tmp_path / "seg.json").write_text(json.dumps(scores))
    results = import_segbench(tmp_path / "seg.json").results
    of = results.track.model_copy(
        update={"id": "clean-400-588" if track == "kept" else "old-track"}
    )
    write_results(results.model_copy(update={"track": of}), tmp_path / "results.json")
    for version, folder in (("0.1.3", "old"), ("0.1.4", "new")):
        card = load_card("kits23").model_dump(mode="json") | {"version": version}
        card["tracks"] = [
            t for t in card["tracks"] if folder == "old" or t["id"] == "clean-400-588"
        ]
        if folder == "old":
            card["tracks"].append({**copy.deepcopy(card["tracks"][0]), "id": "old-track"})
        card["splits"]["added"] = card["splits"]["added"][: 189 if folder == "old" else 188]
        card["count"] = None
        card["labels"] = {int(label): name for label, name in card["labels"].items()}
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "card.yaml").write_text(yaml.safe_dump(card))
    done = CliRunner().invoke(
        app,
        ["datasets", "diff", str(tmp_path / "old"), str(tmp_path / "new"), "--json",
         "--results", str(tmp_path / "results.json")],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    (why,) = json.loads(done.stdout)["results"].values()
    expected = {"kept": "withdrawn cases: case_00588", "gone": "the track old-track is gone"}
    assert why == [expected[track]]


@pytest.mark.parametrize(("withdrawn", "hit"), [("case_00000", True), ("case_00007", False)])
def test_imported_results_are_touched_by_their_cases(
    tmp_path: Path, withdrawn: str, *, hit: bool
) -> None:
    case = {"case_id": "case_00000", "dice": 0.9}
    scores = {
        "dataset": {"name": "kits23"},
        "models": [{"name": "MOOSE", "per_organ": {"kidney": {"per_case": [case]}}}],
    }
    (tmp_path / "seg.json").write_text(json.dumps(scores))
    results = import_segbench(tmp_path / "seg.json").results
    old = load_card("kits23")
    kept = tuple(case for case in old.splits["kits19_train"] if case != withdrawn)
    new = old.model_copy(update={"splits": {**old.splits, "kits19_train": kept}})
    why = touched(compare(old, new), old, results)
    assert why == ((f"withdrawn cases: {withdrawn}",) if hit else ())
