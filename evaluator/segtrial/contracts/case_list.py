"""Lists of case ids as people write them: single ids and ranges such as ``case_00400..case_00588``.

A range counts up the last number of the id and keeps its width and what stands around it, so a
card of 1,228 cases stays readable. What is kept in a record is always the full list.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from segtrial.contracts.record import Line

MAX_CASES = 200_000
_RANGE = "{}..{}"
_LAST_NUMBER = re.compile(r"^(?P<before>.*?)(?P<number>\d+)(?P<after>\D*)$")


def expand(entries: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Every case id that a written list means, in its order.

    Parameters
    ----------
    entries : sequence of str
        Case ids and ranges ``FIRST..LAST``.

    Raises
    ------
    ValueError
        For a range whose ends do not differ in their last number alone, that runs backwards, for
        more than 200,000 ids, or for an id that is listed twice.

    Examples
    --------
    >>> expand(["case_00008..case_00010", "case_00400"])
    ('case_00008', 'case_00009', 'case_00010', 'case_00400')
    """
    found: dict[str, None] = {}
    for entry in entries:
        for case in _range(entry) if ".." in entry else (entry,):
            if case in found:
                raise ValueError(f"case {case[:80]!r} is listed twice; keep one")
            found[case] = None
    return tuple(found)


def _range(entry: str) -> list[str]:
    first, _, last = (part.strip() for part in entry.partition(".."))
    start, stop = _LAST_NUMBER.match(first), _LAST_NUMBER.match(last)
    if (
        not start
        or not stop
        or start["before"] != stop["before"]
        or start["after"] != stop["after"]
    ):
        raise ValueError(
            f"{entry[:80]!r} is not a range; the ends may differ in their last number only, "
            "as in 'case_00400..case_00588'"
        )
    low, high = int(start["number"]), int(stop["number"])
    if not low <= high < low + MAX_CASES:
        raise ValueError(f"the range {entry[:80]!r} runs backwards or is too long")
    padded = len(start["number"]) if len(start["number"]) == len(stop["number"]) else 0
    return [f"{start['before']}{n:0{padded}d}{start['after']}" for n in range(low, high + 1)]


def compact(cases: tuple[str, ...]) -> tuple[str, ...]:
    """The inverse of `expand`: runs of three or more ids as ranges, for people to read.

    Examples
    --------
    >>> compact(("s0001", "s0002", "s0003", "s0007"))
    ('s0001..s0003', 's0007')
    """
    runs: list[list[str]] = []
    for case in cases:
        if runs and _follows(runs[-1][-1], case):
            runs[-1].append(case)
        else:
            runs.append([case])
    shown = [
        [_RANGE.format(run[0], run[-1])] if len(run) > 2 else run  # noqa: PLR2004 - a pair is not a run
        for run in runs
    ]
    return tuple(part for run in shown for part in run)


def _follows(one: str, other: str) -> bool:
    a, b = _LAST_NUMBER.match(one), _LAST_NUMBER.match(other)
    if not a or not b or (a["before"], a["after"]) != (b["before"], b["after"]):
        return False
    if len(a["number"]) != len(b["number"]) and "0" in (a["number"][0], b["number"][0]):
        return False
    return int(b["number"]) == int(a["number"]) + 1


def _expanded(value: Any) -> Any:  # noqa: ANN401 - whatever the file held; pydantic checks it
    if isinstance(value, (list, tuple)) and all(isinstance(entry, str) for entry in value):
        return expand(value)
    return value


CaseList = Annotated[
    tuple[Line, ...],
    Field(max_length=MAX_CASES, description="Case ids and ranges FIRST..LAST."),
    BeforeValidator(_expanded),
]
