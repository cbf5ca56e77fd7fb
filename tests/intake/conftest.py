"""Fixtures of this folder."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from docker.errors import ImageNotFound

from containers import base_image, sandbox
from segtrial.container.engine import Engine
from segtrial.container.sandbox import Sandbox

__all__ = ["base_image", "sandbox"]

_REGISTRY = """\
version: 0.1
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""


@pytest.fixture(scope="session")
def engine(sandbox: Sandbox) -> Engine:
    """The engine of the sandbox."""
    return sandbox.engine


@pytest.fixture
def throw_away(engine: Engine) -> Iterator[list[str]]:
    """Images, by name or id, that are gone after the test."""
    names: list[str] = []
    yield names
    for name in names:
        with suppress(ImageNotFound):
            engine.api.remove_image(name, force=True)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """A real registry on the loopback; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = folder / "registry.yml"
    settings.write_text(_REGISTRY.format(folder=folder / "data", port=port))
    with (folder / "registry.log").open("w") as log:
        process = subprocess.Popen(
            [registry_program(folder), "serve", settings], stdout=log, stderr=log
        )
        try:
            wait_for(port)
            yield f"127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a real registry on the loopback."""
    with serving(tmp_path_factory.mktemp("registry")) as address:
        yield address


def registry_program(folder: Path) -> str:
    """Debian's docker-registry: the installed one, or the package's program, not installed."""
    installed = shutil.which("docker-registry")
    if installed:
        return installed
    if shutil.which("apt-get") is None:
        pytest.skip("a registry is tested with Debian's docker-registry, and here is no apt")
    fetch = ["apt-get", "download", "-q", "docker-registry"]
    subprocess.run(fetch, cwd=folder, check=True, capture_output=True)
    (package,) = folder.glob("docker-registry_*.deb")
    subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
    return str(folder / "usr/bin/docker-registry")


def wait_for(port: int) -> None:
    """Until something listens on a port of the loopback."""
    for _ in range(200):
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise AssertionError(f"nothing listens on port {port}")
