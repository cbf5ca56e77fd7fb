"""Processor time and peak memory of an attempt, from the kernel's control groups.

The engine's own statistics tick once a second and are empty after the end, and a container's own
group is gone as soon as it ends. So, where we are root on the engine's host and the engine makes
plain groups (cgroupfs), each attempt gets a parent group of its own, whose counters outlive the
container and are exact. Everywhere else the container's group is read while it lives, and the
number says that it was sampled.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from segtrial.container.engine import Engine, Json

ROOT = Path("/sys/fs/cgroup")
MIB = 1 << 20
_PREFIX = "segtrial-"
# The kernel charges a process for up to 64 pages at a time, on each processor.
_CHARGE_BATCH_MIB = 1.0
_NS = 1e-9
_US = 1e-6
# A group can be removed once the engine has removed the container's own group inside it, which a
# busy engine does some time after it has removed the container.
_REMOVAL_S = 3.0
_REMOVAL_PAUSE_S = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a control group counted; None where the kernel has no such counter."""

    cpu_s: float | None = None
    peak_memory_mib: float | None = None
    oom_kills: int | None = None
    """Of the group and all in it; version 1 counts them only where they happened."""

    def was_full(self, limit_mib: float) -> bool:
        """Whether memory ran out in a group, by its own count or by its high-water mark."""
        if self.oom_kills is not None:
            return self.oom_kills > 0
        return (self.peak_memory_mib or 0.0) >= limit_mib - _CHARGE_BATCH_MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupHost:
    """How control groups can be read here."""

    version: Literal[1, 2]
    parents: bool
    """Whether an attempt may get a parent group of its own."""

    def parent_for(self, attempt: str) -> str | None:
        """Name of a parent group for an attempt; says nothing about it, and is not seen inside."""
        return f"/{_PREFIX}{attempt}" if self.parents else None

    def usage(self, group: str) -> Usage:
        """Counters of a group by its name below the root."""
        if self.version == 1:
            return Usage(
                cpu_s=_scaled(_path(group, "cpuacct") / "cpuacct.usage", _NS),
                peak_memory_mib=_scaled(
                    _path(group, "memory") / "memory.max_usage_in_bytes", 1 / MIB
                ),
            )
        folder = ROOT / group.lstrip("/")
        return Usage(
            cpu_s=None if (usec := _row(folder / "cpu.stat", "usage_usec")) is None else usec * _US,
            peak_memory_mib=_scaled(folder / "memory.peak", 1 / MIB),
            oom_kills=_row(folder / "memory.events", "oom_kill"),
        )

    def group_of(self, pid: int) -> str | None:
        """Name of the group in which a process of the host is, where it can be seen."""
        wanted = "0::" if self.version == 2 else ":memory:"  # noqa: PLR2004 - cgroup v2
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
                if wanted in line:
                    return line.split(":", 2)[2]
        return None

    def remove(self, group: str) -> bool:
        """Remove a parent group from every hierarchy; False if one would not go.

        A group in which a process lives is left alone at once: it may be in a container of an
        engine that we do not speak to.
        """
        folders = [ROOT] if self.version == 2 else _hierarchies()  # noqa: PLR2004 - cgroup v2
        deadline = time.monotonic() + _REMOVAL_S
        gone = [_remove(folder / group.lstrip("/"), until=deadline) for folder in folders]
        return all(gone)


def look_at_host(engine: Engine) -> CgroupHost | None:
    """How control groups can be read here; None when the engine's host is not this one."""
    info: Json = engine.info()
    if not engine.is_local or not ROOT.is_dir() or info.get("Name") != os.uname().nodename:
        return None
    version: Literal[1, 2] = 2 if str(info.get("CgroupVersion")) == "2" else 1
    plain = info.get("CgroupDriver") == "cgroupfs"
    return CgroupHost(version=version, parents=plain and os.geteuid() == 0)


def all_groups(host: CgroupHost) -> list[str]:
    """Names of the parent groups that exist at this moment, whoever's they are."""
    folder = ROOT if host.version == 2 else ROOT / "memory"  # noqa: PLR2004 - cgroup v2
    return [f"/{found.name}" for found in folder.glob(f"{_PREFIX}*-*")]


def owner_of(group: str) -> str:
    """Owner of a parent group, by its name."""
    return group.removeprefix(f"/{_PREFIX}").partition("-")[0]


def _path(group: str, controller: str) -> Path:
    return ROOT / controller / group.lstrip("/")


def _hierarchies() -> list[Path]:
    # Controllers mounted together appear under one name each, the others as links to it.
    return [folder for folder in ROOT.iterdir() if folder.is_dir() and not folder.is_symlink()]


def _scaled(file: Path, factor: float) -> float | None:
    with suppress(OSError, ValueError):
        return int(file.read_text()) * factor
    return None


def _row(file: Path, name: str) -> int | None:
    """Number in the row of that name."""
    with suppress(OSError, ValueError, KeyError):
        rows = dict(line.split() for line in file.read_text().splitlines())
        return int(rows[name])
    return None


def _remove(folder: Path, *, until: float) -> bool:
    while True:
        try:
            # A container that is removed while it starts can leave its own group behind, empty.
            for inner in folder.glob("*/"):
                inner.rmdir()
            folder.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            if _has_process(folder) or time.monotonic() > until:
                return False
            time.sleep(_REMOVAL_PAUSE_S)
        else:
            return True


def _has_process(folder: Path) -> bool:
    with suppress(OSError):
        return any(file.read_text() for file in folder.rglob("cgroup.procs"))
    return False
