"""Counters of control groups: both versions of the kernel's files, and the sampled way."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from containers import Bench, needs_root
from segtrial.container import cgroup
from segtrial.container.cgroup import CgroupHost, Usage, all_groups, owner_of

V1 = CgroupHost(version=1, parents=True)
V2 = CgroupHost(version=2, parents=True)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the place of /sys/fs/cgroup."""
    monkeypatch.setattr(cgroup, "ROOT", tmp_path)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_version_1_has_a_folder_for_each_controller(root: Path) -> None:
    write(root / "cpuacct/segtrial-a-1/cpuacct.usage", "1500000000\n")
    write(root / "memory/segtrial-a-1/memory.max_usage_in_bytes", "104857600\n")

    assert V1.usage("/segtrial-a-1") == Usage(cpu_s=1.5, peak_memory_mib=100.0)


def test_version_2_has_one_folder(root: Path) -> None:
    write(root / "segtrial-a-1/cpu.stat", "usage_usec 2500000\nuser_usec 1\nsystem_usec 2\n")
    write(root / "segtrial-a-1/memory.peak", "52428800\n")

    write(root / "segtrial-a-1/memory.events", "low 0\nhigh 0\nmax 3\noom 1\noom_kill 1\n")

    assert V2.usage("/segtrial-a-1") == Usage(cpu_s=2.5, peak_memory_mib=50.0, oom_kills=1)


@pytest.mark.parametrize(
    ("usage", "full"),
    [
        (Usage(peak_memory_mib=100.0), True),
        (Usage(peak_memory_mib=99.9), True),
        (Usage(peak_memory_mib=90.0), False),
        (Usage(peak_memory_mib=100.0, oom_kills=0), False),
        (Usage(peak_memory_mib=50.0, oom_kills=1), True),
        (Usage(), False),
    ],
)
def test_memory_was_full_by_count_or_by_high_water_mark(usage: Usage, *, full: bool) -> None:
    assert usage.was_full(100.0) is full


def test_an_old_kernel_has_no_peak_and_says_so(root: Path) -> None:
    write(root / "segtrial-a-1/cpu.stat", "usage_usec 2500000\n")

    assert V2.usage("/segtrial-a-1") == Usage(cpu_s=2.5, peak_memory_mib=None)


@pytest.mark.usefixtures("root")
def test_a_group_that_is_gone_has_no_counters() -> None:
    assert V1.usage("/none") == V2.usage("/none") == Usage()


@pytest.mark.parametrize("host", [V1, V2])
def test_groups_are_listed_with_their_owner(root: Path, host: CgroupHost) -> None:
    base = root / "memory" if host.version == 1 else root
    (base / "segtrial-0123456789abcdef-77").mkdir(parents=True)
    (base / "docker").mkdir()

    assert all_groups(host) == ["/segtrial-0123456789abcdef-77"]
    assert owner_of("/segtrial-0123456789abcdef-77") == "0123456789abcdef"


def test_a_group_is_removed_from_every_hierarchy_with_what_is_empty_inside(root: Path) -> None:
    for controller in ("memory", "cpu"):
        (root / controller / "segtrial-a-1" / "container").mkdir(parents=True)

    assert V1.remove("/segtrial-a-1")
    assert sorted(path.name for path in root.rglob("*")) == ["cpu", "memory"]


@needs_root
@pytest.mark.docker
def test_a_group_with_a_process_is_left_alone_at_once(bench: Bench) -> None:
    """As root on a host with version 1 or 2: a real group, with a real process in it."""
    cgroups = bench.sandbox.cgroups
    assert cgroups is not None
    group = "/segtrial-ffffffffffffffff-1"
    base = cgroup.ROOT / ("memory" if cgroups.version == 1 else "") / group.lstrip("/")
    base.mkdir()
    with subprocess.Popen(["sleep", "60"]) as process:
        (base / "cgroup.procs").write_text(str(process.pid))
        began = time.monotonic()
        assert not cgroups.remove(group)
        assert time.monotonic() - began < 10
        process.kill()
    assert cgroups.remove(group)
    assert not base.exists()


def test_where_no_group_can_be_made_none_is_named() -> None:
    assert CgroupHost(version=2, parents=False).parent_for("a-1") is None
    assert V2.parent_for("a-1") == "/segtrial-a-1"


def test_the_group_of_a_process_is_found() -> None:
    found = [host.group_of(os.getpid()) for host in (V1, V2)]

    assert any(group is not None for group in found)
    assert V1.group_of(2**22 + 1) is None


@pytest.mark.docker
def test_without_a_parent_group_the_running_container_is_sampled(bench: Bench) -> None:
    cgroups = bench.sandbox.cgroups
    assert cgroups is not None
    sandbox = replace(bench.sandbox, cgroups=replace(cgroups, parents=False))
    spin = "end = time.process_time() + 1.2\nwhile time.process_time() < end: pass"

    seen = replace(bench, sandbox=sandbox).python("import time", "b = b'x' * (48 << 20)", spin)

    assert seen.resources.memory_is == "sampled"
    assert seen.resources.cpu_s == pytest.approx(1.0, abs=0.5)
    assert seen.resources.peak_memory_mib == pytest.approx(56, abs=8)


@pytest.mark.docker
def test_an_engine_elsewhere_counts_nothing(bench: Bench) -> None:
    seen = replace(bench, sandbox=replace(bench.sandbox, cgroups=None)).python("pass")

    assert seen.resources.memory_is == "absent"
    assert seen.resources.cpu_s is None
