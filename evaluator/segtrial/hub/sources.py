"""Where a published board is read from: a folder, or an https address of a stranger's choice.

Every read is bounded. An address is resolved by us and connected to by number, and refused when it
is private, loopback or link-local, also after a redirect: a link must not make this machine ask
its own network for something.
"""

from __future__ import annotations

import http.client
import ipaddress
import re
import socket
import ssl
from pathlib import Path
from typing import Protocol
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from segtrial.errors import InputError, PlatformError

LARGEST_FILE = 512 * 1024 * 1024
"""Bytes of one file."""
LARGEST_BOARD = 4 * 1024 * 1024 * 1024
"""Bytes of all files of a board."""
_ASIDE = 1024 * 1024
"""Bytes of a page that says where something is, or that it is not there."""
_REDIRECTS = 5
_TIMEOUT_S = 60.0
_OK, _REDIRECTED, _NOT_FOUND = 200, (301, 302, 303, 307, 308), (404, 410)
_HUB = re.compile(r"https://huggingface\.co/(datasets|spaces)/([\w.-]+/[\w.-]+)(?:/.*)?\Z")


class Source(Protocol):
    """Files of one board."""

    def read(self, path: str) -> bytes | None:
        """Bytes of a file; None where there is none."""


class FolderSource:
    """A board's folder; nothing outside it is read, whatever its manifest says."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._left = LARGEST_BOARD

    def __str__(self) -> str:
        return str(self._folder)

    def read(self, path: str) -> bytes | None:
        """Bytes of a regular file inside the folder; links that lead out are not followed."""
        found = (self._folder / path).resolve()
        if not found.is_relative_to(self._folder) or not found.is_file():
            return None
        size = found.stat().st_size
        self._left -= size
        _check_size(path, size, self._left)
        return found.read_bytes()


class WebSource:
    """A board on the web.

    Parameters
    ----------
    address : str
        Of the folder that holds ``board.json``; the page of a dataset or Space on the Hugging Face
        Hub means its files.
    allow_private : bool
        Whether addresses of private networks may be asked, over plain http too; for an intranet.
    """

    def __init__(self, address: str, *, allow_private: bool = False) -> None:
        hub = _HUB.match(address)
        if hub:
            address = f"https://huggingface.co/{hub[1]}/{hub[2]}/resolve/main"
        self._base = re.sub(r"(/index\.html|/board\.json)?/*\Z", "", address.split("?")[0]) + "/"
        self._allow_private = allow_private
        self._left = LARGEST_BOARD
        self._connections: dict[tuple[str, str, int], http.client.HTTPConnection] = {}

    def __str__(self) -> str:
        return self._base

    def read(self, path: str) -> bytes | None:
        """Bytes of a file, after at most five redirects.

        Raises
        ------
        InputError
            For an address that must not be asked, or an answer that is too large.
        PlatformError
            When the server does not answer.
        """
        url = _joined(self._base, quote(path))
        for _ in range(_REDIRECTS + 1):
            status, location, raw = self._ask(url)
            if status in _REDIRECTED and location:
                url = _joined(url, location)
                continue
            if status in _NOT_FOUND:
                return None
            if status != _OK:
                raise PlatformError(f"{url} answers {status}. Try again later.")
            return raw
        raise InputError(f"{url} leads to more than {_REDIRECTS} redirects.")

    def _ask(self, url: str) -> tuple[int, str | None, bytes]:
        parts = urlsplit(url)
        connection = self._connection(parts)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request("GET", target, headers={"User-Agent": "segtrial-verify"})
            answer = connection.getresponse()
            raw = self._body(url, answer)
            return answer.status, answer.getheader("location"), raw
        except (OSError, http.client.HTTPException) as problem:
            connection.close()
            raise PlatformError(f"{url} cannot be fetched: {problem}. Try again later.") from None

    def _body(self, url: str, answer: http.client.HTTPResponse) -> bytes:
        if answer.status != _OK:
            # What stands beside a redirect or an error is not looked at, but it has to be read
            # before the next answer comes.
            if len(answer.read(_ASIDE + 1)) > _ASIDE:
                raise InputError(f"{url} answers {answer.status} and more than {_ASIDE} bytes.")
            return b""
        raw = answer.read(min(LARGEST_FILE, self._left) + 1)
        self._left -= len(raw)
        _check_size(url, len(raw), self._left)
        return raw

    def _connection(self, parts: SplitResult) -> http.client.HTTPConnection:
        if parts.scheme != "https" and not (self._allow_private and parts.scheme == "http"):
            raise InputError(f"{parts.geturl()[:200]} is not an https address.")
        host, port = _place(parts)
        key = (parts.scheme, host, port)
        if key not in self._connections:
            number = _public_address(host, port, allow_private=self._allow_private)
            self._connections[key] = (
                _Tls(host, number, port) if parts.scheme == "https" else _Plain(host, number, port)
            )
        return self._connections[key]


class _Plain(http.client.HTTPConnection):
    """Connects to a number that was checked, whatever the name resolves to by then."""

    def __init__(self, host: str, number: str, port: int) -> None:
        super().__init__(host, port, timeout=_TIMEOUT_S)
        self._number = number

    def connect(self) -> None:
        """Open the socket."""
        self.sock = socket.create_connection((self._number, self.port), self.timeout)


class _Tls(_Plain):
    """The same with TLS; the certificate is checked against the name."""

    def connect(self) -> None:
        """Open the socket and shake hands."""
        super().connect()
        self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)


def source_of(where: str, *, allow_private: bool = False) -> Source:
    """A source from what somebody typed: a folder, or an address."""
    if re.match(r"[a-z][a-z0-9+.-]*://", where, re.IGNORECASE):
        return WebSource(where, allow_private=allow_private)
    folder = Path(where)
    if folder.name in {"board.json", "index.html"} and folder.is_file():
        folder = folder.parent
    if not folder.is_dir():
        raise InputError(f"{where} is neither a folder nor an https address of a board.")
    return FolderSource(folder)


def _public_address(host: str, port: int, *, allow_private: bool) -> str:
    """The first address of a host, when all of them are public."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as problem:
        raise PlatformError(f"{host[:200]} cannot be resolved: {problem}.") from None
    numbers = [str(one[4][0]) for one in found]
    if not allow_private:
        for number in numbers:
            if not _is_public(number):
                raise InputError(
                    f"{host[:200]} is at {number}, which is not a public address; it is not asked. "
                    "For a board on your own network add --allow-private."
                )
    return numbers[0]


def _joined(base: str, path: str) -> str:
    try:
        return urljoin(base, path)
    except ValueError as problem:
        raise InputError(f"{base[:200]!r} leads to no address: {problem}.") from None


def _place(parts: SplitResult) -> tuple[str, int]:
    """Host and port of an address."""
    try:
        port = parts.port
    except ValueError as problem:
        raise InputError(f"{parts.geturl()[:200]!r} is not an address: {problem}.") from None
    if not parts.hostname:
        raise InputError(f"{parts.geturl()[:200]!r} names no host; write https://HOST/FOLDER.")
    return parts.hostname, port or (443 if parts.scheme == "https" else 80)


def _is_public(number: str) -> bool:
    """Whether an address is reached over the public internet, and holds no other that is not."""
    address = ipaddress.ip_address(number.split("%", maxsplit=1)[0])
    if not address.is_global or address.is_multicast:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return True
    inside = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if any(address in prefix for prefix in _HOLDS_V4):
        inside.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return all(one is None or one.is_global for one in inside)


_HOLDS_V4 = (ipaddress.IPv6Network("::/96"), ipaddress.IPv6Network("64:ff9b::/96"))
"""Addresses that end with an IPv4 address: the old compatible ones, and those of a NAT64 gateway
(RFC 4291, RFC 6052)."""


def _check_size(what: str, size: int, left: int) -> None:
    if size > LARGEST_FILE:
        raise InputError(f"{what} is larger than {LARGEST_FILE} bytes; it is not read.")
    if left < 0:
        raise InputError(f"The board is larger than {LARGEST_BOARD} bytes; it is not read.")
