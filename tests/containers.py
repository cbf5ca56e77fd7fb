"""Fixtures for tests that start real containers: the base image, a sandbox, programs to run.

Used by any folder of tests whose ``conftest.py`` imports the fixtures it wants from here.
"""

from __future__ import annotations

import io
import os
import tarfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pytest

from segtrial.container.base_image import ensure_base_image
from segtrial.container.exchange import ExchangeKind
from segtrial.container.image_facts import ImageFacts, read_image
from segtrial.container.observation import Observation
from segtrial.container.owner import LABEL_OWNER
from segtrial.container.run import run_attempt
from segtrial.container.sandbox import Sandbox, open_sandbox
from segtrial.container.spec import ContainerSpec
from segtrial.contracts.limits import Limits

SMALL = Limits(time_s=20, memory_gib=0.125, pids=64, tmp_gib=0.03125, shm_gib=0.03125, output_mib=8)
"""Limits that a hostile program reaches in a moment, and that two cores can serve at once."""


class MakeImage(Protocol):
    """Makes an image of the base image, files, and any configuration of the engine's interface."""

    def __call__(
        self, *, files: Mapping[str, bytes | str] | None = None, **config: object
    ) -> ImageFacts:
        """Facts of the image; ``config`` is spelt as the engine does, such as ``Entrypoint``."""


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root beside the engine")
"""For what only root can do or see; everything else runs for a member of the group docker too."""


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """An open sandbox that has left nothing behind by the end of the tests."""
    with open_sandbox(slots=4) as sandbox:
        yield sandbox
        assert left_behind(sandbox) == []


@pytest.fixture(scope="session")
def base_image(sandbox: Sandbox) -> str:
    """Id of the base image, made if need be."""
    return ensure_base_image(sandbox.engine, announce=print).id


@pytest.fixture(scope="session")
def make_image(sandbox: Sandbox, base_image: str) -> Iterator[MakeImage]:
    """Make images on the base image, without a network, and remove them after the tests."""
    made: list[str] = []

    def make(*, files: Mapping[str, bytes | str] | None = None, **config: object) -> ImageFacts:
        image = commit(sandbox, base_image, files or {}, config)
        made.append(image)
        return read_image(sandbox.engine, image, labels=sandbox.owner.labels)

    yield make
    for image in reversed(made):
        sandbox.engine.remove_image(image)


def commit(
    sandbox: Sandbox, base: str, files: Mapping[str, bytes | str], config: Mapping[str, object]
) -> str:
    """Id of an image; a file given as text is a link.

    Committed, not built, because the builder fills a VOLUME by itself.
    """
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            if isinstance(content, str):
                member.type, member.linkname = tarfile.SYMTYPE, content
                tar.addfile(member)
            else:
                member.size, member.mode = len(content), 0o755
                tar.addfile(member, io.BytesIO(content))
    engine = sandbox.engine
    body = {"Image": base, "Cmd": ["-"], "Labels": sandbox.owner.labels}
    container = engine.create(body, name=f"segtrial-{sandbox.new_attempt_name()}")
    try:
        engine.api.put_archive(container, "/", packed.getvalue())
        made = engine.api.commit(container, conf={"Labels": sandbox.owner.labels, **config})
    finally:
        engine.remove(container)
    return str(made["Id"])


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Runs programs as attempts, each in a folder of its own."""

    sandbox: Sandbox
    image: ImageFacts
    folder: Path
    _count: list[int] = field(default_factory=lambda: [0])

    def spec(self, *lines: str, limits: Limits = SMALL) -> ContainerSpec:
        """Attempt that runs lines of Python in the base image."""
        return ContainerSpec(
            image=self.image,
            input_dir=self.folder / "input",
            limits=limits,
            entrypoint=("python3", "-c", "\n".join(lines)),
        )

    def run(self, spec: ContainerSpec, stop: threading.Event | None = None) -> Observation:
        """Run an attempt; its output, if any, is `output` afterwards."""
        self._count[0] += 1
        return run_attempt(self.sandbox, spec, output_to=self.output, stop=stop)

    def python(self, *lines: str, limits: Limits = SMALL) -> Observation:
        """Run lines of Python."""
        return self.run(self.spec(*lines, limits=limits))

    @property
    def output(self) -> Path:
        """Where the last attempt's file was put."""
        return self.folder / f"output-{self._count[0]}"


@pytest.fixture
def bench(sandbox: Sandbox, base_image: str, tmp_path: Path) -> Bench:
    """A bench with one staged case that holds a request and a small file."""
    return make_bench(sandbox, base_image, tmp_path)


@pytest.fixture(scope="session", params=["host tmpfs", "engine volume"])
def exchange_sandbox(request: pytest.FixtureRequest, sandbox: Sandbox) -> Iterator[Sandbox]:
    """A sandbox for each way in and out that this user can take here."""
    kind: ExchangeKind = request.param
    if kind == sandbox.exchanges.kind:
        yield sandbox
        return
    if kind == "host tmpfs":
        pytest.skip("needs root beside the engine")
    with open_sandbox(exchange=kind) as other:
        yield other
        assert left_behind(other) == []


@pytest.fixture
def exchange_bench(exchange_sandbox: Sandbox, base_image: str, tmp_path: Path) -> Bench:
    """A bench for each way in and out."""
    return make_bench(exchange_sandbox, base_image, tmp_path)


def make_bench(sandbox: Sandbox, image: str, folder: Path) -> Bench:
    """Stage a case of two files and read the image."""
    case = folder / "input"
    case.mkdir(mode=0o700)
    for name, content in {"request.json": b"{}", "scan.nii.gz": b"scan"}.items():
        (case / name).write_bytes(content)
    if image not in _facts:  # reading them takes a container
        _facts[image] = read_image(sandbox.engine, image, labels=sandbox.owner.labels)
    return Bench(sandbox=sandbox, image=_facts[image], folder=folder)


_facts: dict[str, ImageFacts] = {}


def left_behind(sandbox: Sandbox) -> list[str]:
    """Containers, volumes, mounts and control groups that an owner has at this moment."""
    mine = {"label": f"{LABEL_OWNER}={sandbox.owner.name}"}
    api = sandbox.engine.api
    containers = [str(found["Names"]) for found in api.containers(all=True, filters=mine)]
    volumes = [str(found["Name"]) for found in api.volumes(filters=mine)["Volumes"] or []]
    mounts = [str(found) for found in sandbox.owner.folder.iterdir()]
    groups = [
        str(found) for found in Path("/sys/fs/cgroup").rglob(f"segtrial-{sandbox.owner.name}*")
    ]
    return containers + volumes + mounts + groups
