"""Many attempts, with the evaluator and its engine killed at random moments.

What must hold: an attempt that was final stays, byte for byte; in the end every case of every
submission has the outcome that its program has; nothing is left behind.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tiny
from private_engine import PrivateEngine
from segtrial.container.owner import LOCK_SUFFIX, runtime_dir

MOODS = [0, 0, 0, 1, 0, 4, 0, 5, 0, 6, 0, 7, 0, 0, 11, 0, 12, 0, 0, 0]
"""Behaviours that take no longer than the container's start."""
SUBMISSIONS = 4
_ENGINE_KILLS = 0.15
"""Share of the kills that hit the engine instead of the evaluator."""
_EARLY_KILLS = 0.25
"""Share of the kills while the evaluator is still starting, at a moment of `_START_S`."""
_START_S = 5.0
_LOOK_S = 0.1
_MOST_TROUBLES = 5


@dataclass(frozen=True, kw_only=True)
class Soaked:
    """What a soak saw."""

    attempts: int
    evaluator_kills: int
    engine_kills: int
    lost: int
    """Final attempts that were gone or different at a later look."""
    wrong: int
    """Records whose outcome is not what the program does."""
    left_behind: list[str]
    time_s: float


def soak(
    folder: Path,
    *,
    attempts: int,
    seed: int,
    engine: PrivateEngine,
    between_kills: int,
    say: Callable[[str], None],
) -> Soaked:
    """Run so many attempts to their end through random kills.

    Parameters
    ----------
    attempts
        A multiple of the number of submissions.
    between_kills
        Most attempts that become final between two kills. Counted in attempts and not in seconds,
        so that a slow machine sees as many kills as a quick one, and gets to the end too.
    """
    started = time.monotonic()
    run = _Run(
        folder=folder,
        engine=engine,
        chance=random.Random(seed),  # noqa: S311 - moments, not secrets
        cases=attempts // SUBMISSIONS,
        between_kills=between_kills,
    )
    known: dict[str, str] = {}
    lost = 0
    while not run.ended_by_itself():
        now = run.final()
        lost += sum(now.get(key) != body for key, body in known.items())
        known = now
        say(f"{len(known)} of {attempts} attempts final after {run.kills + run.engine_kills} kills")
    now = run.final()
    lost += sum(now.get(key) != body for key, body in known.items())
    return Soaked(
        attempts=len(now),
        evaluator_kills=run.kills,
        engine_kills=run.engine_kills,
        lost=lost,
        wrong=run.wrong(),
        left_behind=run.left_behind(),
        time_s=time.monotonic() - started,
    )


@dataclass(kw_only=True)
class _Run:
    """One command, started again after each kill."""

    folder: Path
    engine: PrivateEngine
    chance: random.Random
    cases: int
    between_kills: int
    kills: int = 0
    engine_kills: int = 0
    _troubles: int = 0
    """Ends with exit code 4 in a row, none of them of our making."""
    _owners: set[str] = field(default_factory=set)
    """Names under which the killed evaluators owned containers and mounts."""

    def __post_init__(self) -> None:
        self._temporary = self.folder / "tmp"
        self._temporary.mkdir()
        moods = [MOODS[n % len(MOODS)] for n in range(self.cases)]
        self._moods = moods
        dataset = tiny.make_dataset(self.folder / "tiny", moods)
        submissions = [
            tiny.make_submission(
                self.folder / f"m{n}", name=f"m{n}", program=f"{tiny.MOODY}# {n}\n"
            )
            for n in range(SUBMISSIONS)
        ]
        # One more than there are processors: such slots lock none, so others can run beside.
        slots = str((os.cpu_count() or 1) + 1)
        self._command = [
            *(sys.executable, "-m", "segtrial", "run", *map(str, submissions)),
            *("--build", "-d", str(dataset), "--store", "s", "-o", "r.json", "--slots", slots),
        ]

    def ended_by_itself(self) -> bool:
        """Start the command and kill it, or its engine; True when it was done before."""
        env = {
            **os.environ,
            "DOCKER_HOST": self.engine.address,
            "TMPDIR": str(self._temporary),
        }
        with (
            tempfile.TemporaryFile(mode="w+") as said,
            subprocess.Popen(
                self._command, cwd=self.folder, env=env, stdout=subprocess.DEVNULL, stderr=said
            ) as child,
        ):
            if not self._moment_comes(child):
                said.seek(0)
                self._troubles += 1
                assert child.returncode == 0 or (
                    child.returncode == 4 and self._troubles < _MOST_TROUBLES
                ), said.read()
                return child.returncode == 0
            self._troubles = 0
            self._owners |= owners_of(child.pid)
            if self.chance.random() < _ENGINE_KILLS:
                self.engine_kills += 1
                self.engine.end(signal.SIGKILL)
                time.sleep(self.chance.uniform(0, 1))
                self._owners |= owners_of(child.pid)
                child.kill()
                child.wait()
                self.engine.start()
            else:
                self.kills += 1
                child.kill()
        return False

    def _moment_comes(self, child: subprocess.Popen[bytes]) -> bool:
        """Wait for the moment to kill; False when the command ended before."""
        if self.chance.random() < _EARLY_KILLS:
            wanted, within_s = None, self.chance.uniform(0, _START_S)
        else:
            wanted = self._count() + self.chance.randint(1, self.between_kills)
            within_s = float("inf")
        deadline = time.monotonic() + within_s
        while child.poll() is None:
            if time.monotonic() > deadline or (wanted and self._count() >= wanted):
                # Not always at the instant at which an attempt has just become final.
                time.sleep(self.chance.uniform(0, 0.5))
                return child.poll() is None
            time.sleep(_LOOK_S)
        return False

    def final(self) -> dict[str, str]:
        """Every final attempt as the journal holds it now, by run key."""
        return dict(self._read("SELECT run_key, body FROM attempts"))

    def _count(self) -> int:
        return next((row[0] for row in self._read("SELECT count(*) FROM attempts")), 0)

    def _read(self, sql: str) -> list[Any]:
        journal = self.folder / "s" / "journal.sqlite"
        if not journal.exists():
            return []
        db = sqlite3.connect(journal, timeout=60)
        try:
            return db.execute(sql).fetchall()
        except sqlite3.OperationalError:  # killed before the tables were made
            return []
        finally:
            db.close()

    def wrong(self) -> int:
        """Records of the results whose outcome is not what the program does."""
        records = json.loads((self.folder / "r.json").read_text())["records"]
        seen = sorted((r["submission"], r["outcome"]) for r in records if r["structure"] == "liver")
        expected = sorted(
            (f"m{n}", tiny.MOODS[mood]) for n in range(SUBMISSIONS) for mood in self._moods
        )
        return sum(a != b for a, b in zip(seen, expected, strict=True))

    def left_behind(self) -> list[str]:
        """Whatever of the run can still be found."""
        found = [f"container {name}" for name in self.engine.docker("ps", "--all", "--quiet")]
        found += [f"volume {name}" for name in self.engine.docker("volume", "ls", "--quiet")]
        found += [f"process {pid}" for pid in processes_in(self.folder)]
        found += [
            str(path) for part in ("s/owners", "s/tmp", "tmp") for path in _in(self.folder / part)
        ]
        return found + [str(path) for path in _in(runtime_dir()) if path.stem in self._owners]


def _in(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def owners_of(pid: int) -> set[str]:
    """Names under which a running process owns containers: the lock files that it holds open."""
    names = set()
    for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            target = descriptor.readlink()
        except OSError:  # closed, or ended, while we looked
            continue
        if target.parent == runtime_dir() and target.suffix == LOCK_SUFFIX:
            names.add(target.stem)
    return names


def processes_in(folder: Path) -> list[str]:
    """Processes that work in a folder: what a killed evaluator has left running."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").resolve().is_relative_to(folder):
                found.append(process.name)
        except OSError:  # it ended while we looked
            continue
    return found
