"""What a container sees of its own walls. Its source text is run inside the doctor's probes.

Standard library only, and nothing of ours: in there, this file is all there is.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

MIB = 1 << 20
_TRIED_FOLDERS = ("/", "/etc", "/usr", "/root", "/var", "/sys", "/proc/sys/kernel", "/input")
_TRIED_HOSTS = (("1.1.1.1", 80), ("169.254.169.254", 80), ("172.17.0.1", 22))
_FLOOD_MIB = 40
_CHUNK = 64 * 1024


def walls() -> dict[str, object]:
    """Rights, namespaces, network, and where anything can be written."""
    rows = (row.split(":\t", 1) for row in Path("/proc/self/status").read_text().splitlines())
    status = {row[0]: row[1] for row in rows if len(row) > 1}
    return {
        "status": {name: status.get(name, "") for name in ("CapBnd", "NoNewPrivs", "Seccomp")},
        "user": os.getuid(),
        "user_namespace": Path("/proc/self/uid_map").read_text().split(),
        "interfaces": _names("/sys/class/net"),
        "reached": [host for host, port in _TRIED_HOSTS if _answers(host, port)],
        "writable": [folder for folder in _TRIED_FOLDERS if _can_write(folder)],
        "processes": [int(name) for name in _names("/proc") if name.isdecimal()],
        "input": _names("/input"),
    }


def fill() -> dict[str, object]:
    """How much fits into the places in memory, and how many processes can be made."""
    return {
        "tmp_mib": _fill("/tmp/probe"),  # noqa: S108 - the container's own
        "shm_mib": _fill("/dev/shm/probe"),  # noqa: S108 - as above
        "processes": _fork_until_refused(),
    }


def flood() -> dict[str, object]:
    """Print more than any log may keep."""
    for _ in range(_FLOOD_MIB):
        os.write(1, b"x" * MIB)
    return {}


def output() -> dict[str, object]:
    """Fill the output folder."""
    return {"output_mib": _fill("/output/segmentation.nii.gz", keep=True)}


def memory() -> dict[str, object]:
    """Take memory without end."""
    blocks = []
    while True:
        blocks.append(os.urandom(MIB))


def undying() -> dict[str, object]:
    """Ignore every signal that can be ignored, for ever."""
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(60)


PROBES: dict[str, Callable[[], dict[str, object]]] = {
    probe.__name__: probe for probe in (walls, fill, flood, output, memory, undying)
}


def _names(folder: str) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def _answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=0.5).close()
    except OSError:
        return False
    return True


def _can_write(folder: str) -> bool:
    path = Path(folder, "segtrial-probe")
    try:
        path.touch()
        path.unlink()
    except OSError:
        return False
    return True


def _fill(path: str, *, keep: bool = False) -> float | None:
    """MiB that fit until the place is full; None when something else stopped it."""
    out = os.open(path, os.O_WRONLY | os.O_CREAT)
    written = 0
    full = False
    try:
        while True:
            written += os.write(out, b"x" * _CHUNK)
    except OSError as error:
        full = error.errno == errno.ENOSPC
    os.close(out)
    if not keep:
        Path(path).unlink()
    return written / MIB if full else None


def _fork_until_refused() -> int:
    children: list[int] = []
    try:
        while True:
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            children.append(child)
    except OSError:
        pass
    for child in children:
        os.kill(child, signal.SIGKILL)
    return len(children)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(PROBES[sys.argv[1]]()))
