"""Cells of a table of scores: names, outcomes, values, sizes, and numbers cut in groups."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from segtrial.contracts.attempt import OUTCOMES, Outcome
from segtrial.contracts.reading import nearest
from segtrial.contracts.result import CaseRow, Unbounded, Value
from segtrial.errors import ResultsError

Row = Mapping[str, str]
"""One row of a table: text by column."""
_MOST_LEVELS = 12
"""A numeric slice with more values than this is cut in thirds."""
_LARGEST_SIZE, _SMALLEST_SIZE = 1e7, 1e-9
"""Of a scan or structure, in mm or ml: a hundred times beyond what exists, and 1 cubic micron."""
_UNBOUNDED_WORDS = frozenset({"inf", "+inf", "infinity", "unbounded"})


def slug_of(name: str, separator: str) -> str:
    """A name as an id; empty if nothing of it can be in one.

    Examples
    --------
    >>> slug_of("nnU-Net v2", "-")
    'nnu-net-v2'
    """
    plain = re.sub(r"[^a-z0-9_-]+", separator, name.lower())
    return plain.strip("_-")[:63].rstrip("_-")


def named(written: str, kind: str) -> str:
    """A name without the spaces around it; an error if nothing is left."""
    name = written.strip()
    if not name:
        raise ResultsError(
            f"The {kind} is empty. Every row names submission, case, structure, metric."
        )
    return printable(name, kind)


def printable(text: str, kind: str) -> str:
    """The text itself; an error if it holds a control character, which no page may repeat."""
    if text.isprintable():
        return text
    raise ResultsError(
        f"The {kind} {text[:80]!r} holds a character that cannot be printed. Take it out."
    )


def outcome_and_value(row: Row) -> tuple[Outcome, Value | None]:
    """What became of the run, and the value where it is ok.

    Raises
    ------
    ResultsError
        For an empty value without an outcome, an outcome that is not known, a failure with a value.
    """
    text, word = row["value"].strip(), row.get("outcome", "").strip()
    if not word:
        if not text:
            raise ResultsError(
                "The value is empty and there is no outcome. Write 'failed: crash' (or another "
                "failure) if the submission gave no usable output, 'unsupported' if it does not "
                "claim the structure; leave the row out if it was not run."
            )
        return "ok", _value(text)
    outcome = next((known for known in OUTCOMES if known == word), None)
    if outcome is None:
        raise ResultsError(
            f"The outcome {word!r} is not known.{nearest(word, OUTCOMES)} "
            f"Outcomes: {', '.join(OUTCOMES)}."
        )
    if outcome == "ok":
        if not text:
            raise ResultsError("The outcome is ok, but the value is empty. Write the value.")
        return "ok", _value(text)
    if text:
        raise ResultsError(
            f"The outcome is {outcome!r}, and there is the value {text!r} as well. "
            "Only an ok output has values: empty one of the two."
        )
    return outcome, None


def _value(text: str) -> Value:
    if text.lower() in _UNBOUNDED_WORDS:
        return Unbounded()
    value = _number(text)
    if not math.isfinite(value):
        raise ResultsError(
            f"The value {text!r} is not a number. Write a number with a decimal point, 'unbounded' "
            "for a distance to an empty mask, or leave it empty and give the outcome."
        )
    return value


def size_of(text: str, column: str, case: str) -> float | None:
    """A size in mm or ml; None where the cell is empty."""
    if not text:
        return None
    size = _number(text)
    if not (math.isfinite(size) and size >= 0):
        raise ResultsError(
            f"Column {column!r} of case {case!r} is {text!r}; it must be a number, 0 or larger."
        )
    if size > _LARGEST_SIZE or 0 < size < _SMALLEST_SIZE:
        raise ResultsError(
            f"Column {column!r} of case {case!r} is {text!r}, which no scan measures. Check the "
            "unit: mm or ml, as the column's name says."
        )
    return size


def _number(text: str) -> float:
    """A number as tables write it; NaN for anything else (Python would take 0_9 for 9)."""
    try:
        return math.nan if "_" in text else float(text)
    except ValueError:
        return math.nan


def with_bands(cases: Sequence[CaseRow]) -> tuple[CaseRow, ...]:
    """Cases whose numeric slices of many values are cut in thirds: a single value is no group."""
    bands: dict[str, tuple[float, float]] = {}
    for name in sorted({name for case in cases for name in case.slices}):
        values = [case.slices[name] for case in cases if name in case.slices]
        if len(set(values)) > _MOST_LEVELS and all(_is_number(value) for value in values):
            ascending = sorted(float(value) for value in values)
            bands[name] = (
                ascending[len(ascending) // 3],
                ascending[2 * len(ascending) // 3],
            )
    return tuple(
        case.model_copy(
            update={
                "slices": {
                    name: _band(value, *bands[name]) if name in bands else value
                    for name, value in case.slices.items()
                }
            }
        )
        for case in cases
    )


def _band(value: str, low: float, high: float) -> str:
    number = float(value)
    if number < low:
        return f"below {low:g}"
    return f"{low:g} to below {high:g}" if number < high else f"{high:g} and above"


def _is_number(text: str) -> bool:
    return math.isfinite(_number(text))
