"""Which files a repository is to hold, and how that differs from what it holds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import NamedTuple

from segtrial import __version__
from segtrial.contracts.release import BoardManifest
from segtrial.hub.draft import Draft
from segtrial.hub.state import BoardState
from segtrial.policy.manifest import MANIFEST, SIGNATURE, board_manifest, manifest_bytes

Diff = Mapping[str, str]
"""By path: ``added``, ``changed`` or ``removed``."""
_LARGEST_IN_SPACE = 8 * 1024 * 1024
"""Bytes; from 10 MB on the Hub keeps a file in large-file storage, of which a Space has 1 GB."""


class Signer(NamedTuple):
    """A maintainer's key."""

    public_key: str
    """In base 64."""
    sign: Callable[[bytes], bytes]
    """From the bytes of ``board.json`` to those of its signature file."""


class Target(NamedTuple):
    """What a repository is to hold."""

    files: Mapping[str, bytes]
    """Everything, ``board.json`` and its signature included."""
    manifest: BoardManifest


def target_of(files: Mapping[str, bytes], draft: Draft, signer: Signer | None) -> Target:
    """All files with the manifest that lists them, and its signature."""
    manifest = board_manifest(
        draft.in_order(),
        files,
        segtrial_version=__version__,
        releases=draft.releases,
        retractions=draft.retractions,
        dataset=draft.dataset,
        space=draft.space,
        signed_by=signer.public_key if signer else None,
    )
    raw = manifest_bytes(manifest)
    signed = {SIGNATURE: signer.sign(raw)} if signer else {}
    return Target({**files, MANIFEST: raw, **signed}, manifest)


def without_large(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """What a Space holds of the dataset repository's files: no card, no per-case tables."""
    return {path: raw for path, raw in files.items() if not _only_in_dataset(path, raw)}


def difference(state: BoardState, target: Target) -> Diff:
    """What has to happen to each file; nothing where the manifests say the same.

    Only what an earlier publication listed is ever removed. Who signs, and which version of
    segtrial wrote the same files, is no reason to commit.
    """
    if state.manifest is not None and _same_board(state.manifest, target.manifest):
        return {}
    there = state.hashes
    wanted = {path: hashlib.sha256(raw).hexdigest() for path, raw in target.files.items()}
    found = {path: "added" for path in wanted if path not in there}
    found |= {path: "changed" for path in wanted if path in there and there[path] != wanted[path]}
    found |= {path: "removed" for path in there if path not in wanted}
    return dict(sorted(found.items()))


def _same_board(one: BoardManifest, other: BoardManifest) -> bool:
    aside = {"signed_by": None, "segtrial_version": ""}
    return one.model_copy(update=aside) == other.model_copy(update=aside)


def _only_in_dataset(path: str, raw: bytes) -> bool:
    per_case = path.endswith(("per_case.parquet", "per_case.csv"))
    return path == "README.md" or per_case or len(raw) > _LARGEST_IN_SPACE
