"""What the engines measure: voxel counts and area-weighted distances, before any formula.

The reference implementation and the native core both end in these records; `formulas` turns them
into metrics. Whatever the two could disagree about is therefore in here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Dimensions = Literal[2, 3]
IN_PLANE: Final = 2
IN_SPACE: Final = 3

RELATIVE_SLACK = 1e-9
"""Distances, and cumulative weights, that differ by less than this ratio count as equal.

On a grid with spacing 1 mm very many distances equal a tolerance of 2 mm, and very many cumulative
areas equal 95 % of the total, up to rounding. Without the slack the last bit would decide, and
two exact implementations would differ in the fourth digit of NSD.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureRequest:
    """One structure to measure: its labels on either side, and its parameters."""

    name: str
    reference_labels: tuple[int, ...]
    prediction_labels: tuple[int, ...]
    tolerances_mm: tuple[float, ...]
    boundary_width_mm: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectedDistances:
    """Distances from the elements of one surface to the other surface, area-weighted.

    Parameters
    ----------
    size : float
        Area of the surface the distances start from, in mm2 (length in mm in 2D).
    moment : float
        Sum over elements of area times distance.
    maximum_mm : float
        Largest distance.
    percentiles_mm : tuple of float
        Lower weighted empirical quantile at each percentile asked for.
    within : tuple of float
        Area of the elements no further away than each tolerance asked for.
    """

    size: float
    moment: float
    maximum_mm: float
    percentiles_mm: tuple[float, ...]
    within: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceDistances:
    """Both directions, and the percentiles of both taken together."""

    to_prediction: DirectedDistances
    to_reference: DirectedDistances
    pooled_percentiles_mm: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureMeasurement:
    """Everything measured of one structure; `surface` is None when either mask is empty."""

    reference_voxels: int
    prediction_voxels: int
    intersection_voxels: int
    boundary_intersection_voxels: int
    boundary_union_voxels: int
    surface: SurfaceDistances | None
