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

_MINUTES = 120
"""From here on a time reads better in minutes."""


def cost_view(endpoint: Endpoint, names: Names, costs: Mapping[str, Cost]) -> Markup:
    """Score against time and against memory, and the same in numbers."""
    ranked = [row for row in endpoint.ranking if row.submission in costs]
    time_s = {key: cost.time_s for key, cost in costs.items() if cost.time_s}
    peak_gib = {k: cost.peak_memory_mib / 1024 for k, cost in costs.items() if cost.peak_memory_mib}
    if not any(row.submission in time_s for row in ranked):
        said = "Nothing was measured: the scores were imported, or single cases are not public."
        return tag("p", said, class_="finding")
    by_time = cost_scatter(endpoint, names, time_s, axis="time per case, median", words=_ticks)
    parts = [figure(by_time)]
    if any(row.submission in peak_gib for row in ranked):
        by_memory = cost_scatter(
            endpoint, names, peak_gib, axis="peak memory", words=lambda gib: f"{gib:g}\u202fGiB"
        )
        parts.append(figure(by_memory))
    remark = note(
        "Up and to the left is better. Times and memory were measured on one host, at the runs; "
        "another machine gives others."
    )
    table = _numbers(endpoint, ranked, names, costs)
    return Markup(tag("div", parts, class_="side-by-side") + remark + table)


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
