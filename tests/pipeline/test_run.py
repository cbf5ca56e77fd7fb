"""Whole runs by the command line, in real containers."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import tiny
from evaluate_command import Evaluate
from segtrial.container.engine import connect
from segtrial.container.owner import LABEL_OWNER
from soak import owners_of, processes_in

pytestmark = pytest.mark.docker


def read(path: Path) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return body


def left_by(owners: set[str]) -> list[str]:
    """Containers of these owners; of nobody else's, because others use the engine too."""
    engine = connect()
    try:
        found = engine.api.containers(all=True, filters={"label": LABEL_OWNER})
    finally:
        engine.close()
    return [one["Id"] for one in found if one["Labels"][LABEL_OWNER] in owners]


def test_a_perfect_submission_scores_perfectly(
    evaluate: Evaluate, dataset: Path, threshold: Path, tmp_path: Path
) -> None:
    done = evaluate(
        "run", threshold, "--build", "--dataset", dataset, "--store", "s", "-o", "r.json"
    )

    assert done.returncode == 0, done.stderr
    records = read(tmp_path / "r.json")["records"]
    assert len(records) == 6 * 2
    present = [r for r in records if r["reference_present"]]
    assert {r["outcome"] for r in records} == {"ok"}
    assert all(r["metrics"]["dice"] == 1 and r["metrics"]["hd"] == 0 for r in present)
    absent = [r["metrics"] for r in records if not r["reference_present"]]
    assert absent == [{"specificity": 1.0, "false_positive_ml": 0.0}] * 2


def test_every_way_to_fail_has_its_outcome_and_stays_in_n(
    evaluate: Evaluate, tmp_path: Path
) -> None:
    dataset = tiny.make_dataset(tmp_path / "tiny", list(tiny.MOODS))
    moody = tiny.make_submission(tmp_path / "moody", name="moody", program=tiny.MOODY)
    shrunk = tiny.make_submission(tmp_path / "shrunk", name="shrunk", program=tiny.SHRUNK)

    done = evaluate(
        "run", moody, shrunk, "--build", "-d", dataset, "--store", "s", "-o", "r.json", "--slots", 2
    )

    assert done.returncode == 0, done.stderr
    results = read(tmp_path / "r.json")
    moods = [
        r for r in results["records"] if (r["submission"], r["structure"]) == ("moody", "liver")
    ]
    assert sorted(r["outcome"] for r in moods) == sorted(tiny.MOODS.values())
    ranking = results["analysis"]["liver"]["dice"]["ranking"]
    assert [row["submission"] for row in ranking] == ["shrunk", "moody"]
    assert results["analysis"]["liver"]["dice"]["cases"] == len(tiny.MOODS)
    assert ranking[1]["failed_cases"] == len(tiny.MOODS) - 1

    drawn = evaluate("pictures", "s", "-o", "p", "--structure", "liver", "--each", 3, "--json")
    assert drawn.returncode == 0, drawn.stderr
    assert json.loads(drawn.stdout)["cases"] == 6
    assert len(list((tmp_path / "p").glob("case-*.png"))) == 12
    unknown = evaluate("pictures", "s", "--structure", "lung")
    assert unknown.returncode == 2
    assert "it has: liver, spleen" in unknown.stderr


def test_an_author_is_told_verdicts_and_counts(evaluate: Evaluate, tmp_path: Path) -> None:
    dataset = tiny.make_dataset(tmp_path / "tiny", [0, 0, 6, 4])
    moody = tiny.make_submission(tmp_path / "moody", name="moody", program=tiny.MOODY)
    evaluate("run", moody, "--build", "-d", dataset, "--store", "s")

    told = evaluate("status", "s", "--author", "moody")

    assert told.stdout.splitlines()[0] == "moody on tiny/main"
    assert [row.split(": ")[0] for row in told.stdout.splitlines()[1:]] == [
        "2 x ok",
        "1 x failed",
        "1 x failed",
    ]
    assert "tiny_" not in told.stdout
    assert evaluate("status", "s", "--author", "modi").returncode == 2


def test_nothing_printed_on_a_sealed_case_is_shown(evaluate: Evaluate, tmp_path: Path) -> None:
    dataset = tiny.make_dataset(tmp_path / "tiny", [0])
    card = dataset / "card.yaml"
    card.write_text(card.read_text().replace("references: public", "references: private"))
    spy = "open('/output/segmentation.nii.gz', 'wb').write(b'label 42')\nprint('label 42')\n"
    model = tiny.make_submission(tmp_path / "spy", name="spy", program=spy)

    sealed = evaluate("check", model, "--dataset", dataset)

    assert sealed.returncode == 1, sealed.stderr
    assert "not accepted: failed: unreadable_output" in sealed.stdout
    assert "is not shown" in sealed.stdout
    assert "label 42" not in sealed.stdout + sealed.stderr


def test_what_is_final_is_not_run_again(
    evaluate: Evaluate, dataset: Path, threshold: Path, tmp_path: Path
) -> None:
    words = ("run", threshold, "--build", "--dataset", dataset, "--store", "s", "-o", "r.json")
    spent = evaluate(*words, "--budget-h", "1e-9")
    done = evaluate(*words, "--budget-h", "1")
    first = (tmp_path / "r.json").read_bytes()

    again = evaluate(*words)

    assert spent.returncode == 4
    assert "of its budget of 1e-09 h" in spent.stderr
    assert done.returncode == 0, done.stderr
    assert "2/6" in done.stderr
    assert " 1/6" not in done.stderr  # the canary was final
    assert again.returncode == 0
    assert "/6" not in again.stderr  # no case was run
    assert (tmp_path / "r.json").read_bytes() == first


def test_a_run_killed_again_and_again_ends_in_the_same_results(
    evaluate: Evaluate, dataset: Path, tmp_path: Path
) -> None:
    dataset = tiny.make_dataset(tmp_path / "eight", [0, 1, 4, 6, 0, 7, 0, 5])
    moody = tiny.make_submission(tmp_path / "moody", name="moody", program=tiny.MOODY)
    whole = evaluate("run", moody, "--build", "-d", dataset, "--store", "whole", "-o", "whole.json")
    assert whole.returncode == 0, whole.stderr

    words = ["run", str(moody), "--build", "-d", str(dataset), "--store", "s", "-o", "r.json"]
    chance = random.Random(20)  # noqa: S311 - moments, not secrets
    owners = set()
    for _ in range(5):
        with subprocess.Popen(
            [sys.executable, "-m", "segtrial", *words],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as child:
            time.sleep(chance.uniform(0.4, 4))
            owners |= owners_of(child.pid)
            child.kill()
    done = evaluate(*words)

    assert done.returncode == 0, done.stderr
    assert tiny.comparable(tmp_path / "r.json") == tiny.comparable(tmp_path / "whole.json")
    assert left_by(owners) == []
    assert processes_in(tmp_path) == []
    assert not list((tmp_path / "s" / "owners").iterdir())
    assert not list((tmp_path / "s" / "tmp").iterdir())


def test_a_stop_ends_in_seconds_and_keeps_what_is_final(evaluate: Evaluate, tmp_path: Path) -> None:
    """SIGINT, SIGTERM, SIGHUP: each comes while a program sleeps, and each start goes on."""
    dataset = tiny.make_dataset(tmp_path / "slow", [0, 0, 2, 2, 2, 2, 2, 2, 2, 2])
    moody = tiny.make_submission(tmp_path / "moody", name="moody", program=tiny.MOODY)
    words = ["run", str(moody), "--build", "-d", str(dataset), "--store", "s", "-o", "r.json"]
    final = [0]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with subprocess.Popen(
            [sys.executable, "-m", "segtrial", *words],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        ) as child:
            assert child.stderr is not None
            for line in child.stderr:
                if "/10 " in line:
                    break
            owners = owners_of(child.pid)
            child.send_signal(number)
            said = child.stderr.read()
            assert child.wait(timeout=60) == 130, said
        assert "keeping everything that is final" in said
        assert len(owners) == 1
        assert left_by(owners) == []
        final.append(json.loads(evaluate("status", "s", "--json").stdout)[0]["final"])

    # With a stop that waited for the sleepers, all ten would be final.
    assert 0 < final[1] < final[2] < final[3] < 10


def test_ten_equal_failures_in_a_row_stop_the_rest(evaluate: Evaluate, tmp_path: Path) -> None:
    dataset = tiny.make_dataset(tmp_path / "tiny", [1] * 14)
    moody = tiny.make_submission(tmp_path / "moody", name="moody", program=tiny.MOODY)

    done = evaluate("run", moody, "--build", "-d", dataset, "--store", "s", "-o", "r.json")

    assert done.returncode == 0, done.stderr
    outcomes = [
        r["outcome"] for r in read(tmp_path / "r.json")["records"] if r["structure"] == "liver"
    ]
    assert outcomes.count("failed: crash") == 10
    assert outcomes.count("not_run: stopped") == 4
    unranked = read(tmp_path / "r.json")["analysis"]["liver"]["dice"]["unranked"]
    assert [row["reason"] for row in unranked] == ["incomplete"]


def test_no_training_declaration_is_unknown_and_unranked(
    evaluate: Evaluate, dataset: Path, tmp_path: Path
) -> None:
    silent = tiny.make_submission(
        tmp_path / "silent", name="silent", program=tiny.THRESHOLD, training="null"
    )

    done = evaluate("run", silent, "--build", "-d", dataset, "--store", "s", "-o", "r.json")

    assert done.returncode == 0, done.stderr
    results = read(tmp_path / "r.json")
    assert results["submissions"][0]["verdict"] == "unknown"
    assert results["analysis"]["liver"]["dice"]["ranking"] == []


def test_nothing_the_container_reads_names_the_case(
    evaluate: Evaluate, dataset: Path, tmp_path: Path
) -> None:
    """DESIGN 3: nothing the container can read tells which case it has."""
    curious = tiny.make_submission(tmp_path / "curious", name="curious", program=CURIOUS)

    done = evaluate("check", curious, "--dataset", dataset, "--case", "tiny_004")

    assert done.returncode == 0, done.stderr
    assert "end of what I saw" in done.stdout
    for name in ("tiny", "Tiny", "p2", str(tmp_path), tmp_path.name, "reference"):
        assert name not in done.stdout.split("what your container printed last:")[1], name


CURIOUS = (
    """\
import gzip, os, pathlib, re
for path in ("/proc/self/mountinfo", "/proc/mounts", "/proc/self/cgroup", "/input/request.json"):
    print(open(path).read())
print(dict(os.environ), os.uname(), os.listdir("/input"))
for path in pathlib.Path("/input").rglob("*"):
    print(path, path.stat().st_mtime, path.stat().st_mode)
raw = open("/input/scan_0.nii.gz", "rb").read()
print(raw[:64], gzip.decompress(raw)[:352])
for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    print(path.read_bytes())
print("end of what I saw")
"""
    + tiny.THRESHOLD
)
