"""Images come in as archives, from a registry, by name and as Dockerfiles, and are run by id."""

from __future__ import annotations

import gzip
import json
import secrets
from pathlib import Path

import pytest

from intake import archives
from intake.archives import Image, docker_24, oci, pack
from intake.conftest import serving
from segtrial.container import engine_images
from segtrial.container.build import build_folder
from segtrial.container.engine import Engine
from segtrial.container.intake import Intake, take_in
from segtrial.container.sandbox import Sandbox
from segtrial.contracts.limits import Relaxations
from segtrial.contracts.submission import ImageSource, Submission
from segtrial.errors import EngineError, StoreError, SubmissionError

pytestmark = pytest.mark.docker


def submission(relaxations: Relaxations | None = None, **image: str) -> Submission:
    return Submission(
        schema_version="segtrial/1",
        id="stranger",
        name="Stranger",
        version="1",
        authors=("A. Stranger",),
        licence="MIT",
        image=ImageSource(**image),
        labels={1: "liver"},
        relaxations=relaxations or Relaxations(),
    )


def an_image(**runtime: object) -> Image:
    """An image that no engine has seen before."""
    return archives.image({"Labels": {"test": secrets.token_hex(8)}, **runtime})


def tags(engine: Engine, name: str) -> list[str]:
    found = engine_images.find(engine, name)
    assert found is not None
    return list(found["RepoTags"])


def write(folder: Path, data: bytes, name: str = "image.tar") -> str:
    (folder / name).write_bytes(data)
    return name


def from_archive(engine: Engine, folder: Path, data: bytes, throw_away: list[str]) -> Intake:
    name = write(folder, data)
    intake = take_in(engine, submission(archive=name), folder, archives=folder / "kept")
    throw_away.append(intake.image_id)
    return intake


def test_a_saved_image_comes_in_by_its_id_and_is_removed_with_its_submission(
    engine: Engine, base_image: str, tmp_path: Path
) -> None:
    lines = (
        f'FROM {base_image}\nLABEL x={secrets.token_hex(8)}\nUSER 1000\nENTRYPOINT ["python3"]\n'
    )
    (tmp_path / "Dockerfile").write_text(lines)
    image_id = build_folder(engine, tmp_path)
    saved = b"".join(engine.api.get_image(image_id))
    engine.api.remove_image(image_id)
    name = write(tmp_path, saved)
    intake = take_in(engine, submission(archive=name), tmp_path, archives=tmp_path / "kept")
    assert intake.image_id == intake.config_digest == image_id
    assert (intake.source, intake.loaded_by_us, intake.findings) == ("archive", True, ())
    assert (tmp_path / "kept" / str(intake.archive_sha256)).read_bytes() == saved
    assert tags(engine, image_id) == [f"segtrial/taken-in:{image_id[7:31]}"]
    assert engine_images.release(engine, image_id)
    assert engine_images.find(engine, image_id) is None


def test_layout_and_compression_of_an_archive_do_not_change_the_image(
    engine: Engine, tmp_path: Path, throw_away: list[str]
) -> None:
    image = an_image()
    ids = set()
    for data in (
        pack(docker_24(image)),
        gzip.compress(pack(oci(image, compress=gzip.compress))),
        archives.zstd(pack(oci(image, compress=archives.zstd))),
    ):
        intake = from_archive(engine, tmp_path, data, throw_away)
        ids.add(intake.image_id)
        engine_images.release(engine, intake.image_id)
    assert ids == {image.config_digest}


def test_an_image_for_another_architecture_never_reaches_the_engine(
    engine: Engine, tmp_path: Path
) -> None:
    foreign = archives.image(architecture="s390x")
    name = write(tmp_path, pack(docker_24(foreign)))
    with pytest.raises(SubmissionError, match="wrong_architecture"):
        take_in(engine, submission(archive=name), tmp_path, archives=tmp_path / "kept")
    assert engine_images.find(engine, foreign.config_digest) is None


def test_an_archive_that_lies_never_reaches_the_engine(engine: Engine, tmp_path: Path) -> None:
    honest = an_image()
    lying = Image((archives.image(files=3).layers[2], *honest.layers[1:]), honest.config)
    name = write(tmp_path, pack(docker_24(lying)))
    with pytest.raises(SubmissionError, match="contradicts itself"):
        take_in(engine, submission(archive=name), tmp_path)
    assert engine_images.find(engine, honest.config_digest) is None


def test_layers_that_the_engine_cannot_unpack_are_the_submissions_fault(
    engine: Engine, tmp_path: Path
) -> None:
    layer = b"this is no tar stream" * 100
    config = {
        "os": "linux",
        "architecture": "amd64",
        "config": {"Entrypoint": ["/predict"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{archives.sha256(layer)}"]},
    }
    broken = Image((layer,), json.dumps(config).encode())
    name = write(tmp_path, pack(docker_24(broken)))
    with pytest.raises(SubmissionError, match="engine does not load the image"):
        take_in(engine, submission(archive=name), tmp_path)


def test_an_image_that_was_there_before_is_not_ours_to_remove(
    engine: Engine, tmp_path: Path, throw_away: list[str]
) -> None:
    image = an_image()
    first = from_archive(engine, tmp_path, pack(docker_24(image)), throw_away)
    engine.api.tag(first.image_id, "segtrial-test/mine", image.config_digest[7:20])
    throw_away.append(f"segtrial-test/mine:{image.config_digest[7:20]}")
    assert engine_images.release(engine, first.image_id)
    again = from_archive(engine, tmp_path, pack(docker_24(image)), throw_away)
    assert not again.loaded_by_us
    assert not engine_images.release(engine, again.image_id)
    assert engine_images.find(engine, again.image_id)


def test_the_longest_unused_of_our_images_make_room_and_one_in_use_stays(
    engine: Engine,
    sandbox: Sandbox,
    tmp_path: Path,
    throw_away: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Images of a real run on this engine are called otherwise, and stay.
    monkeypatch.setattr(engine_images, "OUR_NAME", f"segtrial-test/ours-{secrets.token_hex(4)}")
    used, first, second, mine = (
        from_archive(engine, tmp_path, pack(docker_24(an_image())), throw_away).image_id
        for _ in range(4)
    )
    engine.api.tag(mine, "segtrial-test/mine", mine[7:20])
    throw_away.append(f"segtrial-test/mine:{mine[7:20]}")
    engine_images.release(engine, mine)
    size = int((engine_images.find(engine, first) or {})["Size"])
    with engine_images.held(engine, used, labels=sandbox.owner.labels):
        assert engine_images.keep_within(engine, 3 * size) == ()
        assert engine_images.keep_within(engine, 2 * size) == (first,)
        assert engine_images.keep_within(engine, 0) == (second,)
        assert engine_images.find(engine, used)
    assert engine_images.keep_within(engine, 0) == (used,)
    assert engine_images.find(engine, mine)


@pytest.mark.parametrize("name", ["../image.tar", "/etc/passwd", "gone.tar", "."])
def test_an_archive_lies_in_its_submissions_folder(
    engine: Engine, tmp_path: Path, name: str
) -> None:
    write(tmp_path, pack(docker_24(an_image())))
    folder = tmp_path / "submission"
    folder.mkdir()
    with pytest.raises(SubmissionError, match=r"outside of|cannot be read|not a regular file"):
        take_in(engine, submission(archive=name), folder)


def test_a_full_disk_refuses_before_it_fills(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = write(tmp_path, pack(docker_24(an_image())))
    monkeypatch.setattr(engine_images, "KEEP_FREE_BYTES", 1 << 60)
    with pytest.raises(EngineError, match="no room for the image"):
        take_in(engine, submission(archive=name), tmp_path)
    monkeypatch.setattr("segtrial.container.archive_copy.KEEP_FREE_BYTES", 1 << 60)
    with pytest.raises(StoreError, match="no room"):
        take_in(engine, submission(archive=name), tmp_path, archives=tmp_path / "kept")
    assert [path.name for path in (tmp_path / "kept").iterdir()] == [".lock"]


def test_root_is_seen_behind_another_name(
    engine: Engine, tmp_path: Path, throw_away: list[str]
) -> None:
    layer = pack({"etc/passwd": b"toor:x:0:0::/:/bin/sh\napp:x:1000:1000::/:/bin/sh\n"})
    for user, reasons in (("toor", ["root_user"]), ("app", []), ("ghost", ["unknown_user"])):
        config = json.loads(an_image(User=user).config)
        config["rootfs"]["diff_ids"] = [f"sha256:{archives.sha256(layer)}"]
        image = Image((layer,), json.dumps(config).encode())
        intake = from_archive(engine, tmp_path, pack(docker_24(image)), throw_away)
        assert [finding.reason for finding in intake.findings] == reasons


def test_a_writable_root_needs_an_engine_that_can_bound_it(engine: Engine, base_image: str) -> None:
    asks = submission(Relaxations(writable_rootfs=True), reference=base_image)
    with pytest.raises(SubmissionError, match="writable_rootfs_not_granted"):
        take_in(engine, asks, Path())
    driver = engine.info()["Driver"]
    backing = dict(engine.info()["DriverStatus"]).get("Backing Filesystem")
    if (driver, backing) == ("overlay2", "extfs"):
        with pytest.raises(SubmissionError, match="writable_rootfs_unbounded"):
            take_in(engine, asks, Path(), granted=Relaxations(writable_rootfs=True))


def test_a_local_name_is_resolved_to_an_id_once(
    engine: Engine, tmp_path: Path, throw_away: list[str]
) -> None:
    image = from_archive(engine, tmp_path, pack(docker_24(an_image())), throw_away)
    name = f"segtrial-test/named-{secrets.token_hex(4)}"
    throw_away.append(f"{name}:1")
    engine.api.tag(image.image_id, name, "1")
    for reference in (f"{name}:1", image.image_id, image.image_id[7:19]):
        found = take_in(engine, submission(reference=reference), tmp_path)
        assert (found.image_id, found.source) == (image.image_id, "local")


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("segtrial-test/nobody-has-this:1", "a name without a digest is not pulled"),
        ("Not A Name!", "is no image name or id"),
        ("host.invalid/name@sha256:123", "not pinned to a digest"),
        ("host.invalid/name:1@latest", "not pinned to a digest"),
        (f"127.0.0.1:1/name@sha256:{'0' * 64}", "cannot be pulled"),
    ],
)
def test_a_reference_that_leads_nowhere_says_so(
    engine: Engine, reference: str, message: str
) -> None:
    with pytest.raises(SubmissionError, match=message):
        take_in(engine, submission(reference=reference), Path())


def test_a_pinned_reference_is_pulled_by_its_digest(
    engine: Engine, registry: str, tmp_path: Path, throw_away: list[str]
) -> None:
    image = from_archive(engine, tmp_path, pack(docker_24(an_image())), throw_away)
    name = f"{registry}/team/model"
    engine.api.tag(image.image_id, name, "1")
    said = [
        json.loads(line) for line in str(engine.api.push(name, "1")).splitlines() if line.strip()
    ]
    digest = next(row["aux"]["Digest"] for row in said if "aux" in row)
    engine.api.remove_image(image.image_id, force=True)
    intake = take_in(engine, submission(reference=f"{name}@{digest}"), tmp_path)
    throw_away.append(intake.image_id)
    assert intake.config_digest == image.config_digest
    assert (intake.source, intake.loaded_by_us) == ("registry", True)
    assert engine_images.find(engine, f"{name}:1") is None
    for again in (f"{name}@{digest}", f"{name}:1@{digest}"):
        assert take_in(engine, submission(reference=again), tmp_path) == intake
    assert engine_images.release(engine, intake.image_id)
    assert engine_images.find(engine, intake.image_id) is None
    other = f"sha256:{'0' * 64}"
    with pytest.raises(SubmissionError, match="cannot be pulled"):
        take_in(engine, submission(reference=f"{name}@{other}"), tmp_path)


def test_a_registry_that_went_away_is_named(engine: Engine, tmp_path: Path) -> None:
    with serving(tmp_path) as address:
        pass
    with pytest.raises(SubmissionError, match="connection refused"):
        take_in(engine, submission(reference=f"{address}/x@sha256:{'0' * 64}"), tmp_path)


def test_a_strangers_dockerfile_is_not_built_unless_asked(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    with pytest.raises(SubmissionError, match="--build"):
        take_in(engine, submission(dockerfile="Dockerfile"), tmp_path)
