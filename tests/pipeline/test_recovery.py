"""Trouble on the platform ends in a clear error, and the next start goes on from the journal."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import tiny
from evaluate_command import Evaluate
from private_engine import PrivateEngine
from segtrial.container.base_image import BASE_TAG

pytestmark = pytest.mark.docker


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 512 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", disk], check=True)
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_full_disk_is_named_and_the_run_goes_on_when_there_is_space(
    evaluate: Evaluate, small_disk: Path, tmp_path: Path
) -> None:
    dataset = tiny.make_dataset(tmp_path / "tiny", [0] * 4)
    threshold = tiny.make_submission(tmp_path / "m", name="m", program=tiny.THRESHOLD)
    words = (
        "run",
        threshold,
        "--build",
        "-d",
        dataset,
        "--store",
        small_disk / "s",
        "-o",
        "r.json",
    )
    filler = small_disk / "filler"
    started = evaluate("status", small_disk / "s")
    assert started.returncode == 4
    filler.write_bytes(b"x" * (300 << 10))

    full = evaluate(*words)

    assert full.returncode == 4, full.stderr
    assert "Traceback" not in full.stderr
    assert "full" in full.stderr or "No space left" in full.stderr
    filler.unlink()
    assert evaluate(*words).returncode == 0


@pytest.mark.usefixtures("evaluate")
def test_two_maintainers_on_one_store_run_every_case_once(tmp_path: Path) -> None:
    dataset = tiny.make_dataset(tmp_path / "tiny", [0] * 8)
    threshold = tiny.make_submission(tmp_path / "m", name="m", program=tiny.THRESHOLD)
    words = [sys.executable, "-m", "segtrial", "run", str(threshold), "--build"]
    both = [
        subprocess.Popen(
            [*words, "-d", str(dataset), "--store", "s", "-o", f"{n}.json"],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        for n in (1, 2)
    ]
    said = [child.communicate(timeout=300)[1] for child in both]

    assert [child.returncode for child in both] == [0, 0], said
    assert sum(text.count("  ok") for text in said) == 8, said
    assert tiny.comparable(tmp_path / "1.json") == tiny.comparable(tmp_path / "2.json")


@pytest.mark.parametrize(
    ("break_it", "says"),
    [
        (lambda d: (d / "cases/tiny_002/reference.nii.gz").unlink(), "no reference"),
        (lambda d: (d / "cases/tiny_002/scan.nii.gz").write_bytes(b"<html>"), "scan.nii.gz"),
        (lambda d: (d / "cases.csv").write_text("case,patient,sex\nother,p1,F\n"), "other"),
        (lambda d: (d / "card.yaml").write_text("schema_version: segtrial-card/1\n"), "missing"),
        (
            lambda d: (
                shutil.copy(d / "cases/tiny_001/reference.nii.gz", d / "cases/tiny_002/scan.nii.gz")
                and (d / "cases/tiny_002/reference.nii.gz").write_bytes(
                    (d / "cases/tiny_001/reference.nii.gz").read_bytes()[:60]
                )
            ),
            "tiny_002",
        ),
    ],
    ids=["missing-reference", "html-scan", "unknown-case", "empty-card", "cut-off-reference"],
)
def test_a_broken_dataset_is_bad_input(
    evaluate: Evaluate, dataset: Path, threshold: Path, break_it: object, says: str
) -> None:
    break_it(dataset)  # type: ignore[operator]

    done = evaluate("run", threshold, "--build", "-d", dataset, "--store", "s")

    assert done.returncode == 3, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_submission_whose_image_does_not_exist_is_bad_input(
    evaluate: Evaluate, dataset: Path, threshold: Path
) -> None:
    manifest = threshold / "submission.yaml"
    manifest.write_text(manifest.read_text() + "image: {reference: nobody/has-this:1}\n")

    done = evaluate("run", threshold, "--build", "-d", dataset, "--store", "s")

    assert done.returncode == 3, done.stderr
    assert "nobody/has-this:1" in done.stderr


def test_an_archive_that_is_none_is_bad_input(
    evaluate: Evaluate, dataset: Path, threshold: Path
) -> None:
    manifest = threshold / "submission.yaml"
    manifest.write_text(manifest.read_text() + "image: {archive: model.tar.gz}\n")
    (threshold / "model.tar.gz").write_bytes(b"this is no archive")

    done = evaluate("run", threshold, "--build", "-d", dataset, "--store", "s")

    assert done.returncode == 3, done.stderr
    assert "model.tar.gz" in done.stderr
    assert "Traceback" not in done.stderr


def test_one_refused_submission_does_not_keep_the_others_from_running(
    evaluate: Evaluate, dataset: Path, threshold: Path, tmp_path: Path
) -> None:
    broken = tiny.make_submission(tmp_path / "broken", name="broken", program=tiny.THRESHOLD)
    (broken / "Dockerfile").write_text("ARG BASE_IMAGE\nFROM ${BASE_IMAGE}\nRUN false\n")

    done = evaluate(
        "run", broken, threshold, "--build", "-d", dataset, "--store", "s", "-o", "r.json"
    )

    assert done.returncode == 3, done.stderr
    assert "submission broken" in done.stderr
    results = json.loads((tmp_path / "r.json").read_text())
    assert [row["id"] for row in results["submissions"]] == ["threshold"]


def test_no_engine_is_platform_trouble(evaluate: Evaluate, dataset: Path, threshold: Path) -> None:
    done = evaluate(
        "run",
        threshold,
        "--build",
        "-d",
        dataset,
        env={"DOCKER_HOST": "unix:///nowhere/docker.sock"},
    )

    assert done.returncode == 4, done.stderr
    assert "/nowhere/docker.sock" in done.stderr


def test_an_engine_that_stops_in_the_middle_loses_nothing(
    evaluate: Evaluate, own_engine: PrivateEngine, tmp_path: Path
) -> None:
    words = run_of_six(tmp_path)
    env = {"DOCKER_HOST": own_engine.address}
    with started_and_past_the_first(words, env, tmp_path) as child:
        own_engine.end(signal.SIGKILL)
        said = child.communicate(timeout=240)[1]
    own_engine.start()
    status = json.loads(evaluate("status", "s", "--json").stdout)
    again = evaluate(*words, "--images-gib", "0", env=env)

    assert child.returncode == 4, said
    assert "Traceback" not in said
    assert "run the same command again" in said
    assert status[0]["final"] >= 1
    assert again.returncode == 0, again.stderr
    assert "to save disk" in again.stderr
    assert own_engine.docker("image", "ls", "--quiet", "segtrial/taken-in") == []
    assert BASE_TAG in own_engine.docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}")


def test_after_a_power_cut_the_next_start_goes_on_and_cleans_up(
    evaluate: Evaluate, own_engine: PrivateEngine, tmp_path: Path
) -> None:
    """Evaluator and engine die at once, and the folder of locks is empty as after a reboot."""
    words = run_of_six(tmp_path)
    env = {"DOCKER_HOST": own_engine.address}
    with started_and_past_the_first(words, env, tmp_path) as child:
        child.kill()
        own_engine.end(signal.SIGKILL)
    own_engine.start()
    assert own_engine.docker("ps", "--all", "--quiet") != []
    rebooted = subprocess.run(
        [*REBOOTED, sys.executable, "-m", "segtrial", *words],
        cwd=tmp_path,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )

    assert rebooted.returncode == 0, rebooted.stderr
    assert own_engine.docker("ps", "--all", "--quiet") == []
    assert own_engine.docker("volume", "ls", "--quiet") == []
    outcomes = [r["outcome"] for r in json.loads((tmp_path / "r.json").read_text())["records"]]
    assert sorted(set(outcomes)) == ["failed: timeout", "ok"]
    # The same command in the old world: nothing is left to do but to sweep what the kill left.
    assert evaluate(*words, env=env).returncode == 0


EMPTY_RUN = "mount -t tmpfs -o mode=0700 tmpfs /run/segtrial"
REBOOTED = ("unshare", "--mount", "sh", "-c", f'{EMPTY_RUN} && exec "$@"', "sh")


def run_of_six(folder: Path) -> tuple[str, ...]:
    dataset = tiny.make_dataset(folder / "tiny", [0, 0, 2, 2, 0, 0])
    moody = tiny.make_submission(folder / "moody", name="moody", program=tiny.MOODY)
    return ("run", str(moody), "--build", "-d", str(dataset), "--store", "s", "-o", "r.json")


@contextmanager
def started_and_past_the_first(
    words: tuple[str, ...], env: dict[str, str], folder: Path
) -> Iterator[subprocess.Popen[str]]:
    """The command, running, with its first case final."""
    with subprocess.Popen(
        [sys.executable, "-m", "segtrial", *words],
        cwd=folder,
        env={**os.environ, **env},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    ) as child:
        assert child.stderr is not None
        for line in child.stderr:
            if "1/6" in line:
                break
        yield child
