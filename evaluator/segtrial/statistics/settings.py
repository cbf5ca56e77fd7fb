"""Everything besides the records that decides a number of an analysis."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from segtrial.contracts.attempt import TrackVerdict
from segtrial.contracts.record import Record

Probability = Annotated[float, Field(gt=0, lt=1)]

DEFAULT_MARGINS = {"dice": 0.01, "nsd": 0.02}
"""Differences of means too small to matter, by metric; a track may declare its own."""


class AnalysisSettings(Record):
    """Published with the results, so that anybody can repeat the analysis.

    The defaults are part of the methodology (``docs/methodology.md``); a changed default is a new
    ``method``.
    """

    method: Literal["segtrial-analysis/1"] = "segtrial-analysis/1"
    seed: Annotated[int, Field(ge=0)] = 0
    """Enters the key of every random number; see `segtrial.statistics.weights`."""
    resamples: Annotated[int, Field(ge=1000, le=1_000_000)] = 10_000
    """Bootstrap resamples."""
    flips: Annotated[int, Field(ge=999, le=4_000_000)] = 99_999
    """Least number of sign flips where there are too many patients to try all of them; the group
    has the next power of two (131,072)."""
    exact_flips_up_to: Annotated[int, Field(ge=0, le=20)] = 16
    """Number of patients up to which every pattern of signs is tried."""
    permutations: Annotated[int, Field(ge=999, le=1_000_000)] = 9_999
    """Permutations of the interaction test between slices."""
    alpha: Probability = 0.05
    """Family-wise error of the verdicts; intervals have confidence 1 - alpha."""
    power: Probability = 0.8
    """Power that planning aims at."""
    interval: Literal["bootstrap-t", "percentile", "bca"] = "bootstrap-t"
    """Of a mean. The other two are there for comparison: they miss the truth more often."""
    margins: dict[str, Annotated[float, Field(gt=0)]] = DEFAULT_MARGINS
    """Equivalence margin by metric; a metric without one gets no verdict "equivalent"."""
    primary_metrics: tuple[str, ...] = ("dice", "nsd")
    """Families whose verdicts are claims; all others are labelled exploratory."""
    minimum_n: Annotated[int, Field(ge=2)] = 10
    """Fewer patients than this: no interval."""
    low_n: Annotated[int, Field(ge=2)] = 20
    """Fewer patients than this: flagged, and no verdict "equivalent"."""
    ranked_verdicts: tuple[TrackVerdict, ...] = ("clean",)
    """Contamination verdicts that may be ranked. A table of scores knows nothing of training, so
    its analysis adds "unknown" and its rows say so."""
    descriptions_up_to: Annotated[int, Field(ge=1)] = 50
    """More ranked submissions than this: leave-one-out, near duplicates and the other ranking
    schemes are left out of the file and computed on demand."""


SETTINGS = AnalysisSettings()
"""The defaults."""
