"""What changed between two published results of a track, and why a rank moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from segtrial.contracts.release import Change, Retraction
from segtrial.contracts.result import Results, ScoreRecord, SubmissionRow
from segtrial.policy.merging import is_retracted, track_key

_NAMED = 4
"""A reason names at most so many entries."""
_ABBREVIATION = 3
"""Letters of NSD and IoU."""


def changes(
    before: Results | None, after: Results, *, retractions: Sequence[Retraction] = ()
) -> tuple[Change, ...]:
    """Everything that a reader sees differently, entries first, ranks last.

    Parameters
    ----------
    before : Results or None
        What was published; None for a new track.
    after : Results
        What is published now, analysed.
    retractions : sequence of Retraction
        All retractions of the board.
    """
    key = track_key(after)
    if before is None:
        count = len(after.submissions)
        return (Change(track=key, kind="added", text=f"New track with {count} entries."),)
    entries = list(_entry_changes(before, after, key, retractions))
    method = list(_method_changes(before, after, key))
    return (*entries, *method, *_rank_changes(before, after, key, [*entries, *method]))


def _entry_changes(
    before: Results, after: Results, key: str, retractions: Sequence[Retraction]
) -> Iterator[Change]:
    old = {row.id: row for row in before.submissions}
    new = {row.id: row for row in after.submissions}
    for row in after.submissions:
        if row.id not in old:
            text = f"{row.name} {row.version} is new."
            yield Change(track=key, kind="added", submission=row.id, text=text)
        else:
            yield from _one_entry(old[row.id], row, before, after, key)
    for row in before.submissions:
        if row.id not in new:
            reason = _reason(row, [one for one in retractions if one.track == key])
            text = f"{row.name} {row.version} was retracted{reason}"
            yield Change(track=key, kind="retracted", submission=row.id, text=text)


def _one_entry(
    old: SubmissionRow, new: SubmissionRow, before: Results, after: Results, key: str
) -> Iterator[Change]:
    if old.version != new.version:
        text = f"{new.name} went from version {old.version} to {new.version}."
        yield Change(track=key, kind="version", submission=new.id, text=text)
    elif _records(before, new.id) != _records(after, new.id):
        text = f"{new.name} {new.version} was corrected: its records changed."
        yield Change(track=key, kind="corrected", submission=new.id, text=text)
    if old.verdict != new.verdict:
        text = f"Training data of {new.name}: {old.verdict} before, {new.verdict} now."
        yield Change(track=key, kind="verdict", submission=new.id, text=text)


def _records(results: Results, submission: str) -> list[ScoreRecord]:
    mine = [record for record in results.records if record.submission == submission]
    return sorted(mine, key=lambda record: (record.case, record.structure))


def _reason(row: SubmissionRow, retractions: Sequence[Retraction]) -> str:
    found = next((one for one in retractions if is_retracted(row, [one])), None)
    return f": {found.reason}" if found else "."


def _method_changes(before: Results, after: Results, key: str) -> Iterator[Change]:
    if before.dataset.version != after.dataset.version:
        text = f"The dataset went from version {before.dataset.version} to {after.dataset.version}."
        yield Change(track=key, kind="method", text=text)
    if before.protocol.signatures != after.protocol.signatures:
        text = "Metrics changed; every entry was scored again."
        yield Change(track=key, kind="method", text=text)
    named = sorted(k for k in {*before.settings, *after.settings} if _differs(before, after, k))
    if named:
        text = f"Settings of the analysis changed: {', '.join(named)}."
        yield Change(track=key, kind="method", text=text)


def _differs(before: Results, after: Results, setting: str) -> bool:
    return bool(before.settings.get(setting) != after.settings.get(setting))


def _rank_changes(
    before: Results, after: Results, key: str, causes: Sequence[Change]
) -> Iterator[Change]:
    """Moves on the endpoints that a track is ranked by, each with the cause."""
    names = {row.id: row.name for row in (*before.submissions, *after.submissions)}
    for structure, metric in _primary(after):
        old = _ranks(before, structure, metric)
        new = _ranks(after, structure, metric)
        # Who is in neither ranking moved nobody in it.
        ranked = [c for c in causes if c.submission is None or c.submission in {*old, *new}]
        for submission, ranks in new.items():
            if submission in old and old[submission] != ranks:
                why = _why(submission, ranked, names)
                text = (
                    f"{names[submission]}: rank {_span(old[submission])} is now {_span(ranks)} "
                    f"({_endpoint(structure, metric)}), because {why}."
                )
                yield Change(track=key, kind="rank", submission=submission, text=text)


def _primary(results: Results) -> Iterator[tuple[str, str]]:
    """The macro-average where there is one, else every structure; primary metrics only."""
    average = results.analysis.get("macro_average")
    blocks = {"macro_average": average} if average else results.analysis
    for structure, block in blocks.items():
        for metric, body in block.items():
            if body.get("role") == "primary":
                yield structure, metric


def _ranks(results: Results, structure: str, metric: str) -> dict[str, tuple[int, int]]:
    body: Mapping[str, Any] = results.analysis.get(structure, {}).get(metric, {})
    return {row["submission"]: tuple(row["rank_interval"]) for row in body.get("ranking", ())}


def _endpoint(structure: str, metric: str) -> str:
    where = "macro-average" if structure == "macro_average" else structure.replace("_", " ")
    return f"{metric.upper() if len(metric) == _ABBREVIATION else metric.capitalize()}, {where}"


def _span(ranks: tuple[int, int]) -> str:
    return str(ranks[0]) if ranks[0] == ranks[1] else f"{ranks[0]}\u2013{ranks[1]}"


def _why(submission: str, causes: Sequence[Change], names: Mapping[str, str]) -> str:
    if any(cause.kind == "method" for cause in causes):
        return "the method or the data changed"
    own = [c for c in causes if c.submission == submission and c.kind in {"version", "corrected"}]
    if own:
        return "its own scores changed"
    verbs = {
        "added": "was added",
        "retracted": "was retracted",
        "version": "has a new version",
        "corrected": "was corrected",
        "verdict": "has another training verdict",
    }
    reasons = [f"{names[c.submission]} {verbs[c.kind]}" for c in causes if c.submission]
    if not reasons:
        return "the comparison with others changed"
    if len(reasons) > _NAMED:
        return f"{', '.join(reasons[:_NAMED])} and {len(reasons) - _NAMED} more changed"
    return " and ".join(filter(None, [", ".join(reasons[:-1]), reasons[-1]]))
