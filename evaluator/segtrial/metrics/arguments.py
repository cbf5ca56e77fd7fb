"""Checks of what callers hand over, all before any work: named errors with the values in them."""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from segtrial.errors import MetricInputError
from segtrial.metrics.measurement import IN_PLANE, IN_SPACE, Dimensions, StructureRequest

LabelMap = NDArray[np.integer | np.bool_]
LabelIds = int | Iterable[int]
Connectivity = Literal[4, 6, 8, 18, 26]

CONNECTIVITIES: dict[int, tuple[Connectivity, ...]] = {2: (4, 8), 3: (6, 18, 26)}
MAX_LABEL = 2**31 - 1
MAX_THREADS = 2**31 - 1
LEAST_SPACING_MM = 1e-6
MOST_SPACING_MM = 1e6
DEFAULT_TOLERANCE_MM = 2.0
_LONGEST_SHOWN = 80  # characters of a value in a message


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
    whole = isinstance(threads, Integral) and not isinstance(threads, bool)
    if not whole or not 1 <= threads <= MAX_THREADS:
        raise MetricInputError(
            f"threads is {_shown(threads)}; give a whole number from 1 to {MAX_THREADS}, or None."
        )
    return int(threads)


def check_dimensions(dimensions: object) -> Dimensions:
    """Number of axes of the label maps."""
    if isinstance(dimensions, Integral) and dimensions in (IN_PLANE, IN_SPACE):
        return IN_SPACE if dimensions == IN_SPACE else IN_PLANE
    raise MetricInputError(f"dimensions is {_shown(dimensions)}; label maps have 2 or 3.")


def check_connectivity(connectivity: object, dimensions: int) -> Connectivity:
    """Neighbours of a voxel in a component; the most there are for None."""
    known = CONNECTIVITIES[dimensions]
    if connectivity is None:
        return known[-1]
    if not isinstance(connectivity, Integral) or connectivity not in known:
        raise MetricInputError(
            f"connectivity is {_shown(connectivity)}; in {dimensions}D a voxel has "
            f"{', '.join(map(str, known[:-1]))} or {known[-1]} neighbours."
        )
    return cast("Connectivity", int(connectivity))


def check_iou_threshold(threshold: object) -> float:
    """Least IoU of a match, above 0 and at most 1."""
    if isinstance(threshold, bool) or not isinstance(threshold, Real):
        raise MetricInputError(f"iou_threshold is {_shown(threshold)}, which is not a number.")
    if not 0 < _as_float(threshold) <= 1:
        raise MetricInputError(
            f"iou_threshold is {_shown(threshold)}; it is above 0 and at most 1. At 0 lesions that "
            "do not touch would match."
        )
    return float(threshold)


def structure_requests(
    structures: Mapping[str, LabelIds],
    prediction_structures: Mapping[str, LabelIds] | None,
    *,
    tolerances_mm: float | Sequence[float] | Mapping[str, float | Sequence[float]],
    boundary_width_mm: float | None,
    ignored: Collection[int] = (),
) -> tuple[StructureRequest, ...]:
    """What to measure for each structure, in the order they were named.

    Parameters
    ----------
    structures, prediction_structures
        Label ids by name in the reference and in the prediction (the same ids when None).
    tolerances_mm, boundary_width_mm
        As in `evaluate_label_maps`.
    ignored : collection of int
        Labels that cannot be asked for, because they are ignored.
    """
    _check_names(structures, "structures")
    if prediction_structures is not None:
        _check_names(prediction_structures, "prediction_structures")
        _check_same_names(structures, prediction_structures)
    if isinstance(tolerances_mm, Mapping):
        _check_known(tolerances_mm, structures, "tolerances_mm")
    # Iterators end where they were read once, so everything is read once.
    in_reference = _ids_by_name(structures, "structures")
    in_prediction = in_reference
    if prediction_structures is not None:
        in_prediction = _ids_by_name(prediction_structures, "prediction_structures")
    tolerances = _tolerances_by_name(tolerances_mm, structures)
    for name, ids in in_reference.items():
        if not ids:
            raise MetricInputError(f"structures[{name!r}] has no label id. Name at least one.")
        if clash := set(ids) & set(ignored):
            raise MetricInputError(
                f"structures[{name!r}] asks for label {min(clash)}, which ignore_labels leaves out."
                " Remove it from one of the two."
            )
    return tuple(
        StructureRequest(
            name=name,
            reference_labels=ids,
            prediction_labels=in_prediction[name],
            tolerances_mm=tolerances[name],
            boundary_width_mm=check_boundary_width(boundary_width_mm, tolerances[name]),
        )
        for name, ids in in_reference.items()
    )


def _ids_by_name(structures: Mapping[str, LabelIds], argument: str) -> dict[str, tuple[int, ...]]:
    return {name: label_ids(ids, f"{argument}[{name!r}]") for name, ids in structures.items()}


def _tolerances_by_name(
    tolerances_mm: float | Sequence[float] | Mapping[str, float | Sequence[float]],
    structures: Iterable[str],
) -> dict[str, tuple[float, ...]]:
    if not isinstance(tolerances_mm, Mapping):
        return dict.fromkeys(structures, check_tolerances(tolerances_mm))
    return {
        name: check_tolerances(
            tolerances_mm.get(name, DEFAULT_TOLERANCE_MM), f"tolerances_mm[{name!r}]"
        )
        for name in structures
    }


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


def label_ids(asked: object, where: str) -> tuple[int, ...]:
    """Label ids of a structure, ascending, each once; `where` names the argument in errors.

    What no label map can hold is refused. A label that only the arrays at hand cannot hold is in
    none of their voxels, and no error: their dtype says which labels a case happens to have, as
    files are read into the narrowest one, and not which labels the structure may have.
    """
    given = asked
    if isinstance(given, np.ndarray):
        if given.ndim > 1 or (given.size and given.dtype.kind not in "iu"):
            raise MetricInputError(
                f"{where} is an array of shape {given.shape} and dtype {given.dtype}; give a label "
                "id, or a sequence or one-dimensional integer array of ids."
            )
        given = given.tolist()
    if isinstance(given, Integral):
        given = (given,)
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise MetricInputError(f"{where} is {_shown(asked)}; give a label id or a sequence of ids.")
    ids = tuple(given)
    for label in ids:
        if isinstance(label, bool) or not isinstance(label, int | np.integer):
            raise MetricInputError(
                f"{where} asks for label {_shown(label)}; label ids are integers."
            )
        if not 1 <= label <= MAX_LABEL:
            raise MetricInputError(
                f"{where} asks for label {_shown(int(label))}, which cannot exist: label ids go "
                f"from 1 to {MAX_LABEL}, and 0 is the background."
            )
    return tuple(sorted({int(label) for label in ids}))


def check_tolerances(tolerances_mm: object, where: str = "tolerances_mm") -> tuple[float, ...]:
    """Tolerances of one structure in mm, each positive; `where` names the argument in errors."""
    numbers = _reals((tolerances_mm,) if isinstance(tolerances_mm, Real) else tolerances_mm, where)
    if not all(math.isfinite(number) and number > 0 for number in numbers):
        raise MetricInputError(
            f"{where} is {numbers}; a tolerance is a positive, finite length in mm. At 0 rounding "
            "alone would decide."
        )
    _check_distinct(numbers, where)
    return numbers


def check_boundary_width(boundary_width_mm: object, tolerances_mm: tuple[float, ...]) -> float:
    """Width of the band in mm; for None, the structure's first tolerance."""
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
        raise MetricInputError(f"{where} is {_shown(given)}; give a sequence of numbers.")
    numbers = tuple(given)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, Real):
            raise MetricInputError(f"{where} has {_shown(number)}, which is not a number.")
    return tuple(_as_float(number) for number in numbers)


def _as_float(number: Real) -> float:
    try:
        return float(number)
    except OverflowError:  # an integer or a fraction; no range that is checked reaches so far
        return math.inf if number == abs(number) else -math.inf


def _check_distinct(numbers: tuple[float, ...], where: str) -> None:
    if len(set(numbers)) < len(numbers):
        raise MetricInputError(f"{where} is {numbers}; each may be named once.")


def _shown(value: object) -> str:
    """A value as a message has it: not longer than a line, whatever was passed."""
    try:
        text = repr(value)
    except ValueError:  # Python does not write an integer of thousands of digits
        return f"<{type(value).__name__} too long to write>"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."
