"""The exchange of root beside the engine: two mounts of our own for each attempt."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from segtrial.container.engine import Json
from segtrial.container.exchange import MIB, input_bounds, output_bounds, save
from segtrial.container.mounting import discard_mount, mount_tmpfs
from segtrial.container.observation import OutputSeen
from segtrial.contracts.limits import Limits

# What the kernel answers to O_NOFOLLOW on a link, to a FIFO without a writer, to a socket or a
# device, to a file in the place of a folder, and to a name longer than it takes.
_STRANGE_FILE = {errno.ELOOP, errno.ENXIO, errno.ENOTDIR, errno.ENODEV, errno.ENAMETOOLONG}


class HostExchange:
    """A copy of the case and a sized place for the output, both in memory."""

    def __init__(self, folder: Path, *, case: Path, limits: Limits) -> None:
        """Mount both and copy the case.

        Parameters
        ----------
        folder
            Does not exist yet; made with mode 0700, so that a setuid file that a container
            plants is out of everybody's reach.
        case
            The staged case.
        limits
            Bytes and files the output may hold.

        Raises
        ------
        OSError
            The kernel refuses, or memory is short; nothing is left.
        """
        self._folder = folder
        self._max_bytes = limits.output_mib * MIB
        self._root = -1
        folder.mkdir(mode=0o700)
        try:
            self._input = _mounted(folder / "i", mode="0755", bounds=input_bounds(case))
            _copy_case(case, self._input)
            # Writable by any user: the image's own user is not known to the host.
            self._output = _mounted(folder / "o", mode="0777", bounds=output_bounds(limits))
            self._root = os.open(self._output, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            self.close()
            raise

    def mounts(self, *, input_at: str, output_at: str) -> list[Json]:
        """Entries for ``HostConfig.Mounts``."""
        return [
            {"Type": "bind", "Source": str(self._input), "Target": input_at, "ReadOnly": True},
            {"Type": "bind", "Source": str(self._output), "Target": output_at},
        ]

    def collect(self, name: str, *, into: Path) -> OutputSeen:
        """Copy one regular file out; see `OutputSeen` for what else can be found."""
        if self._is_full():
            return OutputSeen(status="volume_full", detail="the output volume is full")
        try:
            descriptor = _open_beneath(self._root, PurePosixPath(name))
        except FileNotFoundError:
            return OutputSeen(status="missing", detail=f"there is no {name}")
        except OSError as error:
            if error.errno not in _STRANGE_FILE:
                raise
            return OutputSeen(status="not_regular", detail=f"{name} is not a regular file")
        try:
            return self._copy(descriptor, name, into=into)
        finally:
            os.close(descriptor)

    def _copy(self, descriptor: int, name: str, *, into: Path) -> OutputSeen:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode) or seen.st_nlink != 1:
            return OutputSeen(
                status="not_regular", detail=f"{name} is not a regular file with a single name"
            )
        if seen.st_size > self._max_bytes:
            return OutputSeen(
                status="too_large",
                detail=f"{name} has {seen.st_size} bytes, more than {self._max_bytes}",
            )
        return save(_pieces(descriptor, seen.st_size), into=into)

    def _is_full(self) -> bool:
        space = os.statvfs(self._root)
        return space.f_bavail < 1 or space.f_favail < 1

    def close(self) -> None:
        """Unmount both; the files go with them."""
        if self._root >= 0:
            os.close(self._root)
            self._root = -1
        discard_attempt(self._folder)


def discard_attempt(folder: Path) -> None:
    """Remove an attempt's folder and the mounts in it, without looking into what they hold."""
    if folder.is_dir():
        for mount in folder.iterdir():
            discard_mount(mount)
        folder.rmdir()


def _mounted(folder: Path, *, mode: str, bounds: dict[str, int]) -> Path:
    folder.mkdir(mode=0o700)
    mount_tmpfs(folder, mode=mode, bounds=bounds)
    return folder


def _copy_case(case: Path, into: Path) -> None:
    """Copy a staged case; all its times become 1970, all its files readable by any user."""
    for path in sorted(case.rglob("*")):
        copy = into / path.relative_to(case)
        if path.is_dir():
            copy.mkdir(mode=0o755)
        else:
            shutil.copyfile(path, copy)
            copy.chmod(0o644)
    for copy in [*into.rglob("*"), into]:
        os.utime(copy, (0, 0))


def _open_beneath(root: int, name: PurePosixPath) -> int:
    """Open a file below a folder, one step at a time, following no link."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    folder = os.dup(root)
    try:
        for part in name.parts[:-1]:
            inner = os.open(part, flags | os.O_DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(name.name, flags, dir_fd=folder)
    finally:
        os.close(folder)


def _pieces(descriptor: int, size: int) -> Iterator[bytes]:
    while size > 0 and (piece := os.read(descriptor, min(MIB, size))):
        size -= len(piece)
        yield piece
