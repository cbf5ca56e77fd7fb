"""``board.json``: which files a board consists of, and which versions it has had."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from segtrial.contracts.release import BoardManifest, Release, Retraction, TrackFile
from segtrial.policy.merging import track_key
from segtrial.policy.publication import PublicResults

MANIFEST = "board.json"
"""Name of the file."""
SIGNATURE = "board.json.sig"
"""Name of the maintainer's signature over its bytes, where there is one."""


def results_path(key: str) -> str:
    """Where the results of a track lie in a board's folder."""
    return f"downloads/{key}/results.json"


def board_manifest(
    tracks: Sequence[PublicResults],
    files: Mapping[str, bytes],
    *,
    segtrial_version: str,
    releases: Sequence[Release] = (),
    retractions: Sequence[Retraction] = (),
    dataset: str | None = None,
    space: str | None = None,
    signed_by: str | None = None,
) -> BoardManifest:
    """What ``board.json`` says.

    Parameters
    ----------
    tracks : sequence of PublicResults
        Shown on the board.
    files : mapping
        Every other file by its path.
    segtrial_version : str
        What wrote them.
    releases, retractions : sequences
        Published history; empty for a board that was only made.
    dataset, space : str, optional
        ``ORG/NAME`` of where it is published.
    signed_by : str, optional
        Public key of the signature that will lie beside it.
    """
    return BoardManifest(
        segtrial_version=segtrial_version,
        tracks=tuple(
            TrackFile(
                key=track_key(one),
                results=path if (path := results_path(track_key(one))) in files else None,
                content_sha256=one.content_sha256 or "",
            )
            for one in tracks
        ),
        files={path: hashlib.sha256(raw).hexdigest() for path, raw in sorted(files.items())},
        releases=tuple(releases),
        retractions=tuple(retractions),
        dataset=dataset,
        space=space,
        signed_by=signed_by,
    )


def manifest_bytes(manifest: BoardManifest) -> bytes:
    """``board.json`` as it is written, and signed."""
    body = manifest.model_dump(mode="json")
    return (json.dumps(body, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
