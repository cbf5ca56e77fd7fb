"""The native core: the same measurements as `reference`, a few hundred times faster.

What is left to Python is the order of the axes. The core walks a volume along its memory, so both
arrays are shown to it with their axes sorted by stride and none reversed; it is told where these
axes lie in the array, and gives its results in the array's own order. Only a prediction whose
memory lies otherwise than the reference's is copied.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segtrial.errors import MetricInputError
from segtrial.metrics.arguments import LabelMap, memory_error, negative_label_error
from segtrial.metrics.measurement import (
    IN_SPACE,
    DirectedDistances,
    StructureMeasurement,
    StructureRequest,
    SurfaceDistances,
)

try:
    from segtrial.metrics import _core
except ImportError:  # built without a C++ compiler
    _core = None  # type: ignore[assignment]

_Directed = tuple[float, float, float, tuple[float, ...], tuple[float, ...]]


class SlowMetricsWarning(UserWarning):
    """The native core is missing, so metrics take some hundred times longer."""


@cache
def is_available() -> bool:
    """Whether the native core was built; says once what it costs when it was not."""
    if _core is None:
        warnings.warn(
            "segtrial was installed without its native core, so metrics come from the reference "
            "implementation: the same numbers, some hundred times slower (minutes for an abdomen, "
            "not a fraction of a second). Install a C++17 compiler (g++ or clang++) and install "
            "segtrial again.",
            SlowMetricsWarning,
            stacklevel=4,
        )
    return _core is not None


@dataclass(frozen=True, slots=True)
class MemoryOrder:
    """Where the axes of a volume's memory lie in the array, slowest first."""

    axes: tuple[int, int, int]
    backwards: tuple[bool, bool, bool]

    @classmethod
    def of(cls, volume: LabelMap) -> MemoryOrder:
        """The memory order of a volume with three axes."""
        # Axes of one voxel have strides without meaning; they count as the slowest.
        pace = [
            abs(s) if n > 1 else np.inf for s, n in zip(volume.strides, volume.shape, strict=True)
        ]
        a, b, c = sorted(range(3), key=lambda axis: -pace[axis])
        falling = [s < 0 and n > 1 for s, n in zip(volume.strides, volume.shape, strict=True)]
        return cls((a, b, c), (falling[a], falling[b], falling[c]))

    def seen(self, volume: LabelMap) -> LabelMap:
        """The volume with its axes in this order: a view."""
        moved = volume.transpose(self.axes)
        # An axis of one voxel has no direction, but the core takes no stride below 0.
        falling = [
            back or (n == 1 and s < 0)
            for back, n, s in zip(self.backwards, moved.shape, moved.strides, strict=True)
        ]
        return moved[tuple(slice(None, None, -1 if falls else None) for falls in falling)]


def labels_found(label_map: LabelMap, role: str, *, threads: int) -> list[int]:
    """Labels other than 0 in a label map, ascending."""
    seen = _walkable(label_map, MemoryOrder.of(_volume(label_map)))
    labels: list[int] = _core.find_labels(_plain(seen), threads)
    if label_map.dtype.kind == "i" and labels:
        bits = 8 * label_map.dtype.itemsize
        if labels[-1] >= 2 ** (bits - 1):
            raise negative_label_error(labels[-1] - 2**bits, role)
    return labels


def measure_structures(
    reference: LabelMap,
    prediction: LabelMap,
    requests: Sequence[StructureRequest],
    *,
    spacing_mm: Sequence[float],
    percentiles: Sequence[float],
    ignore_labels: Sequence[int] = (),
    threads: int = 0,
    instruction_set: str = "",
) -> list[StructureMeasurement]:
    """Measure all structures of two label maps.

    Parameters
    ----------
    reference, prediction, spacing_mm, percentiles, ignore_labels
        As in `segtrial.metrics.reference.measure_structure`.
    requests : sequence of StructureRequest
        The structures.
    threads : int
        0 uses every processor.
    instruction_set : str
        One of ``_core.instruction_sets()``; the best one when empty. The result is the same.
    """
    order = MemoryOrder.of(_volume(reference))
    volumes = [_walkable(reference, order), _walkable(prediction, order)]
    # The core's third axis of an image is never measured along, but has to be of its scale.
    spacing = (*spacing_mm,) if len(spacing_mm) == IN_SPACE else (min(spacing_mm), *spacing_mm)
    try:
        measured = _core.measure(
            reference=_plain(volumes[0]),
            prediction=_plain(volumes[1]),
            dimensions=reference.ndim,
            spacing_mm=spacing,
            logical_axis=order.axes,
            backwards=order.backwards,
            reference_labels=[request.reference_labels for request in requests],
            prediction_labels=[request.prediction_labels for request in requests],
            tolerances_mm=[request.tolerances_mm for request in requests],
            band_widths_mm=[request.boundary_width_mm for request in requests],
            percentiles=percentiles,
            ignored=ignore_labels,
            threads=threads,
            instruction_set=instruction_set,
        )
    except _core.NegativeLabelError as error:
        raise _negative_label(reference, prediction) from error
    except (MemoryError, _core.TooLargeError) as error:
        raise memory_error(reference) from error
    return [_measurement(counts, surface) for *counts, surface in measured]


def _volume(label_map: LabelMap) -> LabelMap:
    """With three axes: an image is a volume of one plane."""
    return label_map if label_map.ndim == IN_SPACE else label_map[np.newaxis]


def _walkable(label_map: LabelMap, order: MemoryOrder) -> LabelMap:
    """The volume as its memory is walked, plane by plane and row by row: a view, or a copy."""
    volume = order.seen(_volume(label_map))
    planes, rows, columns = volume.shape
    plane_step, row_step, step = volume.strides
    regular = (
        (step == volume.itemsize or columns == 1)
        and (row_step > 0 or rows == 1)
        and (plane_step > 0 or planes == 1)
        and volume.dtype.isnative
        and volume.flags.aligned
    )
    if regular:
        return volume
    try:
        return np.array(volume, dtype=volume.dtype.newbyteorder("="), order="C", copy=True)
    except MemoryError as error:
        raise MetricInputError(
            f"A label map of shape {label_map.shape} and dtype {label_map.dtype} has to be copied "
            f"into regular memory order, and there is no memory for its {label_map.nbytes} bytes. "
            "Pass it as a contiguous array."
        ) from error


def _plain(volume: LabelMap) -> NDArray[Any]:
    """Read-only, and with a dtype the core knows by its size and sign."""
    plain = volume.view(np.uint8) if volume.dtype == np.bool_ else volume.view()
    plain.flags.writeable = False
    return plain


def _negative_label(reference: LabelMap, prediction: LabelMap) -> MetricInputError:
    lowest = int(reference.min())
    if lowest < 0:
        return negative_label_error(lowest, "reference")
    return negative_label_error(int(prediction.min()), "prediction")


def _measurement(
    counts: Sequence[int],
    surface: tuple[_Directed, _Directed, tuple[float, ...]] | None,
) -> StructureMeasurement:
    reference, prediction, intersection, boundary_intersection, boundary_union = counts
    distances = None
    if surface is not None:
        there, back, pooled = surface
        distances = SurfaceDistances(
            to_prediction=_directed(there),
            to_reference=_directed(back),
            pooled_percentiles_mm=pooled,
        )
    return StructureMeasurement(
        reference_voxels=reference,
        prediction_voxels=prediction,
        intersection_voxels=intersection,
        boundary_intersection_voxels=boundary_intersection,
        boundary_union_voxels=boundary_union,
        surface=distances,
    )


def _directed(values: _Directed) -> DirectedDistances:
    size, moment, maximum_mm, percentiles_mm, within = values
    return DirectedDistances(
        size=size,
        moment=moment,
        maximum_mm=maximum_mm,
        percentiles_mm=percentiles_mm,
        within=within,
    )
