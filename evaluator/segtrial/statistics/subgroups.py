"""Slices of the patients: estimates for each level, and the one test that may highlight a slice.

Of ten slices made by chance, one or more has a 95 % interval that leaves out the overall mean four
times in ten, so a slice is never highlighted by its own interval. The *interaction test* asks
whether the comparison between submissions differs between levels: levels are shuffled among the
patients, and the statistic is the spread between levels of the submissions' scores *relative to the
patient's mean over submissions*. The difficulty of a level's patients cancels out of it; a second
test, of the patients' means, is about that.

Levels with fewer than ``settings.minimum_n`` patients show only their number, and take no part in
the tests. P-values are ratios of counts; Holm's correction is over the slices of one family.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from segtrial.statistics.comparison import holm
from segtrial.statistics.estimates import BOOTSTRAP_T, Estimate, estimates
from segtrial.statistics.exact import Floats, centred, room, shortened, sum_of_squares
from segtrial.statistics.guard import guarded_intervals
from segtrial.statistics.macro import macro_average
from segtrial.statistics.resampling import Average, bootstrap
from segtrial.statistics.scores import Family, TrackScores
from segtrial.statistics.settings import AnalysisSettings

STRUCTURE_SIZE = "structure_size"
"""Slice made from the reference volumes: thirds of the patients."""
_SIZES = ("small", "medium", "large")
_LEAST_FOR_SIZES = 30
_BLOCK_BYTES = 24 << 20


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
class SliceTest:
    """A permutation test between levels, with Holm over the slices of the family."""

    p: float
    p_adjusted: float


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
    """

    name: str
    levels: list[Level]
    unknown: int
    interaction: SliceTest | None
    difficulty: SliceTest | None


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
        raw.append(_tests(family, labels, orders, settings))
    interaction, difficulty = (_adjusted([pair[k] for pair in raw]) for k in (0, 1))
    return [
        Slice(name, shown, int((labels == "").sum()), interaction[k], difficulty[k])
        for k, (name, labels, shown) in enumerate(found)
    ]


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


def _tests(
    family: Family,
    labels: NDArray[np.str_],
    orders: NDArray[np.integer] | None,
    settings: AnalysisSettings,
) -> tuple[float | None, float | None]:
    """P-values of interaction and difficulty."""
    codes = _codes(labels, settings.minimum_n)
    comparable = family.comparable
    if orders is None or codes.max(initial=-1) < 1 or not comparable.any():
        return None, None
    here = codes >= 0
    goodness = family.goodness[comparable][:, here]
    # Times the number of submissions, so that deviations from the patient's mean stay integers.
    patient = goodness.sum(axis=0)
    relative, _ = centred(goodness * len(goodness) - patient)
    difficulty, _ = centred(patient[None])
    rows = shortened(np.concatenate([relative, difficulty]), digits=room(patient.size))
    shuffled = _statistics(rows, codes[here], _restricted(orders, family.patients[here]))
    interaction = float(shuffled[0]) if len(goodness) > 1 else None
    return interaction, float(shuffled[1])


def _codes(labels: NDArray[np.str_], minimum: int) -> NDArray[np.intp]:
    """Level of each patient by number; -1 without one, or where the level is too small."""
    names, index, size = np.unique(labels, return_inverse=True, return_counts=True)
    large = [k for k, name in enumerate(names) if name and size[k] >= minimum]
    number = np.full(len(names), -1, np.intp)
    number[large] = np.arange(len(large))
    return number[index]


def _restricted(
    orders: NDArray[np.integer], patients: NDArray[np.intp]
) -> Iterator[NDArray[np.intp]]:
    """Random orders of some of the patients, from random orders of all, in blocks."""
    wanted = np.zeros(orders.shape[1], bool)
    wanted[patients] = True
    place = np.zeros(orders.shape[1], np.intp)
    place[patients] = np.arange(patients.size)
    rows = max(1, _BLOCK_BYTES // (16 * orders.shape[1]))
    for start in range(0, len(orders), rows):
        block = orders[start : start + rows]
        kept = block if wanted.all() else block[wanted[block]].reshape(-1, patients.size)
        yield place[kept]


def _statistics(
    rows: Floats, codes: NDArray[np.intp], orders: Iterator[NDArray[np.intp]]
) -> tuple[float, float]:
    """P-values of the spread between levels, of all rows but the last and of the last."""
    size = np.bincount(codes).astype(np.float64)
    observed = _spread_between(rows, codes[None], size)
    reached = np.ones(2, np.int64)
    total = 1
    for order in orders:
        shuffled = _spread_between(rows, codes[order], size)
        # Groupings with the same sums, added in another order, differ in the last bits only.
        reached += (shuffled >= observed * (1 - 1e-12)).sum(axis=1)
        total += len(order)
    return float(reached[0] / total), float(reached[1] / total)


def _spread_between(rows: Floats, codes: NDArray[np.intp], size: Floats) -> Floats:
    """Share of the variance that lies between levels: summed over all rows but the last; the last.

    Variances do not change when patients are shuffled, so each submission counts alike, however
    widely its scores spread.

    Parameters
    ----------
    rows : float64 array, shape (R, n)
        Integers.
    codes : intp array, shape (K, n)
        Level of each patient, in K shuffles.
    size : float64 array, shape (levels,)
        Patients on each level.

    Returns
    -------
    float64 array, shape (2, K)
    """
    spread = np.zeros((2, len(codes)))
    variance = sum_of_squares(rows)
    weight = np.divide(1.0, variance, out=np.zeros_like(variance), where=variance > 0)
    for level, patients in enumerate(size):
        sums = rows @ (codes == level).astype(np.float64).T
        scaled = sums * sums * (weight / patients)[:, None]
        for row in scaled[:-1]:  # one by one: a fixed order of additions
            spread[0] += row
        spread[1] += scaled[-1]
    return spread


def _adjusted(p: Sequence[float | None]) -> list[SliceTest | None]:
    tested = [k for k, value in enumerate(p) if value is not None]
    values = np.array([value for value in p if value is not None])
    found: list[SliceTest | None] = [None] * len(p)
    for k, raw, adjusted in zip(tested, values, holm(values), strict=True):
        found[k] = SliceTest(float(raw), float(adjusted))
    return found
