"""How a submission's container image comes in, whatever it comes as; the result is run by id.

- An *archive* is copied by hash, the copy is scanned and judged, and only then is it loaded,
  written anew without the names it would like to have.
- A *registry reference* has to be pinned to a digest and is pulled by it.
- A *local* name or id is resolved to an id once.
- A *Dockerfile* is built only when that was asked for: its RUN lines are a stranger's program.

Whatever way it took, the engine's own account of the image is judged by `image_policy` before
anything of it is run.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from docker.errors import APIError

from segtrial.container import engine_images
from segtrial.container.archive import scan_file
from segtrial.container.archive_copy import keep_copy
from segtrial.container.build import build_submission
from segtrial.container.engine import ENGINE_FAULTS, Engine
from segtrial.container.engine_images import host_architecture
from segtrial.container.image_config import ImageConfig, read_config
from segtrial.container.image_facts import read_image
from segtrial.container.image_policy import Finding, Verdict, decide
from segtrial.contracts.limits import Relaxations
from segtrial.contracts.submission import Submission
from segtrial.errors import EngineError, SubmissionError

Source = Literal["archive", "registry", "local", "dockerfile"]

_PINNED = re.compile(r"^[^@\s]+@sha256:[0-9a-f]{64}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """An image that may be run, by its id."""

    image_id: str
    config_digest: str
    """Hash of the image's configuration, which commits to all its files; part of the run's key."""
    source: Source
    findings: tuple[Finding, ...]
    granted: Relaxations
    """Relaxations both asked for and granted."""
    size_bytes: int
    """Bytes of all layers, as the engine counts them."""
    loaded_by_us: bool
    """Whether it is in the engine because of a submission; `engine_images.release` removes it."""
    archive_sha256: str | None = None
    """Hash of the archive that was copied, where it came as one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """What the maintainer decided; the parameters of `take_in`."""

    granted: Relaxations
    archives: Path | None
    may_build: bool
    base_image: str | None
    network: bool
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arrival:
    image_id: str
    source: Source
    archive_sha256: str | None = None


def take_in(
    engine: Engine,
    submission: Submission,
    folder: Path,
    *,
    granted: Relaxations | None = None,
    archives: Path | None = None,
    may_build: bool = False,
    base_image: str | None = None,
    network: bool = False,
    labels: Mapping[str, str] | None = None,
) -> Intake:
    """Bring a submission's image into the engine and judge it.

    Parameters
    ----------
    engine
        The engine.
    submission
        The manifest; its ``image`` says where the image is.
    folder
        The folder that the manifest lies in.
    granted
        Relaxations that the maintainer grants; for sizes, the largest.
    archives
        Folder that keeps the copies of archives; without one, the copy is temporary.
    may_build
        Whether a Dockerfile may be built.
    base_image
        Id of the local base image, for Dockerfiles.
    network
        Whether a Dockerfile's RUN lines may use the network.
    labels
        For the containers that are created, and never started, to look into an image.

    Raises
    ------
    SubmissionError
        There is no such image, it is damaged, or the policy rejects it; every reason is named.
    EngineError
        The engine does not answer, or has no room.
    StoreError
        There is no room for the copy of an archive.
    """
    options = _Options(
        granted=granted or Relaxations(),
        archives=archives,
        may_build=may_build,
        base_image=base_image,
        network=network,
        labels=labels or {},
    )
    try:
        return _take_in(engine, submission, folder, options)
    except SubmissionError as problem:
        image = submission.image
        given = image.archive or image.reference or image.dockerfile
        problem.add_note(f"submission {submission.id}, image {given} in {folder}")
        raise
    except ENGINE_FAULTS as error:
        raise EngineError(
            f"The engine went away while it took in an image: {error}. Restart it, then try again."
        ) from error


def _take_in(engine: Engine, submission: Submission, folder: Path, options: _Options) -> Intake:
    arrival = _arrive(engine, submission, folder, options)
    found = engine_images.find(engine, arrival.image_id)
    if found is None:
        raise EngineError(f"The image {arrival.image_id} vanished from the engine. Try again.")
    image = read_config(found, size_bytes=int(found["Size"]))
    verdict = _judge(engine, image, submission, options, image_id=arrival.image_id)
    return Intake(
        image_id=arrival.image_id,
        config_digest=engine_images.config_digest(engine, arrival.image_id),
        source=arrival.source,
        findings=verdict.findings,
        granted=verdict.granted,
        size_bytes=image.size_bytes,
        loaded_by_us=engine_images.is_ours(found),
        archive_sha256=arrival.archive_sha256,
    )


def _judge(
    engine: Engine,
    image: ImageConfig,
    submission: Submission,
    options: _Options,
    *,
    image_id: str | None = None,
) -> Verdict:
    """Decide, with what only the engine knows where the image is in it already."""
    user, bounded = None, True
    if image_id is not None:
        if not re.fullmatch(r"\d*(:.*)?", image.user):
            user = read_image(engine, image_id, labels=options.labels).user
        if submission.relaxations.writable_rootfs and options.granted.writable_rootfs:
            bounded = _holds_disk_quota(engine, image_id, options)
    verdict = decide(
        image,
        host_architecture=host_architecture(engine),
        asked=submission.relaxations,
        granted=options.granted,
        user=user,
        disk_is_bounded=bounded,
    )
    if verdict.rejections:
        reasons = "\n".join(f"- {finding.reason}: {finding}" for finding in verdict.rejections)
        raise SubmissionError(f"The container image is not accepted.\n{reasons}")
    return verdict


def _arrive(engine: Engine, submission: Submission, folder: Path, options: _Options) -> _Arrival:
    image = submission.image
    if image.archive:
        return _from_archive(engine, submission, folder, options)
    if image.reference and "@" in image.reference:
        return _from_registry(engine, image.reference)
    if image.reference:
        return _from_engine(engine, image.reference)
    return _from_dockerfile(engine, folder, str(image.dockerfile), options)


def _from_archive(
    engine: Engine, submission: Submission, folder: Path, options: _Options
) -> _Arrival:
    with _archives_folder(options) as archives:
        copy = keep_copy(_inside(folder, str(submission.image.archive)), archives)
        image = scan_file(copy, architecture=host_architecture(engine))
        _judge(engine, image.config, submission, options)
        image_id = image.config_digest
        found = engine_images.find(engine, image_id)
        if engine_images.is_containerd_store(engine) or not found:
            image_id = engine_images.load(engine, copy, image)
        if not found or engine_images.is_ours(found):
            engine_images.mark_ours(engine, image_id)
        return _Arrival(image_id=image_id, source="archive", archive_sha256=copy.name)


@contextmanager
def _archives_folder(options: _Options) -> Iterator[Path]:
    if options.archives is not None:
        yield options.archives
        return
    with tempfile.TemporaryDirectory(prefix="segtrial-archive-") as folder:
        yield Path(folder)


def _inside(folder: Path, name: str) -> Path:
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise SubmissionError(
            f"The archive {name!r} lies outside of the submission's folder. Keep it beside "
            "submission.yaml."
        )
    return path


def _from_registry(engine: Engine, reference: str) -> _Arrival:
    if not _PINNED.match(reference):
        raise SubmissionError(
            f"The reference {reference!r} is not pinned to a digest: what a tag means can change "
            "from one day to the next. Write host/name@sha256: and 64 hexadecimal digits, as "
            "`docker push` printed them."
        )
    found = engine_images.find(engine, reference)
    image_id = str(found["Id"]) if found else engine_images.pull(engine, reference)
    if not found or engine_images.is_ours(found):
        engine_images.mark_ours(engine, image_id)
    return _Arrival(image_id=image_id, source="registry")


def _from_engine(engine: Engine, name: str) -> _Arrival:
    found = engine_images.find(engine, name)
    if found is None:
        raise SubmissionError(
            f"The engine has no image {name!r}, and a name without a digest is not pulled. Build "
            "or load it first, or give a registry reference pinned to a digest: "
            "host/name@sha256:..."
        )
    return _Arrival(image_id=str(found["Id"]), source="local")


def _from_dockerfile(engine: Engine, folder: Path, dockerfile: str, options: _Options) -> _Arrival:
    if not options.may_build:
        raise SubmissionError(
            "The submission comes as a Dockerfile, and building one runs its author's commands "
            "outside of the sealed run. Ask for an archive (`docker save`), or allow it with "
            "--build."
        )
    image_id = build_submission(
        engine,
        folder,
        dockerfile=dockerfile,
        base_image=options.base_image,
        network=options.network,
    )
    # An engine removes untagged images whenever somebody cleans up, also in the middle of a run.
    engine_images.mark_ours(engine, image_id)
    return _Arrival(image_id=image_id, source="dockerfile")


def _holds_disk_quota(engine: Engine, image_id: str, options: _Options) -> bool:
    """Whether this engine can bound what a container writes to its own file system."""
    body = {
        "Image": image_id,
        "Entrypoint": ["-"],
        "Labels": dict(options.labels),
        "HostConfig": {"NetworkMode": "none", "StorageOpt": {"size": "1G"}},
    }
    try:
        container = engine.create(body, name=f"segtrial-quota-{os.urandom(8).hex()}")
    except APIError:
        return False
    engine.remove(container)
    return True
