"""The doctor: what holds here is measured here, and what would be broken is called so."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tiny
from containers import Bench
from evaluate_command import evaluate_in
from private_engine import can_start, running_engine
from segtrial.container.engine import Json
from segtrial.container.finding import Finding, may_rank
from segtrial.container.host_check import host_key, remember, require_sound_host
from segtrial.container.host_facts import judge_engine
from segtrial.container.observation import (
    EngineTrouble,
    LogSeen,
    Observation,
    OutputSeen,
    Resources,
    StateSeen,
)
from segtrial.container.preflight import examine
from segtrial.container.probe_findings import PROBES, judge, judge_writable_root
from segtrial.errors import EXIT_PLATFORM

WALLS = (
    "rights", "network", "read_only", "isolation", "input", "tmp", "shm", "pids", "log", "output",
    "memory", "deadline",
)  # fmt: skip


@pytest.mark.docker
def test_every_wall_holds_on_this_host(bench: Bench) -> None:
    found = {finding.key: finding for finding in examine(bench.sandbox, bench.image)}
    said: list[str] = []
    remember(bench.sandbox, found.values())
    require_sound_host(bench.sandbox, announce=said.append)

    assert [found[wall].status for wall in WALLS] == ["holds"] * len(WALLS), found
    assert said == []  # nothing was measured again
    assert found["engine"].status == "note"
    assert found["default_runtime"].status == "holds"
    if not bench.sandbox.known_gpus():
        assert found["gpu"].status == "untested"


@pytest.mark.docker
def test_findings_can_be_kept_until_the_host_changes(bench: Bench) -> None:
    key = host_key(bench.sandbox)
    other = replace(bench.sandbox.exchanges, kind="engine volume")

    assert key == host_key(bench.sandbox)
    assert key != host_key(replace(bench.sandbox, exchanges=other))


@pytest.mark.docker
@pytest.mark.skipif(not can_start(), reason="only root can start an engine")
def test_a_run_is_refused_on_a_host_that_breaks_a_promise(tmp_path: Path) -> None:
    dataset = tiny.make_dataset(tmp_path / "tiny", [0])
    model = tiny.make_submission(tmp_path / "m", name="m", program=tiny.THRESHOLD)
    nvidia = ("--add-runtime=nvidia=runc", "--default-runtime=nvidia")
    with running_engine(storage="vfs", options=nvidia) as engine:
        done = evaluate_in(tmp_path)(
            "run", model, "-d", dataset, env={"DOCKER_HOST": engine.address}
        )

    assert done.returncode == EXIT_PLATFORM, done.stderr
    assert "default_runtime: The engine's default runtime is nvidia" in done.stderr
    assert "nothing is run" in done.stderr


@pytest.mark.docker
def test_the_command_answers_a_program() -> None:
    command = [sys.executable, "-m", "segtrial", "doctor", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    answer = json.loads(done.stdout)
    assert answer["may_rank"] is True
    assert {finding["key"] for finding in answer["findings"]} >= set(WALLS)


def test_without_an_engine_the_command_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere.sock")
    command = [sys.executable, "-m", "segtrial", "doctor"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == EXIT_PLATFORM
    assert "No container engine answers at unix:///nowhere.sock" in done.stderr
    assert "Traceback" not in done.stderr


INFO: Json = {
    "ServerVersion": "28.5.2",
    "DefaultRuntime": "runc",
    "RuncCommit": {"ID": "v1.3.0"},
    "Driver": "overlay2",
    "CgroupVersion": "2",
    "CgroupDriver": "systemd",
    "KernelVersion": "6.12",
    "SecurityOptions": ["name=seccomp,profile=builtin", "name=cgroupns"],
    "SwapLimit": True,
    "Plugins": {"Log": ["json-file", "local"]},
}


def statuses(changes: Json, *, swap: int | None = 1 << 30) -> dict[str, str]:
    return {f.key: f.status for f in judge_engine(INFO | changes, host_swap_bytes=swap)}


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("default_runtime", {"DefaultRuntime": "nvidia"}),
        ("seccomp_profile", {"SecurityOptions": ["name=apparmor"]}),
        ("seccomp_profile", {"SecurityOptions": ["name=seccomp,profile=unconfined"]}),
        ("seccomp_profile", {"SecurityOptions": None}),
        ("swap", {"SwapLimit": False}),
        ("log_driver", {"Plugins": {"Log": ["json-file"]}}),
    ],
)
def test_an_engine_that_breaks_one_thing_is_told_which(key: str, changes: Json) -> None:
    found = statuses(changes)

    assert [name for name, status in found.items() if status == "broken"] == [key]


def test_a_host_without_swap_needs_no_swap_limit() -> None:
    assert statuses({"SwapLimit": False}, swap=0)["swap"] == "holds"
    assert statuses({"SwapLimit": False}, swap=None)["swap"] == "broken"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["name=rootless"], "without root"),
        (["name=userns"], "ordinary user of the host"),
        ([], "User namespaces are off"),
    ],
)
def test_user_namespaces_are_reported(options: list[str], words: str) -> None:
    info = INFO | {"SecurityOptions": ["name=seccomp,profile=default", *options]}
    note = next(f for f in judge_engine(info, host_swap_bytes=0) if f.key == "user_namespaces")

    assert words in note.sentence
    assert note.status == "note"


SOUND: dict[str, Any] = {
    "status": {"CapBnd": "0" * 16, "NoNewPrivs": "1", "Seccomp": "2"},
    "user": 65534,
    "interfaces": ["lo"],
    "reached": [],
    "writable": [],
    "processes": [1, 7],
    "input": ["request.json"],
}


def printed(facts: dict[str, Any]) -> Observation:
    text = json.dumps(facts).encode()
    state = StateSeen(exit_code=0, oom_killed=False, error="", time_s=1.0)
    return Observation(state=state, log=LogSeen(head=text, kept_bytes=len(text)))


def broken(findings: tuple[Finding, ...]) -> list[str]:
    return [finding.key for finding in findings if finding.status == "broken"]


def test_sound_walls_hold() -> None:
    assert broken(judge("walls", printed(SOUND))) == []


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("rights", {"status": SOUND["status"] | {"CapBnd": "00000000a80425fb"}}),
        ("rights", {"status": SOUND["status"] | {"Seccomp": "0"}}),
        ("rights", {"status": SOUND["status"] | {"NoNewPrivs": "0"}}),
        ("rights", {"user": 0}),
        ("network", {"interfaces": ["eth0", "lo"]}),
        ("network", {"reached": ["1.1.1.1"]}),
        ("read_only", {"writable": ["/"]}),
        ("isolation", {"processes": list(range(1, 90))}),
        ("input", {"input": ["reference.nii.gz", "request.json"]}),
    ],
)
def test_a_hole_is_seen(key: str, changes: dict[str, Any]) -> None:
    assert broken(judge("walls", printed(SOUND | changes))) == [key]


def test_places_without_their_size_are_seen() -> None:
    facts = {"tmp_mib": 12000.0, "shm_mib": None, "processes": 48}

    assert broken(judge("fill", printed(facts))) == ["tmp", "shm", "pids"]


def test_a_log_without_bound_is_seen() -> None:
    assert broken(judge("flood", Observation(log=LogSeen(kept_bytes=40 << 20)))) == ["log"]


def test_a_deadline_that_is_not_kept_is_seen() -> None:
    state = StateSeen(exit_code=137, oom_killed=False, error="", time_s=29.0)
    late = Observation(state=state, killed="deadline", resources=Resources(monotonic_s=29.0))

    assert broken(judge("undying", late)) == ["deadline"]


def test_memory_and_output_without_bounds_are_seen() -> None:
    state = StateSeen(exit_code=0, oom_killed=False, error="", time_s=1.0)
    fine = Observation(state=state, output=OutputSeen(status="ok"))

    assert broken(judge("memory", fine)) == ["memory"]
    assert broken(judge("output", fine)) == ["output"]


@pytest.mark.parametrize("probe", PROBES)
def test_a_probe_that_cannot_run_breaks_all_it_was_to_show(probe: str) -> None:
    trouble = EngineTrouble(step="create", message="invalid argument")
    findings = judge(probe, Observation(trouble=trouble))

    assert findings
    assert broken(findings) == [finding.key for finding in findings]
    assert "invalid argument" in findings[0].sentence


def test_a_writable_root_is_granted_or_not_but_breaks_nothing() -> None:
    refused = Observation(trouble=EngineTrouble(step="create", message="pquota"))

    assert judge_writable_root(refused).status == "note"
    assert judge_writable_root(Observation()).status == "holds"


def test_one_broken_wall_ends_the_ranking() -> None:
    fine = Finding(key="a", status="holds", sentence="")
    unsure = Finding(key="b", status="untested", sentence="")

    assert may_rank((fine, unsure))
    assert not may_rank((fine, Finding(key="c", status="broken", sentence="")))
