"""Entries that are shown and not ranked, each with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from segtrial.board.columns import interval_words, score_words
from segtrial.board.endpoint import Endpoint, Left
from segtrial.board.track import Track
from segtrial.board.words import MetricWords, metric_words, plural, structure_words
from segtrial.contracts.result import ScoreRecord, SubmissionRow

_ORDER = {"clean": 0, "partial": 1, "contaminated": 2, "images_only": 3, "unknown": 4}


@dataclass(frozen=True)
class Unranked:
    """An entry below the ranking."""

    entry: SubmissionRow
    reason: str


def unranked(track: Track, endpoint: Endpoint) -> list[Unranked]:
    """Every entry of the track that a ranking leaves out, and why."""
    ranked = {row.submission for row in endpoint.ranking}
    left = {one.submission: one for one in endpoint.unranked}
    rows = [row for row in track.results.submissions if row.id not in ranked]
    rows.sort(key=lambda row: (_ORDER[row.verdict], row.name))
    return [Unranked(row, _reason(track, row, endpoint, left.get(row.id))) for row in rows]


def _reason(track: Track, row: SubmissionRow, endpoint: Endpoint, left: Left | None) -> str:
    records = track.records[row.id]
    if row.verdict != "clean":
        return _training(row, records)
    here = [r for r in records if r.structure == endpoint.structure] or list(records)
    missing = {r.case for r in here if r.outcome.startswith("not_run")}
    words = metric_words(endpoint.metric)
    if missing:
        cases = len({r.case for r in here})
        return (
            f"Incomplete: {len(missing)} of {plural(cases, 'case')} not run.{_bounds(left, words)}"
        )
    if (left and left.reason == "unsupported") or any(r.outcome == "unsupported" for r in here):
        return f"Does not segment {structure_words(endpoint.structure).lower()}."
    if left is not None:
        return f"{left.reason.replace('_', ' ').capitalize()}.{_bounds(left, words)}"
    return "No scores for this structure in these results."


def _training(row: SubmissionRow, records: Sequence[ScoreRecord]) -> str:
    hit = {r.case for r in records if r.eligibility != "clean"}
    cases = {r.case for r in records}
    if row.verdict == "partial" and hit:
        return (
            f"{len(hit)} of {plural(len(cases), 'case')} were in its training data; "
            "ranked only where clean on all."
        )
    return _VERDICT_REASON[row.verdict]


_VERDICT_REASON = {
    "partial": "Some cases were in its training data; ranked only where clean on all.",
    "contaminated": "Its training data hold the cases of this track.",
    "images_only": "It was trained on these scans without their labels.",
    "unknown": "What it was trained on was not declared, or cannot be settled.",
}


def _bounds(left: Left | None, words: MetricWords) -> str:
    """Between which ends its mean would lie, whatever the missing cases had scored."""
    if left is None or left.bounds.state is not None:
        return ""
    so_far = (
        f" {score_words(left.mean, words)} on what was scored;" if left.mean is not None else ""
    )
    return f"{so_far} mean {words.label} between {interval_words(left.bounds, words)} in any case."
