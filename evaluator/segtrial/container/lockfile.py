"""Locks that the kernel drops with their process, however it ends (flock)."""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_held: set[int] = set()


def _close_in_forked_child() -> None:
    """Let go in a forked child, which would otherwise keep its dead parent's locks."""
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_close_in_forked_child)


@dataclass(frozen=True, slots=True)
class HeldLock:
    """A lock file that this process holds."""

    path: Path
    _descriptor: int

    def release(self, *, remove: bool = False) -> None:
        """Let go, and remove the file if asked."""
        if self._descriptor not in _held:
            return
        if remove:
            self.path.unlink(missing_ok=True)
        _held.discard(self._descriptor)
        os.close(self._descriptor)


def create_held(path: Path) -> HeldLock:
    """Make a new lock file that is held from the first instant anybody can see it."""
    unseen = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = _open(unseen, os.O_CREAT | os.O_EXCL)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    unseen.rename(path)
    _held.add(descriptor)
    return HeldLock(path, descriptor)


def try_hold(path: Path, *, create: bool) -> HeldLock | None:
    """Hold a lock file now, or not at all.

    Returns
    -------
    HeldLock or None
        None when somebody holds it, or when this user may not open it.

    Raises
    ------
    FileNotFoundError
        There is no such file and none was to be made.
    """
    try:
        descriptor = _open(path, os.O_CREAT if create else 0)
    except PermissionError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    _held.add(descriptor)
    return HeldLock(path, descriptor)


def is_held(path: Path) -> bool:
    """Whether a process, this one included, holds a lock file."""
    with suppress(FileNotFoundError):
        lock = try_hold(path, create=False)
        if lock is None:
            return True
        lock.release()
    return False


def _open(path: Path, flags: int) -> int:
    return os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o600)
