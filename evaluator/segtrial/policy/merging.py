"""How two publications of a track become one: nobody's entry is dropped by somebody else's file.

Every results file of a track holds all entries that its host knows, so two hosts publish files that
overlap. The union counts: for an entry in both, the higher version; for the same version, what is
published stays, unless the publisher says that this entry is corrected. A retraction wins over
every version up to its own, whoever brings it back.

Records of different cases, signatures or settings never become one table. Such a file replaces the
published one only when it brings every entry along, re-scored; otherwise it is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

from segtrial.contracts.record import Record
from segtrial.contracts.release import Retraction
from segtrial.contracts.result import Results, SubmissionRow
from segtrial.errors import ResultsError
from segtrial.policy.versions import version_key

Row = TypeVar("Row", bound=Record)


def track_key(results: Results) -> str:
    """Name of a track in addresses and folders: ``dataset--track``."""
    return f"{results.dataset.id}--{results.track.id}"


def merge(
    published: Results | None,
    ours: Results,
    *,
    retractions: Sequence[Retraction] = (),
    corrected: Collection[str] = (),
) -> Results:
    """Records of both, without an analysis where anything changed.

    Parameters
    ----------
    published : Results or None
        What stands now.
    ours : Results
        What is to be published, of the same track.
    retractions : sequence of Retraction
        All retractions of the board.
    corrected : collection of str
        Entries of ``ours`` that replace the same version.

    Returns
    -------
    Results
        ``published`` itself when nothing changes; otherwise the union with an empty ``analysis``
        and no ``content_sha256``.

    Raises
    ------
    ResultsError
        When the two cannot be one table and ``ours`` does not bring every entry along.
    """
    key = track_key(ours)
    gone = [one for one in retractions if one.track == key]
    if published is None:
        return _without(ours, gone)
    if _same_table(published, ours):
        merged = _union(published, ours, corrected)
    else:
        _require_everybody(published, ours, gone)
        merged = ours
    merged = _without(merged, gone)
    return published if _same_records(merged, published) else merged


def is_retracted(row: SubmissionRow, retractions: Iterable[Retraction]) -> bool:
    """Whether a retraction covers this version of the entry."""
    return any(
        one.submission == row.id and version_key(row.version) <= version_key(one.version)
        for one in retractions
    )


def _same_table(one: Results, other: Results) -> bool:
    """Whether their numbers may stand side by side."""
    return (
        one.dataset.version == other.dataset.version
        and one.track == other.track
        and one.protocol == other.protocol
        and one.settings == other.settings
        and sorted(one.cases, key=lambda c: c.case) == sorted(other.cases, key=lambda c: c.case)
        and bool(one.records) == bool(other.records)
        and bool(one.records)
    )


def _require_everybody(
    published: Results, ours: Results, retractions: Sequence[Retraction]
) -> None:
    brought = {row.id: version_key(row.version) for row in ours.submissions}
    lost = [
        row.id
        for row in published.submissions
        if not is_retracted(row, retractions) and brought.get(row.id, ()) < version_key(row.version)
    ]
    if not lost:
        return
    raise ResultsError(
        f"These results of {track_key(ours)} cannot be joined with the published ones: "
        f"{_difference(published, ours)}. They may replace them only with every entry scored the "
        f"same way, and these are missing or older: {', '.join(lost[:8])}. Score them again with "
        "these settings, or publish with the published settings."
    )


def _difference(published: Results, ours: Results) -> str:
    if published.dataset.version != ours.dataset.version:
        return (
            f"the dataset is version {published.dataset.version} there, {ours.dataset.version} here"
        )
    if published.protocol != ours.protocol:
        return "metrics or limits differ"
    if published.settings != ours.settings:
        return "settings of the analysis differ"
    if published.track != ours.track:
        return "structures or tolerances differ"
    if not published.records or not ours.records:
        return "the records of single cases are not public, so they cannot be analysed together"
    return "the cases differ"


def _union(published: Results, ours: Results, corrected: Collection[str]) -> Results:
    theirs = {row.id: row for row in published.submissions}
    taken = {
        row.id
        for row in ours.submissions
        if row.id not in theirs
        or version_key(row.version) > version_key(theirs[row.id].version)
        or (row.id in corrected and row.version == theirs[row.id].version)
    }
    return ours.model_copy(
        update={
            "submissions": _joined(published.submissions, ours.submissions, "id", taken),
            "records": _joined(published.records, ours.records, "submission", taken),
            "measured": _joined(published.measured, ours.measured, "submission", taken),
            "analysis": {},
            "content_sha256": None,
        }
    )


def _joined(
    published: Iterable[Row], ours: Iterable[Row], owner: str, taken: Collection[str]
) -> tuple[Row, ...]:
    kept = [row for row in published if getattr(row, owner) not in taken]
    rows = [*kept, *(row for row in ours if getattr(row, owner) in taken)]
    return tuple(sorted(rows, key=_place))


def _place(row: Record) -> tuple[str, ...]:
    """What names a row among its kind."""
    return tuple(str(getattr(row, name, "")) for name in ("id", "submission", "case", "structure"))


def _without(results: Results, retractions: Sequence[Retraction]) -> Results:
    gone = {row.id for row in results.submissions if is_retracted(row, retractions)}
    if not gone:
        return results
    return results.model_copy(
        update={
            "submissions": tuple(r for r in results.submissions if r.id not in gone),
            "records": tuple(r for r in results.records if r.submission not in gone),
            "measured": tuple(r for r in results.measured if r.submission not in gone),
            "analysis": {},
            "content_sha256": None,
        }
    )


def _same_records(one: Results, other: Results) -> bool:
    """Whether a reader would see the same; times and the analysis follow from the rest."""
    aside = {"analysis", "content_sha256", "measured", "environment", "segtrial_version"}
    fields = [name for name in Results.model_fields if name not in aside]
    return all(_sorted(getattr(one, name)) == _sorted(getattr(other, name)) for name in fields)


def _sorted(value: object) -> object:
    if not isinstance(value, tuple):
        return value
    return sorted(value, key=_place)
