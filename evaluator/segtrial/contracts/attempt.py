"""One container run on one case, as the journal keeps it."""

from __future__ import annotations

from typing import Literal, get_args

from segtrial.contracts.record import Id, Record, Sha256

Failure = Literal[
    "failed: timeout",
    "failed: out_of_memory",
    "failed: crash",
    "failed: no_output",
    "failed: unreadable_output",
    "failed: wrong_grid",
    "failed: bad_labels",
    "failed: output_too_large",
]
NotRun = Literal["not_run: platform", "not_run: stopped", "not_run: pending"]
Outcome = Literal[
    "ok",
    "failed: timeout",
    "failed: out_of_memory",
    "failed: crash",
    "failed: no_output",
    "failed: unreadable_output",
    "failed: wrong_grid",
    "failed: bad_labels",
    "failed: output_too_large",
    "not_run: platform",
    "not_run: stopped",
    "not_run: pending",
    "unsupported",
]
Eligibility = Literal["clean", "contaminated", "images_only", "unknown"]
"""Of one case for one submission."""
TrackVerdict = Literal["clean", "partial", "contaminated", "images_only", "unknown"]
"""Of one submission on a whole track; only clean is ranked."""

FAILURES: tuple[Failure, ...] = get_args(Failure)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


class Measured(Record):
    """Times and resources of one attempt; never part of what a score depends on."""

    time_s: float | None = None
    """Wall time by the engine's clock, from start to exit."""
    cpu_s: float | None = None
    peak_memory_mib: float | None = None
    """The control group's high-water mark, page cache included."""
    gpu_memory_mib: float | None = None
    gpu_utilisation: float | None = None
    """In [0, 1]."""
    energy_j: float | None = None


class Attempt(Record):
    """What became of one container run: final unless the outcome is ``not_run``."""

    schema_version: Literal["segtrial-attempt/1"] = "segtrial-attempt/1"
    submission: Id
    case: str
    run_key: Sha256
    outcome: Outcome
    reason: str
    """One sentence for the maintainer; never text that the container printed."""
    exit_code: int | None = None
    tries: int = 1
    output_sha256: Sha256 | None = None
    """Of the file kept in the store, when there is one."""
    measured: Measured = Measured()
