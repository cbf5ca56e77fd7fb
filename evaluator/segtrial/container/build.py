"""Build a folder's Dockerfile into an image and return its id; nothing is tagged.

For an author's own check, and for a maintainer who asked for it: the RUN lines of a Dockerfile
are a stranger's program like any other, so they run without a network unless told otherwise, in
bounded memory and time.

The engine's classic builder is used, over the same connection as everything else. It knows no
``RUN --mount`` and no here-documents; a Dockerfile that needs them is built by its author
(``docker build``) and handed over as an image or an archive.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import IO

from docker.errors import APIError
from docker.utils.build import create_archive, exclude_paths

from segtrial.container.engine import ENGINE_FAULTS, Engine, Json
from segtrial.container.engine_stream import messages
from segtrial.errors import EngineError, SubmissionError

MAX_CONTEXT_BYTES = 20 << 30
"""Largest build context: weights of the largest published models are below 10 GiB."""
MAX_CONTEXT_FILES = 100_000
"""A virtual environment or a .git folder that was forgotten in the context holds more."""
BUILD_TIME_S = 3600.0
"""Longest build: installing PyTorch from a slow mirror takes half of it."""
BUILD_MEMORY_BYTES = 16 << 30

_LOG_LINES = 40
_ERROR_LINES = 20
_STDERR = "\x1b[91m"
"""The classic builder marks what a RUN line wrote to its standard error so."""
_LINE_LENGTH = 400
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class BuildFailedError(SubmissionError):
    """The Dockerfile does not build; the end of the log is in the message."""


def build_submission(
    engine: Engine,
    folder: Path,
    *,
    dockerfile: str,
    base_image: str | None = None,
    network: bool = False,
) -> str:
    """Build a submission's Dockerfile and return the image's id.

    Parameters
    ----------
    engine
        The engine.
    folder
        Build context: the folder that holds ``submission.yaml``.
    dockerfile
        Path of the Dockerfile, relative to ``folder``.
    base_image
        Id of the local base image, handed over as the build argument BASE_IMAGE; without one
        the Dockerfile's own default is used, which the engine may have to pull.
    network
        Whether RUN lines may use the network.

    Raises
    ------
    BuildFailedError
        The Dockerfile does not build.
    SubmissionError
        There is no such Dockerfile, it lies outside of the folder, or the folder is too large.
    EngineError
        The engine does not answer.
    """
    return build_folder(
        engine,
        folder,
        dockerfile=dockerfile,
        build_args={"BASE_IMAGE": base_image} if base_image else {},
        network=network,
    )


def build_folder(
    engine: Engine,
    folder: Path,
    *,
    dockerfile: str = "Dockerfile",
    build_args: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    network: bool = False,
) -> str:
    """Build any folder; parameters and errors as in `build_submission`."""
    _require_dockerfile(folder, dockerfile)
    files = context_files(folder, dockerfile=dockerfile)
    with tempfile.TemporaryFile(prefix="segtrial-context-") as context:
        _pack(folder, files, context)
        try:
            with messages(
                engine,
                "/build",
                params=_params(dockerfile, build_args or {}, labels or {}, network=network),
                data=iter(partial(context.read, 1 << 20), b""),
                headers={"Content-Type": "application/x-tar"},
            ) as said:
                return _follow(said, network=network)
        except APIError as error:
            raise BuildFailedError(
                _explain(str(error.explanation or error), [], network)
            ) from error
        except ENGINE_FAULTS as error:
            raise EngineError(
                f"The engine went away during a build: {error}. Restart it."
            ) from error


def _params(
    dockerfile: str, build_args: Mapping[str, str], labels: Mapping[str, str], *, network: bool
) -> dict[str, str]:
    return {
        "dockerfile": dockerfile,
        "buildargs": json.dumps(dict(build_args)),
        "labels": json.dumps(dict(labels)),
        "networkmode": "default" if network else "none",
        "memory": str(BUILD_MEMORY_BYTES),
        "memswap": str(BUILD_MEMORY_BYTES),
        "rm": "true",
        "forcerm": "true",
    }


def _pack(folder: Path, files: list[str], context: IO[bytes]) -> None:
    try:
        create_archive(str(folder), files=files, fileobj=context)
    except OSError as problem:
        raise SubmissionError(
            f"The build context cannot be packed: {problem}. Make its files readable, or list "
            "them in .dockerignore; it also needs room in the folder for temporary files."
        ) from problem


def context_files(folder: Path, *, dockerfile: str) -> list[str]:
    """Paths of the build context, ``.dockerignore`` honoured, relative to the folder, sorted.

    Raises
    ------
    SubmissionError
        They are too many, or hold too many bytes.
    """
    found, total = [], 0
    for path in exclude_paths(str(folder), _ignored(folder), dockerfile=dockerfile):
        status = (folder / path).lstat()
        total += status.st_size
        found.append(path)
        if len(found) > MAX_CONTEXT_FILES or total > MAX_CONTEXT_BYTES:
            raise SubmissionError(
                f"The build context is too large: more than {MAX_CONTEXT_FILES} files or "
                f"{MAX_CONTEXT_BYTES >> 30} GiB. List what the image does not need in "
                ".dockerignore, such as data, .git and virtual environments."
            )
    return sorted(found)


def _ignored(folder: Path) -> list[str]:
    ignore = folder / ".dockerignore"
    if not ignore.is_file():
        return []
    lines = (line.strip() for line in ignore.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _require_dockerfile(folder: Path, dockerfile: str) -> None:
    root = folder.resolve()
    path = (folder / dockerfile).resolve()
    if not path.is_relative_to(root):
        raise SubmissionError(
            f"The Dockerfile {dockerfile!r} lies outside of the submission's folder. Keep it "
            "beside submission.yaml."
        )
    if not path.is_file():
        raise SubmissionError(
            f"There is no Dockerfile {dockerfile!r} in {folder}. Write one (the template has "
            "one), or name an archive or a reference under `image` in submission.yaml."
        )


def _follow(said: Iterable[Json], *, network: bool) -> str:
    """Read a build's messages to the end; the last id it reports is the image."""
    log = _Log()
    image_id = ""
    deadline = time.monotonic() + BUILD_TIME_S
    for row in said:
        if time.monotonic() > deadline:
            raise BuildFailedError(
                f"The build was stopped after {BUILD_TIME_S / 60:.0f} minutes. Build the image "
                "elsewhere and hand it over as an archive (`docker save`)."
            )
        if "stream" in row:
            log.add(str(row["stream"]))
        image_id = str((row.get("aux") or {}).get("ID") or image_id)
        if "error" in row:
            raise BuildFailedError(_explain(str(row["error"]), log.tail(), network))
    if not image_id:
        raise BuildFailedError(_explain("the engine reported no image", log.tail(), network))
    return image_id


class _Log:
    """The end of a build's log, and the end of what it wrote to standard error.

    The engine sends a program's two outputs in no fixed order, so a traceback may come long
    before the last of what was printed ahead of it.
    """

    def __init__(self) -> None:
        self._all: deque[tuple[int, str]] = deque(maxlen=_LOG_LINES)
        self._errors: deque[tuple[int, str]] = deque(maxlen=_ERROR_LINES)
        self._count = 0

    def add(self, text: str) -> None:
        is_error = text.startswith(_STDERR)
        for line in text.splitlines():
            if shown := _plain(line):
                self._count += 1
                self._all.append((self._count, shown))
                if is_error:
                    self._errors.append((self._count, shown))

    def tail(self) -> list[str]:
        return [line for _, line in sorted({*self._all, *self._errors})]


def _explain(why: str, log: Iterable[str], network: bool) -> str:  # noqa: FBT001 - private, named at every call by its value
    shown = "\n".join(f"  | {line}" for line in log)
    return (
        f"The Dockerfile does not build: {_plain(why)}. {_advice(why, network)}\n{shown}".rstrip()
    )


def _advice(why: str, network: bool) -> str:  # noqa: FBT001 - as above
    if "BuildKit" in why or "--mount" in why:
        return "Build it with `docker build` and name the image or its archive in submission.yaml."
    if not network:
        return "It was built without a network; if a RUN line needs one, allow it."
    return "The end of its log:"


def _plain(text: str) -> str:
    """One line a terminal can show: no escapes, no control characters, bounded."""
    return _CONTROL.sub("", text).strip()[:_LINE_LENGTH]
