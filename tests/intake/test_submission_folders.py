"""What authors copy, and our own models, pass as any stranger's submission would."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from segtrial.container import engine_images
from segtrial.container.engine import Engine
from segtrial.container.intake import take_in
from segtrial.contracts.limits import Relaxations
from segtrial.contracts.record import Record
from segtrial.contracts.submission import ImageSource, Submission, parse_submission
from segtrial.contracts.training import Training, TrainingSource
from segtrial.resources import resource_dir

TEMPLATE = resource_dir("submission_template")
MODELS = sorted(path.parent for path in resource_dir("model_images").glob("*/submission.yaml"))
FOLDERS = [TEMPLATE, *MODELS]


def read(folder: Path) -> Submission:
    manifest = folder / "submission.yaml"
    return parse_submission(manifest.read_bytes(), source=str(manifest))


@pytest.mark.parametrize("record", [Submission, ImageSource, Relaxations, Training, TrainingSource])
def test_the_template_names_every_key_and_comments_it(record: type[Record]) -> None:
    lines = (TEMPLATE / "submission.yaml").read_text(encoding="utf-8").splitlines()
    for key in record.model_fields:
        at = [n for n, line in enumerate(lines) if f"{key}:" in line]
        assert at, f"{key} is not in the template"
        if record is not TrainingSource:
            assert any("#" in line for line in lines[max(0, at[0] - 3) : at[0] + 1]), key


def test_the_templates_example_of_a_training_source_is_one() -> None:
    text = (TEMPLATE / "submission.yaml").read_text(encoding="utf-8")
    example = re.sub(r"^  #(   [- ] .*)$", r"  \1", text, flags=re.MULTILINE)
    example = example.replace("  sources: []\n", "").replace(
        "training:\n", "training:\n  sources:\n"
    )
    training = parse_submission(example, source="the example").training
    assert training is not None
    assert [source.dataset for source in training.sources] == ["kits23"]


@pytest.mark.parametrize("folder", MODELS, ids=lambda path: path.name)
def test_a_models_id_is_its_folders_name_and_it_says_what_it_was_trained_on(folder: Path) -> None:
    submission = read(folder)
    assert submission.id == folder.name
    assert submission.training is not None
    assert (folder / "README.md").read_text(encoding="utf-8").startswith("# ")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_a_program_needs_only_what_the_base_image_has(folder: Path) -> None:
    tree = ast.parse((folder / "predict.py").read_text(encoding="utf-8"))
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= {"numpy", "scipy", "nibabel"} | sys.stdlib_module_names


@pytest.mark.docker
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_a_folder_builds_without_a_network_and_the_policy_has_nothing_to_say(
    engine: Engine, base_image: str, folder: Path
) -> None:
    intake = take_in(engine, read(folder), folder, may_build=True, base_image=base_image)
    assert intake.findings == ()
    assert intake.source == "dockerfile"
    assert engine_images.find(engine, intake.image_id)
