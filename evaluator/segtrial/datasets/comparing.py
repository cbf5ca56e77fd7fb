"""``evaluate datasets diff``: what changed between two versions of a dataset, and what it touches.

A corrected reference or a withdrawn patient is a new version. Results name the dataset, its version
and the track, and hold pseudonyms of cases, so what can be said of them from outside is: which
results were made on cases, structures, labels or tolerances that have changed since.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from segtrial.contracts.case_list import compact
from segtrial.contracts.dataset_card import DatasetCard, Track
from segtrial.contracts.result import Results
from segtrial.datasets.records import Case, Dataset


@dataclass(frozen=True)
class TrackChange:
    """What is different for one track."""

    track: str
    added: tuple[str, ...]
    withdrawn: tuple[str, ...]
    corrected: tuple[str, ...]
    """Cases whose reference or scan holds other voxels."""
    structures: tuple[str, ...]
    """Structures that are new, gone, or made of other label ids."""
    tolerances: tuple[str, ...]
    """Structures with another tolerance."""

    @property
    def touches(self) -> bool:
        """Whether results of the track say something else now."""
        return bool(
            self.added or self.withdrawn or self.corrected or self.structures or self.tolerances
        )


@dataclass(frozen=True)
class DatasetChange:
    """What is different between two versions."""

    old: str
    new: str
    tracks: tuple[TrackChange, ...]
    tracks_added: tuple[str, ...]
    tracks_gone: tuple[str, ...]


def compare(
    old: DatasetCard,
    new: DatasetCard,
    *,
    old_files: Dataset | None = None,
    new_files: Dataset | None = None,
) -> DatasetChange:
    """What changed from one version of a dataset to another.

    Parameters
    ----------
    old, new : DatasetCard
    old_files, new_files : Dataset, optional
        Both versions on this machine: then cases are also compared voxel by voxel.
    """
    before = {track.id: track for track in old.tracks}
    after = {track.id: track for track in new.tracks}
    files = (old_files, new_files)
    changes = tuple(
        _track(old, new, before[track], after[track], files) for track in before if track in after
    )
    return DatasetChange(
        old=f"{old.id} {old.version}",
        new=f"{new.id} {new.version}",
        tracks=changes,
        tracks_added=tuple(track for track in after if track not in before),
        tracks_gone=tuple(track for track in before if track not in after),
    )


def touched(change: DatasetChange, old: DatasetCard, results: Results) -> tuple[str, ...]:
    """Why a file of results is touched by a change; empty where it is not.

    Parameters
    ----------
    change : DatasetChange
    old : DatasetCard
        The version that ``change`` starts from.
    results : Results
    """
    if (results.dataset.id, results.dataset.version) != (old.id, old.version):
        return ()
    if results.track.id in change.tracks_gone:
        return (f"the track {results.track.id} is gone",)
    found = [track for track in change.tracks if track.track == results.track.id]
    if not found:
        return _touched_by_case(change, results)
    return tuple(reason for track in found for reason in reasons(track))


def _touched_by_case(change: DatasetChange, results: Results) -> tuple[str, ...]:
    """Of results on a track that no card has, such as another benchmark's: by case and structure.

    Imported results name cases as the dataset does, so that a change of any track is found in them.
    Their tolerances are their own.
    """
    cases = {row.case for row in results.cases}
    parts = (
        ("withdrawn cases", {case for track in change.tracks for case in track.withdrawn} & cases),
        ("corrected cases", {case for track in change.tracks for case in track.corrected} & cases),
        (
            "structures",
            {name for track in change.tracks for name in track.structures}
            & set(results.track.structures),
        ),
    )
    return tuple(f"{what}: {', '.join(sorted(names))}" for what, names in parts if names)


def reasons(change: TrackChange) -> tuple[str, ...]:
    """What changed in a track, one sentence each."""
    parts = (
        ("new cases", compact(change.added)),
        ("withdrawn cases", compact(change.withdrawn)),
        ("corrected cases", compact(change.corrected)),
        ("structures", change.structures),
        ("tolerances of", change.tolerances),
    )
    return tuple(f"{what}: {', '.join(names)}" for what, names in parts if names)


def _track(
    old: DatasetCard,
    new: DatasetCard,
    before: Track,
    after: Track,
    files: tuple[Dataset | None, Dataset | None],
) -> TrackChange:
    mine, theirs = _cases(old, before, files[0]), _cases(new, after, files[1])
    both = set(before.structures) & set(after.structures)
    moved = {s for s in both if old.reference_labels(s) != new.reference_labels(s)}
    structures = sorted((set(before.structures) ^ set(after.structures)) | moved)
    tolerances = sorted(s for s in both if old.tolerance_mm(s) != new.tolerance_mm(s))
    return TrackChange(
        track=before.id,
        added=tuple(sorted(theirs - mine)),
        withdrawn=tuple(sorted(mine - theirs)),
        corrected=_corrected(sorted(mine & theirs), files),
        structures=tuple(structures),
        tolerances=tuple(tolerances),
    )


def _cases(card: DatasetCard, track: Track, files: Dataset | None) -> set[str]:
    listed = card.listed_cases(track)
    if listed is not None:
        return set(listed)
    return {case.id for case in files.cases_of(track)} if files is not None else set()


def _corrected(
    cases: Sequence[str], files: tuple[Dataset | None, Dataset | None]
) -> tuple[str, ...]:
    old, new = files
    if old is None or new is None:
        return ()
    before = {case.id: case for case in old.cases}
    after = {case.id: case for case in new.cases}
    here = [case for case in cases if case in before and case in after]
    return tuple(case for case in here if _digests(before[case]) != _digests(after[case]))


def _digests(case: Case) -> tuple[str, ...]:
    from segtrial.scans import label_map_digest, read_label_map, scan_digest  # noqa: PLC0415 - loads numpy

    scans = tuple(scan_digest(path) for path in case.scans)
    path: Path | None = case.reference
    return (*scans, label_map_digest(read_label_map(path)) if path is not None else "")
