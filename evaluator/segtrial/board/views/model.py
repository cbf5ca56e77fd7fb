"""Model: one entry with all its structures, its failures, its training data and where to get it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from segtrial.board.columns import interval_words, score_words
from segtrial.board.cost import Cost
from segtrial.board.endpoint import Endpoint, Ranked
from segtrial.board.entry import evidence, granted_words
from segtrial.board.html import Markup, join, link, tag
from segtrial.board.views.parts import facts, note, plain_table, section
from segtrial.board.words import (
    OUTCOME_WORDS,
    VERDICT_WORDS,
    energy,
    memory,
    metric_words,
    number,
    percent,
    plural,
    rank_words,
    seconds,
    structure_words,
)
from segtrial.contracts.release import Release
from segtrial.contracts.result import ScoreRecord, SubmissionRow

_SHOWN = 4
"""Metrics side by side; the others are chosen on the table view."""


def model_view(
    entry: SubmissionRow,
    *,
    endpoints: Mapping[tuple[str, str], Endpoint],
    records: Sequence[ScoreRecord],
    cost: Cost,
    releases: Sequence[Release],
    track: str,
) -> Markup:
    """Everything the board knows about one entry.

    Parameters
    ----------
    entry : SubmissionRow
        The entry.
    endpoints : mapping
        All endpoints of the track.
    records : sequence of ScoreRecord
        Its own records; empty where single cases are not public.
    cost : Cost
        What it took.
    releases : sequence of Release
        Published history.
    track : str
        The track's key in links.
    """
    return Markup(
        tag("h2", entry.name, tag("span", f" {entry.version}", class_="muted"), class_="model-name")
        + (tag("p", entry.summary) if entry.summary else "")
        + _about(entry, cost)
        + section("Scores", _scores(entry, endpoints, track))
        + section("Failures", _failures(records))
        + section("Training data", evidence(entry, VERDICT_WORDS[entry.verdict][1]))
        + _history(entry, releases, track)
    )


def _history(entry: SubmissionRow, releases: Sequence[Release], track: str) -> Markup:
    """What each published version said about this entry, newest first."""
    rows = [
        (f"Version {release.number}", release.date, change.text)
        for release in sorted(releases, key=lambda one: -one.number)
        for change in release.changes
        if change.submission == entry.id and change.track == track
    ]
    if not rows:
        return Markup("")
    table = plain_table(("Board", "Date", "What changed"), rows, caption="History of the entry")
    return section("History", tag("div", table, class_="wrap"))


def _about(entry: SubmissionRow, cost: Cost) -> Markup:
    links = [link(url, word) for word, url in (("paper", entry.paper), ("code", entry.code)) if url]
    return facts(
        {
            "Authors": ", ".join(entry.authors),
            "Licence": entry.licence,
            "Links": join(links, ", ") if links else None,
            "Container image": tag("code", entry.image_digest) if entry.image_digest else None,
            "Granted": ", ".join(granted_words(entry.granted)) or "nothing beyond the contract",
            "Versions run here": entry.tries,
            "Time per case": seconds(cost.time_s) if cost.time_s else None,
            "Peak memory": memory(cost.peak_memory_mib) if cost.peak_memory_mib else None,
            "GPU memory": memory(cost.gpu_memory_mib) if cost.gpu_memory_mib else None,
            "Energy per case": energy(cost.energy_j) if cost.energy_j else None,
        }
    )


def _scores(
    entry: SubmissionRow, endpoints: Mapping[tuple[str, str], Endpoint], track: str
) -> Markup:
    metrics = list(dict.fromkeys(metric for _, metric in endpoints))[:_SHOWN]
    structures = list(dict.fromkeys(structure for structure, _ in endpoints))
    head: list[object] = ["Structure", "n"]
    for metric in metrics:
        words = metric_words(metric)
        head += [f"{words.label} {words.unit}".strip(), "Rank"]
    rows = []
    for structure in structures:
        address = f"?track={track}&structure={structure}&metric={metrics[0]}"
        sizes = [endpoint.n for (key, _), endpoint in endpoints.items() if key == structure]
        row: list[object] = [tag("a", structure_words(structure), href=address), _n(sizes)]
        for metric in metrics:
            row += _score_cells(entry, endpoints.get((structure, metric)))
        rows.append(row)
    numeric = range(1, 2 + 2 * len(metrics))
    return plain_table(head, rows, caption=f"Scores of {entry.name}", numeric=tuple(numeric))


def _n(sizes: Sequence[int | None]) -> str:
    """Patients of a structure; the metrics of one where it is absent have others."""
    return number(next((size for size in sizes if size is not None), None), 0)


def _score_cells(entry: SubmissionRow, endpoint: Endpoint | None) -> tuple[object, object]:
    found = _row_of(entry, endpoint)
    if endpoint is None or found is None:
        return ("\u2013", "\u2013")
    words = metric_words(endpoint.metric)
    score = score_words(found.estimate, words)
    below = tag("span", interval_words(found.interval, words), class_="sub")
    return ([score, below], rank_words(*found.rank))


def _row_of(entry: SubmissionRow, endpoint: Endpoint | None) -> Ranked | None:
    rows = endpoint.ranking if endpoint else ()
    return next((row for row in rows if row.submission == entry.id), None)


def _failures(records: Sequence[ScoreRecord]) -> Markup:
    """What became of the cases, by outcome; a case counts once, by its worst structure."""
    if not records:
        return note("Single cases of this dataset are not public.")
    by_case: dict[str, str] = {}
    for record in records:
        if record.outcome == "unsupported" and record.case in by_case:
            continue
        if by_case.get(record.case, "ok") in {"ok", "unsupported"}:
            by_case[record.case] = record.outcome
    counts = Counter(by_case.values())
    rows = [
        (OUTCOME_WORDS[outcome].capitalize(), count, percent(count / len(by_case), 1))
        for outcome, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    table = plain_table(("Outcome", "Cases", "Share"), rows, caption="Outcomes", numeric=(1, 2))
    return Markup(
        table + note(f"Of {plural(len(by_case), 'case')}. A failure is scored, never dropped.")
    )
