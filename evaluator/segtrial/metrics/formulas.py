"""From counts and distances to metrics: every formula of the package, and the empty cases.

The value of a metric is a number, `math.inf` for a distance to a surface that does not exist
(*unbounded*), or None where the formula has no meaning (*undefined*). No value is ever NaN.

========================== ================ ================= ============
metric                     reference empty  prediction empty  both empty
========================== ================ ================= ============
Dice, IoU, boundary IoU,   0                0                 undefined
NSD
HD, HDp, ASSD, MASD        unbounded        unbounded         undefined
relative volume error      undefined        1                 undefined
volume difference          prediction's     reference's       0
========================== ================ ================= ============
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from segtrial.metrics.measurement import (
    IN_SPACE,
    Dimensions,
    DirectedDistances,
    StructureMeasurement,
    SurfaceDistances,
)

MM3_PER_ML = 1000.0

Value = float | None


def metric_keys(
    *,
    dimensions: Dimensions,
    percentiles: Sequence[float],
    tolerances_mm: Sequence[float],
    directed: bool,
) -> tuple[str, ...]:
    """Every key that one structure gets, in the order of the record."""
    hdp = [hdp_key(p) for p in percentiles]
    keys = ["dice", "iou", "boundary_iou", "hd", *hdp, "assd", "masd"]
    keys += [nsd_key(tolerances_mm, index) for index in range(len(tolerances_mm))]
    keys += [f"{key}_pooled" for key in hdp]
    if directed:
        for direction in ("reference_to_prediction", "prediction_to_reference"):
            keys += [f"{key}_{direction}" for key in ("hd", *hdp, "mean_distance")]
    size = "volume" if dimensions == IN_SPACE else "area"
    unit = "ml" if dimensions == IN_SPACE else "mm2"
    keys += [f"reference_{size}_{unit}", f"prediction_{size}_{unit}"]
    keys += [f"{size}_difference_{unit}", f"relative_{size}_error"]
    return tuple(keys)


def hdp_key(percentile: float) -> str:
    """`hd95` for 95: HDp carries its percentile in the key."""
    return f"hd{_in_key(percentile)}"


def nsd_key(tolerances_mm: Sequence[float], index: int) -> str:
    """`nsd` is NSD at the first tolerance; each further one carries its tolerance in the key."""
    return "nsd" if index == 0 else f"nsd_{_in_key(tolerances_mm[index])}mm"


def _in_key(number: float) -> str:
    """Every digit of it: rounded, percentile 99.99999 would have the key of 100."""
    return repr(float(number)).removesuffix(".0")


def metric_values(
    measured: StructureMeasurement,
    *,
    voxel_size: float,
    dimensions: Dimensions,
    percentiles: Sequence[float],
    tolerances_mm: Sequence[float],
    directed: bool,
) -> dict[str, Value]:
    """All metrics of one structure by key, in the order of `metric_keys`.

    Parameters
    ----------
    measured : StructureMeasurement
        What an engine measured.
    voxel_size : float
        Volume of a voxel in mm3 (area of a pixel in mm2).
    dimensions, percentiles, tolerances_mm, directed
        As asked for; they decide which keys there are.
    """
    values = overlap_values(measured)
    values |= distance_values(measured, percentiles=percentiles, tolerances_mm=tolerances_mm)
    if directed:
        values |= directed_values(measured, percentiles=percentiles)
    values |= size_values(measured, voxel_size=voxel_size, dimensions=dimensions)
    keys = metric_keys(
        dimensions=dimensions,
        percentiles=percentiles,
        tolerances_mm=tolerances_mm,
        directed=directed,
    )
    return {key: values[key] for key in keys}


def overlap_values(measured: StructureMeasurement) -> dict[str, Value]:
    """Dice, IoU and boundary IoU from voxel counts."""
    both = measured.intersection_voxels
    total = measured.reference_voxels + measured.prediction_voxels
    return {
        "dice": _ratio(2 * both, total),
        "iou": _ratio(both, total - both),
        "boundary_iou": _ratio(
            measured.boundary_intersection_voxels, measured.boundary_union_voxels
        ),
    }


def distance_values(
    measured: StructureMeasurement, *, percentiles: Sequence[float], tolerances_mm: Sequence[float]
) -> dict[str, Value]:
    """HD, HDp, pooled HDp, ASSD, MASD and NSD."""
    hdp = [hdp_key(p) for p in percentiles]
    nsd = [nsd_key(tolerances_mm, index) for index in range(len(tolerances_mm))]
    if measured.surface is None:
        missing = _distance_to_nothing(measured)
        score: Value = None if missing is None else 0.0
        lengths = ["hd", *hdp, "assd", "masd", *(f"{key}_pooled" for key in hdp)]
        values: dict[str, Value] = dict.fromkeys(lengths, missing)
        values.update(dict.fromkeys(nsd, score))
        return values
    return _surface_values(measured.surface, hdp=hdp, nsd=nsd)


def _surface_values(
    surface: SurfaceDistances, *, hdp: Sequence[str], nsd: Sequence[str]
) -> dict[str, Value]:
    there, back = surface.to_prediction, surface.to_reference
    size = there.size + back.size
    values: dict[str, Value] = {
        "hd": max(there.maximum_mm, back.maximum_mm),
        "assd": (there.moment + back.moment) / size,
        "masd": (there.moment / there.size + back.moment / back.size) / 2,
    }
    pairs = zip(there.percentiles_mm, back.percentiles_mm, strict=True)
    values |= dict(zip(hdp, map(max, pairs), strict=True))
    for key, pooled in zip(hdp, surface.pooled_percentiles_mm, strict=True):
        values[f"{key}_pooled"] = pooled
    for key, near_there, near_back in zip(nsd, there.within, back.within, strict=True):
        # Rounding of the sums may leave the ratio of a perfect match an ulp above 1.
        values[key] = min((near_there + near_back) / size, 1.0)
    return values


def directed_values(
    measured: StructureMeasurement, *, percentiles: Sequence[float]
) -> dict[str, Value]:
    """HD, HDp and mean distance of each direction by itself."""
    values: dict[str, Value] = {}
    surface = measured.surface
    directions: list[tuple[str, DirectedDistances | None]] = [
        ("reference_to_prediction", surface.to_prediction if surface else None),
        ("prediction_to_reference", surface.to_reference if surface else None),
    ]
    missing = _distance_to_nothing(measured)
    for name, way in directions:
        values[f"hd_{name}"] = way.maximum_mm if way else missing
        values[f"mean_distance_{name}"] = way.moment / way.size if way else missing
        for index, p in enumerate(percentiles):
            values[f"{hdp_key(p)}_{name}"] = way.percentiles_mm[index] if way else missing
    return values


def size_values(
    measured: StructureMeasurement, *, voxel_size: float, dimensions: Dimensions
) -> dict[str, Value]:
    """Volumes in ml and their differences; in 2D, areas in mm2."""
    size, unit = ("volume", "ml") if dimensions == IN_SPACE else ("area", "mm2")
    scale = voxel_size / MM3_PER_ML if dimensions == IN_SPACE else voxel_size
    difference = abs(measured.prediction_voxels - measured.reference_voxels)
    return {
        f"reference_{size}_{unit}": measured.reference_voxels * scale,
        f"prediction_{size}_{unit}": measured.prediction_voxels * scale,
        f"{size}_difference_{unit}": difference * scale,
        f"relative_{size}_error": _ratio(difference, measured.reference_voxels),
    }


def _ratio(part: int, whole: int) -> Value:
    return part / whole if whole else None


def _distance_to_nothing(measured: StructureMeasurement) -> Value:
    """Value of a distance when there is no second surface: unbounded, or undefined without any."""
    return math.inf if measured.reference_voxels or measured.prediction_voxels else None
