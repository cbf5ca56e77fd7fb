"""The first and the last bytes of what a container printed, whatever it printed."""

from __future__ import annotations

from collections.abc import Iterable

from segtrial.container.observation import LogSeen

HEAD_BYTES = 64 * 1024
TAIL_BYTES = 64 * 1024


def first_and_last(
    chunks: Iterable[bytes], *, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES
) -> LogSeen:
    """Keep the two ends of a stream in bounded memory.

    Bytes are kept, not text: decoding piece by piece breaks on a character that is split between
    two pieces, and what a stranger prints need not be text at all.

    Examples
    --------
    >>> log = first_and_last([b"begin", b"x" * 9, b"end"], head_bytes=5, tail_bytes=3)
    >>> log.head, log.tail, log.kept_bytes
    (b'begin', b'end', 17)
    """
    head = bytearray()
    tail = bytearray()
    total = 0
    for chunk in chunks:
        total += len(chunk)
        room = head_bytes - len(head)
        head += chunk[:room]
        tail += chunk[max(room, 0) :]
        del tail[:-tail_bytes]
    return LogSeen(head=bytes(head), tail=bytes(tail), kept_bytes=total)
