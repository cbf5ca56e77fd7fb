"""A whole ``evaluate run``: open everything, run each submission, write the results."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from segtrial.container.engine import ENGINE_FAULTS
from segtrial.container.engine_images import keep_within
from segtrial.container.gpu import Gpu
from segtrial.container.host_check import require_sound_host
from segtrial.container.sandbox import Sandbox, open_sandbox
from segtrial.container.slots import open_slots
from segtrial.contracts.limits import Relaxations
from segtrial.contracts.result import Results
from segtrial.datasets import Dataset, open_dataset
from segtrial.errors import SegtrialError, SubmissionError, UsageError
from segtrial.pipeline.events import Watcher
from segtrial.pipeline.results import track_results
from segtrial.pipeline.results_file import write_results
from segtrial.pipeline.run import Host, RunOptions, run_submission
from segtrial.pipeline.submissions import load_submission
from segtrial.pipeline.trial import with_first_cases
from segtrial.store import open_store
from segtrial.store.journal import TrackKey

_GIB = 1 << 30
_MANY = 8
"""Attempts at once that the engine's connections are prepared for when nobody said how many."""


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What the maintainer asked for."""

    submissions: tuple[str, ...]
    dataset: str
    store: Path
    track: str | None = None
    first_cases: int | None = None
    out: Path | None = None
    slots: int | None = None
    """Attempts at once; None: every free GPU, or one processor slot where there is none."""
    gpus: tuple[str, ...] | None = None
    """GPUs to use, by UUID; empty for none, None for every free one."""
    grant: Relaxations = field(default_factory=Relaxations)
    build: bool = False
    build_network: bool = False
    budget_h: float | None = None
    """Most hours of slots that one submission may use on the track; see `RunOptions`."""
    images_gib: float = 200.0
    """Disk that images of submissions may take in the engine between two runs."""
    must_be_sound: bool = True
    """Refuse a host that does not keep a limit; only a demonstration does without."""


def run_track(
    request: RunRequest, *, watcher: Watcher, stop: threading.Event
) -> tuple[Path, Results]:
    """Run submissions one after the other on one track, and write its results.

    A submission that cannot be run (a refused image, say) does not keep the others from running;
    its error is raised at the end.

    Returns
    -------
    tuple of Path and Results
        The file written, and what is in it.
    """
    loaded = [load_submission(where) for where in request.submissions]
    dataset = open_dataset(
        request.dataset,
        progress=lambda done, total: watcher.work("cases", done=done, total=total),
    )
    dataset, track_id = _track(dataset, request)
    key = TrackKey(dataset.card.id, dataset.card.version, track_id)
    out = request.out or request.store / "results" / f"{key.dataset}_{key.track}.json"
    options = RunOptions(
        grant=request.grant,
        build=request.build,
        build_network=request.build_network,
        budget_h=request.budget_h,
    )
    with (
        open_store(request.store) as store,
        open_sandbox(slots=request.slots or _MANY) as sandbox,
        open_slots(sandbox, count=request.slots, gpus=chosen_gpus(sandbox, request.gpus)) as slots,
    ):
        if request.must_be_sound:
            require_sound_host(sandbox, announce=watcher.step)
        host = Host(sandbox=sandbox, slots=slots, scoring_processes=_scorers())
        errors = []
        for submission in loaded:
            try:
                run_submission(
                    submission,
                    dataset=dataset,
                    track=key,
                    store=store,
                    host=host,
                    options=options,
                    watcher=watcher,
                    stop=stop,
                )
            except SegtrialError as error:
                error.add_note(f"submission {submission.manifest.id}")
                errors.append(error)
                if not isinstance(error, SubmissionError):
                    break  # the next submission would meet the same trouble
            _save_disk(sandbox, request, watcher)
        if errors and key not in store.journal.tracks():
            raise errors[0]  # nothing was begun, so there is nothing to show
        watcher.step("analysing")
        results = track_results(store, key)
        write_results(results, out)
    if errors:
        watcher.step(f"results so far: {out}")
        raise errors[0]
    return out, results


def _save_disk(sandbox: Sandbox, request: RunRequest, watcher: Watcher) -> None:
    # With the engine gone, the next run comes here again.
    with suppress(*ENGINE_FAULTS):
        for image in keep_within(sandbox.engine, int(request.images_gib * _GIB)):
            watcher.step(f"removed image {image[:19]}, the longest unused, to save disk")


def _track(dataset: Dataset, request: RunRequest) -> tuple[Dataset, str]:
    track = dataset.track(request.track or dataset.card.tracks[0].id)
    if request.first_cases is None:
        return dataset, track.id
    return with_first_cases(dataset, track.id, request.first_cases)


def chosen_gpus(sandbox: Sandbox, uuids: tuple[str, ...] | None) -> tuple[Gpu, ...] | None:
    """The GPUs of those UUIDs; None for whatever the host has.

    Raises
    ------
    UsageError
        The host has no GPU of such a UUID.
    """
    if uuids is None:
        return None
    known = {gpu.uuid: gpu for gpu in sandbox.known_gpus()}
    lost = [uuid for uuid in uuids if uuid not in known]
    if lost:
        raise UsageError(
            f"--gpu {lost[0]}: this host has no such GPU. It has: {', '.join(known) or 'none'}."
        )
    return tuple(known[uuid] for uuid in uuids)


def _scorers() -> int:
    return max(1, (os.cpu_count() or 1) // 2)
