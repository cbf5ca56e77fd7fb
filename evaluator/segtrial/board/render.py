"""Results to one folder that any web server, a Space, or a disk can show.

The folder holds ``index.html`` with the first table in it, ``assets`` with our style and script,
``data`` with what is fetched when another structure or view is opened, ``downloads``, and
``board.json`` with the hash of every file. Everything in it comes from `disclose`: what may not
leave the host is in no file.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from segtrial import __version__
from segtrial.board.chunks import chunks, default_table
from segtrial.board.downloads import download_files
from segtrial.board.page import asset, page, script
from segtrial.board.track import Track
from segtrial.contracts.lineage import DatasetNode
from segtrial.contracts.release import Release
from segtrial.contracts.result import Results
from segtrial.errors import UsageError
from segtrial.policy.manifest import MANIFEST, board_manifest, manifest_bytes
from segtrial.policy.publication import PublicResults, disclose
from segtrial.resources import resource_dir

_OURS = ("data", "downloads")
"""Folders that hold nothing but what we write: what an earlier board left there goes."""


def render(results: Sequence[Results], out: Path, *, lineage: Sequence[DatasetNode] = ()) -> Path:
    """Write the board of one or more tracks into a folder.

    Parameters
    ----------
    results : sequence of Results
        One per track; the first is shown first.
    out : Path
        Folder to write; made when absent. Its ``data`` and ``downloads`` are replaced.
    lineage : sequence of DatasetNode
        What is known of datasets that share images; shown on the Dataset view.

    Returns
    -------
    Path
        The folder's ``index.html``.

    Raises
    ------
    UsageError
        Without results, or with two of one track.
    ResultsError
        When something in the results must not leave this host; nothing is written then.
    """
    tracks = [disclose(one) for one in results]
    files = board_files(tracks, lineage=lineage)
    manifest = board_manifest(tracks, files, segtrial_version=__version__)
    for folder in _OURS:
        shutil.rmtree(out / folder, ignore_errors=True)
    for name, content in {**files, MANIFEST: manifest_bytes(manifest)}.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return out / "index.html"


def board_files(
    results: Sequence[PublicResults],
    *,
    releases: Sequence[Release] = (),
    space: str | None = None,
    dataset: str | None = None,
    lineage: Sequence[DatasetNode] = (),
) -> dict[str, bytes]:
    """Every file of a board but ``board.json``, by its path.

    Parameters
    ----------
    results : sequence of PublicResults
        One per track.
    releases : sequence of Release
        Published history, for the changelog.
    space : str, optional
        ``ORG/NAME`` of the Space that shows it, for links that people copy.
    dataset : str, optional
        ``ORG/NAME`` of the dataset repository, where large downloads are.
    lineage : sequence of DatasetNode
        What is known of datasets that share images.
    """
    tracks = [Track(one) for one in results]
    _check(tracks)
    methodology = _methodology()
    files: dict[str, bytes] = {}
    for track in tracks:
        for name, raw in download_files(track).items():
            files[f"downloads/{track.key}/{name}"] = raw
        given = [name for name in files if name.startswith(f"downloads/{track.key}/")]
        written = chunks(
            track,
            releases=releases,
            methodology=methodology,
            downloads=given,
            dataset=dataset,
            lineage=lineage,
        )
        files |= {name: text.encode() for name, text in written}
    files |= {"assets/board.css": asset("board.css").encode(), "assets/board.js": script().encode()}
    shell = page(tracks, body=default_table(tracks[0]), stamp=_stamp(files), space=space)
    return {**files, "index.html": shell.encode()}


def _check(tracks: Sequence[Track]) -> None:
    if not tracks:
        raise UsageError("There are no results to show. Name at least one results.json.")
    keys = [track.key for track in tracks]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice:
        raise UsageError(f"Two of the results are of the track {twice}. Name each track once.")


def _stamp(files: Mapping[str, bytes]) -> str:
    """Changes whenever any content does, so that no browser mixes two versions."""
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(name.encode() + b"\0" + files[name] + b"\0")
    return digest.hexdigest()[:12]


def _methodology() -> str | None:
    path = resource_dir("docs") / "methodology.md"
    return path.read_text(encoding="utf-8") if path.is_file() else None
