"""One bootstrap for all structures, metrics and submissions of a track.

A resample draws patients of the track; every structure, metric and submission sees the same draw.
What is needed from a resample (sum of scores, sum of squared deviations, number of patients that
have the structure) is a product of the matrix of counts with a matrix of integers, which float64
holds exactly (`segtrial.statistics.exact`). For a structure that only some patients have, the
estimate of a resample is the weighted mean over those; a resample that drew none of them is left
out and counted.

The matrix of counts is kept in one byte each and turned to float64 a block at a time, so memory
does not grow with resamples times patients times eight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segtrial.statistics.exact import Floats, centred, squares
from segtrial.statistics.ranking import RankTally
from segtrial.statistics.scores import Family

_BLOCK_BYTES = 24 << 20
"""Size of a block of counts, or of products, as float64."""


@dataclass(frozen=True, slots=True)
class Resampled:
    """What the bootstrap says of one family of M submissions.

    Attributes
    ----------
    t : float64 array, shape (M, B)
        (mean of the resample - mean) / standard error of the resample; NaN where the resample has
        no variance or fewer than two patients.
    shifts : float64 array, shape (M, B), or None
        Mean of the resample - mean, in the metric's unit, NaN where it is empty; kept on request.
    tally : RankTally
        Rank frequencies and agreement with the observed order.
    """

    t: Floats
    shifts: Floats | None
    tally: RankTally


@dataclass(frozen=True, slots=True)
class _Columns:
    """The integer columns of one family on the patients that are resampled."""

    family: Family
    rows: Floats
    """First 1 for the patients of the family; then deviations; then their squares."""
    centres: Floats
    shift: NDArray[np.int64]
    offset: Floats
    """Observed mean minus the centre, shape (M,)."""
    result: Resampled

    @classmethod
    def of(
        cls,
        family: Family,
        used: NDArray[np.intp],
        counts: NDArray[np.uint8],
        *,
        keep_shifts: bool,
    ) -> _Columns:
        resamples, patients = counts.shape
        deviations, centres = centred(family.linear)
        square, shift = squares(deviations, weight=patients)
        m, n = deviations.shape
        rows = np.zeros((1 + 2 * m, used.size))
        rows[:, np.searchsorted(used, family.patients)] = np.concatenate(
            [np.ones((1, n)), deviations, square]
        )
        return cls(
            family=family,
            rows=rows,
            centres=centres,
            shift=shift,
            offset=deviations.sum(axis=1) / n,
            result=Resampled(
                np.empty((m, resamples)),
                np.empty((m, resamples)) if keep_shifts else None,
                RankTally.of(family),
            ),
        )

    def take(self, products: Floats, where: slice) -> Floats:
        """Keep the statistics of one block; its means in steps, NaN where nothing is drawn."""
        m = len(self.family.submissions)
        drawn, sums, square_sums = products[0], products[1 : m + 1], products[m + 1 :]
        with np.errstate(divide="ignore", invalid="ignore"):
            means = sums / drawn
            variance = np.ldexp(square_sums, self.shift[:, None]) / drawn - means * means
            t = (means - self.offset[:, None]) / np.sqrt(np.maximum(variance, 0.0) / (drawn - 1.0))
        # Rounding leaves a residue of variance where there is none: a spread below the
        # quantisation of the squares is none.
        least = np.ldexp(1.0, self.shift)[:, None]
        t[(variance <= least) | ~np.isfinite(t)] = np.nan
        self.result.t[:, where] = t
        if self.result.shifts is not None:
            shift = means - self.offset[:, None]
            self.result.shifts[:, where] = np.ldexp(shift, -self.family.bits)
        uncentred: Floats = means + self.centres[:, None]
        return uncentred

    def totals(self, products: Floats) -> tuple[Floats, Floats]:
        """Sums of scores and number drawn, exact: what ranks are counted from."""
        m = len(self.family.submissions)
        return products[1 : m + 1] + self.centres[:, None] * products[0], products[0]


@dataclass(frozen=True, slots=True)
class Average:
    """A family that is the average of the others, in the same order of families.

    Attributes
    ----------
    family : Family
        Its ``linear`` scores give the studentised resamples; ranks come from the average of the
        means of each resample.
    members : tuple of intp array
        For each of the others, the rows of the average's submissions.
    """

    family: Family
    members: tuple[NDArray[np.intp], ...]


def bootstrap(
    families: Sequence[Family],
    counts: NDArray[np.uint8],
    *,
    average: Average | None = None,
    keep_shifts: bool = False,
    ranks: bool = True,
) -> list[Resampled]:
    """Resample families at once.

    Parameters
    ----------
    families : sequence of Family
        Any number, with or without ranked submissions.
    counts : uint8 array, shape (B, P)
        From `segtrial.statistics.weights.bootstrap_counts`; P patients of the track.
    average : Average, optional
        Their average.
    keep_shifts : bool
        Whether to keep the means of the resamples.
    ranks : bool
        Whether to count ranks; without, the tallies stay empty.

    Returns
    -------
    list of Resampled
        One for each family, in order, and last one for the average.
    """
    everyone = [*families, average.family] if average else list(families)
    if not everyone:
        return []
    used = np.unique(np.concatenate([family.patients for family in everyone]))
    columns = [_Columns.of(family, used, counts, keep_shifts=keep_shifts) for family in everyone]
    matrix = np.concatenate([column.rows for column in columns])
    borders = np.cumsum([0, *(len(column.rows) for column in columns)])
    for where, block in _blocks(counts, used, len(matrix)):
        products = matrix @ block.T
        means = []
        for column, start, stop in zip(columns, borders[:-1], borders[1:], strict=True):
            part = products[start:stop]
            means.append(column.take(part, where))
            if ranks and (average is None or column is not columns[-1]):
                column.result.tally.add(*column.totals(part))
        if ranks and average is not None:
            columns[-1].result.tally.add(*_averaged(average, families, means))
    return [column.result for column in columns]


def _averaged(
    average: Average, families: Sequence[Family], means: Sequence[Floats]
) -> tuple[Floats, Floats]:
    """Average of the families' means in each resample, and whether there is one."""
    total = np.zeros((len(average.family.submissions), means[0].shape[1]))
    for family, rows, found in zip(families, average.members, means, strict=False):
        total += np.ldexp(found[rows], -family.bits)
    exists = ~np.isnan(total).any(axis=0)
    return total, np.where(exists, 1.0, 0.0)


def _blocks(
    counts: NDArray[np.uint8], used: NDArray[np.intp], rows: int
) -> Iterator[tuple[slice, Floats]]:
    resamples, patients = counts.shape
    size = max(1, _BLOCK_BYTES // (8 * max(used.size, rows)))
    for start in range(0, resamples, size):
        where = slice(start, min(start + size, resamples))
        block = counts[where] if used.size == patients else counts[where][:, used]
        yield where, block.astype(np.float64)
