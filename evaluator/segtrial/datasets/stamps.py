"""Whether a scan's files are still those that were read: sizes and times, never contents."""

from __future__ import annotations

from pathlib import Path


def stamp(path: Path) -> str:
    """Size and time of a file; of a folder how many files, their size, and the newest time.

    Raises
    ------
    OSError
        It does not exist or cannot be read.
    """
    seen = path.stat()
    if not path.is_dir():
        return f"{seen.st_size} {seen.st_mtime_ns}"
    inside = [part.stat() for part in path.iterdir()]
    newest = max((part.st_mtime_ns for part in inside), default=0)
    return f"{len(inside)} {sum(part.st_size for part in inside)} {newest}"
