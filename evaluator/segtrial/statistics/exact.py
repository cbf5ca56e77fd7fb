"""Sums that come out the same everywhere: scores as integers held in float64.

A float64 holds every integer up to 2**53, and adding such integers is exact in any order, so
no BLAS, SIMD width, thread count or case order can change a bit of a product of counts and
quantised scores, as long as no partial sum leaves that range. Scores are multiples of
2**-30 (dimensionless) or 2**-20 (mm, ml), or of a coarser power of two where the track is so large
that sums would leave the range; the error of a score is at most half of that step.

Second moments are treated the same way: deviations are squared, and the squares are rounded to
multiples of a power of two chosen from their largest, so that their sums are exact too.

What is published is rounded to `SIGNIFICANT` digits: special functions differ in their last bits
between builds of SciPy, and nobody can use the ninth digit of an interval.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SIGNIFICANT = 8
"""Significant digits of every published number."""
_QUANTILE_SIGNIFICANT = 10
"""Significant digits of a quantile or tail probability taken from SciPy, before it is used."""
_SHARE_BITS = 30
_UNIT_BITS = 20
_SUM_BITS = 51
"""Room for sums and differences of sums: one bit less than 2**52 on each side of zero."""


def score_bits(*, bound: float, patients: int, dimensionless: bool) -> int:
    """Binary digits after the point that a score keeps.

    Parameters
    ----------
    bound : float
        Largest value a score of this metric can take on this track.
    patients : int
        Number of patients on the track: weights sum to it.
    dimensionless : bool
        Shares keep 30 bits, mm and ml keep 20.

    Returns
    -------
    int
        Fewer only where ``patients * bound`` would leave the exact range.

    Examples
    --------
    >>> score_bits(bound=1.0, patients=743, dimensionless=True)
    30
    """
    nominal = _SHARE_BITS if dimensionless else _UNIT_BITS
    room = _SUM_BITS - _exponent(float(patients)) - _exponent(max(bound, 1.0))
    return min(nominal, room)


def quantise(values: Floats, bits: int) -> Floats:
    """Values as integers (in float64): the nearest multiple of 2**-bits, times 2**bits."""
    return np.rint(np.ldexp(values, bits))


def centred(integers: Floats) -> tuple[Floats, Floats]:
    """Integers minus their rounded mean, row by row, and that mean.

    Parameters
    ----------
    integers : float64 array, shape (M, n)
        Integers; n at least 1.

    Returns
    -------
    deviations : float64 array, shape (M, n)
        Integers around zero.
    centres : float64 array, shape (M,)
        Integers.
    """
    centres = np.rint(integers.sum(axis=1) / integers.shape[1])
    return integers - centres[:, None], centres


def squares(deviations: Floats, *, weight: int) -> tuple[Floats, NDArray[np.int64]]:
    """Squares of integers, rounded so that their weighted sums are exact.

    Parameters
    ----------
    deviations : float64 array, shape (M, n)
        Integers.
    weight : int
        Largest total weight that will ever be put on a row.

    Returns
    -------
    rounded : float64 array, shape (M, n)
        ``rint(deviation**2 * 2**-shift)``, integers.
    shift : int64 array, shape (M,)
        Power of two of each row; it follows from the row alone.
    """
    square = deviations * deviations
    _, exponent = np.frexp(square.max(axis=1, initial=0.0))
    shift = exponent.astype(np.int64) - (_SUM_BITS - _exponent(float(weight)))
    return np.rint(np.ldexp(square, -shift[:, None])), shift


def shortened(integers: Floats, *, digits: int, together: bool = False) -> Floats:
    """Integers with their last binary digits rounded off, so that products of them are exact.

    Parameters
    ----------
    integers : float64 array, shape (M, n)
        Integers.
    digits : int
        Binary digits that the largest keeps.
    together : bool
        Whether all rows lose the same digits (they will be added), or each its own.

    Returns
    -------
    float64 array, shape (M, n)
        Integers; a row (or all of it) that is short enough is scaled up instead, which is exact.
    """
    largest = np.abs(integers).max(axis=1, initial=0.0)
    if together:
        largest = np.full_like(largest, largest.max(initial=0.0))
    _, exponent = np.frexp(largest)
    rounded: Floats = np.rint(np.ldexp(integers, (digits - exponent)[:, None]))
    return rounded


def room(terms: int) -> int:
    """Binary digits that each of so many terms may have for their sum to be exact."""
    return _SUM_BITS - _exponent(float(max(terms, 1)))


def sum_of_squares(deviations: Floats) -> Floats:
    """Sum of squares of each row of integers, shape (M,): exact up to one rounding per square."""
    rounded, shift = squares(deviations, weight=deviations.shape[1])
    total: Floats = np.ldexp(rounded.sum(axis=1), shift)
    return total


def spread(integers: Floats) -> Floats:
    """Sample standard deviation of each row of integers, in quantisation steps.

    Parameters
    ----------
    integers : float64 array, shape (M, n)
        Integers; n at least 2.

    Returns
    -------
    float64 array, shape (M,)
        Zero exactly where a row is constant.
    """
    n = integers.shape[1]
    deviations, _ = centred(integers)
    residual = deviations.sum(axis=1)
    around_mean = sum_of_squares(deviations) - residual * residual / n
    constant = integers.max(axis=1) == integers.min(axis=1)
    return np.where(constant, 0.0, np.sqrt(np.maximum(around_mean, 0.0) / (n - 1)))


def settled(value: float) -> float:
    """A number from a special function, rounded to 10 significant digits before it is used."""
    return float(f"{value:.{_QUANTILE_SIGNIFICANT}g}")


def published(value: float) -> float:
    """A number as it is written into results: 8 significant digits, no negative zero.

    Examples
    --------
    >>> published(1 / 3)
    0.33333333
    """
    if not math.isfinite(value):
        message = f"a number that is not finite cannot be published: {value}"
        raise AssertionError(message)
    return float(f"{value:.{SIGNIFICANT}g}") + 0.0


def _exponent(value: float) -> int:
    """Smallest e with value <= 2**e."""
    mantissa, exponent = math.frexp(value)
    return exponent - 1 if mantissa == 0.5 else exponent  # noqa: PLR2004 - a power of two itself
