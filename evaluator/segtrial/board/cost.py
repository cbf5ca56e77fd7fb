"""What one submission took per case: time, memory, energy."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass

from segtrial.contracts.attempt import Measured
from segtrial.contracts.result import Results


@dataclass(frozen=True)
class Cost:
    """Median time and energy per case, and the highest memory of any case; None is not measured."""

    time_s: float | None = None
    peak_memory_mib: float | None = None
    gpu_memory_mib: float | None = None
    energy_j: float | None = None


def costs(results: Results) -> dict[str, Cost]:
    """Cost of every submission that was measured at all."""
    by_submission: dict[str, list[Measured]] = defaultdict(list)
    for row in results.measured:
        by_submission[row.submission].append(row.measured)
    return {submission: _cost(rows) for submission, rows in by_submission.items()}


def _cost(rows: list[Measured]) -> Cost:
    def known(name: str) -> list[float]:
        return [value for row in rows if (value := getattr(row, name)) is not None]

    return Cost(
        time_s=statistics.median(times) if (times := known("time_s")) else None,
        peak_memory_mib=max(known("peak_memory_mib"), default=None),
        gpu_memory_mib=max(known("gpu_memory_mib"), default=None),
        energy_j=statistics.median(joules) if (joules := known("energy_j")) else None,
    )
