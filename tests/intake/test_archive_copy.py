"""The copy of an archive is complete or is not there, and the original may do what it likes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from segtrial.container import archive_copy
from segtrial.container.archive_copy import keep_copy
from segtrial.errors import StoreError, SubmissionError


def test_a_copy_lies_under_the_hash_of_its_bytes_and_is_made_once(tmp_path: Path) -> None:
    source, folder = tmp_path / "image.tar", tmp_path / "kept"
    source.write_bytes(b"archive" * 1000)
    kept = keep_copy(source, folder)
    made = kept.stat()
    assert kept.name == hashlib.sha256(source.read_bytes()).hexdigest()
    assert kept.read_bytes() == source.read_bytes()
    assert made.st_mode & 0o777 == 0o400
    assert keep_copy(source, folder).stat().st_mtime_ns == made.st_mtime_ns
    source.write_bytes(b"ARCHIVE" * 1000)
    assert keep_copy(source, folder) != kept


def test_what_a_killed_process_left_half_written_is_taken_away(tmp_path: Path) -> None:
    source, folder = tmp_path / "image.tar", tmp_path / "kept"
    source.write_bytes(b"archive")
    folder.mkdir()
    (folder / "incoming").write_bytes(b"half")
    keep_copy(source, folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [".lock", hashlib.sha256(b"archive").hexdigest()]
    )


def test_a_pipe_is_refused_and_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "image.tar")
    with pytest.raises(SubmissionError, match="is not a regular file"):
        keep_copy(tmp_path / "image.tar", tmp_path / "kept")


def test_an_empty_file_is_no_archive(tmp_path: Path) -> None:
    (tmp_path / "image.tar").touch()
    with pytest.raises(SubmissionError, match="is empty"):
        keep_copy(tmp_path / "image.tar", tmp_path / "kept")


def test_a_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "image.tar").open("wb") as sparse:
        sparse.truncate(archive_copy.MAX_ARCHIVE_BYTES + 1)
    with pytest.raises(SubmissionError, match=r"has 60\.0 GiB, and at most 60 are taken"):
        keep_copy(tmp_path / "image.tar", tmp_path / "kept")


def test_a_folder_that_cannot_be_made_is_the_stores_trouble(tmp_path: Path) -> None:
    (tmp_path / "image.tar").write_bytes(b"archive")
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="choose another store"):
        keep_copy(tmp_path / "image.tar", tmp_path / "file" / "kept")
