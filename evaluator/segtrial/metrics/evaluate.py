"""`evaluate_label_maps`: every metric of every structure of one case, in one call."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from segtrial.errors import MetricInputError
from segtrial.metrics import native
from segtrial.metrics.arguments import (
    LabelIds,
    LabelMap,
    check_found_labels,
    check_ignored,
    check_label_maps,
    check_no_negative_label,
    check_percentiles,
    check_spacing,
    check_threads,
    memory_error,
    structure_requests,
)
from segtrial.metrics.formulas import metric_values
from segtrial.metrics.measurement import (
    IN_PLANE,
    IN_SPACE,
    Dimensions,
    StructureMeasurement,
    StructureRequest,
)
from segtrial.metrics.record import StructureMetrics
from segtrial.metrics.reference import measure_structure
from segtrial.metrics.signature import metric_signatures


def evaluate_label_maps(
    reference: LabelMap,
    prediction: LabelMap,
    *,
    spacing_mm: Sequence[float],
    structures: Mapping[str, LabelIds] | None = None,
    prediction_structures: Mapping[str, LabelIds] | None = None,
    tolerances_mm: float | Sequence[float] | Mapping[str, float | Sequence[float]] = (2.0,),
    percentiles: float | Sequence[float] = (95.0,),
    boundary_width_mm: float | None = None,
    ignore_labels: LabelIds = (),
    directed: bool = False,
    threads: int | None = None,
) -> dict[str, StructureMetrics]:
    """Every metric of every structure in a pair of label maps.

    Parameters
    ----------
    reference, prediction : integer array, shape (I, J, K) or (I, J)
        Label maps on one grid, in canonical axes; any integer dtype, any memory order, labels 0
        (background) and above.
    spacing_mm : sequence of float, one for each axis
        Distance between voxel centres along each axis in mm, positive.
    structures : mapping of str to int or iterable of int, optional
        Label ids (1 to 2147483647) of each structure; several ids are taken as their union, and
        structures may overlap. An id that no voxel has adds nothing, also one that the array's
        dtype cannot hold. Voxels that no id names are background, also those of a label above
        2147483647. None: every label found on either side, named by its number; labels above
        2147483647 are refused.
    prediction_structures : mapping of str to int or iterable of int, optional
        Label ids of the same structures in the prediction, where they differ; an empty sequence
        for a structure that the prediction has no label for. None: the ids of `structures`.
    tolerances_mm : float or sequence of float, or mapping of str to either
        Tolerances of NSD in mm for all structures, or for each structure by name (2 mm where the
        mapping has none). The first is ``nsd``, a further one at 3 mm is ``nsd_3mm``. Keys have all
        digits of the number: at 0.125 mm ``nsd_0.125mm``.
    percentiles : float or sequence of float, in (0, 100]
        Percentiles of HDp; 95 gives ``hd95`` and ``hd95_pooled``.
    boundary_width_mm : float, optional
        Width of the band of boundary IoU in mm. None: the structure's first tolerance (2 mm when
        it has none).
    ignore_labels : int or iterable of int
        Reference labels marking voxels that nobody is scored on: background on both sides.
    directed : bool
        Also give HD, HDp and the mean distance of each direction.
    threads : int, optional
        Threads of the native core; None uses every processor. No value depends on it.

    Returns
    -------
    dict of str to StructureMetrics
        By structure, in the order of `structures` (of the label ids when None). Which metrics
        there are, what each is, and what empty masks give is stated in `segtrial.metrics`.

    Raises
    ------
    MetricInputError
        When the arrays or parameters have no meaning; nothing has been computed then. Or when
        there is no memory for the masks and surfaces.

    Examples
    --------
    >>> reference = np.zeros((16, 16, 16), np.uint8)
    >>> reference[4:12, 4:12, 4:12] = 1
    >>> prediction = np.roll(reference, 1, axis=0)
    >>> cube = evaluate_label_maps(reference, prediction, spacing_mm=(1, 1, 1))["1"]
    >>> cube["dice"]
    0.875
    >>> round(cube["hd"], 6)
    1.0
    """
    reference, prediction = check_label_maps(reference, prediction)
    dimensions: Dimensions = IN_SPACE if reference.ndim == IN_SPACE else IN_PLANE
    settings = _Settings(
        spacing_mm=check_spacing(spacing_mm, dimensions),
        percentiles=check_percentiles(percentiles),
        ignored=check_ignored(ignore_labels),
        directed=directed,
        dimensions=dimensions,
    )
    engine_threads = check_threads(threads)
    if structures is None:
        if prediction_structures is not None:
            raise MetricInputError(
                "prediction_structures was given without structures. Name the structures' labels "
                "in the reference too."
            )
        structures = _labels_found(
            reference, prediction, ignored=settings.ignored, threads=engine_threads
        )
        if not structures:
            return {}
    requests = structure_requests(
        structures,
        prediction_structures,
        tolerances_mm=tolerances_mm,
        boundary_width_mm=boundary_width_mm,
        ignored=settings.ignored,
    )
    measured = _measure(reference, prediction, requests, settings=settings, threads=engine_threads)
    return {
        request.name: _record(request, measurement, settings)
        for request, measurement in zip(requests, measured, strict=True)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    """What holds for all structures, checked."""

    spacing_mm: tuple[float, ...]
    percentiles: tuple[float, ...]
    ignored: tuple[int, ...]
    directed: bool
    dimensions: Dimensions


def _measure(
    reference: LabelMap,
    prediction: LabelMap,
    requests: Sequence[StructureRequest],
    *,
    settings: _Settings,
    threads: int,
) -> list[StructureMeasurement]:
    """Measure by the native core, or by the reference implementation where it was not built."""
    if native.is_available():
        return native.measure_structures(
            reference,
            prediction,
            requests,
            spacing_mm=settings.spacing_mm,
            percentiles=settings.percentiles,
            ignore_labels=settings.ignored,
            threads=threads,
        )
    check_no_negative_label(reference, "reference")
    check_no_negative_label(prediction, "prediction")
    try:
        return [
            measure_structure(
                reference,
                prediction,
                request,
                spacing_mm=settings.spacing_mm,
                percentiles=settings.percentiles,
                ignore_labels=settings.ignored,
            )
            for request in requests
        ]
    except MemoryError as error:
        raise memory_error(reference) from error


def _record(
    request: StructureRequest, measured: StructureMeasurement, settings: _Settings
) -> StructureMetrics:
    return StructureMetrics(
        structure=request.name,
        reference_empty=measured.reference_voxels == 0,
        prediction_empty=measured.prediction_voxels == 0,
        values=metric_values(
            measured,
            voxel_size=math.prod(settings.spacing_mm),
            dimensions=settings.dimensions,
            percentiles=settings.percentiles,
            tolerances_mm=request.tolerances_mm,
            directed=settings.directed,
        ),
        signatures=metric_signatures(
            tolerances_mm=request.tolerances_mm,
            percentiles=settings.percentiles,
            boundary_width_mm=request.boundary_width_mm,
            ignore_labels=settings.ignored,
            directed=settings.directed,
            dimensions=settings.dimensions,
        ),
    )


def _labels_found(
    reference: LabelMap, prediction: LabelMap, *, ignored: Sequence[int], threads: int
) -> dict[str, LabelIds]:
    found: set[int] = set()
    for label_map, role in ((reference, "reference"), (prediction, "prediction")):
        try:
            if native.is_available():
                labels = native.labels_found(label_map, role, threads=threads)
            else:
                check_no_negative_label(label_map, role)
                labels = [int(label) for label in np.unique(label_map)]
        except MemoryError as error:
            raise memory_error(label_map) from error
        check_found_labels(labels, role)
        found.update(labels)
    return {str(label): label for label in sorted(found - {0, *ignored})}
