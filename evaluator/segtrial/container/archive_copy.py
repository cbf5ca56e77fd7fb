"""A private copy of a stranger's archive, under the hash of its bytes.

What is scanned, loaded and kept is this copy: whoever can write the original cannot change it
between the look and the use.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from segtrial.container.archive_tar import Content
from segtrial.errors import StoreError, SubmissionError

MAX_ARCHIVE_BYTES = 60 << 30
"""Largest archive; the same as for an unpacked image, since an archive may be plain."""
KEEP_FREE_BYTES = 1 << 30
"""Left free on every disk, for journal, outputs and logs of the run itself."""

_CHUNK = 4 << 20
_PART = "incoming"


def keep_copy(source: Path, folder: Path) -> Path:
    """Copy an archive to ``folder/<sha256>`` and return that path.

    A copy that is there already is kept. Bytes are on disk before the name is.

    Raises
    ------
    SubmissionError
        There is no such file, it is no regular file, or it is too large.
    StoreError
        The folder cannot be written or has no room.
    """
    with _open_regular(source) as original:
        size = os.fstat(original.fileno()).st_size
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _alone_in(folder):
                return _kept_before(original, size, folder) or _copy(original, size, folder)
        except OSError as problem:
            raise StoreError(
                f"The image archive cannot be copied to {folder}: {problem.strerror}. Make room "
                "or choose another store."
            ) from problem


def _open_regular(source: Path) -> BufferedReader:
    try:
        # Non-blocking, so that a pipe of that name does not hang us before it is refused.
        opened = os.fdopen(os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except OSError as problem:
        raise SubmissionError(
            f"The image archive {source} cannot be read: {problem.strerror}. Name the file that "
            "`docker save` wrote, relative to submission.yaml."
        ) from None
    wrong = _what_is_wrong(os.fstat(opened.fileno()))
    if not wrong:
        return opened
    opened.close()
    raise SubmissionError(
        f"The image archive {source} {wrong}. Name the file that `docker save` wrote."
    )


def _what_is_wrong(status: os.stat_result) -> str:
    if not stat.S_ISREG(status.st_mode):
        return "is not a regular file"
    if status.st_size == 0:
        return "is empty"
    if status.st_size > MAX_ARCHIVE_BYTES:
        gib = status.st_size / 2**30
        return f"has {gib:.1f} GiB, and at most {MAX_ARCHIVE_BYTES >> 30} are taken"
    return ""


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """One copy at a time; what a killed process left half written is taken away first."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / _PART).unlink(missing_ok=True)
        yield


def _kept_before(original: BufferedReader, size: int, folder: Path) -> Path | None:
    """Return the copy of an earlier start; only looked for where one has the same size."""
    if not any(path.stat().st_size == size for path in folder.glob("[0-9a-f]*[0-9a-f]")):
        return None
    kept = folder / hashlib.file_digest(original, "sha256").hexdigest()
    original.seek(0)
    return kept if kept.exists() and kept.stat().st_size == size else None


def _copy(original: BufferedReader, size: int, folder: Path) -> Path:
    _require_room(folder, size)
    digest = hashlib.sha256()
    # Reads as many bytes as there were room for, whatever happens to the original meanwhile.
    content = Content(original, size, "the original")
    part = folder / _PART
    try:
        with part.open("wb") as copy:
            while chunk := content.read(_CHUNK):
                digest.update(chunk)
                copy.write(chunk)
            copy.flush()
            os.fsync(copy.fileno())
        part.chmod(0o400)
        return part.replace(folder / digest.hexdigest())
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _require_room(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < size + KEEP_FREE_BYTES:
        raise StoreError(
            f"There is no room in {folder} for a copy of the image archive: it has "
            f"{size / 2**30:.1f} GiB, {free / 2**30:.1f} GiB are free, and "
            f"{KEEP_FREE_BYTES >> 30} GiB are kept free. Make room or choose another store."
        )
