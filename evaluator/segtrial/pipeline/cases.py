"""What has to be known of a case before it is run: hashes, geometry, reference volumes.

Reading and hashing a large scan takes seconds, so what was found is kept in the journal and used
again while the files' sizes and times stay the same.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from segtrial.datasets import Case, Dataset
from segtrial.datasets.stamps import stamp
from segtrial.errors import DatasetError
from segtrial.pipeline.events import Watcher
from segtrial.pipeline.workers import worker_pool
from segtrial.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFacts:
    """Everything the pipeline needs to know of one case besides its files."""

    input_sha256: str
    """Over the digests of voxels and affine of every scan."""
    reference_sha256: str
    diagonal_mm: float
    volume_ml: float
    label_ml: dict[str, float]
    """Volume of every label id of the reference; keys are text because JSON's are."""
    scans: tuple[str, ...]
    reference: str
    stamp: str
    """Sizes and times of the files when they were read."""

    def reference_ml(self, labels: tuple[int, ...]) -> float:
        """Volume of a union of labels; 0 where none of them occurs."""
        return float(sum(self.label_ml.get(str(label), 0.0) for label in labels))


def examine(
    dataset: Dataset, cases: tuple[Case, ...], *, store: Store, watcher: Watcher, processes: int
) -> dict[str, CaseFacts]:
    """Facts of every case, read where the journal has none that still fit.

    Raises
    ------
    DatasetError
        A file is missing or damaged, or a reference is not on its scan's grid.
    """
    card = dataset.card
    kept = store.journal.cases(dataset=card.id, version=card.version)
    known = {case: facts_from(body) for case, body in kept.items()}
    found = {}
    to_read = []
    for case in cases:
        facts = known.get(case.id)
        if facts is not None and facts.stamp == _stamp(case):
            found[case.id] = facts
        else:
            to_read.append(case)
    if not to_read:
        return found
    watcher.step(f"reading and hashing {len(to_read)} cases of {card.id}")
    with worker_pool(processes) as pool:
        for done, (case, facts) in enumerate(
            zip(to_read, pool.map(_read_case, to_read), strict=True), start=1
        ):
            store.journal.set_case(
                dataset=card.id, version=card.version, case=case.id, body=asdict(facts)
            )
            found[case.id] = facts
            watcher.work("cases", done=done, total=len(to_read))
    return found


def facts_from(body: dict[str, Any]) -> CaseFacts:
    """The facts as the journal keeps them."""
    return CaseFacts(**{**body, "scans": tuple(body["scans"])})


def _read_case(case: Case) -> CaseFacts:
    from segtrial import scans  # noqa: PLC0415 - numpy is loaded in the worker, not at start

    if case.reference is None:
        raise DatasetError(
            f"Case {case.id} has no reference label map. A track is scored against references; "
            "add the file, or remove the case from the track."
        )
    try:
        grid = scans.read_grid(case.scans[0])
        digests = [scans.scan_digest(path) for path in case.scans]
        reference = scans.read_label_map(case.reference, grid=grid)
    except DatasetError as error:
        error.add_note(f"case {case.id}")
        raise
    counts = np.bincount(np.ravel(reference.labels, order="K"))
    voxel_ml = grid.volume_ml / grid.voxels
    return CaseFacts(
        input_sha256=hashlib.sha256("\n".join(digests).encode()).hexdigest(),
        reference_sha256=scans.label_map_digest(reference),
        diagonal_mm=grid.diagonal_mm,
        volume_ml=grid.volume_ml,
        label_ml={
            str(label): float(count * voxel_ml)
            for label, count in enumerate(counts.tolist())
            if label and count
        },
        scans=tuple(str(path) for path in case.scans),
        reference=str(case.reference),
        stamp=_stamp(case),
    )


def _stamp(case: Case) -> str:
    parts = []
    for path in (*case.scans, *([case.reference] if case.reference else [])):
        try:
            parts.append(f"{path} {stamp(path)}")
        except OSError as problem:
            error = DatasetError(
                f"{path} cannot be read: {problem.strerror}. Fetch the dataset again; "
                "`evaluate datasets verify` names everything that is missing."
            )
            error.add_note(f"case {case.id}")
            raise error from None
    return "\n".join(parts)
