"""Which cases a maintainer should look at: the worst, and those that entries disagree about."""

from __future__ import annotations

import statistics
from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

from segtrial.contracts.result import Results, ScoreRecord

Why = Literal["failed", "worst", "disputed"]


@dataclass(frozen=True)
class NotableCase:
    """One case of one structure, and the entries whose predictions are worth seeing."""

    case: str
    structure: str
    why: Why
    submissions: tuple[str, ...]
    """Worst first."""
    scores: tuple[float, ...]
    """Dice of each, failures 0."""


def notable_cases(results: Results, *, structure: str, each: int = 6) -> list[NotableCase]:
    """The worst and the disputed cases of a structure, by Dice.

    Parameters
    ----------
    results : Results
        With per-case records.
    structure : str
        Structure to look at; cases whose reference does not hold it are left out.
    each : int
        How many of each kind.

    Returns
    -------
    list of NotableCase
        Worst cases by the median over entries, then those with the widest spread; a case is named
        once. Baselines are not asked.
    """
    scores = _scores(results, structure)
    worst = sorted(scores, key=lambda case: (statistics.median(scores[case].values()), case))
    found = [_notable(case, structure, scores[case], "worst") for case in worst[:each]]
    spread = sorted(
        (case for case in scores if case not in worst[:each]),
        key=lambda case: (min(scores[case].values()) - max(scores[case].values()), case),
    )
    return found + [_notable(case, structure, scores[case], "disputed") for case in spread[:each]]


def _scores(results: Results, structure: str) -> dict[str, dict[str, float]]:
    baselines = {row.id for row in results.submissions if row.baseline}
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for record in results.records:
        wanted = record.structure == structure and record.reference_present
        if wanted and record.submission not in baselines:
            value = _dice(record)
            if value is not None:
                found[record.case][record.submission] = value
    return found


def _dice(record: ScoreRecord) -> float | None:
    if record.outcome.startswith("failed"):
        return 0.0
    value = record.metrics.get("dice")
    return value if isinstance(value, float) else None


def _notable(case: str, structure: str, scores: dict[str, float], why: Why) -> NotableCase:
    order = sorted(scores, key=lambda key: (scores[key], key))
    shown = order if why == "worst" else [order[0], order[-1]][: len(order)]
    return NotableCase(
        case=case,
        structure=structure,
        why=why,
        submissions=tuple(shown[:4]),
        scores=tuple(scores[key] for key in shown[:4]),
    )
