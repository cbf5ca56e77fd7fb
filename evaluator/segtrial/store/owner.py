"""Who is alive: an owner is a process that holds the flock of its own file.

A flock ends with the process, however it ends, so no clock and no pid is ever compared. (Pids are
reused, and clocks differ and jump.)
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import tempfile
from pathlib import Path
from typing import Self


class Owner:
    """The running process as an owner of attempts and temporary files in one store.

    Parameters
    ----------
    root : Path
        The store's folder.
    """

    def __init__(self, root: Path) -> None:
        self.id = secrets.token_hex(8)
        self._root = root
        self.lock_path = root / "owners" / f"{self.id}.lock"
        self.tmp = root / "tmp" / self.id
        self.lock_path.parent.mkdir(exist_ok=True)
        # Locked before it has its name: nobody can see it unlocked and take it for dead.
        unnamed = self.lock_path.with_suffix(".new")
        self._fd = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        unnamed.rename(self.lock_path)
        self.tmp.mkdir(parents=True, mode=0o700)
        self.staging = _staging(self.id)
        self.staging.mkdir(mode=0o700)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up ownership and remove this process's temporary files."""
        shutil.rmtree(self.staging, ignore_errors=True)
        shutil.rmtree(self.tmp, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            self.lock_path.unlink()
        os.close(self._fd)


def _staging(owner_id: str) -> Path:
    """Where cases are staged: a container sees this path in its mount table, so it says nothing."""
    return Path(tempfile.gettempdir()) / f"segtrial-{owner_id}"


def is_alive(root: Path, owner_id: str) -> bool:
    """Whether the process behind an owner id still runs."""
    path = root / "owners" / f"{owner_id}.lock"
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(fd)


def bury_dead(root: Path) -> list[str]:
    """Remove the lock and temporary files of owners that are gone; return their ids."""
    dead = []
    for path in sorted((root / "owners").glob("*.lock")):
        if not is_alive(root, path.stem):
            shutil.rmtree(_staging(path.stem), ignore_errors=True)
            shutil.rmtree(root / "tmp" / path.stem, ignore_errors=True)
            path.unlink(missing_ok=True)
            dead.append(path.stem)
    for left in (root / "tmp").iterdir():
        if not is_alive(root, left.name):
            shutil.rmtree(left, ignore_errors=True)
    return dead
