"""Fetch one file: resumable, checked, polite.

What is there already is gone on with by a range request; a file gets its name only when it is
complete and its checksum is right, so that nothing half-downloaded looks finished. A server that
asks for patience (429, 503) gets it. Only https, and never an address of a private network, also
after redirects: the address may come from a card that a stranger wrote.

A checksum is that of the card; where it has none, the one that Hugging Face names when it redirects
to the file (``X-Linked-ETag``).
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, replace
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from segtrial import __version__
from segtrial.datasets.file_kind import refuse_page
from segtrial.errors import DatasetError, PlatformError

_CHUNK = 1 << 20
_TIMEOUT_S = 60.0
_TRIES = 5
_MAX_PATIENCE_S = 120.0
_AGENT = f"segtrial/{__version__} (evaluation of segmentation models)"
_WAIT_FOR = (429, 500, 502, 503, 504)
_RANGE_DONE = 416
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Wanted:
    """One file to fetch."""

    url: str
    target: Path
    size_bytes: int | None = None
    md5: str | None = None
    sha256: str | None = None


Check = Callable[[str], None]
"""Raises `DatasetError` for an address that must not be asked."""


def public_https(url: str) -> None:
    """Refuse everything but https to public addresses."""
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        raise DatasetError(f"{url} is not an https address, so it is not fetched.")
    try:
        found = socket.getaddrinfo(parts.hostname, parts.port or 443, proto=socket.IPPROTO_TCP)
    except OSError as problem:
        raise PlatformError(
            f"The address of {parts.hostname} cannot be found: {problem}. Check the network."
        ) from None
    for *_, place in found:
        if not ipaddress.ip_address(place[0]).is_global:
            raise DatasetError(f"{url} leads to the private address {place[0]}; it is not fetched.")


def fetch(
    wanted: Wanted,
    *,
    check: Check = public_https,
    sleep: Callable[[float], None] = time.sleep,
    progress: Callable[[int, int], None] | None = None,
) -> bool:
    """Fetch a file unless it is there already.

    Parameters
    ----------
    wanted : Wanted
    check : callable
        Decides which addresses may be asked.
    sleep : callable
        Waits between tries; tests do not.
    progress : callable, optional
        Called with bytes done and bytes in all (0 where the server does not say).

    Returns
    -------
    bool
        False where the file was there and complete.

    Raises
    ------
    DatasetError
        The server sent a web page, another size or another checksum.
    PlatformError
        The network or the disk failed; what was fetched is kept for the next try.
    """
    if wanted.target.is_file():
        _verify(wanted.target, wanted)
        return False
    part = wanted.target.with_name(f"{wanted.target.name}.part")
    redirects = _CheckedRedirects(check)
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        for left in reversed(range(_TRIES)):
            check(wanted.url)
            patience_s = _attempt(wanted, part, redirects, progress)
            if patience_s is None:
                break
            if not left:
                raise PlatformError(
                    f"{wanted.url} does not answer after {_TRIES} tries. What was fetched is kept "
                    f"in {part}; try again later."
                )
            sleep(patience_s)
        _verify(part, replace(wanted, sha256=wanted.sha256 or redirects.sha256))
        part.replace(wanted.target)
    except OSError as problem:
        raise PlatformError(f"{wanted.target} cannot be written: {problem}. Free space.") from None
    return True


def _attempt(
    wanted: Wanted,
    part: Path,
    redirects: _CheckedRedirects,
    progress: Callable[[int, int], None] | None,
) -> float | None:
    """Go on with one request; None when the file is complete, else seconds to wait."""
    have = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(wanted.url, headers={"User-Agent": _AGENT})  # noqa: S310 - checked
    if have:
        request.add_header("Range", f"bytes={have}-")
    opener = urllib.request.build_opener(redirects)
    try:
        with opener.open(request, timeout=_TIMEOUT_S) as response:
            return _save(response, part, have, progress)
    except urllib.error.HTTPError as answer:
        if answer.code == _RANGE_DONE and have:
            return None
        if answer.code in _WAIT_FOR:
            return _patience(answer.headers.get("Retry-After", ""))
        raise DatasetError(
            f"{wanted.url} answers {answer.code} {answer.reason}. If it needs a login, download "
            "it by hand; 'evaluate datasets show' says how."
        ) from None
    except (urllib.error.URLError, HTTPException, TimeoutError, ConnectionError):
        return 2.0


def _save(
    response: HTTPResponse, part: Path, have: int, progress: Callable[[int, int], None] | None
) -> float | None:
    partial = response.status == 206  # noqa: PLR2004 - HTTP's word for "from where you left off"
    done = have if partial else 0
    length = response.headers.get("Content-Length")
    total = done + int(length) if length and length.isdigit() else 0
    with part.open("ab" if partial else "wb") as file:
        while chunk := response.read(_CHUNK):
            file.write(chunk)
            done += len(chunk)
            if progress:
                progress(done, total)
    return 2.0 if total and done < total else None


def _patience(asked: str) -> float:
    return min(float(asked), _MAX_PATIENCE_S) if asked.isdigit() else 10.0


def _verify(path: Path, wanted: Wanted) -> None:
    refuse_page(path, wanted.target.name)
    size = path.stat().st_size
    if wanted.size_bytes is not None and size != wanted.size_bytes:
        _refuse(path, f"expected {wanted.size_bytes} bytes, got {size}")
    for name in ("md5", "sha256"):
        expected = getattr(wanted, name)
        if expected is not None:
            got = file_digest(path, name)
            if got != expected:
                _refuse(path, f"expected {name} {expected}, got {got}")


def _refuse(path: Path, why: str) -> None:
    raise DatasetError(
        f"{path} is not the published file: {why}. Remove it and fetch again; if it stays so, the "
        "dataset has changed and needs a new version of its card."
    )


def file_digest(path: Path, name: str) -> str:
    """Hex digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, name).hexdigest()


class _CheckedRedirects(urllib.request.HTTPRedirectHandler):
    """Follows allowed redirects only, and notes the checksum that one of them names."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self.sha256: str | None = None

    def redirect_request(  # noqa: PLR0917 - urllib's own signature
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        self._check(newurl)
        named = headers.get("X-Linked-ETag", "").strip('"').lower()
        if _SHA256.fullmatch(named):
            self.sha256 = named
        return super().redirect_request(req, fp, code, msg, headers, newurl)
