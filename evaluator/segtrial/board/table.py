"""The ranking: one row per entry, its interval drawn in the row, nothing left out of sight.

Ranks and ties come from the paired test of the analysis, never from the overlap of the drawn
intervals: entries share their cases, and overlap would tie far too many of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from segtrial.board.columns import COLUMNS, WIDTH, Column, Frame, Row
from segtrial.board.cost import Cost
from segtrial.board.endpoint import Endpoint
from segtrial.board.entry import name_cell, verdict_badge
from segtrial.board.finding import finding
from segtrial.board.html import Markup, tag
from segtrial.board.legend import legend
from segtrial.board.svg import Scale, nice_ticks, padded
from segtrial.board.unranked import Unranked
from segtrial.board.words import metric_words, plural, structure_words
from segtrial.contracts.result import SubmissionRow

_OUTLIER = 4.0
"""A distance beyond this many medians is drawn as an arrow, so that one failure's diagonal does
not flatten every other interval."""


def ranking_table(
    endpoint: Endpoint,
    *,
    entries: Mapping[str, SubmissionRow],
    costs: Mapping[str, Cost],
    unranked: Sequence[Unranked],
    track: str,
) -> Markup:
    """The sentence that says what the ranking says, and the table.

    Parameters
    ----------
    endpoint : Endpoint
        Structure and metric to show.
    entries : mapping
        Every submission of the track by id.
    costs : mapping
        What each took, by id.
    unranked : sequence of Unranked
        Entries below the ranking, with the reason.
    track : str
        The track's key in links.
    """
    rows = [
        Row(place, r, entries[r.submission], costs.get(r.submission, Cost()), endpoint.n)
        for place, r in enumerate(endpoint.ranking, 1)
        if r.submission in entries
    ]
    frame = _frame(endpoint, rows, track)
    columns = [c for c in COLUMNS if c.key != "p90" or any(r.ranked.is_median for r in rows)]
    hide = [f"hide-{c.key}" for c in columns if not c.shown or _is_bare(c, rows)]
    table = tag(
        "table",
        _caption(endpoint, len(rows)),
        tag("thead", tag("tr", [_heading(column, frame) for column in columns])),
        tag("tbody", [_line(row, columns, frame) for row in rows], class_="ranked"),
        _below(unranked, len(columns), frame),
        class_=" ".join(["ranking", *hide]),
    )
    label = "Ranking, scrolls sideways"
    region = tag("div", table, class_="scroll", role="region", tabindex=0, aria_label=label)
    return Markup(finding(endpoint, entries) + region + (_legend(rows, frame) if rows else ""))


def _is_bare(column: Column, rows: Sequence[Row]) -> bool:
    """Whether a measured column has nothing to show, as for imported scores."""
    value = column.value
    return column.measured and value is not None and all(value(row) is None for row in rows)


def _legend(rows: Sequence[Row], frame: Frame) -> Markup:
    return legend(
        is_median=any(row.ranked.is_median for row in rows),
        has_guard=any(row.ranked.guarded.drawable for row in rows),
        has_ties=frame.tied > 1,
        has_frequencies=any(row.ranked.rank_frequency for row in rows),
    )


def _frame(endpoint: Endpoint, rows: Sequence[Row], track: str) -> Frame:
    metric = metric_words(endpoint.metric)
    ends = _ends([row for row in rows if not row.entry.baseline]) or _ends(rows)
    is_fraction = metric.unit == "" and metric.higher_is_better
    low, high = padded(ends, floor=0.0, ceil=1.0 if is_fraction else None)
    if not metric.higher_is_better and ends and median(ends) > 0:
        high = min(high, _OUTLIER * median(ends))
    return Frame(
        metric=metric,
        scale=Scale(low, high, 6, WIDTH - 6),
        ticks=nice_ticks(low, high),
        ranks=max((row.ranked.rank[1] for row in rows), default=1),
        tied=sum(row.ranked.tied_for_first for row in rows),
        track=track,
        place=f"{endpoint.structure}-{endpoint.metric}",
    )


def _ends(rows: Sequence[Row]) -> list[float]:
    return [
        value
        for row in rows
        for value in (row.ranked.interval.low, row.ranked.interval.high, row.ranked.estimate)
        if value is not None
    ]


def _caption(endpoint: Endpoint, count: int) -> Markup:
    words = (
        f"{metric_words(endpoint.metric).label} on {structure_words(endpoint.structure)}, "
        f"{plural(count, 'ranked entry', 'ranked entries')}, best first"
    )
    return tag("caption", words, class_="sr")


def _heading(column: Column, frame: Frame) -> Markup:
    label = column.heading(frame)
    sorts = column.value is not None
    if sorts:
        inner = tag("button", label, type="button", data_sort=column.key, title=column.help)
    else:
        inner = tag("span", label, title=column.help)
    return tag(
        "th",
        inner,
        _axis(frame) if column.key == "interval" else "",
        scope="col",
        class_=f"c-{column.key} {column.class_}".strip(),
        data_col=column.key,
        data_first=_first_direction(column, frame) if sorts else None,
        aria_sort="ascending" if column.key == "rank" else None,
    )


def _first_direction(column: Column, frame: Frame) -> str:
    best_on_top = frame.metric.higher_is_better if column.key == "score" else column.descending
    return "descending" if best_on_top else "ascending"


def _axis(frame: Frame) -> Markup:
    decimals = max((len(f"{tick:g}".partition(".")[2]) for tick in frame.ticks), default=0)
    labels = [
        tag("text", f"{tick:.{decimals}f}", x=f"{frame.scale(tick):g}", y="9", text_anchor="middle")
        for tick in frame.ticks
    ]
    box = f"0 0 {WIDTH:g} 11"
    size = {"width": f"{WIDTH:g}", "height": "11"}
    return tag("svg", labels, viewBox=box, aria_hidden="true", class_="axis", **size)


def _line(row: Row, columns: Sequence[Column], frame: Frame) -> Markup:
    kinds = {"tied": row.ranked.tied_for_first, "baseline": row.entry.baseline}
    return tag(
        "tr",
        [_cell(column, row, frame) for column in columns],
        class_=" ".join(kind for kind, holds in kinds.items() if holds) or None,
        data_id=row.entry.id,
        data_find=_findable(row.entry),
    )


def _cell(column: Column, row: Row, frame: Frame) -> Markup:
    is_name = column.key == "model"
    value = column.value(row) if column.value else None
    return tag(
        "th" if is_name else "td",
        column.cell(row, frame),
        scope="row" if is_name else None,
        class_=f"c-{column.key} {column.class_}".strip(),
        data_v=value,
    )


def _below(unranked: Sequence[Unranked], width: int, frame: Frame) -> Markup:
    if not unranked:
        return Markup("")
    title = f"Not ranked: {plural(len(unranked), 'entry', 'entries')}"
    head = tag("th", tag("span", title), colspan=width, scope="rowgroup")
    lines = [_unranked_line(one, width, frame) for one in unranked]
    return tag("tbody", tag("tr", head, class_="group"), lines, class_="unranked")


def _unranked_line(one: Unranked, width: int, frame: Frame) -> Markup:
    badge = verdict_badge(one.entry, place=f"un-{frame.place}")
    why = tag("div", badge, tag("span", one.reason, class_="reason"), class_="why")
    return tag(
        "tr",
        tag("td", "\u2013", class_="c-rank"),
        tag("th", name_cell(one.entry, track=frame.track), scope="row", class_="c-model"),
        tag("td", why, colspan=width - 2),
        data_id=one.entry.id,
        data_find=_findable(one.entry),
    )


def _findable(entry: SubmissionRow) -> str:
    return " ".join((entry.name, entry.licence, *entry.authors)).lower()
