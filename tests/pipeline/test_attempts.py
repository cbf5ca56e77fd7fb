"""One case in its slots: what is tried again, where, and what is kept of it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import tiny
from containers import commit
from segtrial.container.image_facts import read_image
from segtrial.container.sandbox import Sandbox
from segtrial.container.slot import Slot
from segtrial.container.slots import SlotPool
from segtrial.contracts.limits import Limits, Relaxations
from segtrial.errors import PlatformError
from segtrial.pipeline.attempts import AttemptRunner, Job
from segtrial.store import open_store

pytestmark = pytest.mark.docker

GOOD = Slot(name="good")
BROKEN = Slot(name="broken", cpuset="9999")
"""A processor that no host has: the engine refuses every container in it."""


def attempt(sandbox: Sandbox, base: str, folder: Path, *, slots: list[Slot], program: str) -> tuple:
    """Outcome and number of tries of one case, and the slots that were taken out."""
    dataset = tiny.make_dataset(folder / "tiny", [0])
    pool = SlotPool(
        slots=tuple(slots),
        unused={},
        probe=lambda slot: "it has no such processor" if slot is BROKEN else None,
    )
    image = commit(
        sandbox, base, {"predict.py": program.encode()}, {"Entrypoint": ["python3", "/predict.py"]}
    )
    try:
        with open_store(folder / "store") as store:
            runner = AttemptRunner(
                sandbox=sandbox,
                store=store,
                submission="model",
                image=read_image(sandbox.engine, image, labels=sandbox.owner.labels),
                modalities=("ct",),
                structures=("liver",),
                limits=Limits(time_s=30, memory_gib=0.25, tmp_gib=0.01, shm_gib=0.01, output_mib=4),
                granted=Relaxations(),
                slots=pool,
                with_gpu=False,
                stop=threading.Event(),
            )
            scan = dataset / "cases/tiny_001/scan.nii.gz"
            job = Job(case="tiny_001", opaque_id="c-0", run_key="a" * 64, scans=(scan,))
            done = runner.run(job)
            kept = store.journal.attempts({job.run_key})
            assert kept == ({job.run_key: done} if done.outcome[:7] != "not_run" else {})
            assert list(store.owner.tmp.iterdir()) == []
            return done.outcome, done.tries, list(pool.taken_out)
    finally:
        sandbox.engine.remove_image(image)


def test_a_case_goes_on_elsewhere_when_its_slot_is_broken(
    sandbox: Sandbox, base_image: str, tmp_path: Path
) -> None:
    done = attempt(sandbox, base_image, tmp_path, slots=[BROKEN, GOOD], program=tiny.THRESHOLD)

    assert done == ("ok", 2, ["broken"])


def test_with_every_slot_broken_nothing_is_recorded(
    sandbox: Sandbox, base_image: str, tmp_path: Path
) -> None:
    with pytest.raises(PlatformError, match="No slot is left"):
        attempt(sandbox, base_image, tmp_path, slots=[BROKEN], program=tiny.THRESHOLD)


def test_an_ambiguous_ending_is_tried_once_more_and_then_the_authors(
    sandbox: Sandbox, base_image: str, tmp_path: Path
) -> None:
    done = attempt(sandbox, base_image, tmp_path, slots=[GOOD], program="raise SystemExit(137)")

    assert done == ("failed: crash", 2, [])
