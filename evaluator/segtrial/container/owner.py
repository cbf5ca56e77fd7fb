"""Who owns the containers of a run: a process, alive for as long as it holds its lock file.

The kernel drops the lock with the process, however it ends: no process ids that can be reused, no
leases, no clocks. The lock files and the private folders of the attempts lie in one place per
user and host, which a reboot empties.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from segtrial.container.exchange_host import discard_attempt
from segtrial.container.lockfile import create_held, is_held
from segtrial.errors import PlatformError

LABEL_OWNER = "segtrial.owner"
LABEL_HOST = "segtrial.host"
LABEL_RUN = "segtrial.run"
LOCK_SUFFIX = ".lock"
_NAME_BYTES = 8
_WORK = "work"


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """A living owner of containers, volumes and mounts."""

    name: str
    folder: Path
    """Private to us (mode 0700); holds the attempts' mounts."""

    @property
    def labels(self) -> dict[str, str]:
        """Labels by which the reaper finds what is ours."""
        return {LABEL_OWNER: self.name, LABEL_HOST: host_name()}


def runtime_dir() -> Path:
    """Folder for locks and mounts: of this user, of this host, gone after a reboot."""
    if os.geteuid() == 0:
        return Path("/run/segtrial")
    base = os.environ.get("XDG_RUNTIME_DIR")
    # Made private below; a folder of another user's there is refused.
    return Path(base) / "segtrial" if base else Path(f"/tmp/segtrial-{os.geteuid()}")  # noqa: S108


def private_runtime_dir() -> Path:
    """The runtime folder, made if needed, and only if it is ours alone.

    Raises
    ------
    PlatformError
        It belongs to somebody else, is a link, or others may write to it.
    """
    folder = runtime_dir()
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700, parents=True)
    seen = folder.lstat()
    if (
        not folder.is_dir()
        or folder.is_symlink()
        or seen.st_uid != os.geteuid()
        or seen.st_mode & 0o077
    ):
        raise PlatformError(
            f"{folder} has to be a folder that only user {os.geteuid()} can enter (mode 0700); "
            "containers' output is kept there for a moment. Remove it, then retry."
        )
    return folder


def host_name() -> str:
    """Who and where we are, in labels: a reaper judges only owners whose locks it can see.

    Two hosts on one engine, two containers that share its socket, or two users of one host each
    have a name of their own.
    """
    machine = Path("/etc/machine-id")
    identity = machine.read_text().strip() if machine.exists() else ""
    parts = f"{identity} {socket.gethostname()} {os.geteuid()}"
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


@contextmanager
def claim_owner() -> Iterator[Owner]:
    """Be an owner until the block ends."""
    base = private_runtime_dir()
    name = secrets.token_hex(_NAME_BYTES)
    lock = create_held(base / f"{name}{LOCK_SUFFIX}")
    folder = base / name
    folder.mkdir(mode=0o700)
    try:
        yield Owner(name=name, folder=folder)
    finally:
        discard_folder(folder)
        lock.release(remove=True)


@contextmanager
def scratch(owner: Owner) -> Iterator[Path]:
    """A small folder of our own that is gone after the block, or with its owner if that is killed.

    In memory on most hosts: for requests and lists, not for images and scans.
    """
    work = owner.folder / _WORK
    work.mkdir(mode=0o700, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(dir=work) as folder:
            yield Path(folder)
    finally:
        with suppress(OSError):  # another thread has one, too
            work.rmdir()


def is_owner_name(text: str) -> bool:
    """Whether a text can be the name of an owner."""
    return re.fullmatch(rf"[0-9a-f]{{{2 * _NAME_BYTES}}}", text) is not None


def is_alive(name: str) -> bool:
    """Whether the owner of that name, of our own `host_name`, still holds its lock."""
    return is_held(runtime_dir() / f"{name}{LOCK_SUFFIX}")


def discard_folder(folder: Path) -> None:
    """Remove an owner's folder with the mounts in it; never looks into what they hold."""
    # No container ever sees this one, so nothing strange can be in it.
    shutil.rmtree(folder / _WORK, ignore_errors=True)
    with suppress(FileNotFoundError):
        for attempt in folder.iterdir():
            discard_attempt(attempt)
        folder.rmdir()
