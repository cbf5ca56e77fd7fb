"""The one connection to the container engine.

Spoken is the engine's own REST interface, through docker-py's low-level client: the bodies of
its calls are plain data that `spec` builds and tests can read, and a run costs six requests
instead of the eleven of the high-level objects. The address comes from DOCKER_HOST or is the
default socket; the Docker CLI's contexts are not consulted, because a grader must not change
machines when somebody types ``docker context use``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException, NotFound
from docker.utils import kwargs_from_env

from segtrial.errors import EngineError

DEFAULT_ADDRESS = "unix:///var/run/docker.sock"
OLDEST_API = (1, 41)
"""Docker Engine 20.10: the first with private cgroup namespaces in the create call."""
CALL_TIMEOUT_S = 120
"""Longest silence of a single call; a first start with a cold GPU driver takes tens of seconds."""

ENGINE_FAULTS = (DockerException, requests.RequestException)
"""Whatever a call can raise when the engine refuses it or does not answer."""

Json = dict[str, Any]


def explanation(error: Exception) -> str:
    """The engine's own words, without the address and status code around them."""
    return str(getattr(error, "explanation", None) or error)


@dataclass(frozen=True, slots=True)
class Engine:
    """A container engine that has answered."""

    api: docker.APIClient
    address: str
    _info: Json = field(default_factory=dict, repr=False)

    @property
    def is_local(self) -> bool:
        """Whether the engine is reached by a socket file, so that it may share our file system."""
        return self.address.startswith(("unix://", "http+unix://"))

    def info(self) -> Json:
        """What the engine says of itself and its host, asked once."""
        if not self._info:
            self._info.update(self.api.info())
        return self._info

    def create(self, body: Mapping[str, Any], *, name: str) -> str:
        """Create a container from the body of the engine's own call; never pulls an image."""
        made = self.api.create_container_from_config(dict(body), name=name)  # type: ignore[no-untyped-call]
        return str(made["Id"])

    def start(self, container: str) -> None:
        """Start a created container."""
        self.api.start(container)

    def exited(self, container: str, *, within_s: float) -> bool:
        """Whether a started container ends within a time.

        docker-py raises ConnectionError for a read timeout over a unix socket, although it
        promises ReadTimeout, and ConnectionError too when the engine dies; only the text differs.
        """
        try:
            self.api.wait(container, timeout=within_s)  # type: ignore[arg-type] # fractions work
        except requests.ReadTimeout:
            return False
        except requests.ConnectionError as error:
            if "Read timed out" not in str(error):
                raise
            return False
        return True

    def inspect(self, container: str) -> Json:
        """Everything the engine knows about a container."""
        seen: Json = self.api.inspect_container(container)
        return seen

    def kill(self, container: str) -> bool:
        """Send SIGKILL; False when there was nothing left to kill.

        Never ``stop``: its first signal is chosen by the image's STOPSIGNAL.
        """
        try:
            self.api.kill(container, signal="SIGKILL")
        except NotFound:
            return False
        except APIError as error:
            if error.status_code == requests.codes.conflict:
                return False
            raise
        return True

    def log_chunks(self, container: str) -> Iterator[bytes]:
        """Whatever the container printed, as the engine kept it, in pieces of unknown size."""
        return iter(self.api.logs(container, stdout=True, stderr=True, stream=True))

    def remove(self, container: str) -> None:
        """Kill and remove a container with its anonymous volumes; nothing happens if it is gone."""
        with suppress(NotFound):
            self.api.remove_container(container, force=True, v=True)

    def remove_volume(self, volume: str) -> None:
        """Remove a volume; nothing happens if it is gone."""
        with suppress(NotFound):
            self.api.remove_volume(volume, force=True)

    def remove_image(self, image: str) -> None:
        """Remove an image; nothing happens if it is gone."""
        with suppress(NotFound):
            self.api.remove_image(image, force=True)

    def close(self) -> None:
        """Close the connections."""
        self.api.close()


def connect(*, slots: int = 1) -> Engine:
    """Connect to the engine of DOCKER_HOST, or of the default socket.

    Parameters
    ----------
    slots
        Attempts that will run at once; the connection pool is sized for them.

    Raises
    ------
    EngineError
        No engine answers, this user may not use it, or it is older than Docker 20.10.
    """
    settings: Json = {"base_url": DEFAULT_ADDRESS}
    if os.environ.get("DOCKER_HOST"):
        settings |= _settings_of_environment()
    address = str(settings["base_url"])
    try:
        # Each slot holds one connection in wait() and needs another to kill; see the pool
        # warnings of urllib3 at the default of ten.
        api = docker.APIClient(
            version="auto", timeout=CALL_TIMEOUT_S, max_pool_size=2 * slots + 4, **settings
        )
    except ENGINE_FAULTS as error:
        raise EngineError(_no_answer(address, error)) from error
    _require_recent(api)
    return Engine(api=api, address=address)


def _settings_of_environment() -> Json:
    try:
        settings: Json = dict(kwargs_from_env())
    except DockerException as error:
        raise EngineError(
            f"DOCKER_HOST and its TLS variables cannot be used: {error}. Unset them to use the "
            "local engine, or correct them."
        ) from error
    return settings


def _no_answer(address: str, error: Exception) -> str:
    why = _innermost_reason(error)
    if "Permission denied" in why:
        what_to_do = "Run as root, or add this user to the group docker and log in again."
    elif address == DEFAULT_ADDRESS:
        what_to_do = "Install or start Docker (`dockerd`, or `systemctl start docker`), then retry."
    else:
        what_to_do = "Check DOCKER_HOST, or unset it to use the local engine."
    return f"No container engine answers at {address}: {why}. {what_to_do}"


def _innermost_reason(error: BaseException) -> str:
    """The operating system's own words, from below the layers of wrapping exceptions."""
    found = re.findall(
        r"(?:FileNotFoundError|PermissionError|\w+Error)\((\d+), '([^']+)'", str(error)
    )
    return str(found[-1][1]) if found else str(error)


def _require_recent(api: docker.APIClient) -> None:
    version = tuple(int(part) for part in str(api.api_version).split(".")[:2])
    if version < OLDEST_API:
        api.close()
        raise EngineError(
            f"The container engine speaks API {api.api_version}; the sealed run needs "
            f"{OLDEST_API[0]}.{OLDEST_API[1]} (Docker 20.10) or newer. Update the engine."
        )
