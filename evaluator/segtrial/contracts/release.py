"""``board.json``: what a published board consists of, and every version it has had.

It stands beside the results it lists. A release is never rewritten; a retraction is a record of its
own that stays, so that an entry does not come back with an old file.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from segtrial.contracts.record import Id, Line, Record, Sha256

PublishedDate = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
TrackKey = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,127}$")]
"""``dataset--track``: the name of a track in addresses and folders."""
ChangeKind = Literal["added", "retracted", "version", "corrected", "verdict", "method", "rank"]
FilePath = Annotated[
    str, Field(pattern=r"^(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/)*[A-Za-z0-9_][A-Za-z0-9_.-]*$")
]
"""A relative path that cannot leave its folder."""

RepoName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$")]
"""``ORG/NAME`` on the Hugging Face Hub."""
PublicKey = Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]{43}=$")]
"""An Ed25519 public key: 32 bytes in base 64."""


class Retraction(Record):
    """An entry that is withdrawn from a track, up to and with a version."""

    track: TrackKey
    submission: Id
    version: Line
    reason: Line
    date: PublishedDate


class Change(Record):
    """One thing that a reader of the board would see."""

    track: TrackKey
    kind: ChangeKind
    submission: Id | None = None
    text: str


class Release(Record):
    """One published version of a board."""

    number: Annotated[int, Field(ge=1)]
    date: PublishedDate
    note: Line | None = None
    tracks: dict[TrackKey, Sha256]
    """Content hash of the results of every track."""
    changes: tuple[Change, ...] = ()


class TrackFile(Record):
    """Where the results of one track are."""

    key: TrackKey
    results: FilePath | None
    """None in a copy that leaves large files to the dataset repository."""
    content_sha256: Sha256


class BoardManifest(Record):
    """``board.json``."""

    schema_version: Literal["segtrial-board/1"] = "segtrial-board/1"
    segtrial_version: str
    tracks: tuple[TrackFile, ...]
    files: dict[FilePath, Sha256] = {}
    """Every other file of this publication and its hash."""
    releases: tuple[Release, ...] = ()
    """Oldest first; empty for a board that was made and not published."""
    retractions: tuple[Retraction, ...] = ()
    dataset: RepoName | None = None
    """Dataset repository on the Hugging Face Hub that holds everything."""
    space: RepoName | None = None
    """Space that shows it."""
    signed_by: PublicKey | None = None
    """Whose signature lies in ``board.json.sig``."""


class BoardSignature(Record):
    """``board.json.sig``: a maintainer's signature over the bytes of ``board.json``."""

    schema_version: Literal["segtrial-signature/1"] = "segtrial-signature/1"
    algorithm: Literal["ed25519"] = "ed25519"
    public_key: PublicKey
    signature: Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]{86}==$")]
    """64 bytes in base 64."""
