"""`.ci/engine.sh` starts an engine where none answers, and says what to do where it must not.

Each script runs in namespaces of its own, with empty folders in the places that an engine uses: it
sees a machine without an engine, and this machine's engine sees nothing of it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces for a second engine need root"),
]
_PATH = f"{Path(sys.executable).parent}:{os.defpath}:/usr/local/bin:/usr/sbin:/sbin"
_EMPTY_MACHINE = """
set -eu
for folder in /run /var/lib/docker /var/log; do mount -t tmpfs tmpfs "$folder"; done
"""


def on_an_empty_machine(*lines: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run lines of shell on a machine without an engine; whatever they start ends with them."""
    namespaces = ["--mount", "--pid", "--fork", "--net", "--mount-proc", "--propagation", "private"]
    environment = {key: value for key, value in os.environ.items() if key != "NO_INSTALL"}
    return subprocess.run(
        ["unshare", *namespaces, "--kill-child", "sh", "-c", "\n".join([_EMPTY_MACHINE, *lines])],
        cwd=ROOT,
        env={**environment, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_an_engine_is_started_once_with_its_log_and_a_stand_in_for_the_gpu_hook() -> None:
    if shutil.which("nvidia-container-runtime-hook", path=_PATH):
        pytest.skip("this machine has NVIDIA's own hook")
    done = on_an_empty_machine(
        ".ci/engine.sh",
        ".ci/engine.sh",
        "tr '\\0' '\\n' < /proc/$(cat /run/docker.pid)/environ | grep ^PATH=",
        "grep -c 'API listen on' /var/log/segtrial-dockerd.log",
        SEGTRIAL_STUB_GPU="1",
        PATH=_PATH,
    )
    said = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert said[0] == "engine: none answers at /var/run/docker.sock"
    assert said[-4:-2] == ["engine: ready", "engine: one answers at /var/run/docker.sock"]
    assert said[-2].startswith("PATH=/run/segtrial-engine:")
    assert said[-1] == "1"


def test_what_a_killed_engine_left_does_not_keep_the_next_from_starting() -> None:
    done = on_an_empty_machine(
        "mkdir -p /run/docker/containerd",
        "echo 1 > /run/docker.pid; echo 1 > /run/docker/containerd/containerd.pid",
        ".ci/engine.sh",
        "kill -9 $(cat /run/docker.pid); sleep 0.5",
        ".ci/engine.sh",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("engine: ready") == 2


def test_a_kernel_that_cannot_filter_packets_gets_an_engine_without_a_bridge() -> None:
    done = on_an_empty_machine(
        "mkdir /run/fake; printf '#!/bin/sh\\nexit 3\\n' > /run/fake/iptables",
        "chmod +x /run/fake/iptables; PATH=/run/fake:$PATH .ci/engine.sh",
    )
    assert done.returncode == 0, done.stderr
    assert "starting without a bridge, so builds have no network" in done.stdout


def test_an_engine_that_cannot_start_shows_the_end_of_its_log() -> None:
    done = on_an_empty_machine(
        "mkdir /run/fake; printf '#!/bin/sh\\necho no such thing\\nexit 3\\n' > /run/fake/dockerd",
        "chmod +x /run/fake/dockerd; PATH=/run/fake:$PATH .ci/engine.sh",
    )
    assert done.returncode == 1
    assert "no such thing" in done.stderr
    assert "the end of /var/log/segtrial-dockerd.log is above" in done.stderr


@pytest.mark.parametrize("variables", [{"NO_INSTALL": "1"}, {"DOCKER_HOST": "unix:///nobody"}])
def test_where_nothing_may_be_installed_one_paragraph_says_what_to_do(
    variables: dict[str, str],
) -> None:
    done = on_an_empty_machine(".ci/engine.sh", **variables)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("No container engine answers on this machine")
    assert "apt-get install docker.io" in done.stderr


def test_an_engine_elsewhere_is_left_to_whoever_named_it() -> None:
    done = on_an_empty_machine(".ci/engine.sh", DOCKER_HOST="tcp://elsewhere.test:2376")
    assert (done.returncode, done.stdout.count("\n")) == (0, 1)
