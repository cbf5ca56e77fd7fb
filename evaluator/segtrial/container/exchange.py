"""The two folders between us and one container: what goes in, and what may come out.

Two ways, behind one small protocol. In both, what a container writes is bounded in bytes and
inodes by a tmpfs, so it can neither fill the host's disk nor its inodes, and it is read only
after the container is dead. In both, the case is copied into a fresh tmpfs for each attempt: a
container sees no path, inode number, device or change time that another attempt on the same case
has seen, or that tells when and in which order cases were staged.

- `exchange_host`, for root beside the engine: our own mounts in a private folder of mode 0700,
  bound into the container and read through a directory descriptor that was opened before it
  started. No link is followed, no path of the container's is ever resolved.
- `exchange_volume`, for everyone else: tmpfs-backed volumes of the engine, kept alive by a
  trusted holder container. It needs the engine's socket and nothing more.

A plain bind mount is not offered: on most file systems only a watchdog could bound it, and one
that looked four times a second was measured to let 555 MiB through a limit of 256 MiB.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, Protocol

from segtrial.container.engine import Json
from segtrial.container.observation import OutputSeen
from segtrial.contracts.limits import Limits

ExchangeKind = Literal["host tmpfs", "engine volume"]

MIB = 1 << 20
_PAGE = 4096
# Room beside the largest allowed file, so that a file of exactly the limit is not a full volume.
_SPARE_BYTES = 256 * 1024
# The root folder, the expected file, and the one that shows the volume is not full.
_SPARE_INODES = 3


class Exchange(Protocol):
    """The folders of one attempt."""

    def mounts(self, *, input_at: str, output_at: str) -> list[Json]:
        """Entries for ``HostConfig.Mounts`` of the container."""

    def collect(self, name: str, *, into: Path) -> OutputSeen:
        """Copy the one expected file out, after the container is dead."""

    def close(self) -> None:
        """Remove everything of the attempt's folders."""


def output_bounds(limits: Limits) -> dict[str, int]:
    """Bytes and inodes of the output file system, as tmpfs options."""
    return {
        "size": limits.output_mib * MIB + _SPARE_BYTES,
        "nr_inodes": limits.output_files + _SPARE_INODES,
    }


def input_bounds(case: Path) -> dict[str, int]:
    """Bytes and inodes that a copy of a staged case takes on a tmpfs."""
    sizes = [path.stat().st_size for path in case.rglob("*")]
    pages = sum(-(-size // _PAGE) + 1 for size in sizes) + 1
    return {"size": pages * _PAGE, "nr_inodes": len(sizes) + 2}


def save(pieces: Iterable[bytes], *, into: Path) -> OutputSeen:
    """Write pieces to a new file that only we can read, hashed on the way: all or nothing."""
    digest = hashlib.sha256()
    size = 0
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(into, flags, 0o600), "wb") as file:
        try:
            for piece in pieces:
                file.write(piece)
                digest.update(piece)
                size += len(piece)
            file.flush()
        except BaseException:
            into.unlink()
            raise
    return OutputSeen(status="ok", size_bytes=size, sha256=digest.hexdigest())
