"""Slices of the patients: estimates for each level, and the one test that may highlight a slice.

Of ten slices made by chance, one or more has a 95 % interval that leaves out the overall mean four
times in ten, so a slice is never highlighted by its own interval. The *interaction test* asks
whether the comparison between submissions differs between levels: levels are shuffled among the
patients, and the statistic is the distance between levels of the submissions' scores *relative to
the patient's mean over submissions*. The difficulty of a level's patients cancels out of it; a
second test, of the patients' means, is about that.

Distances are taken in each level's own standard error (Welch's statistic). Shuffling makes the test
exact when levels differ in nothing; with own errors it keeps its level, for more than a few
patients, also where they differ in spread alone (Janssen 1997, doi:10.1016/S0167-7152(97)00043-6;
Chung and Romano 2013, doi:10.1214/13-AOS1090). A pooled error would not: one site of ten patients
whose scores scatter five times as widely was then highlighted in half of the simulated test sets
(``docs/methodology.md``).

Levels with fewer than ``settings.minimum_n`` patients show only their number, and take no part in
the tests. What the order owes to a single level, however small, is said by leaving it out: with few
centres there is no interval for the next one, but a ranking that one centre turns around is that
centre's. P-values are ratios of counts; Holm's correction is over the slices of one family.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from segtrial.statistics.comparison import holm
from segtrial.statistics.estimates import BOOTSTRAP_T, Estimate, estimates
from segtrial.statistics.exact import Floats, centred, room, shortened, squares
from segtrial.statistics.guard import guarded_intervals
from segtrial.statistics.macro import macro_average
from segtrial.statistics.resampling import Average, bootstrap
from segtrial.statistics.scores import Family, TrackScores
from segtrial.statistics.settings import AnalysisSettings
from segtrial.statistics.stability import leave_one_out

STRUCTURE_SIZE = "structure_size"
"""Slice made from the reference volumes: thirds of the patients."""
_SIZES = ("small", "medium", "large")
_LEAST_FOR_SIZES = 30
_BLOCK_BYTES = 16 << 20
_ENOUGH = 100
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
class SliceTest:
    """A permutation test between levels, with Holm over the slices of the family."""

    p: float
    p_adjusted: float


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
    interaction, difficulty = (_adjusted([pair[k] for pair in raw]) for k in (0, 1))
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


def slice_tests(
    family: Family,
    labels: NDArray[np.str_],
    orders: NDArray[np.integer] | None,
    settings: AnalysisSettings,
) -> tuple[float | None, float | None]:
    """P-values of interaction and difficulty, not adjusted; None where there is nothing to test.

    Parameters
    ----------
    family : Family
        Any number of submissions.
    labels : str array, shape (n,)
        Level of each patient of the family; empty where it is not known.
    orders : integer array, shape (K, P), or None
        Random orders of the track's patients.
    settings : AnalysisSettings
        Smallest level that takes part.
    """
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
    levels = codes[here]
    shuffled = _statistics(rows, levels, _shuffled(orders, family.patients[here], levels))
    interaction = float(shuffled[0]) if len(goodness) > 1 else None
    return interaction, float(shuffled[1])


def _codes(labels: NDArray[np.str_], minimum: int) -> NDArray[np.int16]:
    """Level of each patient by number; -1 without one, or where the level is too small."""
    names, index, size = np.unique(labels, return_inverse=True, return_counts=True)
    large = [k for k, name in enumerate(names) if name and size[k] >= minimum]
    number = np.full(len(names), -1, np.int16)
    number[large] = np.arange(len(large))
    return number[index]


def _shuffled(
    orders: NDArray[np.integer], patients: NDArray[np.intp], codes: NDArray[np.int16]
) -> Iterator[NDArray[np.int16]]:
    """Levels of some of the patients, shuffled by random orders of all, in blocks, shape (K, n)."""
    wanted = np.zeros(orders.shape[1], bool)
    wanted[patients] = True
    code = np.zeros(orders.shape[1], np.int16)
    code[patients] = codes
    rows = max(1, _BLOCK_BYTES // (8 * orders.shape[1]))
    for start in range(0, len(orders), rows):
        block = orders[start : start + rows]
        yield code[block if wanted.all() else block[wanted[block]].reshape(-1, patients.size)]


def _statistics(
    rows: Floats, codes: NDArray[np.int16], shuffles: Iterator[NDArray[np.int16]]
) -> tuple[float, float]:
    """P-values of the distance between levels, of all rows but the last and of the last."""
    size = np.bincount(codes)
    square, shift = squares(rows, weight=codes.size)
    both = np.concatenate([rows, square])
    observed = _distance_between(both, shift, codes[None], size)
    tests = (_Sequential(), _Sequential())
    for shuffle in shuffles:
        shuffled = _distance_between(both, shift, shuffle, size)
        # Groupings with the same sums, added in another order, differ in the last bits only.
        for test, reached in zip(tests, shuffled >= observed * (1 - 1e-10), strict=True):
            test.take(reached)
        if all(test.done for test in tests):
            break
    return tests[0].p, tests[1].p


@dataclass(slots=True)
class _Sequential:
    """A p-value from shuffles that are taken until enough of them reach what was observed.

    Besag and Clifford 1991 (doi:10.1093/biomet/78.2.301): the level is exact, a large p costs few
    shuffles, and a small one gets all there are.
    """

    reached: int = 0
    taken: int = 0

    @property
    def done(self) -> bool:
        return self.reached >= _ENOUGH

    @property
    def p(self) -> float:
        if self.done:
            return self.reached / self.taken
        return (self.reached + 1) / (self.taken + 1)

    def take(self, reached: NDArray[np.bool_]) -> None:
        if self.done:
            return
        running = self.reached + np.cumsum(reached)
        stop = int(np.searchsorted(running, _ENOUGH))  # the shuffle that is the last one needed
        self.taken += min(stop + 1, reached.size)
        self.reached = int(running[min(stop, reached.size - 1)])


def _distance_between(
    both: Floats, shift: NDArray[np.int64], codes: NDArray[np.int16], size: NDArray[np.intp]
) -> Floats:
    """Squared distances of levels from their common mean, in standard errors (Welch's).

    The sum over levels of (mean - common mean)**2 / error**2, the common mean being weighted by
    1 / error**2: summed over all rows but the last; the last. Each level's variance is its own,
    with one patient's worth of the pooled one, so that a level without any spread has a finite
    weight.

    Parameters
    ----------
    both : float64 array, shape (2 R, n)
        Integers, and their squares as `segtrial.statistics.exact.squares` rounds them.
    shift : int64 array, shape (R,)
        Power of two of the squares.
    codes : int16 array, shape (K, n)
        Level of each patient, in K shuffles.
    size : intp array, shape (levels,)
        Patients on each level.

    Returns
    -------
    float64 array, shape (2, K)
    """
    count = len(shift)
    pooled = np.ldexp(both[count:].sum(axis=1), shift) / both.shape[1]
    spread_out = pooled > 0
    means, weights = [], []
    rest = np.repeat(both.sum(axis=1)[:, None], len(codes), axis=1)
    for level, patients in enumerate(size):
        if level + 1 < len(size):
            sums = both @ (codes == level).astype(np.float64).T
            rest -= sums  # integers: what is left is the last level's, exactly
        else:
            sums = rest
        mean = sums[:count] / patients
        inside = np.ldexp(sums[count:], shift[:, None]) - sums[:count] * mean
        variance = (np.maximum(inside, 0.0) + pooled[:, None]) / patients
        weight = np.zeros_like(variance)
        weight[spread_out] = patients / variance[spread_out]
        means.append(mean)
        weights.append(weight)
    total, weighted = weights[0].copy(), weights[0] * means[0]
    for mean, weight in zip(means[1:], weights[1:], strict=True):
        total += weight
        weighted += weight * mean
    common = np.divide(weighted, total, out=weighted, where=total > 0)
    distance = np.zeros_like(common)
    for mean, weight in zip(means, weights, strict=True):
        distance += weight * (mean - common) ** 2
    summed = np.zeros((2, len(codes)))
    for row in distance[:-1]:  # one by one: a fixed order of additions
        summed[0] += row
    summed[1] = distance[-1]
    return summed


def _adjusted(p: Sequence[float | None]) -> list[SliceTest | None]:
    tested = [k for k, value in enumerate(p) if value is not None]
    values = np.array([value for value in p if value is not None])
    found: list[SliceTest | None] = [None] * len(p)
    for k, raw, adjusted in zip(tested, values, holm(values), strict=True):
        found[k] = SliceTest(float(raw), float(adjusted))
    return found
