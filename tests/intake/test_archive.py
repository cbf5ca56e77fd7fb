"""Honest archives of any layout are one image; bent ones are refused by name, in little memory."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from intake import archives
from intake.archives import Image, Members, docker_24, docker_25, oci, pack, sha256
from segtrial.container import archive_bytes
from segtrial.container.archive import ArchivedImage, canonical, scan, scan_file
from segtrial.container.archive_tar import MAX_MEMBERS
from segtrial.errors import SubmissionError

GOLDEN = Path(__file__).parents[1] / "golden" / "image-archive"
AN_IMAGE = archives.image()
LAYOUTS: dict[str, Members] = {
    "docker 24": docker_24(AN_IMAGE),
    "docker 25": docker_25(AN_IMAGE),
    "oci": oci(AN_IMAGE),
    "oci, gzip layers": oci(AN_IMAGE, compress=gzip.compress),
    "oci, gzip layers in two members": oci(AN_IMAGE, compress=archives.two_members),
    "oci, zstd layers": oci(AN_IMAGE, compress=archives.zstd),
    "oci, index in an index": archives.nested(AN_IMAGE),
    "names that begin with ./": {f"./{k}": v for k, v in docker_24(AN_IMAGE).items()},
}
OUTER: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "zstd": archives.zstd,
}


def read(data: bytes, *, architecture: str = "amd64") -> ArchivedImage:
    return scan(io.BytesIO(data), architecture=architecture)


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_same_image_in_any_layout_and_compression_is_the_same_image(
    layout: str, outer: str
) -> None:
    found = read(OUTER[outer](pack(LAYOUTS[layout], mtime=1.5)))
    assert found.config_digest == AN_IMAGE.config_digest
    assert [layer.diff_id for layer in found.layers] == [
        f"sha256:{sha256(one)}" for one in AN_IMAGE.layers
    ]
    assert found.size_bytes == sum(map(len, AN_IMAGE.layers))
    assert (found.config.user, found.config.entrypoint) == ("1000", ("/predict",))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_reaches_the_engine_is_the_image_without_a_name(layout: str, tmp_path: Path) -> None:
    members = {**LAYOUTS[layout], "another/json": b'{"victim": {"1": "x"}}', "more": b"x" * 9999}
    path = tmp_path / "image.tar.gz"
    path.write_bytes(gzip.compress(pack(members)))
    found = scan_file(path, architecture="amd64")
    written = b"".join(canonical(path, found))
    with tarfile.open(fileobj=io.BytesIO(written)) as tar:
        names = {member.name for member in tar}
        manifest = json.load(tar.extractfile("manifest.json") or io.BytesIO())
    assert names == {"manifest.json", manifest[0]["Config"], *manifest[0]["Layers"]}
    assert manifest[0]["RepoTags"] is None
    assert read(written).layers[0].diff_id == found.layers[0].diff_id
    assert read(written).config_digest == found.config_digest


def test_equal_layers_are_links_in_dockers_archives_and_are_sent_once(tmp_path: Path) -> None:
    layer = AN_IMAGE.layers[0]
    config = json.loads(AN_IMAGE.config)
    config["rootfs"]["diff_ids"] = [f"sha256:{sha256(layer)}"] * 2
    twice = Image((layer,), json.dumps(config).encode())
    members = docker_24(twice)
    first = json.loads(members["manifest.json"])[0]["Layers"][0]
    manifest = json.loads(members["manifest.json"])
    manifest[0]["Layers"] = [first, "second/layer.tar"]
    members["manifest.json"] = json.dumps(manifest).encode()
    path = tmp_path / "image.tar"
    path.write_bytes(archives.linked(pack(members), "second/layer.tar", f"../{first}"))
    found = scan_file(path, architecture="amd64")
    written = b"".join(canonical(path, found))
    assert [one.member for one in found.layers] == [first, first]
    assert written.count(layer) == 1
    assert read(written).layers[0].diff_id == read(written).layers[1].diff_id


def test_of_an_index_with_several_platforms_the_hosts_is_taken() -> None:
    other = archives.image(architecture="arm64", files=1)
    both = {**oci(other, architecture="arm64"), **oci(AN_IMAGE)}
    entries = [
        entry
        for one in (oci(other, architecture="arm64"), oci(AN_IMAGE))
        for entry in json.loads(one["index.json"])["manifests"]
    ]
    both["index.json"] = json.dumps({"manifests": entries}).encode()
    assert read(pack(both)).config.architecture == "amd64"
    assert read(pack(both), architecture="arm64").config.architecture == "arm64"


def _without(members: Members, name: str) -> Members:
    return {key: value for key, value in members.items() if key != name}


def _with_manifest(**changes: object) -> Members:
    members = docker_24(AN_IMAGE)
    manifest = json.loads(members["manifest.json"])
    manifest[0] |= changes
    return {**members, "manifest.json": json.dumps(manifest).encode()}


def _swapped_layer() -> Members:
    members = docker_24(AN_IMAGE)
    name = json.loads(members["manifest.json"])[0]["Layers"][0]
    return {**members, name: pack({"data/0": b"something else"})}


def _swapped_blob() -> Members:
    members = oci(AN_IMAGE)
    return {**members, f"blobs/sha256/{sha256(AN_IMAGE.config)}": b'{"os": "linux"}'}


def _raw(name: str = "x", *, kind: bytes = b"0", size: int = 0, data: bytes = b"") -> bytes:
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return member.tobuf() + data + bytes(-len(data) % 512)


def _pax(record: bytes) -> bytes:
    return _raw("pax", kind=b"x", size=len(record), data=record)


def _two_images() -> Members:
    members = docker_24(AN_IMAGE)
    manifest = json.loads(members["manifest.json"])
    return {**members, "manifest.json": json.dumps(manifest * 2).encode()}


def _layer_bomb() -> bytes:
    layer = bytes(96 << 20)
    config = {
        "architecture": "amd64",
        "os": "linux",
        "rootfs": {"diff_ids": ["sha256:" + "0" * 64]},
    }
    blob = gzip.compress(layer, compresslevel=6)
    return pack({f"blobs/sha256/{sha256(blob)}": blob, "config.json": json.dumps(config).encode()})


BENT: dict[str, Callable[[], bytes]] = {
    "a-program": lambda: b"\x7fELF" + bytes(4096),
    "text": lambda: b"this is no archive\n" * 100,
    "empty-tar": lambda: pack({}),
    "xz": lambda: b"\xfd7zXZ\0" + bytes(4096),
    "docker-export": lambda: pack({"bin/sh": b"x", "etc/passwd": b"root:x:0:0"}),
    "cut-off": lambda: pack(docker_24(AN_IMAGE))[:3000],
    "cut-off-gzip": lambda: gzip.compress(pack(docker_24(AN_IMAGE)), mtime=0)[:-200],
    "gzip-bomb": lambda: archives.bomb(96 << 20),
    "zstd-bomb": lambda: archives.bomb(96 << 20, compress=archives.zstd),
    "layer-bomb": _layer_bomb,
    "two-images": lambda: pack(_two_images()),
    "no-layers-file": lambda: pack(_with_manifest(Layers=["gone/layer.tar"] * 2)),
    "layer-is-swapped": lambda: pack(_swapped_layer()),
    "blob-is-swapped": lambda: pack(_swapped_blob()),
    "layers-are-missing": lambda: pack(_with_manifest(Layers=[])),
    "config-outside": lambda: pack(_with_manifest(Config="../../etc/passwd")),
    "manifest-is-no-json": lambda: pack({"manifest.json": b"[{"}),
    "manifest-is-huge": lambda: pack(
        {"manifest.json": b'[{"Config": "' + b"x" * (5 << 20) + b'"}]'}
    ),
    "manifest-is-misshapen": lambda: pack({"manifest.json": b'[{"Config": 7, "Layers": "x"}]'}),
    "many-documents": lambda: pack({f"{n}.json": b"{" + bytes(4 << 20)[:-1] for n in range(9)}),
    "index-in-itself": lambda: pack(
        {
            "index.json": b'{"manifests": [{"digest": "sha256:%s"}]}' % (b"0" * 64),
            "blobs/sha256/" + "0" * 64: b'{"manifests": [{"digest": "sha256:%s"}]}' % (b"0" * 64),
        }
    ),
    "traversal": lambda: pack({"../../etc/cron.d/x": b"x"}),
    "absolute-name": lambda: _raw("/etc/cron.d/x"),
    "same-name-twice": lambda: _raw("manifest.json") + _raw("./manifest.json"),
    "link-loop": lambda: archives.linked(pack(_with_manifest(Layers=["loop"] * 2)), "loop", "loop"),
    "device": lambda: _raw("sda", kind=b"3"),
    "sparse-file": lambda: _raw("x", kind=b"S"),
    "pax-sparse": lambda: _pax(b"22 GNU.sparse.major=1\n"),
    "pax-claims-a-gigabyte": lambda: _raw("pax", kind=b"x", size=1 << 30),
    "pax-is-damaged": lambda: _pax(b"99999 path=x\n"),
    "endless-extensions": lambda: _pax(b"10 path=x\n") * 9,
    "folder-with-content": lambda: _raw("d", kind=b"5", size=512, data=bytes(512)),
    "negative-size": lambda: _with_size(b"\xff" * 12),
    "impossible-size": lambda: _with_size(b"\x80" + b"\x7f" * 11),
    "too-many-members": lambda: b"".join(_raw(str(n)) for n in range(MAX_MEMBERS + 1)),
    "bad-checksum": lambda: b"0" * 512,
}


def _with_size(field: bytes) -> bytes:
    header = bytearray(_raw("x")[:512])
    header[124:136] = field
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


@pytest.mark.parametrize("name", BENT)
def test_a_bent_archive_is_refused_with_a_message_that_helps(name: str, tmp_path: Path) -> None:
    path = tmp_path / "image.tar"
    path.write_bytes(BENT[name]())
    with pytest.raises(SubmissionError) as refused:
        scan_file(path, architecture="amd64")
    assert str(refused.value) + "\n" == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


def test_every_golden_message_has_its_archive() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(BENT)


@pytest.mark.parametrize("name", ["zstd-bomb", "pax-claims-a-gigabyte"])
def test_a_bomb_is_refused_in_little_memory(name: str, tmp_path: Path) -> None:
    path = tmp_path / "image.tar"
    path.write_bytes(BENT[name]())
    tracemalloc.start()
    try:
        with pytest.raises(SubmissionError):
            scan_file(path, architecture="amd64")
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


def test_an_archive_that_changes_between_scan_and_load_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "image.tar"
    honest = pack(docker_24(AN_IMAGE))
    path.write_bytes(honest)
    found = scan_file(path, architecture="amd64")
    path.write_bytes(honest.replace(b"layer 1layer 1", b"layer 1LAYER 1", 1))
    with pytest.raises(SubmissionError, match="changed while it was taken in"):
        list(canonical(path, found))


@given(data=st.data())
def test_no_damage_ends_in_anything_but_a_refusal_or_the_same_image(data: st.DataObject) -> None:
    layout = data.draw(st.sampled_from(sorted(LAYOUTS)))
    outer = data.draw(st.sampled_from(sorted(OUTER)))
    archive = bytearray(OUTER[outer](pack(LAYOUTS[layout])))
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.integers(0, len(archive) - 1))
        archive[where] = data.draw(st.integers(0, 255))
    try:
        found = read(bytes(archive[: data.draw(st.integers(0, len(archive)))]))
    except SubmissionError:
        return
    # A changed configuration is another image; its digest says so.
    assert found.config_digest == f"sha256:{sha256(found.config_bytes)}"
    if found.config_digest == AN_IMAGE.config_digest:
        assert [one.diff_id for one in found.layers] == [
            f"sha256:{sha256(one)}" for one in AN_IMAGE.layers
        ]


def test_small_images_of_mostly_empty_files_pass_the_bomb_check(tmp_path: Path) -> None:
    layer = pack({"weights": bytes(8 << 20)})
    config = {"os": "linux", "architecture": "amd64"}
    config_bytes = json.dumps(
        config | {"rootfs": {"diff_ids": [f"sha256:{sha256(layer)}"]}}
    ).encode()
    path = tmp_path / "image.tar.gz"
    path.write_bytes(gzip.compress(pack(docker_24(Image((layer,), config_bytes)))))
    assert path.stat().st_size * archive_bytes.MAX_RATIO < 8 << 20
    assert scan_file(path, architecture="amd64").size_bytes == len(layer)
