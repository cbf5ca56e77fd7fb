"""The store loses nothing that was final, whatever ends the process that wrote it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from segtrial.contracts.attempt import Attempt
from segtrial.errors import StoreError
from segtrial.store import Store, open_store
from segtrial.store.blobs import file_sha256
from segtrial.store.journal import TrackKey
from segtrial.store.store import file_system_type

KEY = TrackKey("phantom", "1.0", "all")


def attempt(number: int, outcome: str = "ok") -> Attempt:
    return Attempt.model_validate(
        {
            "submission": "model",
            "case": f"case_{number}",
            "run_key": f"{number:064x}",
            "outcome": outcome,
            "reason": "",
        }
    )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path / "store") as opened:
        yield opened


def test_a_final_attempt_is_written_once(store: Store) -> None:
    store.journal.add_attempt(attempt(1, "ok"))
    store.journal.add_attempt(attempt(1, "failed: crash"))

    assert store.journal.attempts({f"{1:064x}"})[f"{1:064x}"].outcome == "ok"


def test_the_same_bytes_are_one_file(store: Store) -> None:
    first, second = store.owner.tmp / "a", store.owner.tmp / "b"
    first.write_bytes(b"label map")
    second.write_bytes(b"label map")

    assert store.blobs.add(first) == store.blobs.add(second)
    assert not first.exists()
    assert not second.exists()


def test_a_blob_holds_what_its_name_says(store: Store) -> None:
    path = store.owner.tmp / "a"
    path.write_bytes(b"label map")

    sha256 = store.blobs.add(path)

    assert file_sha256(store.blobs.get(sha256)) == sha256


def test_a_lost_blob_is_named(store: Store) -> None:
    with pytest.raises(StoreError, match="Restore it from a backup"):
        store.blobs.get("0" * 64)


def test_a_claim_belongs_to_the_first(store: Store, tmp_path: Path) -> None:
    with open_store(tmp_path / "store") as other:
        assert store.journal.claim("k", store.owner.id) == store.owner.id
        assert other.journal.claim("k", other.owner.id) == store.owner.id

        store.journal.release("k", store.owner.id)

        assert other.journal.claim("k", other.owner.id) == other.owner.id


def test_what_a_killed_process_held_is_taken_back(tmp_path: Path) -> None:
    root = tmp_path / "store"
    code = (
        "import sys, time; from pathlib import Path; from segtrial.store import open_store\n"
        "store = open_store(Path(sys.argv[1]))\n"
        "store.journal.claim('k', store.owner.id)\n"
        "(store.owner.tmp / 'half').write_bytes(b'x')\n"
        "print(store.owner.id, store.owner.staging, flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(root)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        owner, staging = child.stdout.readline().split()
        with open_store(root) as living:
            assert living.journal.claim("k", living.owner.id) == owner
        os.kill(child.pid, signal.SIGKILL)

    with open_store(root) as store:
        assert store.journal.claim("k", store.owner.id) == store.owner.id
        assert [path.name for path in (root / "tmp").iterdir()] == [store.owner.id]
    assert not Path(staging).exists()


def test_nothing_is_left_behind_by_a_process_that_ends(tmp_path: Path) -> None:
    with open_store(tmp_path / "store") as store:
        staging = store.owner.staging
    assert not staging.exists()
    assert not list((tmp_path / "store" / "owners").iterdir())
    assert not list((tmp_path / "store" / "tmp").iterdir())


def test_the_newest_entry_of_a_submission_is_the_last(store: Store) -> None:
    store.journal.set_entry(KEY, submission="m", identity="1", body={"v": 1})
    store.journal.set_entry(KEY, submission="m", identity="2", body={"v": 2})

    assert [entry.body["v"] for entry in store.journal.entries(KEY)] == [1, 2]


def test_the_secret_stays_and_is_private(tmp_path: Path) -> None:
    with open_store(tmp_path / "store") as store:
        secret = store.secret
    with open_store(tmp_path / "store") as again:
        assert again.secret == secret
    assert (tmp_path / "store" / "secret").stat().st_mode & 0o077 == 0


def test_a_truncated_secret_is_refused(tmp_path: Path) -> None:
    with open_store(tmp_path / "store"):
        pass
    (tmp_path / "store" / "secret").write_bytes(b"short")

    with pytest.raises(StoreError, match="has 5 bytes, expected 32"):
        open_store(tmp_path / "store")


def test_a_folder_of_something_else_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")

    with pytest.raises(StoreError, match="exists and is no store"):
        open_store(tmp_path)


def test_a_missing_store_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="There is no store in"):
        open_store(tmp_path / "none", create=False)


def test_a_store_of_another_format_is_refused(tmp_path: Path) -> None:
    with open_store(tmp_path / "store"):
        pass
    with sqlite3.connect(tmp_path / "store" / "journal.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()

    with pytest.raises(StoreError, match="has format 99"):
        open_store(tmp_path / "store")


def test_a_journal_that_is_no_database_is_named(tmp_path: Path) -> None:
    with open_store(tmp_path / "store"):
        pass
    (tmp_path / "store" / "journal.sqlite").write_bytes(b"not a database at all" * 100)

    with pytest.raises(StoreError, match="cannot be used"):
        open_store(tmp_path / "store")


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs"])
def test_a_network_file_system_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    table = f"/dev/vda / ext4 rw 0 0\nhost:/export {tmp_path} {kind} rw 0 0\n"
    monkeypatch.setattr("segtrial.store.store._mounts", lambda: table)

    with pytest.raises(StoreError, match=rf"network file system \({kind}\)"):
        open_store(tmp_path / "store")


def test_a_local_disk_below_a_network_home_is_accepted(tmp_path: Path) -> None:
    table = f"host:/home / nfs4 rw 0 0\n/dev/vdb {tmp_path} ext4 rw 0 0\n"

    assert file_system_type(tmp_path / "store", table) == "ext4"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
def test_a_store_that_became_read_only_is_named_and_goes_on_when_it_can_be_written(
    tmp_path: Path,
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], check=True)
    try:
        with open_store(disk / "store") as store:
            store.journal.add_attempt(attempt(1))
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with pytest.raises(StoreError, match=r"[Rr]ead-only|readonly"):
            open_store(disk / "store")
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        with open_store(disk / "store") as store:
            assert len(store.journal.attempts({attempt(1).run_key})) == 1
    finally:
        subprocess.run(["umount", disk], check=True)
