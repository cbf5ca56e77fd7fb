"""Slices of the patients: estimates for each level, and what the order owes to one of them.

Of ten slices made by chance, one or more has a 95 % interval that leaves out the overall mean four
times in ten, so a slice is never highlighted by its own interval, but by its *interaction test*
(``interaction.py``).

Levels with fewer than ``settings.minimum_n`` patients show only their number, and take no part in
the tests. What the order owes to a single level, however small, is said by leaving it out: with few
centres there is no interval for the next one, but a ranking that one centre turns around is that
centre's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from segtrial.statistics.estimates import BOOTSTRAP_T, Estimate, estimates
from segtrial.statistics.exact import Floats
from segtrial.statistics.guard import guarded_intervals
from segtrial.statistics.interaction import SliceTest, adjusted, slice_tests
from segtrial.statistics.macro import macro_average
from segtrial.statistics.resampling import Average, bootstrap
from segtrial.statistics.scores import Family, TrackScores
from segtrial.statistics.settings import AnalysisSettings
from segtrial.statistics.stability import leave_one_out

STRUCTURE_SIZE = "structure_size"
"""Slice made from the reference volumes: thirds of the patients."""
_SIZES = ("small", "medium", "large")
_LEAST_FOR_SIZES = 30
"""Shuffles that reach the observed distance before the rest is left out: a p-value is then known to
a tenth of itself."""


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a slice.

    Attributes
    ----------
    name : str
        As in the case table.
    n : int
        Patients of the family on this level.
    estimates : list of Estimate
        In ranking order; empty below the minimum.
    """

    name: str
    n: int
    estimates: list[Estimate]


@dataclass(frozen=True, slots=True)
class LevelsLeftOut:
    """What becomes of the order by means when one level is left out.

    Attributes
    ----------
    levels : list of str
        Those without which there still are patients (of every structure).
    changing_order, changing_first : list of str
        Those of them without which the order, or the first place, is another.
    ranks : list of (int, int)
        Best and worst rank of each submission over them, in the family's order.
    """

    levels: list[str]
    changing_order: list[str]
    changing_first: list[str]
    ranks: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice of one family.

    Attributes
    ----------
    name : str
        Slice.
    levels : list of Level
        Sorted by name.
    unknown : int
        Patients of the family without a level.
    interaction, difficulty : SliceTest or None
        None with fewer than two levels that are large enough, and the interaction also with fewer
        than two submissions.
    left_out : LevelsLeftOut or None
        None with fewer than two levels, or too many submissions for descriptions.
    """

    name: str
    levels: list[Level]
    unknown: int
    interaction: SliceTest | None
    difficulty: SliceTest | None
    left_out: LevelsLeftOut | None


@dataclass(frozen=True, slots=True)
class Resampling:
    """The random numbers that estimates are made from.

    Attributes
    ----------
    counts : uint8 array, shape (B, P)
        Bootstrap counts.
    shares : uint16 array, shape (B, P + 1)
        Of the guarded intervals.
    """

    counts: NDArray[np.uint8]
    shares: NDArray[np.uint16]

    def estimates(
        self, parts: Sequence[Family], average: Average | None, settings: AnalysisSettings
    ) -> list[Estimate]:
        """Estimates of the last of the parts, or of their average."""
        resampled = bootstrap(
            parts,
            self.counts,
            average=average,
            keep_shifts=settings.interval != BOOTSTRAP_T,
            ranks=False,
        )
        guarded = guarded_intervals(parts, self.shares, alpha=settings.alpha, average=average)
        family = parts[-1] if average is None else average.family
        return estimates(family, resampled[-1], guarded[-1] if guarded else None, settings)


def slices_of(  # noqa: PLR0917 - all of one analysis, passed on in one place
    track: TrackScores,
    family: Family,
    members: Sequence[Family],
    resampling: Resampling,
    orders: NDArray[np.integer] | None,
    settings: AnalysisSettings,
) -> list[Slice]:
    """All slices of one family.

    Parameters
    ----------
    track : TrackScores
        The track.
    family : Family
        Submissions in ranking order.
    members : sequence of Family
        What it averages, for a macro-average.
    resampling : Resampling
        Random numbers over the track's patients.
    orders : integer array, shape (K, P), or None
        Random orders of the track's patients; None leaves the tests out.
    settings : AnalysisSettings
        Minimum sizes.
    """
    levels = dict(track.slices)
    sizes = _size_levels(track, family)
    if sizes is not None:
        levels[STRUCTURE_SIZE] = sizes
    found = []
    raw: list[tuple[float | None, float | None]] = []
    for name in sorted(levels):
        labels = np.array([levels[name][p] or "" for p in family.patients], np.str_)
        found.append((name, labels, _levels(track, family, members, labels, resampling, settings)))
        raw.append(slice_tests(family, labels, orders, settings))
    interaction, difficulty = (adjusted([pair[k] for pair in raw]) for k in (0, 1))
    return [
        Slice(
            name,
            shown,
            int((labels == "").sum()),
            interaction[k],
            difficulty[k],
            _left_out(family, members, labels, settings),
        )
        for k, (name, labels, shown) in enumerate(found)
    ]


def _left_out(
    family: Family,
    members: Sequence[Family],
    labels: NDArray[np.str_],
    settings: AnalysisSettings,
) -> LevelsLeftOut | None:
    names = [str(label) for label in np.unique(labels) if label]
    if len(names) < 2 or not 1 < len(family.submissions) <= settings.descriptions_up_to:  # noqa: PLR2004 - a comparison
        return None
    everyone = _goodness(family, members, np.ones(labels.size, bool))
    means = {name: _goodness(family, members, labels != name) for name in names}
    levels = [name for name in names if means[name] is not None]
    columns = [found for found in (means[name] for name in levels) if found is not None]
    if everyone is None or not columns:
        return None
    order = np.argsort(-everyone, kind="stable")
    without = np.stack(columns, axis=1)[order]
    ranks = [(0, 0)] * len(order)
    for place, rank in zip(order, leave_one_out(without).ranks, strict=True):
        ranks[place] = rank
    each = [leave_one_out(column[:, None]) for column in without.T]
    return LevelsLeftOut(
        levels=levels,
        changing_order=[n for n, one in zip(levels, each, strict=True) if one.changing_order],
        changing_first=[n for n, one in zip(levels, each, strict=True) if one.changing_first],
        ranks=ranks,
    )


def _goodness(family: Family, members: Sequence[Family], here: NDArray[np.bool_]) -> Floats | None:
    """Goodness over some of the family's patients, summed or averaged over structures, shape (M,).

    None where a structure has none of them.
    """
    total = np.zeros(len(family.submissions))
    for member in members or [family]:
        kept = np.isin(member.patients, family.patients[here])
        if not kept.any():
            return None
        rows = [member.submissions.index(name) for name in family.submissions]
        sums = member.goodness[rows][:, kept].sum(axis=1)
        total += np.ldexp(sums, -member.bits) / int(kept.sum()) if members else sums
    return np.where(family.comparable, total, -np.inf)


def _levels(  # noqa: PLR0917 - as above
    track: TrackScores,
    family: Family,
    members: Sequence[Family],
    labels: NDArray[np.str_],
    resampling: Resampling,
    settings: AnalysisSettings,
) -> list[Level]:
    levels = []
    for name in (str(label) for label in np.unique(labels) if label):
        here = labels == name
        n = int(here.sum())
        rows: list[Estimate] = []
        if n >= settings.minimum_n and family.submissions:
            rows = _estimates(track, family, members, here, resampling, settings)
        levels.append(Level(name, n, rows))
    return levels


def _estimates(  # noqa: PLR0917 - as above
    track: TrackScores,
    family: Family,
    members: Sequence[Family],
    here: NDArray[np.bool_],
    resampling: Resampling,
    settings: AnalysisSettings,
) -> list[Estimate]:
    """Estimates on some of the patients, in the family's order of submissions."""
    if not members:
        part = _part(family, here)
        return resampling.estimates([part], None, settings)
    parts = [_part(member, np.isin(member.patients, family.patients[here])) for member in members]
    if not all(part.patients.size for part in parts):
        return []  # a level that lacks a structure has no average over them
    average = macro_average(track, parts)
    if average is None:
        return []
    rows = resampling.estimates(parts, average, settings)
    by_name = {row.submission: row for row in rows}
    return [by_name[name] for name in family.submissions]


def _part(family: Family, here: NDArray[np.bool_]) -> Family:
    """The family on some of its patients."""
    return replace(
        family,
        patients=family.patients[here],
        scores=family.scores[:, here],
        observed=family.observed[:, here],
        failed=family.failed[:, here],
    )


def _size_levels(track: TrackScores, family: Family) -> tuple[str | None, ...] | None:
    """Thirds of the family's patients by the mean reference volume of their scans."""
    if family.rule.endpoint != "present" or family.structure not in track.structures:
        return None
    volume = track.reference_ml[track.structures.index(family.structure)]
    known = np.isfinite(volume) & (volume > 0)
    total = np.zeros(len(track.patients))
    scans = np.zeros(len(track.patients))
    np.add.at(total, track.patient_of_case[known], volume[known])
    np.add.at(scans, track.patient_of_case[known], 1.0)
    measured = family.patients[scans[family.patients] > 0]
    if measured.size < _LEAST_FOR_SIZES:
        return None
    mean = total[measured] / scans[measured]
    ascending = np.sort(mean)
    borders = ascending[[measured.size // 3, 2 * measured.size // 3]]
    levels: list[str | None] = [None] * len(track.patients)
    for patient, place in zip(measured, np.searchsorted(borders, mean, side="right"), strict=True):
        levels[patient] = _SIZES[place]
    return tuple(levels)
