"""Cost: what an entry takes per case, against what it scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from segtrial.board.cost import Cost
from segtrial.board.endpoint import Endpoint, Ranked
from segtrial.board.html import Markup, tag
from segtrial.board.plots import Names
from segtrial.board.plots.cost_scatter import cost_scatter
from segtrial.board.views.parts import figure, note, plain_table
from segtrial.board.words import energy, memory, metric_words, number, seconds

_GIB = 1024
"""In MiB."""
_MINUTES = 120
"""From here on a time reads better in minutes."""


def cost_view(endpoint: Endpoint, names: Names, costs: Mapping[str, Cost]) -> Markup:
    """Score against time and against memory, and the same in numbers."""
    ranked = [row for row in endpoint.ranking if row.submission in costs]
    time_s = {key: cost.time_s for key, cost in costs.items() if cost.time_s}
    peak_mib = {key: cost.peak_memory_mib for key, cost in costs.items() if cost.peak_memory_mib}
    if not any(row.submission in time_s for row in ranked):
        said = "Nothing was measured: the scores were imported, or single cases are not public."
        return tag("p", said, class_="finding")
    by_time = cost_scatter(endpoint, names, time_s, axis="time per case, median", words=_ticks)
    parts = [figure(by_time, class_="cost")]
    if any(row.submission in peak_mib for row in ranked):
        unit, size = ("MiB", 1) if min(peak_mib.values()) < _GIB else ("GiB", _GIB)
        by_memory = cost_scatter(
            endpoint,
            names,
            {key: mib / size for key, mib in peak_mib.items()},
            axis="peak memory",
            words=lambda amount: f"{amount:g}\u202f{unit}",
        )
        parts.append(figure(by_memory, class_="cost"))
    lead = _finding(ranked, names, time_s)
    remark = note(
        "Up and to the left is better. Times and memory were measured on one host, at the runs; "
        "another machine gives others."
    )
    table = _numbers(endpoint, ranked, names, costs)
    return Markup(lead + tag("div", parts, class_="side-by-side") + remark + table)


def _finding(rows: Sequence[Ranked], names: Names, time_s: Mapping[str, float]) -> Markup:
    """How fast the first are, and who is fastest of all."""
    timed = [(time_s[r.submission], r) for r in rows if r.submission in time_s]
    timed.sort(key=lambda one: one[0])
    first = [(took, row) for took, row in timed if row.tied_for_first]
    fastest_s, fastest = timed[0]
    if not first:
        strong, rest = names[fastest.submission], f" is the fastest, {seconds(fastest_s)} a case."
    else:
        took_s, row = first[0]
        strong = names[row.submission]
        among = (
            f", the fastest of {len(first)} tied for first"
            if len(first) > 1
            else ", which is first"
        )
        rest = f"{among}, takes {seconds(took_s)} a case"
        rest += (
            ", and no entry is faster."
            if row is fastest
            else f"; the fastest of all is {names[fastest.submission]}, {seconds(fastest_s)}."
        )
    return tag("p", tag("strong", strong), rest, class_="finding")


def _ticks(time_s: float) -> str:
    return f"{time_s:g}\u202fs" if time_s < _MINUTES else seconds(time_s)


def _numbers(
    endpoint: Endpoint, rows: Sequence[Ranked], names: Names, costs: Mapping[str, Cost]
) -> Markup:
    metric = metric_words(endpoint.metric)
    head = ("Model", metric.label, "Time", "Peak memory", "GPU memory", "Energy")
    cells = []
    for row in rows:
        cost = costs[row.submission]
        score = "unbounded" if row.estimate is None else number(row.estimate, metric.decimals)
        cells.append(
            (
                names[row.submission],
                score,
                seconds(cost.time_s),
                memory(cost.peak_memory_mib),
                memory(cost.gpu_memory_mib),
                energy(cost.energy_j),
            )
        )
    return plain_table(head, cells, caption="Cost of every ranked entry", numeric=(1, 2, 3, 4, 5))
