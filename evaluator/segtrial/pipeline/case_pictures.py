"""From a store to pictures of the cases that a maintainer should look at; never part of a board.

The scans and references are read where the dataset lies, the outputs from the store, and each case
in a worker process: an output is a stranger's bytes here too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from segtrial.board.case_pictures import CasePicture, write_case_page
from segtrial.board.notable import NotableCase, notable_cases
from segtrial.contracts.reading import nearest
from segtrial.errors import StoreError, UsageError
from segtrial.pipeline.cases import facts_from
from segtrial.pipeline.entry import EntryBody, TrackBody
from segtrial.pipeline.outcomes import score_task
from segtrial.pipeline.results import Names, newest_entries, track_results
from segtrial.pipeline.scoring import ScoreTask
from segtrial.pipeline.workers import worker_pool
from segtrial.store import Store, open_store
from segtrial.store.journal import TrackKey

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CT_WINDOW = (-160.0, 240.0)
"""Hounsfield units drawn black and white: soft tissue."""
_SHARES = (1, 99)
"""Percentiles drawn black and white where intensities have no unit."""
_MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """One case to draw; small and picklable."""

    case: str
    title: str
    structure: str
    scan: str
    reference: str
    reference_labels: tuple[int, ...]
    is_ct: bool
    predictions: dict[str, ScoreTask | None]
    """By name of the entry; None where there is no output."""


def write_store_pictures(
    store_folder: Path, out: Path, *, track: str | None, structure: str | None, each: int
) -> tuple[Path, int]:
    """Draw the worst and the disputed cases of a structure into a local page.

    Parameters
    ----------
    store_folder : Path
        Where runs and scores are kept.
    out : Path
        Folder of its own.
    track : str or None
        ``dataset/track``, where the store holds several.
    structure : str or None
        The track's first by default.
    each : int
        How many cases of each kind.

    Returns
    -------
    tuple
        The page, and how many cases are on it.

    Raises
    ------
    StoreError
        There is no store, or no such track in it.
    UsageError
        The track has no such structure, or ``out`` is in a board whose card forbids pictures.
    DatasetError
        A scan or reference is not where it was, or cannot be read.
    """
    with open_store(store_folder, create=False) as store:
        key = _one_track(store, track)
        body = TrackBody.model_validate(store.journal.tracks()[key])
        chosen = structure or body.structures[0]
        if chosen not in body.structures:
            raise UsageError(
                f"The track {key.dataset}/{key.track} has no structure {chosen!r}; it has: "
                f"{', '.join(body.structures)}.{nearest(chosen, body.structures)}"
            )
        found = notable_cases(track_results(store, key), structure=chosen, each=each)
        wanted = _wanted(store, key, body, found)
        with worker_pool(1) as pool:
            pictures = list(pool.map(_picture, wanted))
    return write_case_page(pictures, out, publication=body.dataset.publication), len(pictures)


def _one_track(store: Store, track: str | None) -> TrackKey:
    keys = [k for k in store.journal.tracks() if track in {None, f"{k.dataset}/{k.track}"}]
    if len(keys) == 1:
        return keys[0]
    known = ", ".join(f"{k.dataset}/{k.track}" for k in store.journal.tracks()) or "none"
    if keys:
        raise UsageError(f"The store holds several tracks; choose one with --track: {known}.")
    raise StoreError(f"The store has no results for {track or 'any track'}; it has: {known}.")


def _wanted(
    store: Store, key: TrackKey, track: TrackBody, found: list[NotableCase]
) -> list[_Wanted]:
    bodies = store.journal.cases(dataset=key.dataset, version=key.dataset_version)
    true_names = {name: case for case, name in Names.of(store, key, track).case.items()}
    entries = {entry.manifest.id: entry for entry, _ in newest_entries(store, key)}
    wanted = []
    for one in found:
        case = true_names[one.case]
        facts = facts_from(bodies[case])
        tasks = {}
        for name, score in zip(one.submissions, one.scores, strict=True):
            entry = entries[name]
            attempt = store.journal.attempts({entry.run_keys[case]}).get(entry.run_keys[case])
            task = None
            if attempt is not None and attempt.outcome == "ok" and attempt.output_sha256:
                output = store.blobs.get(attempt.output_sha256)
                task = score_task(entry, track, facts, attempt, output=output)
            tasks[_caption(entry, score)] = task
        wanted.append(
            _Wanted(
                case=one.case,
                title=f"{one.structure.replace('_', ' ')}: {one.why}",
                structure=one.structure,
                scan=facts.scans[0],
                reference=facts.reference,
                reference_labels=track.reference_labels[one.structure],
                is_ct=track.dataset.modality == "ct",
                predictions=tasks,
            )
        )
    return wanted


def _caption(entry: EntryBody, score: float) -> str:
    return f"{entry.manifest.name} {entry.manifest.version}, Dice {score:.3f}"


def _picture(wanted: _Wanted) -> CasePicture:
    """Read one case, in a worker."""
    from segtrial import scans  # noqa: PLC0415 - numpy is loaded in the worker only

    scan = scans.read_scan(wanted.scan)
    reference = scans.read_label_map(wanted.reference, grid=scan.grid)
    grey = scans.to_canonical(scans.LabelMap(_grey(scan.voxels, is_ct=wanted.is_ct), scan.grid))
    marked = _mask(scans.to_canonical(reference).labels, wanted.reference_labels)
    predictions = {}
    for name, task in wanted.predictions.items():
        predictions[name] = np.zeros_like(marked)
        if task is None:
            continue
        try:
            pair = scans.read_pair(
                task.reference,
                task.output,
                allowed_labels=task.allowed_labels,
                max_bytes=task.max_output_mib * _MIB,
                grid=scan.grid,
                allow_links=True,  # of the store's own copy, as when it was scored
            )
        except scans.PredictionError:
            continue  # a failure is drawn as it is scored: nothing was marked
        ids = task.prediction_labels[wanted.structure]
        predictions[name] = _mask(scans.to_canonical(pair.prediction).labels, ids)
    return CasePicture(
        case=wanted.case,
        title=wanted.title,
        scan=grey.labels.astype(np.float32),
        spacing_mm=grey.grid.spacing_mm,
        window=(0.0, 255.0),
        reference=marked,
        predictions=predictions,
    )


def _mask(labels: NDArray[Any], ids: tuple[int, ...]) -> NDArray[np.bool_]:
    return np.ascontiguousarray(np.isin(labels, ids))


def _grey(voxels: NDArray[Any], *, is_ct: bool) -> NDArray[np.uint8]:
    """Intensities from black to white, as bytes."""
    values = voxels.astype(np.float32)
    low, high = _CT_WINDOW if is_ct else (float(v) for v in np.percentile(values, _SHARES))
    shares = np.clip((values - low) / max(high - low, 1e-6), 0, 1)
    return np.asarray(np.nan_to_num(shares) * 255, dtype=np.uint8)
