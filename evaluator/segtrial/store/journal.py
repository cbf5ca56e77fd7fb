"""The SQLite journal: entries, cases, claims, attempts and scores.

Every write is one transaction with ``synchronous=FULL`` in WAL mode. Attempts and scores are
written once; a second writer of the same key changes nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

from segtrial.contracts.attempt import Attempt
from segtrial.errors import StoreError

_SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE entries (
  id INTEGER PRIMARY KEY,
  dataset TEXT NOT NULL, dataset_version TEXT NOT NULL, track TEXT NOT NULL,
  submission TEXT NOT NULL, identity TEXT NOT NULL, body TEXT NOT NULL,
  UNIQUE (dataset, dataset_version, track, submission, identity)
) STRICT;
CREATE TABLE plans (
  entry INTEGER NOT NULL REFERENCES entries (id), case_id TEXT NOT NULL,
  run_key TEXT NOT NULL, PRIMARY KEY (entry, case_id)
) STRICT;
CREATE TABLE tracks (
  dataset TEXT NOT NULL, dataset_version TEXT NOT NULL, track TEXT NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (dataset, dataset_version, track)
) STRICT;
CREATE TABLE cases (
  dataset TEXT NOT NULL, dataset_version TEXT NOT NULL, case_id TEXT NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (dataset, dataset_version, case_id)
) STRICT;
CREATE TABLE claims (run_key TEXT PRIMARY KEY, owner TEXT NOT NULL) STRICT;
CREATE TABLE attempts (run_key TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
CREATE TABLE scores (score_key TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT;
"""


class Entry(NamedTuple):
    """One submission on one track, as it was when it was run."""

    id: int
    dataset: str
    dataset_version: str
    track: str
    submission: str
    body: dict[str, Any]


class TrackKey(NamedTuple):
    """Which track of which dataset version."""

    dataset: str
    dataset_version: str
    track: str


class Journal:
    """All reads and writes of the store's database; safe to share between threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = RLock()
        try:
            self._db = sqlite3.connect(
                path, timeout=60, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as problem:
            raise _broken(path, problem) from None
        try:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._create()
        except BaseException as problem:
            self._db.close()
            if isinstance(problem, sqlite3.Error):
                raise _broken(path, problem) from None
            raise

    def close(self) -> None:
        """Close the database; the WAL is folded in by SQLite."""
        self._db.close()

    def set_entry(
        self, key: TrackKey, *, submission: str, identity: str, body: dict[str, Any]
    ) -> int:
        """Record that a submission runs on a track; the newest identity is the one published."""
        with self._write() as db:
            db.execute(
                "INSERT INTO entries (dataset, dataset_version, track, submission, identity, body) "
                "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body",
                (*key, submission, identity, _dump(body)),
            )
            row = db.execute(
                "SELECT id FROM entries WHERE dataset = ? AND dataset_version = ? AND track = ? "
                "AND submission = ? AND identity = ?",
                (*key, submission, identity),
            ).fetchone()
        return int(row[0])

    def entries(self, key: TrackKey) -> list[Entry]:
        """Every entry ever made on a track, oldest first."""
        rows = self._read(
            "SELECT id, dataset, dataset_version, track, submission, body FROM entries "
            "WHERE dataset = ? AND dataset_version = ? AND track = ? ORDER BY id",
            tuple(key),
        )
        return [Entry._make((*row[:5], json.loads(row[5]))) for row in rows]

    def set_track(self, key: TrackKey, body: dict[str, Any]) -> None:
        """Record the track's case and structure list with what is published of the card."""
        with self._write() as db:
            db.execute("INSERT OR REPLACE INTO tracks VALUES (?, ?, ?, ?)", (*key, _dump(body)))

    def tracks(self) -> dict[TrackKey, dict[str, Any]]:
        """Every track that was ever run in this store."""
        rows = self._read("SELECT * FROM tracks ORDER BY dataset, dataset_version, track")
        return {TrackKey(*row[:3]): json.loads(row[3]) for row in rows}

    def set_plan(self, entry: int, run_keys: dict[str, str]) -> None:
        """Record which attempt answers each case of an entry."""
        with self._write() as db:
            db.executemany(
                "INSERT OR REPLACE INTO plans VALUES (?, ?, ?)",
                [(entry, case, key) for case, key in run_keys.items()],
            )

    def plan(self, entry: int) -> dict[str, str]:
        """Run key of each case of an entry."""
        return dict(self._read("SELECT case_id, run_key FROM plans WHERE entry = ?", (entry,)))

    def set_case(self, *, dataset: str, version: str, case: str, body: dict[str, Any]) -> None:
        """Record what is known of a case: hashes, geometry, reference volumes."""
        with self._write() as db:
            db.execute(
                "INSERT OR REPLACE INTO cases VALUES (?, ?, ?, ?)",
                (dataset, version, case, _dump(body)),
            )

    def cases(self, *, dataset: str, version: str) -> dict[str, dict[str, Any]]:
        """Every recorded case of a dataset version."""
        rows = self._read(
            "SELECT case_id, body FROM cases WHERE dataset = ? AND dataset_version = ?",
            (dataset, version),
        )
        return {case: json.loads(body) for case, body in rows}

    def claim(self, run_key: str, owner: str) -> str:
        """Claim an attempt; returns the owner that holds it, this one or another."""
        with self._write() as db:
            db.execute("INSERT OR IGNORE INTO claims VALUES (?, ?)", (run_key, owner))
            row = db.execute("SELECT owner FROM claims WHERE run_key = ?", (run_key,)).fetchone()
        return str(row[0])

    def release(self, run_key: str, owner: str) -> None:
        """Give a claim up."""
        with self._write() as db:
            db.execute("DELETE FROM claims WHERE run_key = ? AND owner = ?", (run_key, owner))

    def release_owner(self, owner: str) -> None:
        """Give up every claim of an owner that is gone."""
        with self._write() as db:
            db.execute("DELETE FROM claims WHERE owner = ?", (owner,))

    def claim_owners(self) -> set[str]:
        """Every owner that holds a claim, dead or alive."""
        return {str(row[0]) for row in self._read("SELECT DISTINCT owner FROM claims")}

    def add_attempt(self, attempt: Attempt) -> None:
        """Record a final attempt; a second record of the same run key changes nothing."""
        with self._write() as db:
            db.execute(
                "INSERT OR IGNORE INTO attempts VALUES (?, ?)",
                (attempt.run_key, attempt.model_dump_json()),
            )

    def attempts(self, run_keys: set[str]) -> dict[str, Attempt]:
        """The final attempts among these run keys."""
        rows = self._read(
            "SELECT run_key, body FROM attempts WHERE run_key IN (SELECT value FROM json_each(?))",
            (_list(run_keys),),
        )
        return {key: Attempt.model_validate_json(body) for key, body in rows}

    def forget_attempts(self, run_keys: set[str]) -> None:
        """Drop attempts so that they are run again; asked for by the maintainer only."""
        with self._write() as db:
            db.executemany("DELETE FROM attempts WHERE run_key = ?", [(key,) for key in run_keys])

    def add_scores(self, score_key: str, body: dict[str, Any]) -> None:
        """Record the scores of one output against one reference."""
        with self._write() as db:
            db.execute("INSERT OR IGNORE INTO scores VALUES (?, ?)", (score_key, _dump(body)))

    def scores(self, score_keys: set[str]) -> dict[str, dict[str, Any]]:
        """The scores recorded under these keys."""
        rows = self._read(
            "SELECT score_key, body FROM scores "
            "WHERE score_key IN (SELECT value FROM json_each(?))",
            (_list(score_keys),),
        )
        return {key: json.loads(body) for key, body in rows}

    def _create(self) -> None:
        with self._write() as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                for statement in _SCHEMA.split(";"):
                    if statement.strip():
                        db.execute(statement)
                db.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
            elif version != _SCHEMA_VERSION:
                raise StoreError(
                    f"The store {self._path.parent} has format {version}, this segtrial reads "
                    f"{_SCHEMA_VERSION}. Use the segtrial version that made it, or a new store."
                )

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
            except sqlite3.Error as problem:
                raise _broken(self._path, problem) from None
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException as problem:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                if isinstance(problem, sqlite3.Error):
                    raise _broken(self._path, problem) from None
                raise

    def _read(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with self._lock:
            try:
                return self._db.execute(sql, values).fetchall()
            except sqlite3.Error as problem:
                raise _broken(self._path, problem) from None


def _list(keys: set[str]) -> str:
    """Keys as one parameter, however many they are: a statement takes few parameters."""
    return json.dumps(sorted(keys))


def _dump(body: dict[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _broken(path: Path, problem: sqlite3.Error) -> StoreError:
    return StoreError(
        f"The store's journal {path} cannot be used: {problem}. Check that the disk is not full "
        "and the folder is writable; everything committed so far is kept."
    )
