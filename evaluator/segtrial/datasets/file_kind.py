"""What a downloaded file really is: archives that are web pages, pointers instead of data."""

from __future__ import annotations

from pathlib import Path

from segtrial.errors import DatasetError

_GZIP = b"\x1f\x8b"
_ZIP = b"PK"
_HEAD = 512


def problem_of(path: Path, name: str) -> str | None:
    """Why a file cannot be what its name says, or None.

    Parameters
    ----------
    path : Path
        The file, under whatever name it has now.
    name : str
        The name it is to have.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    text = head.lstrip().lower()
    if not head:
        return "it is empty"
    if text.startswith((b"<!doctype", b"<html", b"<?xml", b"<head")) and not name.endswith(
        (".html", ".xml")
    ):
        return "it is a web page; the download needs a login or a confirmation in a browser"
    if head.startswith(b"version https://git-lfs"):
        return "it is a Git LFS pointer; run 'git lfs pull' in the dataset's repository"
    if name.endswith((".gz", ".tgz")) and not head.startswith(_GZIP):
        return "it is not compressed with gzip, as its name says"
    if name.endswith(".zip") and not head.startswith(_ZIP):
        return "it is no zip archive, as its name says"
    return None


def refuse_page(path: Path, name: str) -> None:
    """Raise `DatasetError` for a file that cannot be what its name says."""
    why = problem_of(path, name)
    if why is not None:
        raise DatasetError(
            f"{name} is not what its name says: {why}. Remove {path} and download it by hand; "
            "'evaluate datasets show' says from where."
        )
