"""Which members of an image archive are its configuration and its layers. Pure.

Two layouts are in use. ``docker save`` writes ``manifest.json``, beside ``<digest>.json`` and
``<id>/layer.tar`` before Docker 25 and beside ``blobs/sha256/`` since; Podman, Buildah, skopeo
and BuildKit write an OCI layout, whose ``index.json`` leads through manifests to the same blobs.
Where both are present the first is read, as ``docker load`` does.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import ConfigDict, Field

from segtrial.container.archive_tar import Member, shown
from segtrial.contracts.reading import load_json, validate
from segtrial.contracts.record import Record
from segtrial.errors import SubmissionError

_MAX_INDEX_DEPTH = 3
_MAX_LINKS = 4

Json = dict[str, Any]


class Layout(Record):
    """Where in the archive an image is."""

    config: str
    """Member that holds the configuration."""
    layers: tuple[str, ...]
    """Members that hold the layers, lowest first."""
    digests: tuple[tuple[str, str], ...] = ()
    """Members, and the digests that the archive's own manifests give them."""
    tags: tuple[str, ...] = ()
    """Names that the archive would like to have."""


class _Loose(Record):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _SavedImage(_Loose):
    Config: str
    RepoTags: tuple[str, ...] | None = None
    Layers: tuple[str, ...] | None = None


class _Saved(_Loose):
    images: tuple[_SavedImage, ...] = Field(max_length=1000)


class _Platform(_Loose):
    os: str = ""
    architecture: str = ""


class _Descriptor(_Loose):
    digest: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    platform: _Platform | None = None
    annotations: dict[str, str] | None = None

    @property
    def member(self) -> str:
        return f"blobs/sha256/{self.digest.removeprefix('sha256:')}"

    @property
    def is_image(self) -> bool:
        """Not one of the attestations that BuildKit puts beside an image."""
        return self.platform is None or self.platform.os != "unknown"


class _Index(_Loose):
    manifests: tuple[_Descriptor, ...] = Field(max_length=1000)


class _Manifest(_Loose):
    config: _Descriptor
    layers: tuple[_Descriptor, ...] = ()


def find_image(
    members: Mapping[str, Member], read: Callable[[str], bytes | None], *, architecture: str
) -> Layout:
    """Find the one image of an archive.

    Parameters
    ----------
    members
        Its members by name.
    read
        Gives the bytes of a small JSON member, or None where there is none.
    architecture
        Which image to take where an index has one for each.

    Raises
    ------
    SubmissionError
        There is no image, or more than one.
    """
    if "manifest.json" in members:
        return _saved(read, members)
    if "index.json" in members:
        return _indexed(read, architecture)
    raise SubmissionError(
        "The archive holds no container image: there is neither manifest.json nor index.json in "
        "it. Write it with `docker save IMAGE` (an image, not a container: `docker export` is "
        "something else)."
    )


def follow(name: str, members: Mapping[str, Member]) -> str:
    """Name of the regular member that a name stands for; Docker writes equal layers as links."""
    for _ in range(_MAX_LINKS):
        member = members.get(name)
        if member is None:
            break
        if member.kind == "file":
            return name
        start = posixpath.dirname(name) if member.kind == "symlink" else ""
        name = posixpath.normpath(posixpath.join(start, member.target))
    raise SubmissionError(
        f"The image archive is incomplete: its manifest names {shown(name)}, and no file of that "
        "name is in it. Write it again with `docker save`."
    )


def _saved(read: Callable[[str], bytes | None], members: Mapping[str, Member]) -> Layout:
    content = _json(read, "manifest.json")
    saved = validate({"images": content}, _Saved, source="manifest.json", error=SubmissionError)
    if len(saved.images) != 1:
        raise _not_one(len(saved.images))
    image = saved.images[0]
    config = posixpath.normpath(image.Config)
    layers = tuple(posixpath.normpath(name) for name in image.Layers or ())
    return Layout(
        config=config,
        layers=layers,
        digests=tuple(_named_by_digest((config, *layers), members)),
        tags=image.RepoTags or (),
    )


def _named_by_digest(
    names: tuple[str, ...], members: Mapping[str, Member]
) -> Iterator[tuple[str, str]]:
    """Members whose own name says what their digest has to be."""
    for name in names:
        stem = posixpath.basename(name).removesuffix(".json")
        is_digest = len(stem) == 64 and all(c in "0123456789abcdef" for c in stem)  # noqa: PLR2004 - hexadecimal digits of SHA-256
        if is_digest and name in members:
            yield name, f"sha256:{stem}"


def _indexed(read: Callable[[str], bytes | None], architecture: str) -> Layout:
    found = tuple(_manifests(read, "index.json", depth=0))
    images = [one for one in found if one.is_image]
    if len(images) > 1:
        images = [one for one in images if _is_for(one, architecture)]
    if len(images) != 1:
        raise _not_one(len(images) or len(found))
    image = images[0]
    manifest = validate(
        _json(read, image.member), _Manifest, source=image.member, error=SubmissionError
    )
    parts = (image, manifest.config, *manifest.layers)
    name = (image.annotations or {}).get("io.containerd.image.name")
    return Layout(
        config=manifest.config.member,
        layers=tuple(layer.member for layer in manifest.layers),
        digests=tuple((part.member, part.digest) for part in parts),
        tags=(name,) if name else (),
    )


def _manifests(
    read: Callable[[str], bytes | None], source: str, *, depth: int
) -> Iterator[_Descriptor]:
    if depth == _MAX_INDEX_DEPTH:
        raise SubmissionError(f"The image archive nests indexes deeper than {_MAX_INDEX_DEPTH}.")
    index = validate(_json(read, source), _Index, source=source, error=SubmissionError)
    for one in index.manifests:
        content = _json(read, one.member)
        if isinstance(content, dict) and "manifests" in content:
            yield from _manifests(read, one.member, depth=depth + 1)
        else:
            yield one


def _is_for(image: _Descriptor, architecture: str) -> bool:
    return image.platform is not None and (
        (image.platform.os, image.platform.architecture) == ("linux", architecture)
    )


def _json(read: Callable[[str], bytes | None], name: str) -> Any:  # noqa: ANN401 - any JSON value
    content = read(name)
    if content is None:
        raise SubmissionError(
            f"The image archive is incomplete: {shown(name)} is not in it, is empty, or is no "
            "JSON document of at most 4 MiB. Write it again with `docker save`."
        )
    return load_json(content, source=name, error=SubmissionError)


def _not_one(count: int) -> SubmissionError:
    return SubmissionError(
        f"The archive holds {count} container images; a submission is one. Save one image for "
        "one platform: `docker save IMAGE`."
    )
