"""Checking a published board: every hash, every number that follows from another, the signature.

It proves the arithmetic, not the runs: that the records came from sealed runs, and were not chosen,
is what the maintainer answers for with a name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from segtrial.contracts.reading import parse_json
from segtrial.contracts.release import BoardManifest
from segtrial.errors import ResultsError
from segtrial.hub.publish import Page
from segtrial.hub.sources import Source
from segtrial.hub.state import parse_public
from segtrial.policy.manifest import MANIFEST, SIGNATURE
from segtrial.policy.merging import track_key
from segtrial.policy.publication import PublicResults, content_sha256, disclose
from segtrial.statistics import analyse_results

_FIELDS = 20
"""So many differing numbers of a track are named; the rest is counted."""


@dataclass(frozen=True)
class Finding:
    """Something that is not as it has to be."""

    where: str
    said: str


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What a check came to."""

    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    """What could not be checked, and why."""
    files: int
    """How many files agree with their hash."""
    numbers: tuple[str, ...]
    """Tracks of which every number was recomputed."""
    signed_by: str | None = None

    @property
    def holds(self) -> bool:
        """Whether nothing differs."""
        return not self.findings


@dataclass
class _Notebook:
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: int = 0
    numbers: list[str] = field(default_factory=list)

    def find(self, where: str, said: str) -> None:
        self.findings.append(Finding(where, said))


def verify(
    source: Source,
    *,
    check_signature: Callable[[bytes, bytes], str] | None = None,
    require_signature: bool = False,
    say: Callable[[str], None] = lambda _said: None,
) -> tuple[Verification, BoardManifest, dict[str, PublicResults]]:
    """Check everything that is public on a board.

    Parameters
    ----------
    source : Source
        Where it is.
    check_signature : callable, optional
        From the bytes of ``board.json`` and its signature file to the key; raises `ResultsError`.
    require_signature : bool
        Whether a board without a signature is a finding.
    say : callable
        Told about every step.

    Returns
    -------
    tuple
        What was found, the manifest, and the results that could be read, by track.

    Raises
    ------
    ResultsError
        When there is no board to check.
    """
    raw = source.read(MANIFEST)
    if raw is None:
        raise ResultsError(f"There is no {MANIFEST} at {source}; name the folder that holds it.")
    manifest = parse_json(raw, BoardManifest, source=f"{source}: {MANIFEST}", error=ResultsError)
    book = _Notebook()
    signed_by = _signature(source, raw, manifest, check_signature, book)
    if require_signature and signed_by is None and not book.findings:
        book.find(SIGNATURE, "the board is not signed")
    contents = dict(_files(source, manifest, book, say))
    results = dict(_tracks(contents, manifest, book))
    for key, one in results.items():
        say(f"recomputing {key}")
        _numbers(key, one, book)
    found = Verification(
        findings=tuple(book.findings),
        notes=tuple(book.notes),
        files=book.files,
        numbers=tuple(book.numbers),
        signed_by=signed_by,
    )
    return found, manifest, results


def _signature(
    source: Source,
    raw: bytes,
    manifest: BoardManifest,
    check: Callable[[bytes, bytes], str] | None,
    book: _Notebook,
) -> str | None:
    signature = source.read(SIGNATURE)
    if signature is None:
        if manifest.signed_by is not None:
            book.find(SIGNATURE, f"is missing; {MANIFEST} says {manifest.signed_by} signed it")
        return None
    if check is None:
        book.notes.append("The signature was not checked: the package cryptography is missing.")
        return None
    try:
        return check(raw, signature)
    except ResultsError as problem:
        book.find(SIGNATURE, str(problem))
        return None


def _files(
    source: Source, manifest: BoardManifest, book: _Notebook, say: Callable[[str], None]
) -> Iterator[tuple[str, bytes]]:
    """Results files; everything else is only hashed and let go."""
    wanted = {one.results for one in manifest.tracks}
    for index, (path, expected) in enumerate(sorted(manifest.files.items()), 1):
        say(f"file {index} of {len(manifest.files)}: {path}")
        raw = source.read(path)
        if raw is None:
            book.find(path, "is listed and missing")
        elif (found := hashlib.sha256(raw).hexdigest()) != expected:
            book.find(path, f"has the hash {found[:16]}..., {MANIFEST} lists {expected[:16]}...")
        else:
            book.files += 1
        if raw is not None and path in wanted:
            yield path, raw


def _tracks(
    contents: Mapping[str, bytes], manifest: BoardManifest, book: _Notebook
) -> Iterator[tuple[str, PublicResults]]:
    for one in manifest.tracks:
        if one.results is None:
            book.notes.append(
                f"{one.key}: this copy leaves its results to the dataset repository; check there."
            )
            continue
        raw = contents.get(one.results)
        if raw is None:
            book.find(one.results, "is not there, so nothing of this track can be recomputed")
            continue
        try:
            found = parse_public(raw, source=one.results)
        except ResultsError as problem:
            book.find(one.results, str(problem))
            continue
        body = found.model_dump(mode="json")
        if content_sha256(body) != one.content_sha256 or found.content_sha256 != one.content_sha256:
            book.find(one.results, f"its content is not the one that {MANIFEST} lists")
        if track_key(found) != one.key:
            book.find(one.results, f"is of the track {track_key(found)}, listed as {one.key}")
        # Its hash is a question of its own, asked above.
        aside = {"content_sha256"}
        if disclose(found).model_dump(exclude=aside) != found.model_dump(exclude=aside):
            book.find(one.results, "holds fields that must not be public")
        yield one.key, found


def _numbers(key: str, found: PublicResults, book: _Notebook) -> None:
    from segtrial.statistics.difference import differing_fields  # noqa: PLC0415 - loads NumPy

    if not found.records:
        book.notes.append(
            f"{key}: the records of single cases are not public, so its numbers cannot be "
            "recomputed; only the hashes were checked."
        )
        return
    try:
        again = disclose(analyse_results(found))
    except ResultsError as problem:
        book.find(key, f"its records cannot be analysed: {problem}")
        return
    fields = differing_fields(found.analysis, again.analysis)
    for one in fields[:_FIELDS]:
        said = f"is {one.published}, the records give {one.recomputed}"
        book.find(f"{key}: analysis.{one.field}", said)
    if len(fields) > _FIELDS:
        book.find(f"{key}: analysis", f"and {len(fields) - _FIELDS} more numbers differ")
    if found.settings != again.settings:
        book.find(f"{key}: settings", "are not complete: the analysis fills in others")
    book.numbers.append(key)


def check_page(
    found: Verification,
    manifest: BoardManifest,
    results: Mapping[str, PublicResults],
    *,
    page: Page,
    segtrial_version: str,
) -> Verification:
    """Whether the page says what the results say: it is rendered again and compared by hash.

    Parameters
    ----------
    found : Verification
        What `verify` found.
    manifest : BoardManifest
        Of the board.
    results : mapping
        Its results.
    page : callable
        Renders every file from results and releases.
    segtrial_version : str
        Of this program; another version renders another page, and then nothing is compared.
    """
    complete = len(results) == len(manifest.tracks)
    if manifest.segtrial_version != segtrial_version or not complete:
        note = (
            f"The page was not compared: segtrial {manifest.segtrial_version} rendered it, this is "
            f"{segtrial_version}."
            if complete
            else "The page was not compared: not all results are in this copy."
        )
        return _with(found, notes=[note])
    again = page(
        [results[one.key] for one in manifest.tracks],
        releases=manifest.releases,
        dataset=manifest.dataset,
        space=manifest.space,
    )
    differs = [
        Finding(path, "is not what these results render to")
        for path, raw in again.items()
        # Parquet bytes depend on the library's version; its numbers are those of results.json.
        if not path.endswith(".parquet")
        and path in manifest.files
        and hashlib.sha256(raw).hexdigest() != manifest.files[path]
    ]
    return _with(found, findings=differs)


def _with(
    found: Verification, *, findings: Sequence[Finding] = (), notes: Sequence[str] = ()
) -> Verification:
    return Verification(
        findings=(*found.findings, *findings),
        notes=(*found.notes, *notes),
        files=found.files,
        numbers=found.numbers,
        signed_by=found.signed_by,
    )
