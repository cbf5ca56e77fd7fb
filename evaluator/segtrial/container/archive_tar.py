"""Members of a tar stream that a stranger made, read forwards, with everything bounded.

The standard library's tarfile trusts sizes of extension headers and follows sparse maps, both of
which let a small file claim any amount of memory; what is needed here of the format is little.
Nothing is extracted: a member is a name, a size and a stream of bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from segtrial.errors import SubmissionError

BLOCK = 512
MAX_MEMBERS = 20_000
"""Members of an archive: Docker writes at most four for each of 127 layers, and a few more."""
MAX_NAME = 4096
"""Length of a path in Linux."""
_MAX_EXTENSION = 64 << 10
"""Bytes of an extension header; it holds a name and some times."""
_MAX_EXTENSIONS_IN_A_ROW = 4
_MAX_SIZE = 1 << 50

_EXTENSIONS = {b"x": "pax", b"g": "global", b"L": "name", b"K": "target"}
_KINDS: dict[bytes, Kind] = {
    b"0": "file",
    b"\0": "file",
    b"7": "file",
    b"1": "link",
    b"2": "symlink",
    b"5": "folder",
}
Kind = Literal["file", "link", "symlink", "folder"]


class Source(Protocol):
    """Anything that bytes can be read from."""

    def read(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One entry of an archive."""

    name: str
    """Normalised: no leading ``./``, no empty parts, never absolute, never ``..``."""
    kind: Kind
    size: int
    target: str = ""
    """What a link points at, as it is written."""


class Content:
    """Bytes of one member; reading ends where the member ends."""

    def __init__(self, source: Source, size: int, name: str) -> None:
        self._source = source
        self._name = name
        self.left = size

    def read(self, size: int = -1, /) -> bytes:
        """At most so many bytes, or all that is left."""
        wanted = self.left if size < 0 else min(size, self.left)
        data = self._source.read(wanted) if wanted else b""
        if wanted and not data:
            raise cut_off(f"{shown(self._name)} lacks {self.left} bytes")
        self.left -= len(data)
        return data

    def skip(self) -> None:
        """Read what is left."""
        while self.read(1 << 20):
            pass


def read_members(source: Source) -> Iterator[tuple[Member, Content]]:
    """Members in the order of the stream; what the caller does not read is skipped.

    Raises
    ------
    SubmissionError
        It is no tar archive, is cut off, or holds what no container image needs.
    """
    seen: set[str] = set()
    for count, (member, content) in enumerate(_entries(source)):
        if count >= MAX_MEMBERS:
            raise _refused(f"it has more than {MAX_MEMBERS} members")
        if member.kind != "folder" and member.name in seen:
            raise _refused(f"the member {shown(member.name)} is in it twice")
        seen.add(member.name)
        padding = -member.size % BLOCK
        yield member, content
        content.skip()
        _exactly(source, padding)


def _entries(source: Source) -> Iterator[tuple[Member, Content]]:
    extra: dict[str, str] = {}
    in_a_row = 0
    first = True
    while header := _header(source, first=first):
        first = False
        kind, size = header[156:157], _number(header[124:136])
        if kind in _EXTENSIONS:
            in_a_row += 1
            if in_a_row > _MAX_EXTENSIONS_IN_A_ROW or size > _MAX_EXTENSION:
                raise _refused("an extension header is larger than any image needs")
            text = _exactly(source, size)
            _exactly(source, -size % BLOCK)
            extra |= _extension(_EXTENSIONS[kind], text)
            continue
        member = _member(header, kind, size, extra)
        yield member, Content(source, member.size, member.name)
        extra, in_a_row = {}, 0


def _header(source: Source, *, first: bool) -> bytes:
    """Return the next header block; nothing at the end of the archive."""
    header = _up_to(source, BLOCK)
    if not header or not any(header):
        return b""
    if len(header) < BLOCK and first:
        raise _refused("it is no tar archive")
    if len(header) < BLOCK:
        raise cut_off("its last header is incomplete")
    # The checksum is over the header with its own field as blanks; some writers sum signed bytes.
    blank = header[:148] + b" " * 8 + header[156:]
    signed = sum(byte - 256 if byte > 127 else byte for byte in blank)  # noqa: PLR2004 - the sign bit
    checksum = header[148:156].strip(b" \0")
    if not re.fullmatch(rb"[0-7]+", checksum) or int(checksum, 8) not in {sum(blank), signed}:
        raise _refused("it is no tar archive, or a damaged one")
    return header


def _member(header: bytes, kind: bytes, size: int, extra: dict[str, str]) -> Member:
    if kind not in _KINDS:
        raise _refused(f"it holds a member of the type {kind.decode('latin-1')!a}")
    name = _text(header[:100])
    if header[257:263] == b"ustar\0" and header[345]:
        name = f"{_text(header[345:500])}/{name}"
    member = Member(
        name=extra.get("path", name),
        kind=_KINDS[kind],
        size=_decimal(extra["size"]) if "size" in extra else size,
        target=extra.get("linkpath", _text(header[157:257])),
    )
    if member.kind != "file" and member.size:
        # Links and folders have no content; a reader that disagrees would see another archive.
        raise _refused(f"{shown(member.name)} is a {member.kind} with content")
    if max(len(member.name), len(member.target)) > MAX_NAME:
        raise _refused(f"a name is longer than {MAX_NAME} characters")
    return replace(member, name=_normalised(member.name))


def _normalised(name: str) -> str:
    parts = [part for part in name.split("/") if part not in {"", "."}]
    if name.startswith("/") or ".." in parts:
        raise _refused(f"the member {shown(name)} leads out of the archive")
    return "/".join(parts)


def _extension(kind: str, data: bytes) -> dict[str, str]:
    match kind:
        case "name":
            return {"path": _text(data)}
        case "target":
            return {"linkpath": _text(data)}
        case "global":
            return {}
    return _pax(data)


def _pax(data: bytes) -> dict[str, str]:
    """Records ``length key=value`` of a pax header, those that matter here."""
    found: dict[str, str] = {}
    while data:
        length, _, _ = data.partition(b" ")
        size = _decimal(length.decode("ascii", "replace"))
        record = data[len(length) + 1 : size]
        if not len(length) < size <= len(data):
            raise _refused("a pax header is damaged")
        key, _, value = record.rstrip(b"\n").partition(b"=")
        if key.startswith(b"GNU.sparse"):
            raise _refused("it holds a sparse file")
        if key in {b"path", b"linkpath", b"size"}:
            found[key.decode()] = value.decode("utf-8", "replace")
        data = data[size:]
    return found


def _decimal(text: str) -> int:
    if not text.isdecimal() or len(text) > 16:  # noqa: PLR2004 - 2**50 has 16 digits
        raise _refused("a number in an extension header is damaged")
    return _bounded(int(text))


def _number(field: bytes) -> int:
    """Return a number of a header: octal digits, or base 256 where the first bit is set."""
    if field[0] == 0x80:  # noqa: PLR2004 - the marker of positive base 256
        return _bounded(int.from_bytes(field[1:]))
    digits = field.strip(b" \0")
    try:
        return _bounded(int(digits, 8) if digits else 0)
    except ValueError:
        raise _refused("a header holds no number where one has to be") from None


def _bounded(number: int) -> int:
    if not 0 <= number <= _MAX_SIZE:
        raise _refused("a header claims an impossible size")
    return number


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "replace")


def _up_to(source: Source, size: int) -> bytes:
    pieces, left = [], size
    while left and (piece := source.read(left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _exactly(source: Source, size: int) -> bytes:
    data = _up_to(source, size)
    if len(data) < size:
        raise cut_off("its end is missing")
    return data


def shown(name: str) -> str:
    """A stranger's name in a message."""
    quoted = ascii(name)
    return quoted if len(quoted) <= 100 else f"{quoted[:97]}..."  # noqa: PLR2004 - one line


def cut_off(why: str) -> SubmissionError:
    """The refusal of an archive that ends too early."""
    return SubmissionError(
        f"The image archive is cut off: {why}. Write it again with `docker save`, and compare "
        "its size with the original after copying it."
    )


def _refused(why: str) -> SubmissionError:
    return SubmissionError(
        f"The image archive cannot be used: {why}. Write it with `docker save IMAGE`, which may "
        "be piped through gzip or zstd."
    )
