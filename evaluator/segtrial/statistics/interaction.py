"""The one test that may highlight a slice: whether the comparison differs between its levels.

The *interaction test* asks whether the comparison between submissions differs between levels:
levels are shuffled among the patients, and the statistic is the distance between levels of the
submissions' scores *relative to the patient's mean over submissions*. The difficulty of a level's
patients cancels out of it; a second test, of the patients' means, is about that.

Distances are taken in each level's own standard error (Welch's statistic). Shuffling makes the test
exact when levels differ in nothing; with own errors it keeps its level, for more than a few
patients, also where they differ in spread alone (Janssen 1997, doi:10.1016/S0167-7152(97)00043-6;
Chung and Romano 2013, doi:10.1214/13-AOS1090). A pooled error would not: one site of ten patients
whose scores scatter five times as widely was then highlighted in half of the simulated test sets
(``docs/methodology.md``). P-values are ratios of counts; Holm's correction is over the slices of
one family.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segtrial.statistics.comparison import holm
from segtrial.statistics.exact import Floats, centred, room, shortened, squares
from segtrial.statistics.scores import Family
from segtrial.statistics.settings import AnalysisSettings

_BLOCK_BYTES = 16 << 20
_ENOUGH = 100


@dataclass(frozen=True, slots=True)
class SliceTest:
    """A permutation test between levels, with Holm over the slices of the family."""

    p: float
    p_adjusted: float


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


def adjusted(p: Sequence[float | None]) -> list[SliceTest | None]:
    """Tests with Holm's correction over those p-values that are there, in the same places."""
    tested = [k for k, value in enumerate(p) if value is not None]
    values = np.array([value for value in p if value is not None])
    found: list[SliceTest | None] = [None] * len(p)
    for k, raw, corrected in zip(tested, values, holm(values), strict=True):
        found[k] = SliceTest(float(raw), float(corrected))
    return found
