"""The local base image that the template and the model images build on without a network.

It holds Python with numpy, scipy and nibabel, and nothing else of ours. Two ways lead to it, and
the image says which one was taken:

- *pulled*: ``python:3.11-slim-bookworm`` from a registry, with pinned wheels installed into it;
- *debian*: the distribution's own packages, where no registry or no package index is reachable.

A digest cannot be pinned in advance for every architecture and mirror, so the tag is resolved
once, the image is pulled by the digest that came back, and the digest is recorded on the image.
Set ``SEGTRIAL_BASE_IMAGE=name@sha256:...`` to pin it yourself; then nothing else is taken.

Built once per recipe: a change to what goes in changes the recipe's hash, which every image
carries as a label, and an image with another hash is built anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from docker.errors import APIError

from segtrial.container import base_debian, base_pulled, engine_images
from segtrial.container.base_label import LABEL_DIGEST, LABEL_HOW, LABEL_RECIPE
from segtrial.container.engine import ENGINE_FAULTS, Engine
from segtrial.container.owner import private_runtime_dir
from segtrial.errors import EngineError

BASE_NAME = "segtrial/base"
BASE_VERSION = "1"
BASE_TAG = f"{BASE_NAME}:{BASE_VERSION}"
BASE_REFERENCE = "python:3.11-slim-bookworm"
REFERENCE_VARIABLE = "SEGTRIAL_BASE_IMAGE"

_PROOF = "import numpy, scipy.ndimage, nibabel; print(numpy.__version__)"

Announce = Callable[[str], None]
"""Is told one line for each step that takes time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseImage:
    """The base image, ready to build on."""

    id: str
    """Its id in the engine."""
    how: str
    """``pulled`` or ``debian``: where its files come from."""
    digest: str | None
    """Registry digest of the image it was pulled as; None when built from packages."""
    was_there: bool
    """Whether it was already there."""


def ensure_base_image(
    engine: Engine, *, announce: Announce, reference: str | None = None
) -> BaseImage:
    """Find the base image, or make it.

    Parameters
    ----------
    engine
        The engine.
    announce
        Is told what is done; making the image takes one to two minutes.
    reference
        Registry reference to use in place of the public Python image, best pinned by digest.
        Default: the environment's SEGTRIAL_BASE_IMAGE, else ``python:3.11-slim-bookworm``. One
        that was asked for is taken or the call fails; only the default falls back to packages.

    Returns
    -------
    BaseImage
        An image that has run ``import numpy, scipy, nibabel``.

    Raises
    ------
    EngineError
        Neither way works here; the message says what each of them needs.
    PlatformError
        The folder for locks is not ours alone.
    """
    asked = reference or os.environ.get(REFERENCE_VARIABLE) or None
    recipe = recipe_hash(asked or BASE_REFERENCE)
    found = _find(engine, recipe)
    if found is not None:
        return found
    with _one_at_a_time():
        # Another process may have made it while we waited.
        return _find(engine, recipe) or _make_and_tag(engine, asked, recipe, announce=announce)


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    with (private_runtime_dir() / "base-image.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make_and_tag(
    engine: Engine, asked: str | None, recipe: str, *, announce: Announce
) -> BaseImage:
    try:
        image_id = _make(engine, asked, labels={LABEL_RECIPE: recipe}, announce=announce)
        announce("base image: trying it out in a sealed container")
        _prove(engine, image_id)
        replaced = engine_images.find(engine, BASE_TAG)
        engine.api.tag(image_id, BASE_NAME, BASE_VERSION)
        if replaced is not None:
            _forget(engine, str(replaced["Id"]))
    except ENGINE_FAULTS as error:
        raise EngineError(
            f"The base image could not be made: the engine refused or went away ({error})."
        ) from error
    made = _find(engine, recipe)
    if made is None:
        raise EngineError(f"{BASE_TAG} was removed or replaced while it was made. Try again.")
    announce(f"base image: ready as {BASE_TAG}")
    return BaseImage(id=made.id, how=made.how, digest=made.digest, was_there=False)


def recipe_hash(reference: str) -> str:
    """Hash over everything that decides what the base image holds."""
    recipe = [1, reference, base_pulled.RECIPE, base_debian.RECIPE, _PROOF]
    return hashlib.sha256(json.dumps(recipe).encode()).hexdigest()


def _find(engine: Engine, recipe: str) -> BaseImage | None:
    try:
        image = engine_images.find(engine, BASE_TAG)
    except ENGINE_FAULTS as error:
        raise EngineError(f"The engine does not say whether it has {BASE_TAG}: {error}") from error
    if image is None:
        return None
    labels = (image.get("Config") or {}).get("Labels") or {}
    if labels.get(LABEL_RECIPE) != recipe:
        return None
    return BaseImage(
        id=image["Id"],
        how=str(labels.get(LABEL_HOW)),
        digest=labels.get(LABEL_DIGEST) or None,
        was_there=True,
    )


def _make(engine: Engine, asked: str | None, *, labels: dict[str, str], announce: Announce) -> str:
    try:
        return base_pulled.build(engine, asked or BASE_REFERENCE, labels=labels, announce=announce)
    except base_pulled.NotReachableError as problem:
        if asked:
            raise EngineError(
                f"The base image {asked} that was asked for cannot be used: {problem} Correct or "
                f"unset {REFERENCE_VARIABLE}."
            ) from problem
        announce(f"base image: {problem} Building it from the distribution's packages instead.")
    return base_debian.build(engine, labels=labels, announce=announce)


def _prove(engine: Engine, image_id: str) -> None:
    """Run the imports the way a submission runs: sealed, read-only, not root."""
    container = engine.create(
        {
            "Image": image_id,
            "Entrypoint": ["python3", "-c", _PROOF],
            "Cmd": [],
            "User": "65534:65534",
            "HostConfig": {"NetworkMode": "none", "ReadonlyRootfs": True, "CapDrop": ["ALL"]},
        },
        name=f"segtrial-base-{os.urandom(6).hex()}",
    )
    try:
        engine.start(container)
        engine.exited(container, within_s=60)
        code = engine.inspect(container)["State"]["ExitCode"]
        said = b"".join(engine.log_chunks(container))[-2000:].decode(errors="replace")
    finally:
        engine.remove(container)
    if code != 0 or not said.strip():
        _forget(engine, image_id)
        raise EngineError(
            f"The base image was made but cannot import its packages (exit {code}):\n{said}"
        )


def _forget(engine: Engine, image_id: str) -> None:
    """Remove an image without a tag, unless others are built on it."""
    with suppress(APIError):
        engine.api.remove_image(image_id)
