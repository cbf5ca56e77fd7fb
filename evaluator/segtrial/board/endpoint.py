"""What the page reads from ``Results.analysis``, with types.

The analysis is plain JSON, made by `segtrial.statistics` and possibly fetched from elsewhere. It
is read here and nowhere else in this package; whatever is not as it has to be becomes a
`ResultsError` that names the field.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from segtrial.board.words import MACRO, metric_order
from segtrial.contracts.result import Results
from segtrial.errors import ResultsError


@dataclass(frozen=True)
class Interval:
    """Two ends, each a number or None where it is unbounded, or a word for why there is none."""

    low: float | None = None
    high: float | None = None
    state: str | None = None

    @property
    def drawable(self) -> bool:
        """Whether both ends are numbers."""
        return self.low is not None and self.high is not None


@dataclass(frozen=True)
class Ranked:
    """One row of a ranking."""

    submission: str
    estimate: float | None
    """Mean, or for distances the median; None is unbounded."""
    p90: float | None
    is_median: bool
    interval: Interval
    guarded: Interval
    """Also against failures that nobody has seen; a state where it was not computed."""
    rank: tuple[int, int]
    tied_for_first: bool
    rank_frequency: tuple[float, ...]
    """Share of resamples at rank 1, 2, ...; empty where it was not computed."""
    failure_rate: float | None
    failure_interval: Interval
    raw: Mapping[str, Any]


@dataclass(frozen=True)
class Left:
    """An entry that the ranking leaves out."""

    submission: str
    reason: str
    mean: float | None
    bounds: Interval
    """Of the mean, if what is missing were the worst and the best."""


@dataclass(frozen=True)
class Pair:
    """One comparison; the difference is a minus b in the metric's own unit."""

    a: str
    b: str
    difference: float | None
    interval: Interval
    p: float | None
    p_adjusted: float | None
    verdict: str
    patients_needed: int | None
    """To show this difference with the power in the settings; None where no number is enough."""


@dataclass(frozen=True)
class Level:
    """One subgroup of a slice."""

    level: str
    n: int
    low_n: bool
    estimates: tuple[tuple[str, float | None, Interval], ...]
    """Submission, mean or median, interval; empty where there are too few patients."""


@dataclass(frozen=True)
class Test:
    """A question put to a slice."""

    p: float | None
    p_adjusted: float | None
    highlighted: bool


@dataclass(frozen=True)
class LevelsLeftOut:
    """Levels of a slice without which the order by scores would be another."""

    changing_first: tuple[str, ...]
    changing_order: tuple[str, ...]


@dataclass(frozen=True)
class Slice:
    """One declared subgroup variable."""

    name: str
    levels: tuple[Level, ...]
    unknown: int
    interaction: Test | None
    """Does the comparison between entries differ between levels?"""
    difficulty: Test | None
    """Do the levels differ in how hard they are?"""
    left_out: LevelsLeftOut | None = None
    """Does the order hang on one level?"""


@dataclass(frozen=True)
class Endpoint:
    """One structure (or the macro-average) and one metric."""

    structure: str
    metric: str
    n: int | None
    ranking: tuple[Ranked, ...]
    unranked: tuple[Left, ...]
    pairs: tuple[Pair, ...]
    slices: tuple[Slice, ...]
    is_primary: bool
    raw: Mapping[str, Any]

    def without(self, ids: Collection[str]) -> Endpoint:
        """The same ranking with some rows left out, for a drawing they would flatten."""
        kept = tuple(row for row in self.ranking if row.submission not in ids)
        return replace(self, ranking=kept) if kept else self


def endpoints(results: Results) -> dict[tuple[str, str], Endpoint]:
    """Every (structure, metric) of the analysis, macro-average first, then the track's order.

    A structure of the track that nobody segments has no analysis; it is offered all the same, with
    an empty ranking, so that the page can say so.
    """
    order = [MACRO, *results.track.structures]
    order += sorted(key for key in results.analysis if key not in order)
    found: dict[tuple[str, str], Endpoint] = {}
    for structure in order:
        block = results.analysis.get(structure)
        if not isinstance(block, Mapping):
            continue
        for metric in sorted(block, key=metric_order):
            raw = block[metric]
            if isinstance(raw, Mapping) and isinstance(raw.get("ranking"), list):
                found[structure, metric] = _endpoint(structure, metric, raw)
    metric = _first_metric(results, found)
    for structure in results.track.structures:
        if not any(key[0] == structure for key in found):
            found[structure, metric] = _endpoint(structure, metric, {"ranking": []})
    # What a track is ranked by comes first; sorting keeps the order of structures.
    place = {structure: index for index, structure in enumerate(order)}
    keys = sorted(found, key=lambda key: (place[key[0]], not found[key].is_primary))
    return {key: found[key] for key in keys}


def _first_metric(results: Results, found: Mapping[tuple[str, str], Endpoint]) -> str:
    """A metric to show where there is none: the one that others are shown by."""
    keys = [metric for _, metric in found] or [
        key.rpartition(".")[2] for key in results.protocol.signatures
    ]
    return min(keys, key=metric_order, default="dice")


def _endpoint(structure: str, metric: str, raw: Mapping[str, Any]) -> Endpoint:
    where = f"analysis.{structure}.{metric}"
    try:
        return Endpoint(
            structure=structure,
            metric=metric,
            n=raw.get("n"),
            ranking=tuple(_ranked(row) for row in raw["ranking"]),
            unranked=tuple(_left(row) for row in raw.get("unranked") or ()),
            pairs=tuple(_pair(row) for row in raw.get("pairs") or ()),
            slices=tuple(
                _slice(name, body) for name, body in sorted((raw.get("slices") or {}).items())
            ),
            is_primary=raw.get("role", "primary") == "primary",
            raw=raw,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise ResultsError(
            f"{where} cannot be shown: {type(problem).__name__} {problem}. "
            "Recompute the file with 'evaluate reanalyze --write', or fetch it again."
        ) from None


def _ranked(row: Mapping[str, Any]) -> Ranked:
    is_median = "mean" not in row
    rank = row["rank_interval"]
    return Ranked(
        submission=str(row["submission"]),
        estimate=_number(row["median"] if is_median else row["mean"]),
        p90=_number(row.get("p90")),
        is_median=is_median,
        interval=_interval(row.get("interval")),
        guarded=_interval(row.get("guarded_interval")),
        rank=(int(rank[0]), int(rank[1])),
        tied_for_first=bool(row["tied_for_first"]),
        rank_frequency=_shares(row.get("rank_frequency")),
        failure_rate=_number(row.get("failure_rate")),
        failure_interval=_interval(row.get("failure_interval")),
        raw=row,
    )


def _left(row: Mapping[str, Any]) -> Left:
    return Left(
        submission=str(row["submission"]),
        reason=str(row["reason"]),
        mean=_number(row.get("mean")),
        bounds=_interval(row.get("bounds")),
    )


def _pair(row: Mapping[str, Any]) -> Pair:
    return Pair(
        a=str(row["a"]),
        b=str(row["b"]),
        difference=_number(row.get("difference")),
        interval=_interval(row.get("interval")),
        p=_number(row.get("p")),
        p_adjusted=_number(row.get("p_adjusted")),
        verdict=str(row["verdict"]),
        patients_needed=row.get("patients_needed"),
    )


def _slice(name: str, body: Mapping[str, Any]) -> Slice:
    return Slice(
        name=name,
        levels=tuple(sorted(map(_level, body["levels"]), key=_level_order)),
        unknown=int(body.get("unknown") or 0),
        interaction=_test(body.get("interaction")),
        difficulty=_test(body.get("difficulty")),
        left_out=_left_out(body.get("leave_one_out")),
    )


def _level_order(level: Level) -> tuple[float, int, str]:
    """Ranges by their numbers, sizes from small to large, everything else by name."""
    if level.level in _SIZES:
        return (_SIZES.index(level.level), 1, level.level)
    found = _RANGE.match(level.level)
    if found is None:
        return (math.inf, 0, level.level)
    return (float(found[2]), _SIGNS.get(found[1][:1], 1), level.level)


_SIZES = ("small", "medium", "large")
_SIGNS = {"<": 0, "\u2264": 0, ">": 2, "\u2265": 2}
_RANGE = re.compile(r"([<>\u2264\u2265]?=?)\s*(\d+(?:\.\d+)?)")


def _level(body: Mapping[str, Any]) -> Level:
    return Level(
        level=str(body["level"]),
        n=int(body["n"]),
        low_n=bool(body.get("low_n")),
        estimates=tuple(
            (
                str(row["submission"]),
                _number(row["mean"] if "mean" in row else row["median"]),
                _interval(row.get("interval")),
            )
            for row in body.get("estimates") or ()
        ),
    )


def _left_out(body: Mapping[str, Any] | None) -> LevelsLeftOut | None:
    if not body:
        return None
    first, order = body["changing_first"], body["changing_order"]
    return LevelsLeftOut(tuple(map(str, first)), tuple(map(str, order)))


def _test(body: Mapping[str, Any] | None) -> Test | None:
    if not body or "p" not in body:
        return None
    return Test(
        p=_number(body["p"]),
        p_adjusted=_number(body.get("p_adjusted")),
        highlighted=bool(body.get("highlighted")),
    )


def _shares(value: object) -> tuple[float, ...]:
    return tuple(float(share) for share in value) if isinstance(value, list) else ()


def _number(value: object) -> float | None:
    """A finite number; None for every state that is not one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def _interval(value: object) -> Interval:
    if isinstance(value, Mapping):
        return Interval(state=str(value.get("reason") or value.get("state")))
    if isinstance(value, list | tuple) and len(value) == 2:  # noqa: PLR2004 - two ends
        return Interval(low=_number(value[0]), high=_number(value[1]))
    return Interval(state="not computed")
