"""What decides a value, written next to it: numbers of different signatures are never mixed.

A signature is one line of ``name=value`` parts, the metric's key first. Two numbers may be
compared, averaged or ranked together only when their signatures are equal to the character. The
engine (native or reference) is not part of it: both give the same value to 1e-9.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from segtrial.errors import MetricInputError
from segtrial.metrics.arguments import (
    LabelIds,
    check_boundary_width,
    check_connectivity,
    check_dimensions,
    check_ignored,
    check_iou_threshold,
    check_percentiles,
    check_tolerances,
)
from segtrial.metrics.formulas import hdp_key, metric_keys, nsd_key
from segtrial.metrics.measurement import IN_SPACE, Dimensions

METRIC_VERSION = 1
"""Raised with every change that alters any value by more than rounding, 1e-9 of it; stored scores
of another version are recomputed."""

_SURFACE = {
    3: "surface=marching_cubes_0.5_zero_padded;element=triangle_centroid;weight=area",
    2: "surface=marching_squares_0.5_zero_padded;element=segment_midpoint;weight=length",
}
_QUANTILE = "quantile=lower_weighted_slack_1e-9"


def metric_signatures(
    *,
    tolerances_mm: float | Sequence[float] = (2.0,),
    percentiles: float | Sequence[float] = (95.0,),
    boundary_width_mm: float | None = None,
    ignore_labels: LabelIds = (),
    directed: bool = False,
    dimensions: Dimensions = 3,
) -> dict[str, str]:
    """Signature of every metric that `evaluate_label_maps` gives for these arguments.

    Parameters
    ----------
    tolerances_mm, percentiles, boundary_width_mm, ignore_labels, directed
        As in `evaluate_label_maps`, with the tolerances of one structure.
    dimensions : {2, 3}
        Of the label maps.

    Returns
    -------
    dict of str to str
        By the keys of the record.

    Raises
    ------
    MetricInputError
        As `evaluate_label_maps` does for the same arguments.

    Examples
    --------
    >>> metric_signatures()["dice"]
    'dice;version=1;dimensions=3;empty=one_0_both_undefined'
    >>> metric_signatures(tolerances_mm=(1.0,))["nsd"].split(";")[-3]
    'tolerance_mm=1.0'
    """
    axes = check_dimensions(dimensions)
    tolerances = check_tolerances(tolerances_mm)
    ranks = check_percentiles(percentiles)
    parts = _details(
        tolerances_mm=tolerances,
        percentiles=ranks,
        width_mm=check_boundary_width(boundary_width_mm, tolerances),
        dimensions=axes,
    )
    suffix = _ignored(ignore_labels)
    keys = metric_keys(
        dimensions=axes, percentiles=ranks, tolerances_mm=tolerances, directed=directed
    )
    return {key: f"{key};{_head(axes)};{parts[key]}{suffix}" for key in keys}


def _head(dimensions: Dimensions) -> str:
    return f"version={METRIC_VERSION};dimensions={dimensions}"


def _details(
    *,
    tolerances_mm: Sequence[float],
    percentiles: Sequence[float],
    width_mm: float,
    dimensions: Dimensions,
) -> dict[str, str]:
    surface = _SURFACE[dimensions]
    score = "empty=one_0_both_undefined"
    length = "empty=one_unbounded_both_undefined"
    parts = {
        "dice": score,
        "iou": score,
        "boundary_iou": f"band=inside_to_voxel_face;width_mm={width_mm!r};at_least=1_voxel;{score}",
        "hd": f"{surface};{length}",
        "assd": f"{surface};mean=pooled;{length}",
        "masd": f"{surface};mean=of_two_directed;{length}",
    }
    for p in percentiles:
        rule = f"{surface};percentile={p!r};{_QUANTILE}"
        parts[hdp_key(p)] = f"{rule};both=larger_directed;{length}"
        parts[f"{hdp_key(p)}_pooled"] = f"{rule};both=pooled;{length}"
    for index, tolerance in enumerate(tolerances_mm):
        parts[nsd_key(tolerances_mm, index)] = (
            f"{surface};tolerance_mm={tolerance!r};within=d<=tolerance*(1+1e-9);{score}"
        )
    for way in ("reference_to_prediction", "prediction_to_reference"):
        parts[f"hd_{way}"] = f"{surface};{length}"
        parts[f"mean_distance_{way}"] = f"{surface};{length}"
        for p in percentiles:
            parts[f"{hdp_key(p)}_{way}"] = f"{surface};percentile={p!r};{_QUANTILE};{length}"
    size, unit = ("volume", "ml") if dimensions == IN_SPACE else ("area", "mm2")
    for key in (f"reference_{size}_{unit}", f"prediction_{size}_{unit}"):
        parts[key] = "count=voxels"
    parts[f"{size}_difference_{unit}"] = "count=voxels;difference=absolute"
    parts[f"relative_{size}_error"] = (
        "count=voxels;difference=absolute;over=reference;empty=reference_undefined"
    )
    return parts


def detection_signatures(
    *,
    connectivity: int | None,
    iou_threshold: float,
    ignore_labels: LabelIds = (),
    dimensions: Dimensions = 3,
) -> dict[str, str]:
    """Signature of every metric that `evaluate_detection` gives.

    Parameters
    ----------
    connectivity : int or None
        Neighbours of a voxel in a component; None for instance label maps.
    iou_threshold : float
        Least IoU of a match.
    ignore_labels : int or iterable of int
        As in `evaluate_detection`.
    dimensions : {2, 3}
        Of the label maps.

    Raises
    ------
    MetricInputError
        As `evaluate_detection` does for the same arguments.

    Examples
    --------
    >>> detection_signatures(connectivity=26, iou_threshold=0.1)["lesion_f1"]
    'lesion_f1;version=1;dimensions=3;lesions=components_26;matching=one_to_one_largest_total_iou;iou_at_least=0.1;empty=one_0_both_undefined'
    """
    axes = check_dimensions(dimensions)
    lesions = "instances"
    if connectivity is not None:
        lesions = f"components_{check_connectivity(connectivity, axes)}"
    rule = (
        f"{_head(axes)};lesions={lesions};matching=one_to_one_largest_total_iou;"
        f"iou_at_least={check_iou_threshold(iou_threshold)!r}"
    )
    empty = {
        "lesion_precision": "prediction_undefined_reference_0",
        "lesion_recall": "reference_undefined_prediction_0",
        "lesion_f1": "one_0_both_undefined",
        "lesion_dice": "one_0_both_undefined",
    }
    suffix = _ignored(ignore_labels)
    return {key: f"{key};{rule};empty={state}{suffix}" for key, state in empty.items()}


def _ignored(labels: LabelIds) -> str:
    listed = ",".join(str(label) for label in check_ignored(labels))
    return f";ignored_reference_labels={listed}" if listed else ""


def require_same_signature(signatures: Iterable[str]) -> str:
    """The one signature that all of these are; refuses when they differ.

    Parameters
    ----------
    signatures : iterable of str
        Signatures of numbers about to be put side by side.

    Returns
    -------
    str
        Their common signature.

    Raises
    ------
    MetricInputError
        When there is none, or two differ; the message names both.

    Examples
    --------
    >>> one = metric_signatures(tolerances_mm=(1.0,))["nsd"]
    >>> two = metric_signatures(tolerances_mm=(2.0,))["nsd"]
    >>> require_same_signature([one, one]) == one
    True
    >>> require_same_signature([one, two])
    Traceback (most recent call last):
    ...
    segtrial.errors.MetricInputError: Two numbers of different signatures ...
    """
    distinct = list(dict.fromkeys(signatures))
    if not distinct:
        raise MetricInputError("There are no numbers, so they have no common signature.")
    if len(distinct) > 1:
        raise MetricInputError(
            "Two numbers of different signatures cannot be put side by side:\n"
            f"  {distinct[0]}\n  {distinct[1]}\n"
            f"They differ in: {_difference(distinct[0], distinct[1])}. Score both again with the "
            "same settings and the same version."
        )
    return distinct[0]


def _difference(first: str, second: str) -> str:
    ours, theirs = first.split(";"), second.split(";")
    only = [part for part in ours if part not in theirs]
    only += [part for part in theirs if part not in ours]
    return ", ".join(only)
