"""``evaluate policy``: the answer for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from segtrial.cli import app

MANIFEST = """\
schema_version: segtrial/1
id: my-model
name: My model
version: "1"
authors: [A. Author]
licence: Apache-2.0
labels: {1: kidney_left, 2: kidney_right}
"""


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["policy", *arguments], env={"COLUMNS": "200"})
    return done.exit_code, done.output


def answer(*arguments: str) -> dict[str, object]:
    code, output = run(*arguments, "--json")
    assert code == 0, output
    found: dict[str, object] = json.loads(output)
    return found


def test_json_has_verdict_counts_and_paths_with_evidence() -> None:
    found = answer("vista3d", "--dataset", "amos22")
    assert found["verdict"] == "partial"
    assert found["cases"] == {"clean": 60, "images_only": 0, "unknown": 0, "contaminated": 240}
    assert found["paths"][0]["steps"][0]["evidence"]  # type: ignore[index] # JSON
    assert {track["id"]: track["ranked"] for track in found["tracks"]} == {  # type: ignore[attr-defined]
        "val-ct": False,
        "train-ct": False,
    }


def test_it_says_on_which_tracks_a_model_would_be_ranked() -> None:
    found = answer("ctfm_whole_body", "--dataset", "KiTS 2023")
    ranked = {track["id"]: track["ranked"] for track in found["tracks"]}  # type: ignore[attr-defined]
    assert ranked == {"clean-400-588": True, "lesions-400-588": True, "train": False}
    assert (
        answer("ctfm_whole_body", "--dataset", "kits23", "--track", "clean-400-588")["verdict"]
        == "clean"
    )


def test_another_sequence_of_the_same_patient_is_contaminated_without_any_file_here(
    tmp_path: Path,
) -> None:
    training = "training: {sources: [{dataset: chaos, cases: [mr_1_t1dual]}]}"
    (tmp_path / "submission.yaml").write_text(MANIFEST + training)
    found = answer(str(tmp_path), "--dataset", "chaos", "--track", "mr-train")
    assert found["cases"] == {"clean": 38, "images_only": 0, "unknown": 0, "contaminated": 2}


@pytest.mark.parametrize("where", ["folder", "file"])
def test_a_submission_may_be_a_folder_or_a_file(tmp_path: Path, where: str) -> None:
    path = tmp_path / "submission.yaml"
    path.write_text(MANIFEST + "training: {sources: [{dataset: KiTS 2019}]}\n")
    named = str(tmp_path if where == "folder" else path)
    found = answer(named, "--dataset", "kits23")
    assert found["submission"] == "my-model"
    assert found["cases"]["contaminated"] == 300  # type: ignore[index] # JSON
    assert found["declared_by"] == "the submission"


def test_a_submission_without_a_declaration_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "submission.yaml").write_text(MANIFEST)
    assert answer(str(tmp_path), "--dataset", "kits23")["verdict"] == "unknown"


def test_people_see_every_link_of_the_path() -> None:
    code, output = run("stunet_abdomenatlas", "--dataset", "btcv")
    assert code == 0
    assert "contaminated" in output
    assert "AbdomenAtlas 1.0 Mini contains BTCV (abdomen)" in output
    assert "https://" in output


def test_the_matrix_has_every_model_and_every_track() -> None:
    code, output = run("matrix", "--json")
    assert code == 0
    matrix = json.loads(output)
    assert matrix["totalsegmentator_v2_total"]["kits23/clean-400-588"] == "clean"
    assert matrix["nninteractive_v1_0"]["word/test"] == "unknown"
    assert len({len(row) for row in matrix.values()}) == 1
    code, drawn = run("matrix")
    assert code == 0
    assert all(model in drawn for model in matrix)


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        (("totalsegmentator_v2_tota", "--dataset", "kits23"), "totalsegmentator_v2_total", 3),
        (("vista3d", "--dataset", "kits22"), "Did you mean 'kits23'?", 3),
        (("vista3d", "--dataset", "kits19"), "has no card", 3),
        (("vista3d", "--dataset", "kits23", "--track", "clean"), "clean-400-588", 3),
        (("vista3d",), "--dataset", 2),
    ],
)
def test_bad_input_is_named(arguments: tuple[str, ...], said: str, code: int) -> None:
    got, output = run(*arguments)
    assert got == code
    assert said in " ".join(output.split())
