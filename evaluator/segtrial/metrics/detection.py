"""Were the lesions found: connected components matched one to one, whatever their size.

The lesions of a mask are its connected components (with corners touching, unless said otherwise);
an instance label map has one lesion for each label. A reference lesion and a predicted one are
candidates for a match when their IoU reaches a threshold; of all ways to match candidates one to
one, the one with the largest total IoU is taken. Above 0.5 a lesion has at most one candidate, and
every matching rule gives the same; below, greedy rules depend on the order of lesions, this does
not.

========================== ================ ================= ============
metric                     reference empty  prediction empty  both empty
========================== ================ ================= ============
precision                  0                undefined         undefined
recall                     undefined        0                 undefined
F1, lesion Dice            0                0                 undefined
========================== ================ ================= ============

References
----------
- Maier-Hein et al., Metrics reloaded: recommendations for image analysis validation, Nature Methods
  2024, https://doi.org/10.1038/s41592-023-02151-z (one-to-one matching by IoU)
- Baumgartner et al., nnDetection, MICCAI 2021, https://doi.org/10.1007/978-3-030-87240-3_51 (the
  threshold 0.1 for small structures in 3D)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from segtrial.errors import MetricInputError
from segtrial.metrics.arguments import (
    Connectivity,
    LabelIds,
    LabelMap,
    check_connectivity,
    check_ignored,
    check_iou_threshold,
    check_label_maps,
    check_no_negative_label,
    check_spacing,
    label_ids,
    memory_error,
)
from segtrial.metrics.formulas import MM3_PER_ML, Value
from segtrial.metrics.measurement import IN_PLANE, IN_SPACE, RELATIVE_SLACK
from segtrial.metrics.record import written
from segtrial.metrics.signature import detection_signatures

Numbered = NDArray[np.integer]
Mask = NDArray[np.bool_]
_FEW_LABELS = 16  # up to here a pass for each is faster than a search for all


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesion:
    """One lesion: found (both sizes), missed (no prediction) or spurious (no reference).

    Parameters
    ----------
    reference_size, prediction_size : float or None
        Volume in ml (area in mm2 in 2D) on either side; None where there is none.
    iou, dice : float
        Overlap of the two, 0 when one is missing.
    """

    reference_size: float | None
    prediction_size: float | None
    iou: float
    dice: float

    @property
    def outcome(self) -> Literal["found", "missed", "spurious"]:
        """What became of it."""
        if self.prediction_size is None:
            return "missed"
        return "spurious" if self.reference_size is None else "found"

    def as_dict(self, size_unit: str) -> dict[str, float | str]:
        """For JSON; a size that does not exist is left out."""
        sizes = {"reference": self.reference_size, "prediction": self.prediction_size}
        known = {f"{side}_{size_unit}": size for side, size in sizes.items() if size is not None}
        return {"outcome": self.outcome, "iou": self.iou, "dice": self.dice, **known}


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionMetrics:
    """Detection of the lesions of one structure.

    Parameters
    ----------
    lesions : tuple of Lesion
        Found ones first, then missed, then spurious.
    values : mapping of str to float or None
        ``lesion_precision``, ``lesion_recall``, ``lesion_f1``, ``lesion_dice`` (mean over all
        lesions, where missed and spurious ones count 0), in [0, 1]; None where undefined.
    signatures : mapping of str to str
        What decided each value.
    size_unit : {"ml", "mm2"}
        Of the lesions' sizes.
    """

    lesions: tuple[Lesion, ...]
    values: Mapping[str, Value]
    signatures: Mapping[str, str]
    size_unit: Literal["ml", "mm2"]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))
        object.__setattr__(self, "signatures", MappingProxyType(dict(self.signatures)))

    def __getitem__(self, key: str) -> Value:
        return self.values[key]

    def __reduce__(self) -> tuple[object, ...]:
        parts = (self.lesions, dict(self.values), dict(self.signatures), self.size_unit)
        return (_restore, parts)

    @property
    def found(self) -> int:
        """Lesions on both sides that were matched."""
        return sum(lesion.outcome == "found" for lesion in self.lesions)

    @property
    def missed(self) -> int:
        """Reference lesions without a match."""
        return sum(lesion.outcome == "missed" for lesion in self.lesions)

    @property
    def spurious(self) -> int:
        """Predicted lesions without a match."""
        return sum(lesion.outcome == "spurious" for lesion in self.lesions)

    def as_dict(self) -> dict[str, Any]:
        """Values, counts and lesions for JSON, undefined values as ``{"state": "undefined"}``."""
        counts = {
            "lesions_found": self.found,
            "lesions_missed": self.missed,
            "lesions_spurious": self.spurious,
        }
        lesions = [lesion.as_dict(self.size_unit) for lesion in self.lesions]
        values = {key: written(value) for key, value in self.values.items()}
        return {**values, **counts, "lesions": lesions}


def evaluate_detection(
    reference: LabelMap,
    prediction: LabelMap,
    *,
    spacing_mm: Sequence[float],
    labels: LabelIds | None = None,
    prediction_labels: LabelIds | None = None,
    instances: bool = False,
    connectivity: Connectivity | None = None,
    iou_threshold: float = 0.1,
    ignore_labels: LabelIds = (),
) -> DetectionMetrics:
    """Match lesions one to one, and say which were found.

    Parameters
    ----------
    reference, prediction : integer array, shape (I, J, K) or (I, J)
        Label maps on one grid.
    spacing_mm : sequence of float, one for each axis
        Voxel spacing in mm.
    labels, prediction_labels : int or iterable of int, optional
        Labels (1 to 2147483647) whose union is the lesions' mask, in the reference and, where they
        differ, in the prediction; an empty sequence for a prediction that has no label for them.
        None: every label other than 0.
    instances : bool
        Each label is one lesion already; no connected components are formed.
    connectivity : {4, 6, 8, 18, 26}, optional
        Neighbours of a voxel in a component: 6, 18 or 26 in 3D, 4 or 8 in 2D; the most by default.
    iou_threshold : float
        Least IoU of a match, in (0, 1].
    ignore_labels : int or iterable of int
        Reference labels marking voxels that nobody is scored on: background on both sides.

    Returns
    -------
    DetectionMetrics
        Lesions with their Dice and volume, precision, recall and F1.

    Raises
    ------
    MetricInputError
        When the arrays or parameters have no meaning; nothing has been computed then. Or when
        there is no memory for the components.

    Examples
    --------
    >>> reference = np.zeros((20, 20, 20), np.uint8)
    >>> reference[2:6, 2:6, 2:6] = reference[12:14, 12:14, 12:14] = 1
    >>> prediction = np.zeros_like(reference)
    >>> prediction[2:6, 2:6, 3:7] = prediction[2:4, 15:18, 15:18] = 1
    >>> detection = evaluate_detection(reference, prediction, spacing_mm=(1, 1, 1))
    >>> detection.found, detection.missed, detection.spurious
    (1, 1, 1)
    >>> detection["lesion_f1"]
    0.5
    """
    reference, prediction = check_label_maps(reference, prediction)
    spacing = check_spacing(spacing_mm, reference.ndim)
    neighbours = check_connectivity(connectivity, reference.ndim)
    threshold = check_iou_threshold(iou_threshold)
    ignored = check_ignored(ignore_labels)
    ids = _ids(labels, prediction_labels)
    check_no_negative_label(reference, "reference")
    check_no_negative_label(prediction, "prediction")
    in_space = reference.ndim == IN_SPACE
    voxel_size = math.prod(spacing) / MM3_PER_ML if in_space else math.prod(spacing)
    try:
        masks = _masks(reference, prediction, ids, ignored)
        box = _content(*masks)
        first, second = (
            _instances(label_map[box], mask[box])
            if instances
            else _components(mask[box], neighbours)
            for label_map, mask in zip((reference, prediction), masks, strict=True)
        )
        lesions = _lesions(first, second, voxel_size=voxel_size, threshold=threshold)
    except MemoryError as error:
        raise memory_error(reference) from error
    return DetectionMetrics(
        lesions=lesions,
        values=_values(lesions),
        signatures=detection_signatures(
            connectivity=None if instances else neighbours,
            iou_threshold=threshold,
            ignore_labels=ignored,
            dimensions=IN_SPACE if in_space else IN_PLANE,
        ),
        size_unit="ml" if in_space else "mm2",
    )


def _ids(
    labels: LabelIds | None, prediction_labels: LabelIds | None
) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """Label ids on either side, None for all; each argument is read once, as iterators end."""
    ours = None if labels is None else label_ids(labels, "labels")
    if ours == ():
        raise MetricInputError("labels has no label id. Name at least one, or pass None for all.")
    if prediction_labels is None:
        return ours, ours
    return ours, label_ids(prediction_labels, "prediction_labels")


def _masks(
    reference: LabelMap,
    prediction: LabelMap,
    ids: tuple[tuple[int, ...] | None, tuple[int, ...] | None],
    ignored: Sequence[int],
) -> tuple[Mask, Mask]:
    """Where the lesions are on either side."""
    first, second = _mask(reference, ids[0]), _mask(prediction, ids[1])
    if ignored:
        kept = ~_mask(reference, ignored)
        return first & kept, second & kept
    return first, second


def _mask(label_map: LabelMap, ids: Sequence[int] | None) -> Mask:
    if ids is None:
        return np.asarray(label_map != 0)
    if len(ids) > _FEW_LABELS:
        return np.isin(label_map, ids)
    mask: Mask = np.zeros_like(label_map, dtype=bool)
    for label in ids:
        mask |= label_map == label
    return mask


def _content(first: Mask, second: Mask) -> tuple[slice, ...]:
    """The smallest box that holds everything: components cost by the voxel."""
    filled = first | second
    box = []
    for axis in range(filled.ndim):
        others = tuple(a for a in range(filled.ndim) if a != axis)
        where = np.flatnonzero(filled.any(axis=others))
        box.append(slice(where[0], where[-1] + 1) if where.size else slice(0, 1))
    return tuple(box)


def _instances(label_map: LabelMap, mask: Mask) -> Numbered:
    """Labels numbered from 1, without gaps."""
    # In C order, whatever the memory: of matchings that are equally good, the order decides.
    numbered: Numbered = np.zeros(mask.shape, dtype=np.int32)
    labels = np.ascontiguousarray(label_map)[mask]
    numbered[mask] = np.searchsorted(_counted(labels)[0], labels) + 1
    return numbered


def _components(mask: Mask, connectivity: Connectivity) -> Numbered:
    """Connected components numbered from 1, without gaps."""
    import cc3d  # noqa: PLC0415 - only detection needs it

    # As bytes: given bools, cc3d 4.1.1 fails on three voxels in a row, and in 2D it may number a
    # pixel of the background.
    numbered: Numbered = cc3d.connected_components(
        np.ascontiguousarray(mask).view(np.uint8), connectivity=connectivity
    )
    return numbered


def _counted(numbers: LabelMap) -> tuple[LabelMap, NDArray[np.int64]]:
    """Distinct numbers, ascending, and how often each is there."""
    # Neighbours are mostly equal: counting by runs leaves little to sort.
    ends = np.append(np.flatnonzero(numbers[1:] != numbers[:-1]), numbers.size - 1)
    if not numbers.size:
        return numbers, np.zeros(0, dtype=np.int64)
    distinct, which = np.unique(numbers[ends], return_inverse=True)
    counts = np.bincount(which, weights=np.diff(ends, prepend=-1))
    return distinct, counts.astype(np.int64)


def _lesions(
    reference: Numbered, prediction: Numbered, *, voxel_size: float, threshold: float
) -> tuple[Lesion, ...]:
    sizes = [_counted(side[side != 0])[1] for side in (reference, prediction)]
    both = (reference != 0) & (prediction != 0)
    # Number n is at n - 1 among the sizes.
    first, second = (side[both].astype(np.int64) - 1 for side in (reference, prediction))
    keys, shared = _counted(first * len(sizes[1]) + second)
    pairs = np.stack(np.divmod(keys, max(len(sizes[1]), 1)))
    totals = sizes[0][pairs[0]] + sizes[1][pairs[1]]
    iou = shared / (totals - shared)
    chosen = _matching(pairs, iou, threshold)
    found = [
        Lesion(
            reference_size=float(sizes[0][pairs[0, i]]) * voxel_size,
            prediction_size=float(sizes[1][pairs[1, i]]) * voxel_size,
            iou=float(iou[i]),
            dice=float(2 * shared[i] / totals[i]),
        )
        for i in chosen
    ]
    missed = [
        Lesion(reference_size=size * voxel_size, prediction_size=None, iou=0.0, dice=0.0)
        for size in np.delete(sizes[0], pairs[0, chosen]).tolist()
    ]
    spurious = [
        Lesion(reference_size=None, prediction_size=size * voxel_size, iou=0.0, dice=0.0)
        for size in np.delete(sizes[1], pairs[1, chosen]).tolist()
    ]
    return (*found, *missed, *spurious)


def _matching(
    pairs: NDArray[np.int64], iou: NDArray[np.float64], threshold: float
) -> NDArray[np.intp]:
    """Indices of the pairs matched: one to one, with the largest total IoU."""
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - slow to import
    from scipy.sparse import coo_array  # noqa: PLC0415
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    candidates = np.flatnonzero(iou >= threshold * (1 - RELATIVE_SLACK))
    if not candidates.size:
        return candidates
    # Lesions that overlap neither directly nor through others are matched apart, so that no large
    # table of all against all is needed.
    left, right = pairs[0, candidates], pairs[1, candidates] + pairs[0].max() + 1
    size = int(right.max()) + 1
    links = coo_array((np.ones(len(left)), (left, right)), shape=(size, size))
    group = connected_components(links, directed=False)[1][left]
    order = np.argsort(group, kind="stable")
    chosen = []
    for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        rows, row = np.unique(left[members], return_inverse=True)
        columns, column = np.unique(right[members], return_inverse=True)
        gain = np.zeros((len(rows), len(columns)))
        gain[row, column] = iou[candidates[members]]
        matched = np.zeros_like(gain, dtype=bool)
        matched[linear_sum_assignment(gain, maximize=True)] = True
        chosen.append(candidates[members[matched[row, column]]])
    return np.sort(np.concatenate(chosen))


def _values(lesions: Sequence[Lesion]) -> dict[str, Value]:
    outcomes = [lesion.outcome for lesion in lesions]
    found, missed = outcomes.count("found"), outcomes.count("missed")
    spurious = outcomes.count("spurious")
    total = found + missed + spurious
    return {
        "lesion_precision": found / (found + spurious) if found + spurious else None,
        "lesion_recall": found / (found + missed) if found + missed else None,
        "lesion_f1": 2 * found / (total + found) if total else None,
        "lesion_dice": math.fsum(lesion.dice for lesion in lesions) / total if total else None,
    }


def _restore(
    lesions: tuple[Lesion, ...],
    values: dict[str, Value],
    signatures: dict[str, str],
    size_unit: Literal["ml", "mm2"],
) -> DetectionMetrics:
    return DetectionMetrics(
        lesions=lesions, values=values, signatures=signatures, size_unit=size_unit
    )
