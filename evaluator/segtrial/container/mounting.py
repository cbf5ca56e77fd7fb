"""Linux's mount and umount calls, for a private, sized file system in memory."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_MS_NOSUID = 2
_MS_NODEV = 4
_MS_NOEXEC = 8
_MNT_DETACH = 2
_UMOUNT_NOFOLLOW = 8


def mount_tmpfs(folder: Path, *, mode: str, bounds: Mapping[str, int]) -> None:
    """Mount an empty tmpfs: nosuid, nodev, noexec.

    Parameters
    ----------
    folder
        An empty folder.
    mode
        Permissions of its root, octal, such as ``"0777"``.
    bounds
        Its options ``size`` (bytes) and ``nr_inodes``.

    Raises
    ------
    OSError
        The kernel refuses, most often because the caller is not root.
    """
    options = tmpfs_options(mode=mode, bounds=bounds)
    flags = ctypes.c_ulong(_MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
    _call("mount", b"tmpfs", os.fsencode(folder), b"tmpfs", flags, options.encode(), where=folder)


def tmpfs_options(*, mode: str, bounds: Mapping[str, int]) -> str:
    """Options of a sized tmpfs.

    Examples
    --------
    >>> tmpfs_options(mode="0777", bounds={"size": 4096, "nr_inodes": 2})
    'size=4096,nr_inodes=2,mode=0777'
    """
    return ",".join([*(f"{name}={value}" for name, value in bounds.items()), f"mode={mode}"])


def discard_mount(folder: Path) -> None:
    """Unmount a folder of ours and remove it; nothing happens if either is done already.

    The mount goes away at once for every new look at it, even if somebody still holds it open.
    """
    with suppress(OSError):
        _call("umount2", os.fsencode(folder), _MNT_DETACH | _UMOUNT_NOFOLLOW, where=folder)
    with suppress(FileNotFoundError):
        folder.rmdir()


def _call(name: str, *arguments: object, where: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(where))
