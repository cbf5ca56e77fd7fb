"""Decompression that stops: gzip, zstd and plain bytes, counted against a budget.

A gigabyte of zeros fits into a megabyte of gzip and into some bytes of zstd, so what comes out
is counted, not what goes in.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib

import zstandard

from segtrial.container.archive_tar import Source
from segtrial.container.image_policy import MAX_IMAGE_BYTES
from segtrial.errors import SubmissionError

MAX_RATIO = 100
"""Bytes out for a byte in. Layers of programs and weights have 1 to 4; a bomb has 1,000 or more."""
FREE_BYTES = 64 << 20
"""Not counted against the ratio, so that small images of mostly empty files pass."""
_ZSTD_WINDOW = 128 << 20
"""Memory zstd may take; ``--long=27`` is the largest that its command line reads unasked."""

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
MAGIC_BYTES = 6
_DAMAGED = (EOFError, OSError, zlib.error, zstandard.ZstdError)


class Budget:
    """Bytes that may still come out."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.spent = 0

    def spend(self, count: int) -> None:
        """Count bytes, or refuse them."""
        self.spent += count
        if self.spent > self.limit:
            raise SubmissionError(
                f"The image archive unpacks to more than {MAX_RATIO} times its size, as a "
                f"decompression bomb does, or to more than {MAX_IMAGE_BYTES >> 30} GiB. Leave out "
                "what the model does not need, or save the image without compression."
            )


class Hashed:
    """Hashes and counts the bytes that are read through it."""

    def __init__(self, source: Source, budget: Budget | None = None) -> None:
        self._source = source
        self._budget = budget
        self._hash = hashlib.sha256()
        self.count = 0

    def read(self, size: int = -1, /) -> bytes:
        """At most so many bytes."""
        data = self._source.read(size)
        self.count += len(data)
        self._hash.update(data)
        if self._budget is not None:
            self._budget.spend(len(data))
        return data

    @property
    def digest(self) -> str:
        """SHA-256 so far, as OCI writes it."""
        return f"sha256:{self._hash.hexdigest()}"


class Rewound:
    """A source whose first bytes were looked at already."""

    def __init__(self, first: bytes, source: Source) -> None:
        self._first = first
        self._source = source

    def read(self, size: int = -1, /) -> bytes:
        """At most so many bytes."""
        if not self._first:
            return self._source.read(size)
        if size < 0:
            size = len(self._first)
        taken, self._first = self._first[:size], self._first[size:]
        return taken


def peek(source: Source) -> tuple[bytes, Rewound]:
    """Return the first bytes of a source, and the source with them still in it."""
    first = b""
    while len(first) < MAGIC_BYTES and (piece := source.read(MAGIC_BYTES - len(first))):
        first += piece
    return first, Rewound(first, source)


def compression(first: bytes) -> str:
    """``gzip``, ``zstd`` or ``none``, by a stream's first bytes; anything else is refused."""
    found = next((name for magic, name in _MAGIC.items() if first.startswith(magic)), "none")
    if found in {"bzip2", "xz"}:
        raise SubmissionError(
            f"The image archive is compressed with {found}. Use gzip or zstd, or leave it plain."
        )
    return found


class Inflated:
    """What comes out of a decompressor, at most a budget of it."""

    def __init__(self, source: Source, kind: str, budget: Budget) -> None:
        self._budget = budget
        self._kind = kind
        self._stream = _decompressor(source, kind)

    def read(self, size: int, /) -> bytes:
        """At most so many bytes."""
        try:
            data = self._stream.read(size)
        except _DAMAGED as problem:
            raise SubmissionError(
                f"The image archive is damaged: its {self._kind} data cannot be read "
                f"({problem!s:.200}). Copy or write it again."
            ) from None
        self._budget.spend(len(data))
        return data


def _decompressor(source: Source, kind: str) -> Source:
    if kind == "gzip":
        # Several gzip members in a row are one stream: parallel and seekable writers make them.
        return gzip.GzipFile(fileobj=source, mode="rb")  # type: ignore[call-overload,no-any-return] # reads only
    if kind == "zstd":
        reader = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        return reader.stream_reader(source, read_across_frames=True)  # type: ignore[arg-type] # reads only
    return source
