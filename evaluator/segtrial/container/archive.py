"""What an image archive holds, known before the engine sees a byte of it.

`scan` reads a copy from end to end without writing anything: every member is hashed, every layer
is inflated within a budget and its digest compared with what the configuration says of it, so an
archive that lies is found here. `canonical` then writes the same image anew for the engine:
configuration, layers, manifest, nothing else. Whatever else the archive had, names that belong
to other images above all, never reaches the engine.
"""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from segtrial.container.archive_bytes import (
    FREE_BYTES,
    MAX_RATIO,
    Budget,
    Hashed,
    Inflated,
    Rewound,
    compression,
    peek,
)
from segtrial.container.archive_layout import Layout, find_image, follow
from segtrial.container.archive_tar import BLOCK, Content, Member, Source, read_members, shown
from segtrial.container.image_config import ImageConfig, layer_digests, read_config
from segtrial.container.image_policy import MAX_IMAGE_BYTES
from segtrial.contracts.reading import load_json
from segtrial.errors import SubmissionError

MAX_DOCUMENT_BYTES = 4 << 20
"""One JSON document; a configuration with the history of 127 layers has some 100 KiB."""
MAX_DOCUMENTS_BYTES = 32 << 20
"""All JSON documents together, which are kept in memory during the scan."""

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer of an image."""

    member: str
    diff_id: str
    """Digest of its uncompressed tar stream."""
    size_bytes: int
    """Uncompressed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedImage:
    """An image as an archive holds it."""

    config_digest: str
    config: ImageConfig
    config_bytes: bytes = field(repr=False)
    layers: tuple[Layer, ...]
    tags: tuple[str, ...]
    """Names it would like to have; none of them is given."""

    @property
    def size_bytes(self) -> int:
        """Bytes of all layers, uncompressed."""
        return sum(layer.size_bytes for layer in self.layers)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What the scan noted of a regular member."""

    digest: str
    inflated_digest: str
    inflated_bytes: int


@dataclass(slots=True)
class _Archive:
    """Everything a scan has noted."""

    members: dict[str, Member] = field(default_factory=dict)
    seen: dict[str, _Seen] = field(default_factory=dict)
    documents: dict[str, bytes] = field(default_factory=dict)


def scan_file(path: Path, *, architecture: str) -> ArchivedImage:
    """Scan an archive on disk; see `scan`."""
    limit = min(MAX_IMAGE_BYTES, FREE_BYTES + MAX_RATIO * path.stat().st_size)
    with path.open("rb") as source:
        return scan(source, architecture=architecture, limit=limit)


def scan(source: Source, *, architecture: str, limit: int = MAX_IMAGE_BYTES) -> ArchivedImage:
    """Read an archive from end to end and say which image it holds.

    Parameters
    ----------
    source
        The archive: plain, gzip or zstd.
    architecture
        Which image to take where there is one for each.
    limit
        Bytes that may come out of decompression, for the archive and for its layers alike.

    Raises
    ------
    SubmissionError
        It is no archive of one image, a digest in it is wrong, or it is too large.
    """
    archive = _read(source, limit)
    layout = find_image(archive.members, archive.documents.get, architecture=architecture)
    config_member = follow(layout.config, archive.members)
    _require_digests(layout, archive)
    config_bytes = archive.documents.get(config_member)
    if config_bytes is None:
        raise SubmissionError(
            f"The image's configuration {shown(config_member)} is no JSON document of at most "
            f"{MAX_DOCUMENT_BYTES >> 20} MiB. Build the image again and save it."
        )
    document = load_json(config_bytes, source="the image's configuration", error=SubmissionError)
    layers = tuple(_layers(layout, archive, document))
    return ArchivedImage(
        config_digest=archive.seen[config_member].digest,
        config=read_config(document, size_bytes=sum(layer.size_bytes for layer in layers)),
        config_bytes=config_bytes,
        layers=layers,
        tags=layout.tags,
    )


def canonical(path: Path, image: ArchivedImage) -> Iterator[bytes]:
    """Write a scanned image anew, as an archive without names, for the engine to load.

    The file is read a second time; what differs from the scan is refused in the middle of the
    stream, of which the engine then keeps nothing.
    """
    # A layer that is in the image twice is sent once; the manifest names it twice.
    files = {layer.member: layer for layer in {one.diff_id: one for one in image.layers}.values()}
    yield from _packed(_config_name(image), [image.config_bytes], len(image.config_bytes))
    with path.open("rb") as source:
        for member, content in read_members(_outer(source, Budget(MAX_IMAGE_BYTES))):
            layer = files.pop(member.name, None)
            if layer is not None:
                yield from _packed(_layer_name(layer), _unpacked(content, layer), layer.size_bytes)
    manifest = json.dumps(
        [
            {
                "Config": _config_name(image),
                "RepoTags": None,
                "Layers": [_layer_name(layer) for layer in image.layers],
            }
        ]
    ).encode()
    yield from _packed("manifest.json", [manifest], len(manifest))
    yield bytes(2 * BLOCK)


def _outer(source: Source, budget: Budget) -> Source:
    first, rewound = peek(source)
    return Inflated(rewound, compression(first), budget)


def _read(source: Source, limit: int) -> _Archive:
    archive = _Archive()
    budget = Budget(limit)
    kept = 0
    for member, content in read_members(_outer(source, Budget(limit))):
        if member.kind == "folder":
            continue
        archive.members[member.name] = member
        if member.kind != "file":
            continue
        first, rewound = peek(content)
        if first[:1] in {b"{", b"["} and member.size <= MAX_DOCUMENT_BYTES:
            kept += member.size
            if kept > MAX_DOCUMENTS_BYTES:
                raise SubmissionError(
                    f"The image archive holds more than {MAX_DOCUMENTS_BYTES >> 20} MiB of JSON "
                    "documents; an image has some kilobytes. Write it again with `docker save`."
                )
            archive.documents[member.name] = document = _all(rewound)
            digest = f"sha256:{hashlib.sha256(document).hexdigest()}"
            archive.seen[member.name] = _Seen(
                digest=digest, inflated_digest=digest, inflated_bytes=len(document)
            )
        else:
            archive.seen[member.name] = _hashed(rewound, compression(first), budget)
    return archive


def _all(source: Source) -> bytes:
    return b"".join(iter(lambda: source.read(_CHUNK), b""))


def _hashed(source: Rewound, kind: str, budget: Budget) -> _Seen:
    """Hash a member as it is stored and as it is inflated."""
    stored = Hashed(source)
    inflated = stored if kind == "none" else Hashed(Inflated(stored, kind, budget))
    while inflated.read(_CHUNK):
        pass
    while stored.read(_CHUNK):
        pass
    return _Seen(
        digest=stored.digest, inflated_digest=inflated.digest, inflated_bytes=inflated.count
    )


def _require_digests(layout: Layout, archive: _Archive) -> None:
    for name, digest in layout.digests:
        found = archive.seen[follow(name, archive.members)].digest
        if found != digest:
            raise SubmissionError(
                f"The image archive contradicts itself: {shown(name)} should have the digest "
                f"{digest}, and has {found}. It was changed or damaged after it was written; "
                "save the image again."
            )


def _layers(layout: Layout, archive: _Archive, document: object) -> Iterator[Layer]:
    declared = layer_digests(document)
    if len(declared) != len(layout.layers):
        raise SubmissionError(
            f"The image archive contradicts itself: its configuration has {len(declared)} layers, "
            f"its manifest {len(layout.layers)}. Save the image again."
        )
    for name, diff_id in zip(layout.layers, declared, strict=True):
        member = follow(name, archive.members)
        seen = archive.seen[member]
        if seen.inflated_digest != diff_id:
            raise SubmissionError(
                f"The image archive contradicts itself: the layer {shown(name)} should be "
                f"{shown(str(diff_id))} when it is unpacked, and is {seen.inflated_digest}. It was "
                "changed or damaged after it was written; save the image again."
            )
        yield Layer(member=member, diff_id=seen.inflated_digest, size_bytes=seen.inflated_bytes)


def _unpacked(content: Content, layer: Layer) -> Iterator[bytes]:
    first, rewound = peek(content)
    inflated = Hashed(Inflated(rewound, compression(first), Budget(layer.size_bytes)))
    while chunk := inflated.read(_CHUNK):
        yield chunk
    if (inflated.digest, inflated.count) != (layer.diff_id, layer.size_bytes):
        raise SubmissionError(
            f"The image archive was changed while it was taken in (layer {shown(layer.member)}). "
            "Start again, and leave the store alone meanwhile."
        )


def _packed(name: str, content: Iterator[bytes] | list[bytes], size: int) -> Iterator[bytes]:
    header = tarfile.TarInfo(name)
    header.size = size
    yield header.tobuf(tarfile.GNU_FORMAT)
    yield from content
    yield bytes(-size % BLOCK)


def _config_name(image: ArchivedImage) -> str:
    return f"{image.config_digest.removeprefix('sha256:')}.json"


def _layer_name(layer: Layer) -> str:
    return f"{layer.diff_id.removeprefix('sha256:')}.tar"
