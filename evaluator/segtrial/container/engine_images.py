"""Images in the engine: which are there, bringing one in, and removing only what we brought.

An image that we bring in carries a tag of ours, made of its own id, and no other: an engine
removes untagged images whenever somebody cleans up, and the tag tells after a restart, or to
another process, that the image came with a submission and may go.
"""

from __future__ import annotations

import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import requests
from docker.auth import get_config_header, resolve_repository_name
from docker.errors import APIError, ImageNotFound

from segtrial.container.archive import ArchivedImage, canonical, scan
from segtrial.container.archive_copy import KEEP_FREE_BYTES
from segtrial.container.engine import ENGINE_FAULTS, Engine, Json
from segtrial.container.engine_stream import messages
from segtrial.container.image_config import layer_digests
from segtrial.errors import EngineError, SubmissionError

OUR_NAME = "segtrial/taken-in"

_IMAGE_ID = re.compile(r"sha256:[0-9a-f]{64}")
# The kernel's names of architectures, and Docker's.
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def host_architecture(engine: Engine) -> str:
    """Docker's name of the architecture that the engine's host has."""
    kernel = str(engine.info()["Architecture"])
    return _ARCHITECTURES.get(kernel, kernel)


def find(engine: Engine, name: str) -> Json | None:
    """What the engine says about an image, by id or name; None when it has none."""
    try:
        found: Json = engine.api.inspect_image(name)  # type: ignore[no-untyped-call]
    except ImageNotFound:
        return None
    except APIError as error:
        if error.status_code != requests.codes.bad_request:
            raise
        raise SubmissionError(
            f"{name!r} is no image name or id ({error.explanation or error}). Give an id "
            "(sha256:...), a local name, or host/name@sha256:..."
        ) from None
    return found


def load(engine: Engine, path: Path, image: ArchivedImage) -> str:
    """Load a scanned archive and return the image's id in this engine.

    Raises
    ------
    SubmissionError
        The engine refuses it, or holds something else than was scanned.
    EngineError
        There is no room for it.
    """
    # The engine unpacks the stream to a folder first and then layer by layer.
    require_room(engine, 2 * image.size_bytes)
    image_id = ""
    headers = {"Content-Type": "application/x-tar"}
    with messages(
        engine, "/images/load", params={}, data=canonical(path, image), headers=headers
    ) as said:
        for row in said:
            if "error" in row:
                raise SubmissionError(
                    f"The engine does not load the image: {str(row['error'])[:500]}. Build it "
                    "again with a current Docker, and save it again."
                )
            loaded = _IMAGE_ID.search(str(row.get("stream", "")))
            image_id = loaded[0] if loaded else image_id
    found = find(engine, image_id) if image_id else None
    if found is None or layer_digests(found) != [layer.diff_id for layer in image.layers]:
        raise EngineError(
            f"The engine holds another image ({image_id or 'none'}) than the archive that was "
            f"scanned ({image.config_digest}). Nothing of it is run; look at the engine's log."
        )
    if not is_containerd_store(engine) and image_id != image.config_digest:
        raise EngineError(
            f"The engine calls the image {image_id}, and its configuration has the digest "
            f"{image.config_digest}. Nothing of it is run; look at the engine's log."
        )
    return image_id


def pull(engine: Engine, reference: str) -> str:
    """Pull ``name@sha256:...`` and return the image's id.

    Raises
    ------
    SubmissionError
        The registry does not have it, or refuses.
    EngineError
        The disk fills up meanwhile.
    """
    name, _, digest = reference.partition("@")
    registry, _ = resolve_repository_name(name)
    login = get_config_header(engine.api, registry)
    headers = {"X-Registry-Auth": login.decode()} if login else {}
    params = {"fromImage": name, "tag": digest}
    try:
        with messages(engine, "/images/create", params=params, headers=headers) as said:
            for row in said:
                # Layers of a registry are inflated by the engine, as they come: a bomb is stopped
                # by the room that is left, because nothing says its size before.
                require_room(engine, 0)
                if "error" in row:
                    raise _not_pulled(reference, str(row["error"]))
    except APIError as error:
        raise _not_pulled(reference, str(error.explanation or error)) from error
    found = find(engine, reference)
    if found is None:
        raise _not_pulled(reference, "the engine does not have it afterwards")
    return str(found["Id"])


def mark_ours(engine: Engine, image_id: str) -> None:
    """Give an image our tag; the engine notes the time, which says when it was last wanted."""
    engine.api.tag(image_id, OUR_NAME, _our_version(image_id))


def is_ours(found: Json) -> bool:
    """Whether an image carries our tag."""
    return f"{OUR_NAME}:{_our_version(str(found['Id']))}" in (found.get("RepoTags") or ())


def release(engine: Engine, image_id: str) -> bool:
    """Remove an image that we brought in; any other is left alone.

    Returns
    -------
    bool
        Whether our tag was taken away. The image goes with it unless somebody tagged it too.
    """
    found = find(engine, image_id)
    if found is None or not is_ours(found):
        return False
    ours = f"{OUR_NAME}:{_our_version(image_id)}"
    others = [tag for tag in found.get("RepoTags") or () if tag != ours]
    with suppress(ImageNotFound):
        engine.api.remove_image(ours)
    if not others and find(engine, image_id) is not None:
        # A pull by digest leaves the digest as one more name.
        with suppress(ImageNotFound, APIError):
            engine.api.remove_image(image_id)
    return True


@contextmanager
def held(engine: Engine, image_id: str, *, labels: Mapping[str, str]) -> Iterator[None]:
    """Keep an image from being removed, by anybody, for as long as the block lasts.

    A container that is created and never started refers to it: the engine itself then refuses to
    remove the image, also between two attempts and also when another process asks.

    Parameters
    ----------
    labels
        Of our ownership, so that the container is reaped should we be killed.
    """
    body = {
        "Image": image_id,
        "Entrypoint": ["-"],
        "Labels": dict(labels),
        "HostConfig": {"NetworkMode": "none"},
    }
    container = engine.create(body, name=f"segtrial-holds-{secrets.token_hex(8)}")
    try:
        yield
    finally:
        # With the engine gone it stays, labelled, for the reaper of the next run.
        with suppress(*ENGINE_FAULTS):
            engine.remove(container)


def keep_within(engine: Engine, budget_bytes: int) -> tuple[str, ...]:
    """Remove images that we brought in, the longest unused first, until they fit into a budget.

    An image that a container refers to stays (see `held`), and so does every image that is not
    ours. Layers that images share are counted for each of them, so the disk holds less.

    Returns
    -------
    tuple of str
        Ids of what was removed.
    """
    ours = [found for found in _taken_in(engine) if found is not None and is_ours(found)]
    ours.sort(key=lambda found: str((found.get("Metadata") or {}).get("LastTagTime")))
    total, removed = sum(int(found["Size"]) for found in ours), []
    for found in ours:
        if total <= budget_bytes:
            break
        with suppress(APIError):
            release(engine, str(found["Id"]))
            total -= int(found["Size"])
            removed.append(str(found["Id"]))
    return tuple(removed)


def _taken_in(engine: Engine) -> Iterator[Json | None]:
    for listed in engine.api.images(name=OUR_NAME):
        yield find(engine, str(listed["Id"]))


def config_digest(engine: Engine, image_id: str) -> str:
    """Digest of an image's configuration.

    In the classic store it is the image's id. In containerd's the id is that of the manifest, so
    the image is saved, and read on the way, without being written anywhere.
    """
    if not is_containerd_store(engine):
        return image_id
    saved: Iterable[bytes] = engine.api.get_image(image_id)
    return scan(_Pieces(saved), architecture=host_architecture(engine)).config_digest


def is_containerd_store(engine: Engine) -> bool:
    """Whether the engine keeps images in containerd, the default of new engines since Docker 29."""
    status = engine.info().get("DriverStatus") or ()
    return ["driver-type", "io.containerd.snapshotter.v1"] in [list(row) for row in status]


def require_room(engine: Engine, size: int) -> None:
    """Refuse to fill the engine's disk; known only for an engine on this machine.

    Raises
    ------
    EngineError
        There is no room.
    """
    root = Path(str(engine.info().get("DockerRootDir") or ""))
    if not engine.is_local or not root.is_dir():
        return
    free = shutil.disk_usage(root).free
    if free < size + KEEP_FREE_BYTES:
        raise EngineError(
            f"There is no room for the image in {root}: it takes {size / 2**30:.1f} GiB, "
            f"{free / 2**30:.1f} GiB are free, and {KEEP_FREE_BYTES >> 30} GiB are kept free. "
            "Remove images that are not needed (`docker image ls`)."
        )


def _our_version(image_id: str) -> str:
    return image_id.removeprefix("sha256:")[:24]


def _not_pulled(reference: str, why: str) -> SubmissionError:
    return SubmissionError(
        f"The image {reference[:200]} cannot be pulled: {why[:500]}. Check the reference and that "
        "this host may read that registry (`docker login`), or hand the image over as an archive."
    )


class _Pieces:
    """Pieces of a response as something to read from."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._rest = b""

    def read(self, size: int = -1, /) -> bytes:
        """At most so many bytes."""
        if not self._rest:
            self._rest = next(self._pieces, b"")
        size = len(self._rest) if size < 0 else size
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken
