"""What an image, as the engine holds it, would change about a run if nobody looked.

Read from the engine by id, immediately before use, whatever the intake said of the archive: this
is the configuration that the engine will merge into the container.
"""

from __future__ import annotations

import posixpath
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from docker.errors import ImageNotFound

from segtrial.container.accounts import Accounts, resolve_user
from segtrial.container.engine import ENGINE_FAULTS, Engine, Json
from segtrial.container.fetch import Refused, fetch_file
from segtrial.errors import EngineError, SubmissionError

_ACCOUNTS_MAX_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFacts:
    """Configuration of one image, by its id."""

    image_id: str
    architecture: str
    user: str
    """``uid:gid``, numeric, resolved in the image; never a name, never empty."""
    entrypoint: tuple[str, ...]
    working_dir: str
    env: tuple[tuple[str, str], ...]
    volumes: tuple[str, ...]

    @property
    def is_root(self) -> bool:
        """Whether the image asks for user 0, by number, by name or by saying nothing."""
        return self.user.startswith("0:")

    @property
    def author_strings(self) -> tuple[str, ...]:
        """Strings the author chose that an engine may quote in its error messages."""
        return (*self.entrypoint, self.working_dir, *self.volumes)


def read_image(engine: Engine, image_id: str, *, labels: Mapping[str, str]) -> ImageFacts:
    """Facts of an image that the engine holds.

    Parameters
    ----------
    engine
        The engine.
    image_id
        Its id, never a tag.
    labels
        For the container that is created, and never started, to look up the user.

    Raises
    ------
    SubmissionError
        The engine has no such image, or the image has a VOLUME that cannot be covered.
    EngineError
        The engine does not answer.
    """
    try:
        inspected: Json = engine.api.inspect_image(image_id)  # type: ignore[no-untyped-call]
        config: Json = inspected.get("Config") or {}
        volumes = _volumes(config.get("Volumes") or ())
        accounts = _read_accounts(engine, inspected["Id"], labels=labels, volumes=volumes)
    except ImageNotFound as error:
        raise SubmissionError(
            f"The container engine has no image {image_id}. Load or build it first."
        ) from error
    except ENGINE_FAULTS as error:
        raise EngineError(f"The image {image_id} cannot be read: {error}") from error
    return ImageFacts(
        image_id=inspected["Id"],
        architecture=str(inspected.get("Architecture") or ""),
        user=resolve_user(str(config.get("User") or ""), accounts),
        entrypoint=tuple(config.get("Entrypoint") or ()),
        working_dir=str(config.get("WorkingDir") or ""),
        env=tuple(_split(entry) for entry in config.get("Env") or ()),
        volumes=volumes,
    )


def _split(entry: str) -> tuple[str, str]:
    name, _, value = entry.partition("=")
    return name, value


def _volumes(declared: Iterable[str]) -> tuple[str, ...]:
    """Paths of the image's VOLUMEs as the engine will clean them.

    ``/data/`` has to be covered as ``/data``: under the spelling of the image, the engine would
    mount both our cover and its own volume, in an order of its choosing.
    """
    cleaned = {posixpath.normpath("/" + path.lstrip("/")) for path in declared}
    strange = [path for path in declared if not path.startswith("/")]
    if strange or "/" in cleaned:
        raise SubmissionError(
            f"The image declares VOLUME {', '.join(strange) or '/'}, which is no folder below the "
            "root. Remove the VOLUME line from the Dockerfile."
        )
    return tuple(sorted(cleaned))


def _read_accounts(
    engine: Engine, image_id: str, *, labels: Mapping[str, str], volumes: tuple[str, ...]
) -> Accounts:
    body = {
        "Image": image_id,
        "Entrypoint": ["-"],
        "Labels": dict(labels),
        # Covers the image's VOLUMEs, for which the engine would make volumes on the host's disk.
        "HostConfig": {"NetworkMode": "none", "Tmpfs": dict.fromkeys(volumes, "size=64k")},
    }
    container = engine.create(body, name=f"segtrial-look-{secrets.token_hex(8)}")
    try:
        mounts = engine.inspect(container)["Mounts"]
        if places := [str(mount["Destination"]) for mount in mounts if mount["Type"] != "tmpfs"]:
            raise SubmissionError(
                f"The engine would keep the image's VOLUME {', '.join(places)} on the host's disk. "
                "Remove the VOLUME line from the Dockerfile."
            )
        return Accounts(
            passwd=_text(engine, container, "/etc/passwd"),
            group=_text(engine, container, "/etc/group"),
        )
    finally:
        engine.remove(container)


def _text(engine: Engine, container: str, path: str) -> str:
    fetched = fetch_file(engine, container, path, max_bytes=_ACCOUNTS_MAX_BYTES)
    if isinstance(fetched, Refused):
        return ""
    return b"".join(fetched).decode("utf-8", errors="replace")
