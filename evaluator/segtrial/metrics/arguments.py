"""Checks of what callers hand over, all before any work: named errors with the values in them."""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Integral, Real

import numpy as np
from numpy.typing import NDArray

from segtrial.errors import MetricInputError
from segtrial.metrics.measurement import StructureRequest

LabelMap = NDArray[np.integer | np.bool_]
LabelIds = int | Sequence[int]

MAX_LABEL = 2**31 - 1
LEAST_SPACING_MM = 1e-6
MOST_SPACING_MM = 1e6
DEFAULT_TOLERANCE_MM = 2.0


def check_label_maps(reference: object, prediction: object) -> tuple[LabelMap, LabelMap]:
    """Both label maps, or the error that says why they cannot be compared."""
    checked = (_label_map(reference, "reference"), _label_map(prediction, "prediction"))
    if checked[0].shape != checked[1].shape:
        raise MetricInputError(
            f"The prediction is not on the reference grid: expected shape {checked[0].shape}, "
            f"got {checked[1].shape}. Bring both label maps to one grid; do not crop either."
        )
    return checked


def _label_map(array: object, role: str) -> LabelMap:
    if not isinstance(array, np.ndarray):
        raise MetricInputError(
            f"The {role} is a {type(array).__name__}, not a NumPy array. Pass the label map's "
            "voxels as an integer array."
        )
    masked = sys.modules.get("numpy.ma")  # where it is not loaded, no array is masked
    if masked is not None and isinstance(array, masked.MaskedArray):
        raise MetricInputError(
            f"The {role} is a masked array. Fill it: with 0, or with a label of its own that "
            "ignore_labels names."
        )
    if array.dtype.kind not in "biu":
        raise MetricInputError(
            f"The {role} has dtype {array.dtype}; labels are integers. Check that every value is "
            "whole, then convert it with .astype(np.uint8) or a wider integer type."
        )
    if array.ndim not in (2, 3):
        raise MetricInputError(
            f"The {role} has {array.ndim} dimensions, shape {array.shape}; label maps have 2 or 3. "
            "Pass one time point and one channel at a time."
        )
    if array.size == 0:
        raise MetricInputError(
            f"The {role} has no voxels, shape {array.shape}. Pass the whole label map."
        )
    return np.asarray(array)  # a plain view of what a subclass, such as a memory map, holds


def memory_error(label_map: LabelMap) -> MetricInputError:
    """The error for label maps whose masks or surfaces do not fit in memory."""
    return MetricInputError(
        f"There is not enough memory for the masks and surfaces of label maps of shape "
        f"{label_map.shape} and dtype {label_map.dtype}; is the prediction noise? Measure fewer "
        "structures at a time, or smaller volumes."
    )


def check_no_negative_label(array: LabelMap, role: str) -> None:
    """Refuse negative voxel values: no structure can be named by them."""
    lowest = int(array.min()) if array.dtype.kind == "i" else 0
    if lowest < 0:
        raise negative_label_error(lowest, role)


def negative_label_error(label: int, role: str) -> MetricInputError:
    """The error for a voxel with a negative label."""
    return MetricInputError(
        f"The {role} has voxels of label {label}; labels are 0 (background) and above. Was an "
        "unsigned label map read as signed, or an intensity image passed?"
    )


def check_found_labels(labels: Collection[int], role: str) -> None:
    """Refuse voxel values that no label id can be."""
    if labels and max(labels) > MAX_LABEL:
        raise MetricInputError(
            f"The {role} has voxels of label {max(labels)}; label ids go up to {MAX_LABEL}. Was a "
            "signed label map read as unsigned?"
        )


def check_spacing(spacing_mm: object, dimensions: int) -> tuple[float, ...]:
    """Voxel spacing in mm, one positive number for each axis."""
    numbers = _reals(spacing_mm, "spacing_mm")
    if len(numbers) != dimensions:
        raise MetricInputError(
            f"spacing_mm has {len(numbers)} numbers, {numbers}, for label maps of {dimensions} "
            "dimensions. Give one spacing for each axis, in the order of the axes."
        )
    if not all(math.isfinite(number) and number > 0 for number in numbers):
        raise MetricInputError(
            f"spacing_mm is {numbers}; every spacing is a positive, finite length in mm. Take it "
            "from the label map's affine."
        )
    if not all(LEAST_SPACING_MM <= number <= MOST_SPACING_MM for number in numbers):
        raise MetricInputError(
            f"spacing_mm is {numbers}; a spacing is between {LEAST_SPACING_MM:g} and "
            f"{MOST_SPACING_MM:g} mm. Is it in another unit?"
        )
    return numbers


def check_percentiles(percentiles: object) -> tuple[float, ...]:
    """Percentiles for HDp, each above 0 and at most 100."""
    numbers = _reals(
        (percentiles,) if isinstance(percentiles, Real) else percentiles, "percentiles"
    )
    if not all(0 < number <= 100 for number in numbers):  # noqa: PLR2004
        raise MetricInputError(f"percentiles is {numbers}; each is above 0 and at most 100.")
    _check_distinct(numbers, "percentiles")
    return numbers


def check_ignored(ignore_labels: object) -> tuple[int, ...]:
    """Reference labels that mark voxels nobody is scored on."""
    return label_ids(ignore_labels, "ignore_labels")


def check_threads(threads: int | None) -> int:
    """Thread count for the native core; 0 stands for every processor."""
    if threads is None:
        return 0
    if isinstance(threads, bool) or not isinstance(threads, Integral) or threads < 1:
        raise MetricInputError(f"threads is {threads!r}; give a whole number from 1, or None.")
    return int(threads)


def structure_requests(
    structures: Mapping[str, LabelIds],
    prediction_structures: Mapping[str, LabelIds] | None,
    *,
    tolerances_mm: float | Sequence[float] | Mapping[str, float | Sequence[float]],
    boundary_width_mm: float | None,
    largest_label: int,
    ignored: Collection[int] = (),
) -> tuple[StructureRequest, ...]:
    """What to measure for each structure, in the order they were named.

    Parameters
    ----------
    structures, prediction_structures
        Label ids by name in the reference and in the prediction (the same ids when None).
    tolerances_mm, boundary_width_mm
        As in `evaluate_label_maps`.
    largest_label : int
        Largest label that the wider of the two dtypes can hold.
    ignored : collection of int
        Labels that cannot be asked for, because they are ignored.
    """
    _check_names(structures, "structures")
    if prediction_structures is not None:
        _check_names(prediction_structures, "prediction_structures")
        _check_same_names(structures, prediction_structures)
    if isinstance(tolerances_mm, Mapping):
        _check_known(tolerances_mm, structures, "tolerances_mm")
    other = structures if prediction_structures is None else prediction_structures
    requests = []
    for name, asked in structures.items():
        reference_ids = label_ids(asked, f"structures[{name!r}]", largest=largest_label)
        where = f"prediction_structures[{name!r}]"
        tolerances = _tolerances(tolerances_mm, name)
        if not reference_ids or (not other[name] and prediction_structures is None):
            raise MetricInputError(f"structures[{name!r}] has no label id. Name at least one.")
        if clash := set(reference_ids) & set(ignored):
            raise MetricInputError(
                f"structures[{name!r}] asks for label {min(clash)}, which ignore_labels leaves out."
                " Remove it from one of the two."
            )
        requests.append(
            StructureRequest(
                name=name,
                reference_labels=reference_ids,
                prediction_labels=label_ids(other[name], where, largest=largest_label),
                tolerances_mm=tolerances,
                boundary_width_mm=_boundary_width(boundary_width_mm, tolerances),
            )
        )
    return tuple(requests)


def _check_names(structures: object, argument: str) -> None:
    if not isinstance(structures, Mapping):
        raise MetricInputError(
            f"{argument} is a {type(structures).__name__}; give a mapping of structure name to "
            'label id or ids, such as {"liver": 1, "kidney": (2, 3)}.'
        )
    if not structures:
        raise MetricInputError(f"{argument} names no structure. Name one, or pass None for all.")
    for name in structures:
        if not isinstance(name, str) or not name:
            raise MetricInputError(f"{argument} has the key {name!r}; structure names are text.")


def _check_same_names(
    structures: Mapping[str, LabelIds], prediction_structures: Mapping[str, LabelIds]
) -> None:
    _check_known(prediction_structures, structures, "prediction_structures")
    missing = [name for name in structures if name not in prediction_structures]
    if missing:
        raise MetricInputError(
            f"prediction_structures does not say which labels are {missing[0]!r}. Give its ids, or "
            "an empty tuple when the prediction has none."
        )


def _check_known(given: Iterable[str], structures: Mapping[str, LabelIds], argument: str) -> None:
    for name in given:
        if name not in structures:
            near = difflib.get_close_matches(str(name), structures, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise MetricInputError(
                f"{argument} names {name!r}, which is not in structures ({', '.join(structures)})."
                + hint
            )


def label_ids(asked: object, where: str, *, largest: int = MAX_LABEL) -> tuple[int, ...]:
    """Label ids of a structure, ascending, each once; `where` names the argument in errors."""
    given = (asked,) if isinstance(asked, Integral) else asked
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise MetricInputError(f"{where} is {asked!r}; give a label id or a sequence of ids.")
    ids = tuple(given)
    for label in ids:
        if isinstance(label, bool) or not isinstance(label, int | np.integer):
            raise MetricInputError(f"{where} asks for label {label!r}; label ids are integers.")
        if not 1 <= label <= MAX_LABEL:
            raise MetricInputError(
                f"{where} asks for label {label}, which cannot exist: label ids go from 1 to "
                f"{MAX_LABEL}, and 0 is the background."
            )
        if label > largest:
            raise MetricInputError(
                f"{where} asks for label {label}, which cannot exist: neither array can hold a "
                f"label above {largest}. Check the label ids, or the dtype the arrays were read as."
            )
    return tuple(sorted({int(label) for label in ids}))


def _tolerances(
    tolerances_mm: float | Sequence[float] | Mapping[str, float | Sequence[float]], name: str
) -> tuple[float, ...]:
    given: object = tolerances_mm
    where = "tolerances_mm"
    if isinstance(tolerances_mm, Mapping):
        given = tolerances_mm.get(name, DEFAULT_TOLERANCE_MM)
        where = f"tolerances_mm[{name!r}]"
    numbers = _reals((given,) if isinstance(given, Real) else given, where)
    if not all(math.isfinite(number) and number > 0 for number in numbers):
        raise MetricInputError(
            f"{where} is {numbers}; a tolerance is a positive, finite length in mm. At 0 rounding "
            "alone would decide."
        )
    _check_distinct(numbers, where)
    return numbers


def _boundary_width(boundary_width_mm: float | None, tolerances_mm: tuple[float, ...]) -> float:
    if boundary_width_mm is None:
        return tolerances_mm[0] if tolerances_mm else DEFAULT_TOLERANCE_MM
    (width,) = _reals((boundary_width_mm,), "boundary_width_mm")
    if not (math.isfinite(width) and width >= 0):
        raise MetricInputError(f"boundary_width_mm is {width}; it is a length in mm, 0 or more.")
    return width


def _reals(given: object, where: str) -> tuple[float, ...]:
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise MetricInputError(f"{where} is {given!r}; give a sequence of numbers.")
    numbers = tuple(given)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, Real):
            raise MetricInputError(f"{where} has {number!r}, which is not a number.")
    return tuple(float(number) for number in numbers)


def _check_distinct(numbers: tuple[float, ...], where: str) -> None:
    if len(set(numbers)) < len(numbers):
        raise MetricInputError(f"{where} is {numbers}; each may be named once.")
