"""What a container image says about itself, read from the document a stranger wrote. Pure."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field, field_validator

from segtrial.contracts.reading import validate
from segtrial.contracts.record import Record
from segtrial.errors import SubmissionError

_SOURCE = "the image's configuration"


class _RuntimeConfig(Record):
    """The part of an image's configuration that says how to run it."""

    model_config = ConfigDict(extra="ignore", frozen=True, coerce_numbers_to_str=False)

    User: str = ""
    Env: tuple[str, ...] = ()
    Entrypoint: tuple[str, ...] = ()
    Cmd: tuple[str, ...] = ()
    Volumes: dict[str, Any] = Field(default_factory=dict)
    WorkingDir: str = ""
    Healthcheck: dict[str, Any] = Field(default_factory=dict)
    StopSignal: str = ""

    @field_validator("*", mode="before")
    @classmethod
    def _null_is_absent(cls, value: object, info: Any) -> object:  # noqa: ANN401 - pydantic's own type
        # Go writes an empty list or map as null.
        default = cls.model_fields[info.field_name].get_default(call_default_factory=True)
        return default if value is None else value


class ImageConfig(Record):
    """What a container image says about itself."""

    os: str
    architecture: str
    user: str
    env: tuple[tuple[str, str], ...]
    entrypoint: tuple[str, ...]
    cmd: tuple[str, ...]
    volumes: tuple[str, ...]
    working_dir: str
    has_healthcheck: bool
    stop_signal: str
    layers: int
    size_bytes: int
    """Bytes of all layers, uncompressed."""


def read_config(config: object, *, size_bytes: int) -> ImageConfig:
    """Read an OCI image configuration, which a stranger wrote.

    Parameters
    ----------
    config
        The parsed JSON document, or the engine's answer about an image (its keys begin with a
        capital letter).
    size_bytes
        Size of the layers, as counted by the caller.

    Raises
    ------
    SubmissionError
        It is no image configuration.
    """
    keys = _lowered(config)
    runtime = keys.get("config") or {}
    if not isinstance(config, dict) or not isinstance(runtime, dict):
        raise SubmissionError(
            "The image's configuration is not a JSON object. Build the image with Docker, Podman "
            "or BuildKit, and save it again."
        )
    run = validate(runtime, _RuntimeConfig, source=_SOURCE, error=SubmissionError)
    said = {
        "os": keys.get("os") or "",
        "architecture": keys.get("architecture") or "",
        "user": run.User,
        "env": [_split(entry) for entry in run.Env],
        "entrypoint": run.Entrypoint,
        "cmd": run.Cmd,
        "volumes": sorted(run.Volumes),
        "working_dir": run.WorkingDir,
        "has_healthcheck": bool(run.Healthcheck) and run.Healthcheck.get("Test") != ["NONE"],
        "stop_signal": run.StopSignal,
        "layers": len(layer_digests(config)),
        "size_bytes": size_bytes,
    }
    return validate(said, ImageConfig, source=_SOURCE, error=SubmissionError)


def layer_digests(config: object) -> list[object]:
    """What a configuration, or the engine about an image, says of its layers, lowest first."""
    keys = _lowered(_lowered(config).get("rootfs"))
    found = keys.get("diff_ids") or keys.get("layers")
    return found if isinstance(found, list) else []


def _lowered(value: object) -> dict[str, Any]:
    return (
        {str(key).lower(): item for key, item in value.items()} if isinstance(value, dict) else {}
    )


def _split(entry: str) -> tuple[str, str]:
    name, _, value = entry.partition("=")
    return name, value
