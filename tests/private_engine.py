"""A container engine of a test's own: to be killed and restarted, with a stand-in GPU hook.

The shared engine must not be harmed by a test, and only a dockerd that found the hook on its PATH
when it started accepts GPU requests. Needs root and a dockerd.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

# The engine runs the hook before each container that asks for a GPU.
HOOK = """#!/bin/sh
if [ -e {folder}/gpu-broken ]; then
    echo 'nvidia-container-cli: initialization error: nvml error: unknown error' >&2
    exit 1
fi
"""


@dataclass
class PrivateEngine:
    """A dockerd in a folder of its own."""

    folder: Path
    storage: str = "vfs"
    """Storage driver; vfs works everywhere and copies every image, overlay2 shares its layers."""
    options: tuple[str, ...] = ()
    """More options of dockerd."""
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Value for DOCKER_HOST."""
        return f"unix://{self.folder}/engine.sock"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        # A killed engine's processes can stay in the table of processes for a while, and a new one
        # would take them for alive.
        (self.folder / "engine.pid").unlink(missing_ok=True)
        (self.folder / "exec/containerd/containerd.pid").unlink(missing_ok=True)
        hook = self.folder / "nvidia-container-runtime-hook"
        hook.write_text(HOOK.format(folder=self.folder))
        hook.chmod(0o755)
        command = [
            # It ends with the tests, also when these are killed.
            *("setpriv", "--pdeathsig", "TERM"),
            # In a network of its own: an engine without a bridge removes the host's docker0.
            *("unshare", "--net", "dockerd"),
            f"--host={self.address}",
            f"--data-root={self.folder}/data",
            f"--exec-root={self.folder}/exec",
            f"--pidfile={self.folder}/engine.pid",
            "--bridge=none",
            "--iptables=false",
            f"--storage-driver={self.storage}",
            *self.options,
        ]
        path = f"{self.folder}:{os.environ['PATH']}"
        with (self.folder / "engine.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, env={**os.environ, "PATH": path}, stdout=log, stderr=log
            )
        self._wait_for_answer()

    def _wait_for_answer(self) -> None:
        deadline = time.monotonic() + 60
        while not self._answers():
            assert time.monotonic() < deadline, (self.folder / "engine.log").read_text()
            time.sleep(0.05)

    def _answers(self) -> bool:
        """Whether it listens and then answers; one that is starting resets connections."""
        if not self._listens():
            return False
        try:
            return bool(self.docker("version", "--format", "{{.Server.Version}}"))
        except subprocess.CalledProcessError:
            return False

    def _listens(self) -> bool:
        # By hand: docker-py leaves a socket open whose connection was refused.
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(f"{self.folder}/engine.sock") == 0

    def end(self, by: signal.Signals) -> None:
        """End it: SIGKILL leaves its containers running, SIGTERM ends them too."""
        assert self.process is not None
        self.process.send_signal(by)
        self.process.wait(60)

    def docker(self, *words: str) -> list[str]:
        """Lines that the docker command prints for this engine."""
        done = subprocess.run(
            ["docker", "--host", self.address, *words], capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()

    def load(self, image_id: str, *, tag: str) -> None:
        """Copy an image from the host's engine."""
        with subprocess.Popen(["docker", "save", image_id], stdout=subprocess.PIPE) as save:
            subprocess.run(
                ["docker", "--host", self.address, "load", "--quiet"],
                stdin=save.stdout,
                stdout=subprocess.DEVNULL,
                check=True,
            )
        self.docker("tag", image_id, tag)

    def break_gpus(self) -> None:
        """From now on the hook refuses every GPU."""
        (self.folder / "gpu-broken").touch()


def can_start() -> bool:
    """Whether this user may start an engine."""
    return os.geteuid() == 0 and shutil.which("dockerd") is not None


@contextmanager
def running_engine(*, storage: str, options: tuple[str, ...] = ()) -> Iterator[PrivateEngine]:
    """A private engine until the block ends; nothing of it is left."""
    # Short, because the path of a socket has at most 107 characters.
    engine = PrivateEngine(Path(tempfile.mkdtemp(prefix="segtrial-")), storage, options)
    engine.start()
    try:
        yield engine
    finally:
        if engine.process is not None and engine.process.poll() is not None:
            engine.start()
        # Only a clean end takes its containers and its containerd with it.
        engine.end(signal.SIGTERM)
        # The engine binds its data folder onto itself, once for each start.
        while not subprocess.run(
            ["umount", engine.folder / "data"], capture_output=True, check=False
        ).returncode:
            pass
        _end_orphans(engine.folder)
        shutil.rmtree(engine.folder)


def _end_orphans(folder: Path) -> None:
    """End what an engine killed in mid-start left behind: nobody knows of it any more."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"{folder}/exec/".encode() in (process / "cmdline").read_bytes():
                children = (process / "task" / process.name / "children").read_text().split()
                for number in (process.name, *children):
                    os.kill(int(number), signal.SIGKILL)
        except OSError:  # it ended by itself
            continue


@pytest.fixture
def private_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[PrivateEngine]:
    """An engine of this test's own, to which `connect` leads."""
    with running_engine(storage="vfs") as engine:
        monkeypatch.setenv("DOCKER_HOST", engine.address)
        yield engine
