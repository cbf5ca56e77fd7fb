"""Files under the hash of their bytes: written once, never changed, safe to write twice."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from segtrial.errors import StoreError


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, as 64 hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class Blobs:
    """Content-addressed files below one folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, sha256: str) -> Path:
        """Where the file with this hash lies, or would lie."""
        return self._root / sha256[:2] / sha256

    def add(self, source: Path) -> str:
        """Move a file of the store's own file system in; return its hash.

        The bytes are on disk (fsync) before the name is, so a name never points at a torn file.
        """
        try:
            return self._add(source)
        except OSError as problem:
            raise StoreError(
                f"The store cannot keep a file in {self._root}: {problem.strerror}. Free space or "
                "repair the disk, then run the same command again; what is final is kept."
            ) from None

    def _add(self, source: Path) -> str:
        sha256 = file_sha256(source)
        target = self.path(sha256)
        if target.exists():
            source.unlink()
            return sha256
        target.parent.mkdir(parents=True, exist_ok=True)
        _sync(source)
        source.chmod(0o400)
        source.replace(target)
        _sync(target.parent)
        return sha256

    def get(self, sha256: str) -> Path:
        """The file with this hash; `StoreError` when it is missing."""
        path = self.path(sha256)
        if not path.is_file():
            raise StoreError(
                f"The store lost a file: {path} is named in the journal but is not there. "
                "Restore it from a backup, or run the submission into a new store."
            )
        return path


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
