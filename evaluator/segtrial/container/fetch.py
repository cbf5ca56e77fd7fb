"""One regular file out of a container through the engine's archive call: header first, byte-capped.

The engine answers with a tar stream. Nothing is extracted: the first member's bytes are passed
on, its name is ignored, and the stream is cut as soon as more bytes came than were announced
worth reading. A sparse file of 1 TB would otherwise be streamed as 1 TB of zeros.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from docker.errors import NotFound

from segtrial.container.engine import Engine

_CHUNK_BYTES = 1 << 20
# Go's os.FileMode: any of the type bits (directory, symlink, pipe, socket, device, irregular).
_GO_NOT_REGULAR = 0x8F28_0000


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a path was not fetched."""

    why: Literal["missing", "not_regular", "too_large"]
    detail: str


def fetch_file(
    engine: Engine, container: str, path: str, *, max_bytes: int
) -> Iterator[bytes] | Refused:
    """Bytes of one regular file, in pieces, or why there are none.

    Parameters
    ----------
    container
        Id of the container; for what lies on a tmpfs volume it has to be running.
    path
        Absolute path inside the container.
    max_bytes
        Largest announced size that is read.

    Raises
    ------
    docker.errors.DockerException, requests.RequestException
        The engine failed; anything the file itself can cause is `Refused`.
    """
    try:
        chunks, stat = engine.api.get_archive(container, path, chunk_size=_CHUNK_BYTES)
    except NotFound:
        return Refused("missing", f"there is no {path}")
    if stat.get("linkTarget") or int(stat["mode"]) & _GO_NOT_REGULAR:
        chunks.close()
        return Refused("not_regular", f"{path} is not a regular file")
    if int(stat["size"]) > max_bytes:
        chunks.close()
        return Refused("too_large", f"{path} has {stat['size']} bytes, more than {max_bytes}")
    return _only_member(chunks)


def _only_member(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Content of the first member of a tar stream, which must be a regular file."""
    with tarfile.open(fileobj=_Readable(chunks), mode="r|", bufsize=_CHUNK_BYTES) as tar:
        member = tar.next()
        content = tar.extractfile(member) if member is not None and member.isreg() else None
        if content is None:
            return
        while chunk := content.read(_CHUNK_BYTES):
            yield chunk


class _Readable(io.RawIOBase):
    """Pieces of a response as the file that `tarfile` wants."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while size < 0 or len(self._rest) < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                break
            self._rest += chunk
        size = len(self._rest) if size < 0 else size
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken
