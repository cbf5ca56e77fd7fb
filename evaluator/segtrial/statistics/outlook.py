"""What a test set can see, and how many patients would separate the submissions on it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from segtrial.contracts.reading import nearest
from segtrial.contracts.result import Results
from segtrial.errors import ResultsError
from segtrial.statistics.exact import published
from segtrial.statistics.planning import (
    MOST,
    detectable_difference,
    patients_needed,
    smallest_visible_rate,
)
from segtrial.statistics.records import MACRO_AVERAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class PairOutlook:
    """Patients that would separate one pair, at the observed difference and spread."""

    a: str
    b: str
    difference: float
    deviation: float
    verdict: str
    patients: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """The answer of ``evaluate plan``.

    Attributes
    ----------
    structure, metric : str
        What it is about.
    comparisons : int
        Pairs tested at once.
    power, alpha : float
        Power aimed at, and family-wise error.
    deviation : float
        Standard deviation of paired differences used; the median over pairs where there are any.
    n : int or None
        Patients of the test set; None without one.
    detectable : float or None
        Smallest true difference that n patients find with this power.
    difference : float or None
        The difference asked about.
    patients : int or None
        Patients that find it; None if more than a million.
    pairs : sequence of PairOutlook
        In ranking order; empty without results.
    """

    structure: str
    metric: str
    comparisons: int
    power: float
    alpha: float
    deviation: float
    n: int | None = None
    detectable: float | None = None
    difference: float | None = None
    patients: int | None = None
    pairs: Sequence[PairOutlook] = ()

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        found: dict[str, Any] = {
            "structure": self.structure,
            "metric": self.metric,
            "comparisons": self.comparisons,
            "power": self.power,
            "alpha": self.alpha,
            "deviation": published(self.deviation),
        }
        if self.n is not None and self.detectable is not None:
            found |= {
                "n": self.n,
                "detectable_difference": published(self.detectable),
                "smallest_visible_failure_rate": published(smallest_visible_rate(self.n)),
            }
        if self.difference is not None:
            found |= {"difference": self.difference, "patients": _needed(self.patients)}
        return found | {
            "pairs": [
                {
                    "a": pair.a,
                    "b": pair.b,
                    "difference": published(pair.difference),
                    "deviation": published(pair.deviation),
                    "verdict": pair.verdict,
                    "patients": _needed(pair.patients),
                }
                for pair in self.pairs
            ]
        }

    def text(self) -> str:
        """For a person."""
        pairs = "1 pair" if self.comparisons == 1 else f"{self.comparisons} pairs"
        head = (
            f"{self.structure}, {self.metric}: power {self.power:g}, {pairs} at a family-wise "
            f"error of {self.alpha:g}; paired differences spread by {self.deviation:.4g}."
        )
        lines = [head]
        if self.n is not None and self.detectable is not None:
            lines.append(
                f"These {self.n} patients can see a true difference of {self.detectable:.4g} or "
                f"more, and a failure rate of {smallest_visible_rate(self.n):.2g} or more."
            )
        if self.difference is not None:
            lines.append(f"A true difference of {self.difference:g} takes {_words(self.patients)}.")
        lines += [
            f"  {pair.a} - {pair.b}: {pair.difference:+.4g} ({pair.verdict}); "
            f"{_words(pair.patients)}"
            for pair in self.pairs
        ]
        return "\n".join(lines)


def outlook(
    results: Results,
    *,
    structure: str | None,
    metric: str,
    difference: float | None,
    submissions: int | None,
    power: float,
    alpha: float,
) -> Outlook:
    """Plan from analysed results.

    Parameters
    ----------
    results : Results
        With their analysis.
    structure, metric : str
        Which family; the macro-average or else the first structure without one.
    difference : float or None
        A true difference to find.
    submissions : int or None
        How many will be compared; those ranked now without one.
    power, alpha : float
        Power wanted and family-wise error.

    Raises
    ------
    ResultsError
        For a family that is not there, or one in which nothing can be planned from.
    """
    if difference is not None:
        _must_be_positive("difference", difference)
    family, name = _family(results.analysis, structure, metric)
    rows = [row for row in family["pairs"] if _usable(row)]
    if not rows or family["n"] < 2:  # noqa: PLR2004 - one patient has no spread
        raise ResultsError(
            f"{name}.{metric} holds no pair of ranked submissions with a spread of differences. "
            "Plan without RESULTS, giving --difference and --deviation."
        )
    comparisons = _pairs(submissions) if submissions else len(family["pairs"])
    deviations = sorted(float(row["deviation"]) for row in rows)
    typical = deviations[len(deviations) // 2]
    level = alpha / comparisons
    return Outlook(
        structure=name,
        metric=metric,
        comparisons=comparisons,
        power=power,
        alpha=alpha,
        deviation=typical,
        n=family["n"],
        detectable=detectable_difference(
            deviation=typical, n=family["n"], alpha=level, power=power
        ),
        difference=difference,
        patients=_for(difference, typical, level, power),
        pairs=[
            PairOutlook(
                a=row["a"],
                b=row["b"],
                difference=float(row["difference"]),
                deviation=float(row["deviation"]),
                verdict=row["verdict"],
                patients=_for(abs(float(row["difference"])), float(row["deviation"]), level, power),
            )
            for row in rows
        ],
    )


def outlook_without_results(
    *, difference: float, deviation: float, submissions: int, power: float, alpha: float
) -> Outlook:
    """Plan from a spread of paired differences known from elsewhere."""
    _must_be_positive("difference", difference)
    _must_be_positive("deviation", deviation)
    comparisons = _pairs(submissions)
    return Outlook(
        structure="any structure",
        metric="any metric",
        comparisons=comparisons,
        power=power,
        alpha=alpha,
        deviation=deviation,
        difference=difference,
        patients=_for(difference, deviation, alpha / comparisons, power),
    )


def _must_be_positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ResultsError(f"The {name} is {value:g}; it must be larger than 0, and a number.")


def _family(
    analysis: Mapping[str, Any], structure: str | None, metric: str
) -> tuple[Mapping[str, Any], str]:
    having = [name for name in sorted(analysis) if metric in analysis[name]]
    if structure is None and having:
        structure = MACRO_AVERAGE if MACRO_AVERAGE in having else having[0]
    if structure not in having:
        known = sorted({key for found in analysis.values() for key in found})
        hint = nearest(structure or "", having) if having else nearest(metric, known)
        raise ResultsError(
            f"The results have no {metric} of {structure or 'any structure'}.{hint} Structures "
            f"with {metric}: {', '.join(having) or 'none'}; metrics: {', '.join(known) or 'none'}."
        )
    return analysis[structure][metric], structure


def _usable(row: Mapping[str, Any]) -> bool:
    return isinstance(row["difference"], float) and row.get("deviation", 0.0) > 0


def _for(difference: float | None, deviation: float, alpha: float, power: float) -> int | None:
    if difference is None:
        return None
    return patients_needed(difference=difference, deviation=deviation, alpha=alpha, power=power)


def _pairs(submissions: int) -> int:
    return submissions * (submissions - 1) // 2


def _needed(patients: int | None) -> int | dict[str, str]:
    return {"state": "unbounded"} if patients is None else patients


def _words(patients: int | None) -> str:
    return f"more than {MOST:,} patients" if patients is None else f"{patients:,} patients"
