"""What each metric means for a ranking, and what a failure scores (DESIGN 5).

A failed attempt is a scored record, never a missing one. What it scores depends on the metric and
on the *case* (its scan's size, its reference volume), never on what any submission did, so that one
submission's failure cannot move another's score. Real values are clipped to the same bound: an
output, however bad, is never worse than no output.

Metrics live on one of two endpoints. Those of the *present* endpoint are defined where the
reference holds the structure; those of the *absent* endpoint where it does not. A case never
enters both, so no 1.0 and no 0 mm of an empty pair of masks enters a mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segtrial.contracts.attempt import Outcome
from segtrial.contracts.reading import nearest
from segtrial.errors import ResultsError

Endpoint = Literal["present", "absent"]
Worst = Literal["zero", "diagonal", "scan_volume", "relative_volume"]
Status = Literal["ok", "failed", "not_run", "unsupported"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MetricRule:
    """How one metric is read: direction, range, unit and the value of a failure.

    Attributes
    ----------
    key : str
        The metric's key in records and results.
    higher_is_better : bool
        Direction of the ranking.
    unit : str
        ``"1"`` (dimensionless), ``"mm"`` or ``"ml"``.
    high : float or None
        Upper end of the range; None where only the scan bounds it. The lower end is always 0.
    endpoint : str
        Whether it is defined where the reference holds the structure, or where it does not.
    worst : str
        What a failure counts as.
    may_be_unbounded : bool
        Whether ``{"state": "unbounded"}`` is a value of it (a distance to an empty mask).
    signed : bool
        Whether values carry a sign (prediction minus reference); their size is what is ranked.
    """

    key: str
    higher_is_better: bool
    unit: str
    high: float | None
    endpoint: Endpoint
    worst: Worst
    may_be_unbounded: bool = False
    signed: bool = False

    @property
    def reported_by_quantiles(self) -> bool:
        """Whether median and 90th percentile are reported, with failures unbounded."""
        return self.may_be_unbounded


_SHARES = (
    "dice",
    "iou",
    "nsd",
    "boundary_iou",
    "lesion_precision",
    "lesion_recall",
    "lesion_f1",
    "interactive_auc",
)
_DISTANCES = ("hd", "hd95", "hdp_pooled", "assd", "masd")
_OTHER_NAMES = {"dsc": "dice", "jaccard": "iou", "surface_dice": "nsd", "hausdorff": "hd"}
"""Names that tables use for the same metric: for the hint, because they can mean variants too."""
# Variants that carry a parameter in their key: hd90, hd95_pooled, nsd_1mm, nsd_2.5mm.
_SHARE_VARIANT = re.compile(r"nsd_\d+(\.\d+)?mm")
_DISTANCE_VARIANT = re.compile(r"hd\d{1,2}(\.\d+)?(_pooled)?")


def _share(key: str, endpoint: Endpoint = "present") -> MetricRule:
    return MetricRule(key, True, "1", 1.0, endpoint, "zero")  # noqa: FBT003 - a column of the table


def _distance(key: str) -> MetricRule:
    return MetricRule(key, False, "mm", None, "present", "diagonal", may_be_unbounded=True)  # noqa: FBT003 - as above


_RULES: dict[str, MetricRule] = {
    **{key: _share(key) for key in _SHARES},
    **{key: _distance(key) for key in _DISTANCES},
    "volume_difference_ml": MetricRule(
        "volume_difference_ml",
        higher_is_better=False,
        unit="ml",
        high=None,
        endpoint="present",
        worst="scan_volume",
        signed=True,
    ),
    "relative_volume_error": MetricRule(
        "relative_volume_error",
        higher_is_better=False,
        unit="1",
        high=None,
        endpoint="present",
        worst="relative_volume",
        signed=True,
    ),
    "specificity": _share("specificity", "absent"),
    "false_positive_ml": MetricRule(
        "false_positive_ml",
        higher_is_better=False,
        unit="ml",
        high=None,
        endpoint="absent",
        worst="scan_volume",
    ),
}


def metric_rule(key: str) -> MetricRule:
    """How the metric of that key is read.

    Parameters
    ----------
    key : str
        A metric key such as ``"dice"``, ``"hd95"`` or ``"nsd_1mm"``.

    Returns
    -------
    MetricRule
        Its direction, range, endpoint and worst value.

    Raises
    ------
    ResultsError
        For a metric nobody defined: without its direction and range it cannot be ranked.

    Examples
    --------
    >>> metric_rule("hd90").worst
    'diagonal'
    """
    if key in _RULES:
        return _RULES[key]
    if _SHARE_VARIANT.fullmatch(key):
        return _share(key)
    if _DISTANCE_VARIANT.fullmatch(key):
        return _distance(key)
    other = _OTHER_NAMES.get(key.lower())
    hint = f" Here it is called {other!r}." if other else nearest(key.lower(), _RULES)
    hint = hint or f" Known metrics: {', '.join(sorted(_RULES))}."
    raise ResultsError(
        f"The metric {key[:80]!r} is not known, so its direction and what a failure scores are "
        f"not known either.{hint}"
    )


def is_known(key: str) -> bool:
    """Whether `metric_rule` knows the metric.

    Examples
    --------
    >>> is_known("nsd_1mm"), is_known("dcie")
    (True, False)
    """
    variant = _SHARE_VARIANT.fullmatch(key) or _DISTANCE_VARIANT.fullmatch(key)
    return key in _RULES or variant is not None


def status(outcome: Outcome) -> Status:
    """The part of an outcome that scoring looks at.

    Examples
    --------
    >>> status("failed: wrong_grid")
    'failed'
    """
    if outcome == "ok":
        return "ok"
    if outcome == "unsupported":
        return "unsupported"
    return "failed" if outcome.startswith("failed") else "not_run"


def worst_values(
    rule: MetricRule, *, diagonal_mm: Floats, scan_volume_ml: Floats, reference_ml: Floats
) -> Floats:
    """What a failure counts as in a mean, case by case.

    Parameters
    ----------
    rule : MetricRule
        The metric.
    diagonal_mm, scan_volume_ml, reference_ml : float64 array, shape (C,)
        Physical diagonal and volume of each scan, and the volume of the structure in its
        reference; NaN where not known (a table of scores need not hold them).

    Returns
    -------
    float64 array, shape (C,)
        In the metric's unit; NaN where it depends on something that is not known.
    """
    if rule.worst == "zero":
        return np.zeros_like(diagonal_mm)
    if rule.worst == "diagonal":
        return diagonal_mm
    if rule.worst == "scan_volume":
        return scan_volume_ml
    known = reference_ml > 0
    return np.divide(
        scan_volume_ml, reference_ml, out=np.full_like(scan_volume_ml, np.nan), where=known
    )


def best_value(rule: MetricRule) -> float:
    """The value of a perfect output: 1 for shares, 0 for distances and volumes."""
    return rule.high or 0.0 if rule.higher_is_better else 0.0


# What a record may hold beside scores: inputs of a score, or one direction of a distance.
_NOT_A_SCORE = re.compile(
    r"(reference|prediction)_volume_ml|lesion_.*(count|volume).*|.*_to_(prediction|reference)"
)


def is_score(key: str) -> bool:
    """Whether a record's number is a score that submissions are compared by.

    Examples
    --------
    >>> is_score("dice"), is_score("reference_volume_ml")
    (True, False)
    """
    return _NOT_A_SCORE.fullmatch(key) is None
