"""``evaluate score``: predictions that exist already, scored as if a container had written them.

The files go through the same reading and scoring and into the same store; the entry has no image
digest, so that the board can say that nobody ran it.
"""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from segtrial.contracts.attempt import Attempt
from segtrial.contracts.limits import Relaxations
from segtrial.contracts.result import Results
from segtrial.datasets import open_dataset
from segtrial.errors import InputError, StoreError
from segtrial.pipeline.cases import examine
from segtrial.pipeline.entry import entry_identity, track_body
from segtrial.pipeline.events import Watcher
from segtrial.pipeline.planning import make_entry, scored_labels
from segtrial.pipeline.results import track_results
from segtrial.pipeline.results_file import write_results
from segtrial.pipeline.submissions import load_submission
from segtrial.store import Store, open_store
from segtrial.store.blobs import file_sha256
from segtrial.store.journal import TrackKey


@dataclass(frozen=True, kw_only=True)
class ScoreRequest:
    """What the researcher asked for."""

    predictions: Path
    submission: str
    dataset: str
    store: Path
    track: str | None = None
    out: Path | None = None


def score_predictions(request: ScoreRequest, *, watcher: Watcher) -> tuple[Path, Results]:
    """Score a folder of ``CASE.nii.gz`` against a track, and write its results.

    A case without a file has failed: ``no_output``. Nothing is dropped.

    Returns
    -------
    tuple of Path and Results
        The file written, and what is in it.

    Raises
    ------
    InputError
        The folder does not exist, or holds no file named like a case.
    """
    manifest = load_submission(request.submission).manifest
    dataset = open_dataset(
        request.dataset, progress=lambda done, total: watcher.work("cases", done=done, total=total)
    )
    track = dataset.track(request.track or dataset.card.tracks[0].id)
    key = TrackKey(dataset.card.id, dataset.card.version, track.id)
    cases = dataset.cases_of(track)
    files = _files(request.predictions, [case.id for case in cases])
    out = request.out or request.store / "results" / f"{key.dataset}_{key.track}.json"
    with open_store(request.store) as store:
        examine(dataset, cases, store=store, watcher=watcher, processes=1)
        recorded = track_body(dataset, key)
        store.journal.set_track(key, recorded.to_json())
        digests = {case: file_sha256(path) for case, path in files.items()}
        entry = make_entry(
            manifest,
            dataset=dataset,
            track=key,
            prediction_labels=scored_labels(manifest, recorded),
            image_digest=None,
            granted=Relaxations(),
            secret=store.secret,
            run_keys={case.id: _run_key(manifest.id, case.id, digests) for case in cases},
        )
        entry_id = store.journal.set_entry(
            key, submission=manifest.id, identity=entry_identity(entry), body=entry.to_json()
        )
        store.journal.set_plan(entry_id, entry.run_keys)
        watcher.step(f"{manifest.id}: scoring {len(files)} of {len(cases)} cases")
        for case in cases:
            _record(store, manifest.id, case.id, entry.run_keys[case.id], files.get(case.id))
        results = track_results(store, key)
        write_results(results, out)
    return out, results


def _files(folder: Path, cases: list[str]) -> dict[str, Path]:
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder. Give the one that holds CASE.nii.gz files.")
    found = {case: folder / f"{case}.nii.gz" for case in cases}
    there = {case: path for case, path in found.items() if path.is_file()}
    if not there:
        raise InputError(
            f"{folder} holds no file named like a case of the track, such as {cases[0]}.nii.gz. "
            "Name each prediction after its case."
        )
    return there


def _run_key(submission: str, case: str, digests: dict[str, str]) -> str:
    text = "\n".join(("files", submission, case, digests.get(case, "missing")))
    return hashlib.sha256(text.encode()).hexdigest()


def _record(store: Store, submission: str, case: str, run_key: str, path: Path | None) -> None:
    sha256 = None
    if path is not None:
        incoming = store.owner.tmp / "prediction"
        try:
            shutil.copyfile(path, incoming)
        except OSError as problem:
            raise StoreError(
                f"{path} cannot be copied into the store: {problem.strerror}. Free space or make "
                "the file readable, then run the same command again."
            ) from None
        sha256 = store.blobs.add(incoming)
    store.journal.add_attempt(
        Attempt(
            submission=submission,
            case=case,
            run_key=run_key,
            outcome="failed: no_output" if sha256 is None else "ok",
            reason="There is no file for this case." if sha256 is None else "A file was given.",
            output_sha256=sha256,
        )
    )
