"""Compare: the shell of the view and the numbers it draws from; the drawing is the page's script.

Any two entries can be compared, so the pictures are made where the choice is made. What is sent is
one list of values for each entry, over the cases where the reference holds the structure, with a
word in place of a number where there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from segtrial.board.endpoint import Endpoint, Interval, Pair
from segtrial.board.html import Markup, tag
from segtrial.board.words import OUTCOME_WORDS, metric_words
from segtrial.contracts.result import Results, ScoreRecord, Unbounded

_ABSENT_METRICS = frozenset({"specificity", "false_positive_ml"})


def compare_shell() -> Markup:
    """What the script fills: two choices and a place for the answer."""
    choices = [
        tag("label", label, tag("select", id=key)) for key, label in (("a", "A"), ("b", "B"))
    ]
    swap = tag("button", "Swap", type="button", class_="button", id="swap")
    return Markup(
        tag("div", choices, swap, class_="controls")
        + tag("div", id="comparison", aria_live="polite")
    )


def compare_data(
    results: Results, structure: str, endpoints: dict[str, Endpoint]
) -> dict[str, Any]:
    """Per-case values of one structure, and the verdict on every pair.

    Parameters
    ----------
    results : Results
        As published; without per-case records there are only the pairs.
    structure : str
        A structure, or the macro-average.
    endpoints : dict
        Its endpoints by metric.
    """
    cases = [
        case
        for case in results.cases
        if any(case.reference_ml.get(s, 0) > 0 for s in _parts(results, structure))
    ]
    found = {(r.submission, r.case): r for r in results.records if r.structure == structure}
    return {
        "cases": [[case.case, case.slices] for case in cases],
        "metrics": {
            metric: _metric(endpoint, found, [case.case for case in cases])
            for metric, endpoint in endpoints.items()
        },
    }


def _metric(
    endpoint: Endpoint, found: Mapping[tuple[str, str], ScoreRecord], cases: list[str]
) -> dict[str, Any]:
    words = metric_words(endpoint.metric)
    by_case = bool(found) and endpoint.metric not in _ABSENT_METRICS
    return {
        "label": words.label,
        "unit": words.unit,
        "decimals": words.decimals,
        "higher": words.higher_is_better,
        "order": [row.submission for row in endpoint.ranking],
        "pairs": [_pair(pair) for pair in endpoint.pairs],
        "values": {
            row.submission: [
                _value(found.get((row.submission, case)), endpoint.metric) for case in cases
            ]
            for row in endpoint.ranking
        }
        if by_case
        else {},
    }


def _parts(results: Results, structure: str) -> tuple[str, ...]:
    return (structure,) if structure in results.track.structures else ()


def _pair(pair: Pair) -> list[Any]:
    return [
        pair.a,
        pair.b,
        pair.difference,
        *_ends(pair.interval),
        pair.p_adjusted,
        pair.verdict,
        pair.patients_needed,
    ]


def _ends(interval: Interval) -> list[float | None]:
    return [interval.low, interval.high]


def _value(record: ScoreRecord | None, metric: str) -> float | str:
    """A number, or the word for what became of the case."""
    if record is None:
        return "not run"
    if record.outcome != "ok":
        return OUTCOME_WORDS[record.outcome]
    value = record.metrics.get(metric)
    if value is None:
        return "not scored"
    return "unbounded" if isinstance(value, Unbounded) else float(f"{value:.6g}")
