"""Scoring runs beside the attempts: however slow it is, no slot waits for it."""

from __future__ import annotations

import sqlite3
import threading
import time
from concurrent.futures import Future
from pathlib import Path

import pytest

import tiny
from segtrial.pipeline.events import Silent
from segtrial.pipeline.scoring import Scored, Scorer, ScoreTask
from segtrial.pipeline.session import RunRequest, run_track

pytestmark = pytest.mark.docker

CASES = 8


@pytest.mark.usefixtures("base_image")
def test_every_case_is_run_while_the_first_scores_are_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = tiny.make_dataset(tmp_path / "tiny", [0] * CASES)
    model = tiny.make_submission(tmp_path / "m", name="m", program=tiny.THRESHOLD)
    store = tmp_path / "s"
    final_when_scored: list[int] = []

    class Slow(Scorer):
        """Gives no score but the canary's before every case is final, or a minute is over."""

        def result(self, task: ScoreTask, future: Future[Scored]) -> Scored:
            until = time.monotonic() + 60
            first = not final_when_scored
            while not first and final(store) < CASES and time.monotonic() < until:
                time.sleep(0.05)
            final_when_scored.append(final(store))
            return super().result(task, future)

    monkeypatch.setattr("segtrial.pipeline.run.Scorer", Slow)
    request = RunRequest(
        submissions=(str(model),), dataset=str(dataset), store=store, slots=1, gpus=(), build=True
    )

    _, results = run_track(request, watcher=Silent(), stop=threading.Event())

    assert final_when_scored == [1] + [CASES] * (CASES - 1)
    assert {record.outcome for record in results.records} == {"ok"}


def final(store: Path) -> int:
    """Attempts that are final in a store by now."""
    db = sqlite3.connect(store / "journal.sqlite", timeout=60)
    try:
        return int(db.execute("SELECT count(*) FROM attempts").fetchone()[0])
    finally:
        db.close()
