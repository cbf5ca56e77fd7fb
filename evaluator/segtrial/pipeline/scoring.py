"""Read an output and score it, in a process of its own.

Every byte of the output is a stranger's, so it is parsed where a crash or a lack of memory kills
the worker and nothing else; an output that kills its reader twice is an unreadable output.
"""

from __future__ import annotations

from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, cast

from segtrial.contracts.attempt import Outcome
from segtrial.errors import PlatformError, SegtrialError
from segtrial.pipeline.workers import worker_pool

_MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreTask:
    """One output against one reference; small and picklable."""

    score_key: str
    output: str
    reference: str
    scan: str
    allowed_labels: frozenset[int]
    reference_labels: dict[str, tuple[int, ...]]
    prediction_labels: dict[str, tuple[int, ...]]
    tolerances_mm: dict[str, float]
    max_output_mib: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What came of it: ``ok`` with metrics by structure, or the failure that reading ended in."""

    outcome: Outcome
    reason: str
    structures: dict[str, dict[str, Any]]

    def body(self) -> dict[str, Any]:
        """As the journal keeps it."""
        return {"outcome": self.outcome, "reason": self.reason, "structures": self.structures}


class Scorer:
    """A pool of scoring processes.

    Parameters
    ----------
    processes : int
        How many.
    """

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._pool = worker_pool(self._processes)

    def submit(self, task: ScoreTask) -> Future[Scored]:
        """Score in the background."""
        try:
            return self._pool.submit(score, task)
        except BrokenProcessPool:  # another task killed a worker: nothing to do with this one
            self._pool = worker_pool(self._processes)
            return self._pool.submit(score, task)

    def result(self, task: ScoreTask, future: Future[Scored]) -> Scored:
        """Wait for a score; an output that kills its reader alone in a pool is unreadable.

        Raises
        ------
        DatasetError
            The reference cannot be read.
        PlatformError
            Scoring failed for a reason that nobody foresaw; the output stays in the store.
        """
        try:
            return future.result()
        except BrokenProcessPool:
            return _alone(task)
        except SegtrialError:
            raise
        except Exception as problem:
            raise _unforeseen(problem) from problem

    def close(self) -> None:
        """End the workers; what was not started is dropped."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def _alone(task: ScoreTask) -> Scored:
    """Score an output again after a worker died, where only it can be the cause."""
    with worker_pool(1) as pool:
        try:
            return pool.submit(score, task).result()
        except BrokenProcessPool:
            return Scored(
                outcome="failed: unreadable_output",
                reason="The process that reads the output died on it, twice.",
                structures={},
            )


def _unforeseen(problem: Exception) -> PlatformError:
    return PlatformError(
        f"An output could not be scored: {type(problem).__name__}: {problem}. It is kept, and the "
        "next run scores it; if it happens again, report it as a bug of segtrial's."
    )


def score(task: ScoreTask) -> Scored:
    """Read one output and compute every metric of every structure.

    Raises
    ------
    DatasetError
        The reference cannot be read: trouble of the platform's, never of the submission's.
    """
    from segtrial import scans  # noqa: PLC0415 - numpy is loaded in the worker only
    from segtrial.metrics import evaluate_label_maps  # noqa: PLC0415 - as above

    try:
        pair = scans.read_pair(
            task.reference,
            task.output,
            allowed_labels=task.allowed_labels,
            max_bytes=task.max_output_mib * _MIB,
            grid=scans.read_grid(task.scan),
            allow_links=True,  # of the store's own copy: a backup may link it
        )
    except scans.PredictionError as failure:
        return Scored(
            outcome=cast("Outcome", f"failed: {failure.outcome}"),
            reason=str(failure),
            structures={},
        )
    if not task.reference_labels:
        return Scored(outcome="ok", reason="", structures={})
    reference, prediction = (scans.to_canonical(m) for m in (pair.reference, pair.prediction))
    measured = evaluate_label_maps(
        reference.labels,
        prediction.labels,
        spacing_mm=reference.grid.spacing_mm,
        structures=task.reference_labels,
        prediction_structures=task.prediction_labels,
        tolerances_mm=task.tolerances_mm,
        threads=1,
    )
    voxel_ml = reference.grid.volume_ml / reference.grid.voxels
    return Scored(
        outcome="ok",
        reason="",
        structures={
            name: _written(record, prediction.labels, task.prediction_labels[name], voxel_ml)
            for name, record in measured.items()
        },
    )


def _written(record: Any, labels: Any, ids: tuple[int, ...], voxel_ml: float) -> dict[str, Any]:  # noqa: ANN401 - arrays
    """Metrics for the journal; a structure absent from the reference is an endpoint of its own."""
    if record.reference_empty:
        import numpy as np  # noqa: PLC0415 - only in the worker

        voxels = int(np.isin(labels, ids).sum())
        return {"specificity": float(voxels == 0), "false_positive_ml": voxels * voxel_ml}
    values = record.as_dict()
    return {
        key: value
        for key, value in values.items()
        if key in record.values and value != {"state": "undefined"}
    }
