"""Image archives made in memory, in every layout in use, honest unless a test bends them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import zstandard

Json = dict[str, Any]
Members = dict[str, bytes]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def pack(members: Mapping[str, bytes], *, mtime: float = 0) -> bytes:
    """Tar stream of files; a fractional mtime makes tarfile write pax headers, as Go does."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), mtime
            tar.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def linked(archive: bytes, name: str, target: str) -> bytes:
    """The archive with a symbolic link appended."""
    stream = io.BytesIO(archive)
    with tarfile.open(fileobj=stream, mode="a") as tar:
        link = tarfile.TarInfo(name)
        link.type, link.linkname = tarfile.SYMTYPE, target
        tar.addfile(link)
    return stream.getvalue()


@dataclass(frozen=True)
class Image:
    """A small image."""

    layers: tuple[bytes, ...]
    config: bytes

    @property
    def config_digest(self) -> str:
        return f"sha256:{sha256(self.config)}"


def image(
    runtime: Mapping[str, object] | None = None, *, architecture: str = "amd64", files: int = 2
) -> Image:
    """An image of some layers, and what its runtime configuration says beside the usual."""
    layers = tuple(pack({f"data/{i}": f"layer {i}".encode() * 99}) for i in range(files))
    config = {
        "architecture": architecture,
        "os": "linux",
        "config": {"Entrypoint": ["/predict"], "User": "1000", **(runtime or {})},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(one)}" for one in layers]},
    }
    return Image(layers, json.dumps(config).encode())


def docker_24(image: Image, *, tags: list[str] | None = None) -> Members:
    """What `docker save` wrote before Docker 25."""
    config = f"{sha256(image.config)}.json"
    layers = [f"{sha256(b'id' + one)}/layer.tar" for one in image.layers]
    manifest = [{"Config": config, "RepoTags": tags, "Layers": layers}]
    return {
        **dict(zip(layers, image.layers, strict=True)),
        config: image.config,
        "manifest.json": json.dumps(manifest).encode(),
        "repositories": b"{}",
    }


def oci(
    image: Image,
    *,
    tags: list[str] | None = None,
    compress: Callable[[bytes], bytes] = bytes,
    architecture: str = "amd64",
) -> Members:
    """What Podman, skopeo and BuildKit write."""
    layers = [compress(one) for one in image.layers]
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "config": _descriptor(image.config),
            "layers": [_descriptor(one) for one in layers],
        }
    ).encode()
    attestation = b'{"schemaVersion": 2, "config": {}, "layers": []}'
    entry = {
        **_descriptor(manifest),
        "platform": {"os": "linux", "architecture": architecture},
        "annotations": {"io.containerd.image.name": tags[0]} if tags else {},
    }
    beside = {
        **_descriptor(attestation),
        "platform": {"os": "unknown", "architecture": "unknown"},
    }
    blobs = [image.config, manifest, attestation, *layers]
    return {
        "oci-layout": b'{"imageLayoutVersion": "1.0.0"}',
        **{f"blobs/sha256/{sha256(blob)}": blob for blob in blobs},
        "index.json": json.dumps({"schemaVersion": 2, "manifests": [entry, beside]}).encode(),
    }


def docker_25(image: Image, *, tags: list[str] | None = None) -> Members:
    """What `docker save` writes since Docker 25: both layouts over the same blobs."""
    manifest = [
        {
            "Config": f"blobs/sha256/{sha256(image.config)}",
            "RepoTags": tags,
            "Layers": [f"blobs/sha256/{sha256(one)}" for one in image.layers],
        }
    ]
    return {**oci(image, tags=tags), "manifest.json": json.dumps(manifest).encode()}


def nested(image: Image) -> Members:
    """An OCI layout whose index leads to another index, as `buildx --output type=oci` writes it."""
    members = oci(image)
    inner = members.pop("index.json")
    outer = {"schemaVersion": 2, "manifests": [_descriptor(inner)]}
    return {
        **members,
        f"blobs/sha256/{sha256(inner)}": inner,
        "index.json": json.dumps(outer).encode(),
    }


def zstd(data: bytes) -> bytes:
    return zstandard.compress(data)


def two_members(data: bytes) -> bytes:
    """Gzip in two members, as parallel writers make it."""
    half = len(data) // 2
    return gzip.compress(data[:half]) + gzip.compress(data[half:])


def _descriptor(blob: bytes) -> Json:
    return {"mediaType": "x", "digest": f"sha256:{sha256(blob)}", "size": len(blob)}


def bomb(member_bytes: int, *, compress: Callable[[bytes], bytes] = gzip.compress) -> bytes:
    """An archive of a few kilobytes that unpacks to zeros of that size."""
    header = tarfile.TarInfo("layer.tar")
    header.size = member_bytes
    return compress(header.tobuf() + bytes(member_bytes))
