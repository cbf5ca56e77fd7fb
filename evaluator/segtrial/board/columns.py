"""The columns of the ranking: what each says about one entry, and what it sorts by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from segtrial.board.cost import Cost
from segtrial.board.endpoint import Interval, Ranked
from segtrial.board.entry import name_cell, verdict_badge
from segtrial.board.html import Markup, tag
from segtrial.board.svg import Scale, grid_lines, guard_mark, interval_mark, picture, sparkline
from segtrial.board.words import (
    MetricWords,
    energy,
    memory,
    number,
    percent,
    rank_words,
    seconds,
)
from segtrial.contracts.result import SubmissionRow

WIDTH, HEIGHT = 210.0, 20.0
"""Of the drawn interval, in pixels."""


@dataclass(frozen=True)
class Row:
    """One ranked entry, with all its columns need."""

    place: int
    """Position in the ranking, from 1."""
    ranked: Ranked
    entry: SubmissionRow
    cost: Cost
    n: int | None


@dataclass(frozen=True)
class Frame:
    """What all rows of one table share."""

    metric: MetricWords
    scale: Scale
    ticks: Sequence[float]
    ranks: int
    tied: int
    track: str
    place: str


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column."""

    key: str
    help: str
    cell: Callable[[Row, Frame], object]
    value: Callable[[Row], object] | None = None
    """What it sorts by; None where sorting means nothing."""
    label: Callable[[Frame], str] | None = None
    """Its heading; the key by default."""
    shown: bool = True
    class_: str = "num"
    descending: bool = False
    """Whether the first click puts the largest on top."""
    measured: bool = False
    """Whether it is of the run, so that scores without a run have none."""

    def heading(self, frame: Frame) -> str:
        """Words above the column."""
        return self.label(frame) if self.label else self.key.capitalize()


def _rank_cell(row: Row, frame: Frame) -> object:
    low, high = row.ranked.rank
    scale = Scale(1, max(2, frame.ranks), 3, 49)
    strip = picture(
        tag("path", class_="base", d="M1 3H51"),
        tag("path", class_="bar", d=f"M{scale(low) - 2:g} 3H{scale(high) + 2:g}"),
        width=52,
        height=6,
        class_="strip",
        title=f"Rank interval {rank_words(low, high)} of {frame.ranks}",
    )
    is_tied = row.ranked.tied_for_first and frame.tied > 1
    mark = tag("span", "tied 1st", class_="tie") if is_tied else ""
    return [tag("span", rank_words(low, high), class_="rank"), mark, strip]


def _interval_cell(row: Row, frame: Frame) -> object:
    ranked, middle = row.ranked, HEIGHT / 2
    off = _off_scale(ranked.estimate, frame.scale)
    mark: list[Markup] = []
    if off:
        mark = [tag("path", class_="off", d=off)]
    else:
        if ranked.guarded.low is not None and ranked.guarded.high is not None:
            low, high = ranked.guarded.low, ranked.guarded.high
            mark = [guard_mark(frame.scale, low=low, high=high, y=middle)]
        drawn = interval_mark(
            frame.scale,
            low=ranked.interval.low,
            high=ranked.interval.high,
            middle=ranked.estimate,
            y=middle,
        )
        mark.append(drawn)
    score = score_words(ranked.estimate, frame.metric)
    return picture(
        grid_lines(frame.scale, frame.ticks, top=0, bottom=HEIGHT),
        mark,
        width=WIDTH,
        height=HEIGHT,
        class_="interval",
        title=f"{score}, interval {interval_words(ranked.interval, frame.metric)}"
        + _guarded_words(ranked, frame),
    )


def _guarded_words(ranked: Ranked, frame: Frame) -> str:
    if ranked.guarded.state is not None:
        return ""
    words = interval_words(ranked.guarded, frame.metric)
    return f", {words} with failures that nobody has seen yet"


def _off_scale(estimate: float | None, scale: Scale) -> str | None:
    """An arrow at the edge for an estimate that the scale leaves out."""
    if estimate is None or estimate > scale.high:
        return f"M{WIDTH - 9:g} {HEIGHT / 2 - 4:g}l6 4l-6 4"
    return f"M9 {HEIGHT / 2 - 4:g}l-6 4l6 4" if estimate < scale.low else None


def _ci_cell(row: Row, frame: Frame) -> object:
    return interval_words(row.ranked.interval, frame.metric)


def interval_words(interval: Interval, metric: MetricWords) -> str:
    """An interval in numbers, or the word for why there is none."""
    if interval.state is not None:
        return _STATES.get(interval.state, interval.state)
    ends = [score_words(end, metric) for end in (interval.low, interval.high)]
    return "\u2013".join(ends)


def _failures_cell(row: Row, _frame: Frame) -> object:
    rate, interval = row.ranked.failure_rate, row.ranked.failure_interval
    if rate is None:
        return "\u2013"
    up_to = (
        tag(
            "span",
            f"\u2264{percent(interval.high, 1)}",
            class_="sub",
            title="Upper end of its 95 % interval",
        )
        if interval.high is not None
        else ""
    )
    return [tag("span", percent(rate, 1), class_="bad" if rate > 0 else None), up_to]


def _frequency_cell(row: Row, _frame: Frame) -> object:
    shares = row.ranked.rank_frequency
    if not shares:
        return "\u2013"
    first = percent(shares[0])
    return [
        sparkline(
            shares, width=64, height=18, title=f"Rank frequencies; first in {first} of resamples"
        ),
        tag("span", first, class_="sub"),
    ]


_STATES = {"zero variance": "no spread"}
"""Why there is no interval, for people who do not read formulas."""


def score_words(value: float | None, metric: MetricWords) -> str:
    """A score with its metric's decimals."""
    return "unbounded" if value is None else number(value, metric.decimals)


_CHOICE_WORDS = {
    "ci": "Interval in numbers",
    "interval": "Interval drawn",
    "p90": "p90",
    "n": "n",
    "gpu": "GPU memory",
    "frequency": "Rank frequency",
    "training": "Training data",
}
COLUMNS = (
    Column(
        key="rank",
        help="Interval of ranks that the paired tests leave open",
        cell=_rank_cell,
        value=lambda r: r.place,
        class_="",
    ),
    Column(
        key="model",
        help="Entry, version, licence and links",
        cell=lambda r, f: name_cell(r.entry, track=f.track),
        value=lambda r: r.entry.name.lower(),
        class_="",
    ),
    Column(
        key="score",
        help="Mean over patients; for distances the median",
        label=lambda f: f"{f.metric.label} {f.metric.unit}".strip(),
        cell=lambda r, f: score_words(r.ranked.estimate, f.metric),
        value=lambda r: r.ranked.estimate,
        descending=True,
    ),
    Column(
        key="interval",
        help="Interval of the score, drawn to scale; the faint line also allows for failures that "
        "nobody has seen yet",
        label=lambda _f: "95\u202f% interval",
        cell=_interval_cell,
        class_="draw",
    ),
    Column(
        key="ci",
        help="Interval of the score in numbers",
        label=lambda _f: "from\u2013to",
        cell=_ci_cell,
        class_="num muted",
    ),
    Column(
        key="p90",
        help="90th percentile over patients, failures unbounded",
        label=lambda _f: "p90",
        cell=lambda r, f: score_words(r.ranked.p90, f.metric),
        value=lambda r: r.ranked.p90,
    ),
    Column(
        key="failures",
        help="Share of cases without a usable output; scored as the worst value",
        cell=_failures_cell,
        value=lambda r: r.ranked.failure_rate,
    ),
    Column(
        key="n",
        help="Patients with this structure",
        label=lambda _f: "n",
        cell=lambda r, _f: number(r.n, 0),
        value=lambda r: r.n,
        class_="num muted",
        descending=True,
    ),
    Column(
        key="frequency",
        help="How often each rank came out in bootstrap resamples; the number is how often first",
        label=lambda _f: "Rank frequency",
        cell=_frequency_cell,
        value=lambda r: r.ranked.rank_frequency[0] if r.ranked.rank_frequency else None,
        class_="freq",
        descending=True,
    ),
    Column(
        key="training",
        help="Whether it was trained on these cases; click for the evidence",
        label=lambda _f: "Training data",
        cell=lambda r, f: verdict_badge(r.entry, place=f.place),
        value=lambda r: r.entry.verdict,
        class_="",
    ),
    Column(
        key="time",
        help="Median wall time per case",
        measured=True,
        cell=lambda r, _f: seconds(r.cost.time_s),
        value=lambda r: r.cost.time_s,
    ),
    Column(
        key="memory",
        help="Highest memory of any case",
        measured=True,
        cell=lambda r, _f: memory(r.cost.peak_memory_mib),
        value=lambda r: r.cost.peak_memory_mib,
        shown=False,
    ),
    Column(
        key="gpu",
        help="Highest GPU memory of any case",
        measured=True,
        label=lambda _f: "GPU memory",
        cell=lambda r, _f: memory(r.cost.gpu_memory_mib),
        value=lambda r: r.cost.gpu_memory_mib,
        shown=False,
    ),
    Column(
        key="energy",
        help="Median energy per case",
        measured=True,
        cell=lambda r, _f: energy(r.cost.energy_j),
        value=lambda r: r.cost.energy_j,
        shown=False,
    ),
    Column(
        key="tries",
        help="Versions of this entry run on this track so far",
        cell=lambda r, _f: r.entry.tries,
        value=lambda r: r.entry.tries,
        class_="num muted",
    ),
)
"""Every column, in order."""
CHOICES = tuple(
    (column.key, _CHOICE_WORDS.get(column.key, column.key.capitalize()), column.shown)
    for column in COLUMNS
    if column.key not in {"rank", "model"}
)
"""Key, name and default visibility of the columns a visitor may hide."""
