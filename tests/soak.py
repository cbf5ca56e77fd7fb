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
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import tiny
from private_engine import PrivateEngine

MOODS = [0, 0, 0, 1, 0, 4, 0, 5, 0, 6, 0, 7, 0, 0, 11, 0, 12, 0, 0, 0]
"""Behaviours that take no longer than the container's start."""
_ENGINE_KILLS = 0.15
"""Share of the kills that hit the engine instead of the evaluator."""


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
    longest_s: float,
    say: Callable[[str], None],
) -> Soaked:
    """Run at least so many attempts to their end through random kills."""
    started = time.monotonic()
    chance = random.Random(seed)  # noqa: S311 - moments, not secrets
    temporary = folder / "tmp"
    temporary.mkdir()
    env = {**os.environ, "DOCKER_HOST": engine.address, "TMPDIR": str(temporary)}
    dataset = tiny.make_dataset(folder / "tiny", MOODS)
    submissions = [
        tiny.make_submission(folder / f"m{n}", name=f"m{n}", program=f"{tiny.MOODY}# {n}\n")
        for n in range(-(-attempts // len(MOODS)))
    ]
    words = [
        *(sys.executable, "-m", "segtrial", "run", *map(str, submissions)),
        *("--build", "-d", str(dataset), "--store", "s", "-o", "r.json", "--slots", "2"),
    ]
    known: dict[str, str] = {}
    kills, engine_kills, lost = 0, 0, 0
    done = False
    while not done:
        with subprocess.Popen(
            words, cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as child:
            try:
                said = child.communicate(timeout=chance.uniform(1, longest_s))[1]
                done = child.returncode == 0
                assert done or child.returncode == 4, said
            except subprocess.TimeoutExpired:
                if chance.random() < _ENGINE_KILLS:
                    engine_kills += 1
                    engine.end(signal.SIGKILL)
                    time.sleep(chance.uniform(0, 1))
                    child.send_signal(signal.SIGKILL)
                    child.communicate()
                    engine.start()
                else:
                    kills += 1
                    child.send_signal(signal.SIGKILL)
                    child.communicate()
        now = _attempts(folder / "s")
        lost += sum(now.get(key) != body for key, body in known.items())
        known = now
        say(f"{len(known)} of {len(submissions) * len(MOODS)} attempts final, {kills} kills")
    return Soaked(
        attempts=len(known),
        evaluator_kills=kills,
        engine_kills=engine_kills,
        lost=lost,
        wrong=_wrong(folder, len(submissions)),
        left_behind=[
            *_left_behind(folder / "s", engine),
            *(str(left) for left in temporary.iterdir()),
        ],
        time_s=time.monotonic() - started,
    )


def _attempts(store: Path) -> dict[str, str]:
    if not (store / "journal.sqlite").exists():
        return {}
    db = sqlite3.connect(store / "journal.sqlite")
    try:
        return dict(db.execute("SELECT run_key, body FROM attempts").fetchall())
    except sqlite3.OperationalError:  # killed before the tables were made
        return {}
    finally:
        db.close()


def _wrong(folder: Path, submissions: int) -> int:
    records = json.loads((folder / "r.json").read_text())["records"]
    seen = sorted((r["submission"], r["outcome"]) for r in records if r["structure"] == "liver")
    expected = sorted((f"m{n}", tiny.MOODS[mood]) for n in range(submissions) for mood in MOODS)
    return sum(a != b for a, b in zip(seen, expected, strict=True))


def _left_behind(store: Path, engine: PrivateEngine) -> list[str]:
    found = [f"container {name}" for name in engine.docker("ps", "--all", "--quiet")]
    found += [f"volume {name}" for name in engine.docker("volume", "ls", "--quiet")]
    found += [f"process {pid}" for pid in processes_in(store.parent)]
    found += [str(path) for part in ("owners", "tmp") for path in (store / part).iterdir()]
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    found += [line.split()[1] for line in mounts if line.split()[1].startswith("/run/segtrial/")]
    return found


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
