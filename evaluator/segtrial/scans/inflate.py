"""Decompress gzip no further than asked, and fast.

isal inflates CT volumes twice and deflates them four times as fast as zlib; the figures are in
``benchmarks/RESULTS.md``. zlib-ng lies between; it inflates label maps faster still, by some
milliseconds, which a second dependency would not pay for. Only its plain decompressor object is
used, the one it has in common with zlib, because that one can be bounded: a call returns at most
as many bytes as asked for, whatever the file would expand to.
"""

from __future__ import annotations

from typing import BinaryIO

from isal import isal_zlib

_GZIP = 31  # zlib's window size for "gzip container, checksum verified"
_INPUT_BYTES = 1 << 18
_OUTPUT_BYTES = 1 << 20  # stays in the second-level cache between inflating and copying
_MOST_MEMBERS = 1 << 16  # block-wise writers need 16 for a MiB; each costs time, also an empty one
GZIP_MAGIC = b"\x1f\x8b"


class DamagedStreamError(ValueError):
    """The bytes are not what a gzip stream has to be; the message says in which way."""


class GzipReader:
    """Bytes of a gzip file, in order, each read at most once.

    Members that follow each other are one stream, as RFC 1952 has it; zero bytes after the last
    one are padding. The checksum and length of a member are checked when its end is reached.

    Parameters
    ----------
    file : binary file
        Positioned at the first byte of the gzip stream; read in pieces, never closed here.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._input = b""
        self._members = 1
        self._member = isal_zlib.decompressobj(wbits=_GZIP)

    def readinto(self, target: memoryview) -> int:
        """Fill `target` from the stream.

        Returns
        -------
        int
            Bytes written; fewer than ``len(target)`` only at the end of the stream.

        Raises
        ------
        DamagedStreamError
            Invalid data, a wrong checksum, or an end inside a member.
        """
        filled = 0
        while filled < len(target):
            piece = self._piece(min(len(target) - filled, _OUTPUT_BYTES))
            if not piece:
                break
            target[filled : filled + len(piece)] = piece
            filled += len(piece)
        return filled

    def read(self, size: int) -> bytes:
        """At most `size` next bytes; fewer only at the end of the stream."""
        buffer = bytearray(size)
        filled = self.readinto(memoryview(buffer))
        return bytes(buffer[:filled])

    def _piece(self, size: int) -> bytes:
        while True:
            if self._member.eof and not self._next_member():
                return b""
            self._refill()
            try:
                piece: bytes = self._member.decompress(self._input, size)
            except isal_zlib.error as error:  # type: ignore[misc] # its stub calls it an int
                raise DamagedStreamError("its gzip data is damaged; write the file anew") from error
            at_end = not self._input and not piece and not self._member.eof
            self._input = self._member.unconsumed_tail
            if piece:
                return piece
            if at_end:
                raise DamagedStreamError("its gzip data ends too early; write the file to its end")

    def _refill(self) -> None:
        if not self._input:
            self._input = self._file.read(_INPUT_BYTES)

    def _next_member(self) -> bool:
        """Step to the member behind the finished one, if there is one."""
        rest = self._member.unused_data.lstrip(b"\0")
        while not rest:
            more = self._file.read(_INPUT_BYTES)
            if not more:
                return False
            rest = more.lstrip(b"\0")
        if not rest.startswith(GZIP_MAGIC[: len(rest)]):
            raise DamagedStreamError("something that is no gzip follows its gzip data; drop it")
        self._members += 1
        if self._members > _MOST_MEMBERS:
            raise DamagedStreamError(f"its gzip data has more than {_MOST_MEMBERS} parts")
        self._input = rest
        self._member = isal_zlib.decompressobj(wbits=_GZIP)
        return True


class PlainReader:
    """The same two methods over a file that is not compressed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def readinto(self, target: memoryview) -> int:
        """Fill `target`; fewer bytes only at the end of the file."""
        filled = 0
        while filled < len(target):
            count = self._file.readinto(target[filled:])  # type: ignore[attr-defined]
            if not count:
                break
            filled += count
        return filled

    def read(self, size: int) -> bytes:
        """At most `size` next bytes; fewer only at the end of the file."""
        buffer = bytearray(size)
        filled = self.readinto(memoryview(buffer))
        return bytes(buffer[:filled])


Reader = GzipReader | PlainReader


def reader_for(file: BinaryIO, name: str) -> Reader:
    """Reader for a file, compressed or not: its name decides, as it does for nibabel."""
    return GzipReader(file) if name.lower().endswith(".gz") else PlainReader(file)


def skip(reader: Reader, count: int) -> None:
    """Read over some bytes without keeping them.

    Raises
    ------
    DamagedStreamError
        The stream ends before.
    """
    while count > 0:
        passed = len(reader.read(min(count, _OUTPUT_BYTES)))
        if not passed:
            raise DamagedStreamError("it ends before its first voxel; write the file to its end")
        count -= passed
