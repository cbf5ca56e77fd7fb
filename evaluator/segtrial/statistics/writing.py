"""Numbers and intervals as they are written into results: words for whatever is not a number."""

from __future__ import annotations

import math
from typing import Any

from segtrial.statistics.exact import published
from segtrial.statistics.intervals import Interval, NotEstimable

Json = Any
"""What `json.dumps` takes: plain dicts, lists, strings, numbers and booleans."""
Object = dict[str, Json]

UNBOUNDED = "unbounded"
NOT_ESTIMABLE = "not_estimable"


def number(value: float) -> Json:
    """A rounded number, or ``{"state": "unbounded"}``.

    Examples
    --------
    >>> number(float("inf"))
    {'state': 'unbounded'}
    """
    return {"state": UNBOUNDED} if math.isinf(value) else published(value)


def not_estimable(reason: str) -> Object:
    """The state of a number or interval that cannot be had."""
    return {"state": NOT_ESTIMABLE, "reason": reason}


def ends(interval: Interval | NotEstimable) -> Json:
    """``[low, high]``, or why there is none.

    Examples
    --------
    >>> ends(Interval(0.25, float("inf")))
    [0.25, {'state': 'unbounded'}]
    """
    if isinstance(interval, NotEstimable):
        return not_estimable(interval.reason)
    return [number(interval.low), number(interval.high)]
