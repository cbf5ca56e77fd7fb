"""How numbers, metrics, structures and outcomes are written on the page.

A number never appears bare: its metric decides the decimals and the unit. A value that is not a
number has a word of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

MACRO = "macro_average"
"""The key under which an analysis keeps the average over structures."""


@dataclass(frozen=True)
class MetricWords:
    """What a metric is called, its unit, and which way is better."""

    key: str
    label: str
    unit: str
    higher_is_better: bool
    decimals: int
    meaning: str


_FRACTION = {"unit": "", "higher_is_better": True, "decimals": 3}
_DISTANCE = {"unit": "mm", "higher_is_better": False, "decimals": 2}
_METRICS: dict[str, MetricWords] = {
    key: MetricWords(key=key, label=label, meaning=meaning, **kind)  # type: ignore[arg-type]
    for key, label, kind, meaning in (
        ("dice", "Dice", _FRACTION, "Overlap of the two masks, 0 to 1."),
        ("nsd", "NSD", _FRACTION, "Share of both surfaces within the tolerance of the other."),
        ("boundary_iou", "Boundary IoU", _FRACTION, "IoU of the bands along both boundaries."),
        ("iou", "IoU", _FRACTION, "Intersection over union of the two masks, 0 to 1."),
        ("hd95", "HD95", _DISTANCE, "Larger of the two directed 95th-percentile distances."),
        ("assd", "ASSD", _DISTANCE, "Mean distance between the two surfaces, both ways pooled."),
        ("masd", "MASD", _DISTANCE, "Mean of the two directed mean surface distances."),
        ("hd", "HD", _DISTANCE, "Largest distance between the two surfaces."),
        ("lesion_f1", "Lesion F1", _FRACTION, "F1 of detected lesions."),
        ("lesion_precision", "Lesion precision", _FRACTION, "Predicted lesions that are real."),
        ("lesion_recall", "Lesion recall", _FRACTION, "Real lesions that were found."),
        ("specificity", "Specificity", _FRACTION, "Cases left empty that should be."),
        (
            "false_positive_ml",
            "False-positive volume",
            {"unit": "ml", "higher_is_better": False, "decimals": 2},
            "Volume marked where the reference holds nothing.",
        ),
        ("interactive_auc", "Interactive AUC", _FRACTION, "Area under Dice over interactions."),
    )
}


def metric_words(key: str) -> MetricWords:
    """Words for a metric key; unknown keys are read by their unit suffix.

    Examples
    --------
    >>> metric_words("hd95").unit
    'mm'
    >>> metric_words("volume_difference_ml").higher_is_better
    False
    """
    if key in _METRICS:
        return _METRICS[key]
    variant = _VARIANT.fullmatch(key)
    if variant:
        return _variant(key, variant)
    label = key.replace("_", " ")
    for suffix, unit in (("_mm", "mm"), ("_ml", "ml")):
        if key.endswith(suffix):
            bare = key.removesuffix(suffix)
            if bare in _METRICS:
                return MetricWords(**{**_METRICS[bare].__dict__, "key": key})
            label = bare.replace("_", " ")
            return MetricWords(key, label.capitalize(), unit, False, 2, "")  # noqa: FBT003 - lower is better
    lower = any(word in key for word in ("distance", "difference", "error", "hd", "volume"))
    return MetricWords(key, label.capitalize(), "", not lower, 3, "")


_VARIANT = re.compile(r"(?:hd(?P<p>\d{1,2}(?:\.\d+)?)(?P<pooled>_pooled)?|nsd_(?P<mm>[\d.]+)mm)")


def _variant(key: str, found: re.Match[str]) -> MetricWords:
    """A metric with its parameter in its key: ``hd90``, ``hd95_pooled``, ``nsd_1mm``."""
    if found["mm"]:
        label = f"NSD at {found['mm']} mm"
        return MetricWords(**{**_METRICS["nsd"].__dict__, "key": key, "label": label})
    label = f"HD{found['p']}" + (" pooled" if found["pooled"] else "")
    meaning = (
        f"The {found['p']}th percentile of both directions together."
        if found["pooled"]
        else f"Larger of the two directed {found['p']}th-percentile distances."
    )
    return MetricWords(key=key, label=label, meaning=meaning, **_DISTANCE)  # type: ignore[arg-type]


def metric_order(key: str) -> tuple[int, str]:
    """Where a metric stands among others: the order of this module's table, then by name."""
    known = list(_METRICS)
    return (known.index(key) if key in _METRICS else len(known), key)


def structure_words(key: str) -> str:
    """A structure's name as people write it.

    Examples
    --------
    >>> structure_words("kidney_left")
    'kidney left'
    >>> structure_words("macro_average")
    'All structures (macro-average)'
    """
    return "All structures (macro-average)" if key == MACRO else key.replace("_", " ")


def structure_choice(key: str) -> str:
    """A structure's name in a narrow list of choices.

    Examples
    --------
    >>> structure_choice("macro_average")
    'All (macro-average)'
    """
    return "All (macro-average)" if key == MACRO else structure_words(key)


def number(value: object, decimals: int) -> str:
    """A number with its decimals, or the word for what is not one.

    Examples
    --------
    >>> number(0.95, 3), number({"state": "unbounded"}, 2), number(None, 2)
    ('0.950', 'unbounded', '\u2013')
    >>> number({"state": "not estimable"}, 2)
    'not estimable'
    """
    if isinstance(value, bool) or value is None:
        return "\u2013"
    if isinstance(value, int | float):
        return minus(f"{value:.{decimals}f}")
    if isinstance(value, Mapping):
        return str(value.get("state", "\u2013"))
    return str(value)


def minus(written: str) -> str:
    """A true minus sign, and no minus before a zero.

    Examples
    --------
    >>> minus("-0.000"), minus("-0.5")
    ('0.000', '\u22120.5')
    """
    if not written.startswith("-"):
        return written
    return written[1:] if not written.strip("-0.") else "\u2212" + written[1:]


def rank_words(low: int, high: int) -> str:
    """A rank interval.

    Examples
    --------
    >>> rank_words(1, 1), rank_words(2, 5)
    ('1', '2\u20135')
    """
    return str(low) if low == high else f"{low}\u2013{high}"


def percent(value: object, decimals: int = 0) -> str:
    """A share in percent; what is above 0 never reads as 0, what is below 1 never as 100.

    Examples
    --------
    >>> percent(0.001), percent(0.999), percent(0.5), percent(0.0)
    ('<1\u202f%', '>99\u202f%', '50\u202f%', '0\u202f%')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return number(value, decimals)
    smallest = 10.0**-decimals
    share = 100 * value
    if 0 < share < smallest / 2:
        return f"<{smallest:.{decimals}f}\u202f%"
    if 100 - smallest / 2 < share < 100:  # noqa: PLR2004 - percent
        return f">{100 - smallest:.{decimals}f}\u202f%"
    return f"{share:.{decimals}f}\u202f%"


def seconds(value: float | None) -> str:
    """A duration a person reads at once.

    Examples
    --------
    >>> seconds(0.41), seconds(12.3), seconds(754), seconds(None)
    ('0.4\u202fs', '12\u202fs', '12.6\u202fmin', '\u2013')
    """
    if value is None:
        return "\u2013"
    if value < 10:  # noqa: PLR2004 - below ten seconds a decimal matters
        return f"{value:.1f}\u202fs"
    return f"{value:.0f}\u202fs" if value < 120 else f"{value / 60:.1f}\u202fmin"  # noqa: PLR2004 - two minutes


def memory(mib: float | None) -> str:
    """A memory size.

    Examples
    --------
    >>> memory(80), memory(8400)
    ('80\u202fMiB', '8.2\u202fGiB')
    """
    if mib is None:
        return "\u2013"
    return f"{mib:.0f}\u202fMiB" if mib < 1000 else f"{mib / 1024:.1f}\u202fGiB"  # noqa: PLR2004 - three digits


def energy(joules: float | None) -> str:
    """Energy in watt-hours, the unit of a bill."""
    return "\u2013" if joules is None else f"{joules / 3600:.2f}\u202fWh"


def plural(count: int, one: str, many: str | None = None) -> str:
    """A count with its noun.

    Examples
    --------
    >>> plural(1, "entry", "entries"), plural(3, "case")
    ('1 entry', '3 cases')
    """
    return f"{count} {one}" if count == 1 else f"{count} {many or one + 's'}"


def roughly(count: int) -> str:
    """A count that was extrapolated, to two digits.

    Examples
    --------
    >>> roughly(37), roughly(42242)
    ('37', '42\u202f000')
    """
    power = 10 ** max(0, len(str(count)) - 2)
    return f"{round(count / power) * power:,}".replace(",", "\u202f")


VERDICT_WORDS: dict[str, tuple[str, str]] = {
    "clean": ("clean", "Not trained on any case of this track, by its declaration."),
    "partial": ("partly trained on", "Trained on some cases of this track."),
    "contaminated": ("trained on", "Trained on the cases of this track."),
    "images_only": ("images seen", "Trained on these scans without their labels."),
    "unknown": ("unknown", "What it was trained on was not declared, or cannot be settled."),
}
OUTCOME_WORDS: dict[str, str] = {
    "ok": "segmented",
    "failed: timeout": "over the time limit",
    "failed: out_of_memory": "out of memory",
    "failed: crash": "crashed",
    "failed: no_output": "wrote no output",
    "failed: unreadable_output": "unreadable output",
    "failed: wrong_grid": "wrong grid",
    "failed: bad_labels": "undeclared labels",
    "failed: output_too_large": "output too large",
    "not_run: platform": "not run (platform)",
    "not_run: stopped": "not run (stopped)",
    "not_run: pending": "not run yet",
    "unsupported": "structure not supported",
}
