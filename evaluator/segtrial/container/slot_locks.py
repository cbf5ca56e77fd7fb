"""Which GPUs and processors are free: a lock for each, and a look at what runs.

The lock keeps two of our processes from the same GPU; the kernel drops it with its process. A
container can outlive its process, and others use GPUs too: so the engine's running containers
are read as well, and whatever GPU one of them was given is not free.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from segtrial.container.engine import Engine, Json
from segtrial.container.gpu import Gpu
from segtrial.container.lockfile import HeldLock, try_hold
from segtrial.container.owner import private_runtime_dir


def try_hold_all(names: Iterable[str]) -> list[HeldLock] | None:
    """Hold the locks of several things, or of none of them."""
    held: list[HeldLock] = []
    for name in names:
        lock = try_hold(_lock_dir() / f"{_safe(name)}.lock", create=True)
        if lock is None:
            release_all(held)
            return None
        held.append(lock)
    return held


def release_all(locks: Iterable[HeldLock]) -> None:
    """Let go of locks; their files stay, for two processes may be opening one right now."""
    for lock in locks:
        lock.release()


def gpus_in_use(engine: Engine, gpus: Iterable[Gpu]) -> dict[str, str]:
    """GPUs that a running container was given: its name by UUID."""
    running = engine.api.containers()
    inspected = [engine.inspect(str(one["Id"])) for one in running]
    return {
        gpu.uuid: str(container["Name"]).lstrip("/")
        for gpu in gpus
        for container in inspected
        if is_given(container, gpu)
    }


def is_given(container: Json, gpu: Gpu) -> bool:
    """Whether a container, as the engine describes it, was given a GPU: by UUID, index, or all."""
    requests = container["HostConfig"].get("DeviceRequests") or ()
    return any(_covers(request, gpu) for request in requests)


def _covers(request: Json, gpu: Gpu) -> bool:
    # A count, of which -1 is all, leaves the choice to NVIDIA's hook: any GPU may be meant.
    if request.get("Count"):
        return True
    names = {str(name).rpartition("=")[2] for name in request.get("DeviceIDs") or ()}
    return bool(names & {gpu.uuid, str(gpu.index), "all"})


def _lock_dir() -> Path:
    folder = private_runtime_dir() / "slots"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]", "_", name)
