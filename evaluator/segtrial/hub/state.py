"""What a repository of a published board holds at one commit."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from segtrial.contracts.reading import parse_json
from segtrial.contracts.release import BoardManifest, TrackFile
from segtrial.contracts.result import Results
from segtrial.errors import ResultsError
from segtrial.hub.remote import Remote
from segtrial.policy.manifest import MANIFEST, SIGNATURE
from segtrial.policy.publication import PublicResults


@dataclass(frozen=True)
class BoardState:
    """A published board, or the place where one will be."""

    head: str
    manifest: BoardManifest | None = None
    hashes: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of every file of the board, ``board.json`` included; empty for its signature."""
    tracks: Mapping[str, PublicResults] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """Number of the newest release; 0 before the first."""
        releases = self.manifest.releases if self.manifest else ()
        return releases[-1].number if releases else 0


def shallow_state(remote: Remote, head: str) -> BoardState:
    """The board at a commit without its results.

    Raises
    ------
    ResultsError
        When ``board.json`` cannot be read: nothing is overwritten then.
    """
    raw = remote.read(MANIFEST, head)
    if raw is None:
        return BoardState(head)
    source = f"{remote}: {MANIFEST}"
    manifest = parse_json(raw, BoardManifest, source=source, error=ResultsError)
    own = {MANIFEST: hashlib.sha256(raw).hexdigest()}
    if manifest.signed_by is not None:
        own[SIGNATURE] = ""  # not listed, being over the list; whoever changes the list replaces it
    return BoardState(head, manifest, hashes={**manifest.files, **own})


class StateReader:
    """Reads states; a track whose content has not changed is not fetched again."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._known: dict[str, PublicResults] = {}

    def read(self, head: str) -> BoardState:
        """The board at a commit, with its results; errors as `shallow_state`."""
        state = shallow_state(self._remote, head)
        listed = state.manifest.tracks if state.manifest else ()
        return replace(state, tracks={one.key: self._track(one, head) for one in listed})

    def _track(self, one: TrackFile, head: str) -> PublicResults:
        content = one.content_sha256
        if content not in self._known:
            raw = self._remote.read(one.results, head) if one.results else None
            if raw is None:
                raise ResultsError(
                    f"{self._remote} lists the results of {one.key} in {MANIFEST} and does not "
                    "hold them. Restore them from an earlier commit before publishing again."
                )
            self._known[content] = parse_public(raw, source=f"{self._remote}: {one.results}")
        return self._known[content]


def parse_public(raw: bytes, *, source: str) -> PublicResults:
    """Results that were published; `ResultsError` names what is wrong with them."""
    return parse_json(raw, PublicResults, source=source, error=ResultsError)


def same(one: Results | None, other: Results | None) -> bool:
    """Whether two results have the same content."""
    return one is other or (
        one is not None and other is not None and one.content_sha256 == other.content_sha256
    )
