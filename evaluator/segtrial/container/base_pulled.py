"""The base image from a registry: a Python image pulled by digest, and pinned wheels.

The wheels are fetched by the pip that runs segtrial, with whatever index and certificates this
host has configured, and are installed inside the engine without a network.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from docker.errors import APIError

from segtrial.container.base_label import LABEL_DIGEST, LABEL_HOW, LABEL_STAGE
from segtrial.container.build import BuildFailedError, build_folder
from segtrial.container.engine import Engine, Json
from segtrial.container.engine_images import pull
from segtrial.errors import SubmissionError

PYTHON = "3.11"
WHEELS = ("numpy==2.2.6", "scipy==1.15.3", "nibabel==5.3.2")
# Two stages, so that the wheels themselves do not stay behind in a layer.
DOCKERFILE = f"""\
ARG PYTHON_IMAGE
FROM ${{PYTHON_IMAGE}}
LABEL {LABEL_STAGE}=1
COPY wheels /wheels
RUN python3 -m pip install --no-deps --no-cache-dir --root-user-action=ignore \\
    --target=/installed /wheels/*.whl
FROM ${{PYTHON_IMAGE}}
COPY --from=0 /installed /usr/local/lib/python{PYTHON}/site-packages
"""
RECIPE = (PYTHON, WHEELS, DOCKERFILE)

Announce = Callable[[str], None]


class NotReachableError(Exception):
    """A registry or a package index does not answer; the message says which, and why."""


def build(engine: Engine, reference: str, *, labels: dict[str, str], announce: Announce) -> str:
    """Pull, install, and return the id of the result.

    Raises
    ------
    NotReachableError
        The registry or the package index does not answer, or has not what is asked for.
    """
    announce(f"base image: asking the registry for {reference}")
    digest = _resolve(engine, reference)
    name = reference.partition("@")[0]
    announce(f"base image: pulling {name} as {digest[:19]}...")
    python_image = _pull(engine, f"{_without_tag(name)}@{digest}")
    with tempfile.TemporaryDirectory(prefix="segtrial-base-") as folder:
        context = Path(folder)
        announce(f"base image: fetching {', '.join(WHEELS)}")
        _fetch_wheels(context / "wheels", architecture=str(engine.info()["Architecture"]))
        (context / "Dockerfile").write_text(DOCKERFILE, encoding="utf-8")
        try:
            return build_folder(
                engine,
                context,
                build_args={"PYTHON_IMAGE": python_image},
                labels={**labels, LABEL_HOW: "pulled", LABEL_DIGEST: digest},
            )
        except BuildFailedError as problem:
            raise NotReachableError(f"{name} cannot take the wheels: {problem}") from problem
        finally:
            _remove_stages(engine)


def _remove_stages(engine: Engine) -> None:
    """Remove what the builder leaves behind of the stage that is not kept."""
    stages = {"label": LABEL_STAGE, "dangling": True}
    for found in engine.api.images(filters=stages, quiet=True):
        with suppress(APIError):
            engine.api.remove_image(found)


def _resolve(engine: Engine, reference: str) -> str:
    """Digest a reference stands for now; the engine asks the registry."""
    _, _, pinned = reference.partition("@")
    if pinned:
        return pinned
    try:
        found: Json = engine.api.inspect_distribution(reference)  # type: ignore[no-untyped-call]
    except APIError as error:
        raise NotReachableError(
            f"the registry does not answer for {reference} ({error.explanation or error})."
        ) from error
    return str(found["Descriptor"]["digest"])


def _without_tag(name: str) -> str:
    head, slash, last = name.rpartition("/")
    return f"{head}{slash}{last.partition(':')[0]}"


def _pull(engine: Engine, pinned: str) -> str:
    try:
        return pull(engine, pinned)
    except SubmissionError as problem:
        raise NotReachableError(str(problem)) from problem


def _fetch_wheels(folder: Path, *, architecture: str) -> None:
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:"),
        *("--python-version", PYTHON, "--implementation", "cp"),
        *("--platform", f"manylinux2014_{architecture}", "--dest", str(folder), *WHEELS),
    ]
    fetched = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own words
    if fetched.returncode != 0:
        last = fetched.stderr.strip().splitlines()[-1:] or ["pip said nothing"]
        raise NotReachableError(f"the package index does not answer ({last[0][:300]}).")
