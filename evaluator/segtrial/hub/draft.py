"""What would stand after a publication: published tracks joined with ours, and a new release."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from segtrial.contracts.release import Change, Release, Retraction
from segtrial.contracts.result import Results
from segtrial.errors import PlatformError, ResultsError, UsageError
from segtrial.hub.state import BoardState, same
from segtrial.policy.changes import changes
from segtrial.policy.merging import merge, track_key
from segtrial.policy.publication import PublicResults, disclose

Analyse = Callable[[Results], Results]


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What somebody wants to be public."""

    date: str
    results: Sequence[Results] = ()
    retractions: Sequence[Retraction] = ()
    space: str | None = None
    """A Space to show it; one that shows it already is kept."""
    corrected: frozenset[str] = frozenset()
    note: str | None = None


@dataclass(frozen=True)
class Draft:
    """What a board is to hold."""

    tracks: Mapping[str, PublicResults]
    releases: tuple[Release, ...]
    retractions: tuple[Retraction, ...]
    dataset: str
    """``ORG/NAME`` of the dataset repository."""
    space: str | None
    """``ORG/NAME`` of the Space, where there is one."""
    changes: tuple[Change, ...] = ()
    """What a reader would see differently."""

    def in_order(self) -> list[PublicResults]:
        """Tracks by their keys."""
        return [self.tracks[key] for key in sorted(self.tracks)]

    @property
    def number(self) -> int:
        """Of its newest release; 0 without any."""
        return self.releases[-1].number if self.releases else 0


def draft_of(state: BoardState, wish: Wish, *, dataset: str, analyse: Analyse) -> Draft:
    """What would stand after the wish, with a new release where a reader would see a change.

    Parameters
    ----------
    state : BoardState
        What stands now.
    wish : Wish
        What somebody wants to be public.
    dataset : str
        ``ORG/NAME`` of the dataset repository.
    analyse : callable
        Analyses joined records.
    """
    old = state.manifest
    retractions = _joined_retractions(old.retractions if old else (), wish.retractions)
    tracks, found = _join_tracks(state, wish, retractions, analyse)
    releases = old.releases if old else ()
    contents = {key: one.content_sha256 or "" for key, one in tracks.items()}
    if not releases or contents != releases[-1].tracks:
        release = Release(
            number=state.number + 1,
            date=wish.date,
            note=wish.note,
            tracks=contents,
            changes=found,
        )
        releases = (*releases, release)
    space = wish.space or (old.space if old else None)
    return Draft(tracks, releases, retractions, dataset, space, found)


def _join_tracks(
    state: BoardState, wish: Wish, retractions: Sequence[Retraction], analyse: Analyse
) -> tuple[dict[str, PublicResults], tuple[Change, ...]]:
    ours = {track_key(one): disclose(one) for one in wish.results}
    if len(ours) != len(wish.results):
        raise UsageError("Two of the results are of the same track. Name each track once.")
    tracks: dict[str, PublicResults] = {}
    found: list[Change] = []
    for key in sorted({*state.tracks, *ours}):
        published = state.tracks.get(key)
        bring = ours.get(key) or state.tracks[key]
        merged = merge(published, bring, retractions=retractions, corrected=wish.corrected)
        if published is not None and merged is published:
            tracks[key] = published
            continue
        tracks[key] = bring if merged is bring else disclose(_analysed(merged, analyse))
        if not same(published, tracks[key]):
            found += changes(published, tracks[key], retractions=retractions)
    return tracks, tuple(found)


def _analysed(merged: Results, analyse: Analyse) -> Results:
    if not merged.records:
        raise ResultsError(
            f"{track_key(merged)} keeps the records of single cases to itself, so entries cannot "
            "be joined or taken out here. Do it on the host that has the records: retract or add "
            "the entry in its store, analyse, and publish those results."
        )
    return analyse(merged)


def as_published(state: BoardState, *, dataset: str) -> Draft:
    """What stands, as a draft."""
    manifest = state.manifest
    if manifest is None:
        raise PlatformError("The dataset repository holds no board. Publish again.")
    return Draft(state.tracks, manifest.releases, manifest.retractions, dataset, manifest.space)


def _joined_retractions(
    published: Sequence[Retraction], ours: Sequence[Retraction]
) -> tuple[Retraction, ...]:
    """All of them; the same entry and version is retracted once, as it was first."""
    found: dict[tuple[str, str, str], Retraction] = {}
    for one in (*published, *ours):
        found.setdefault((one.track, one.submission, one.version), one)
    return tuple(found.values())
