"""Removal of what dead owners left: containers, volumes, images, control groups, mounts.

An owner is dead when nobody holds its lock file. Only what carries the label of this host and
user is judged, because only its locks can be seen from here; the rest is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from segtrial.container.cgroup import CgroupHost, all_groups, owner_of
from segtrial.container.engine import ENGINE_FAULTS, Engine, Json
from segtrial.container.lockfile import try_hold
from segtrial.container.owner import (
    LABEL_HOST,
    LABEL_OWNER,
    LOCK_SUFFIX,
    discard_folder,
    host_name,
    is_alive,
    is_owner_name,
    private_runtime_dir,
)
from segtrial.container.removals import Removal
from segtrial.errors import EngineError


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaped:
    """What was removed, and what could not be."""

    removed: tuple[str, ...]
    failed: tuple[str, ...]


def reap_dead_owners(engine: Engine, cgroups: CgroupHost | None) -> Reaped:
    """Remove everything that owners who are dead have left on this host.

    Parameters
    ----------
    engine
        The engine; its containers, volumes and images are looked through.
    cgroups
        How this host's control groups can be reached, if they can.

    Raises
    ------
    EngineError
        The engine does not even list what it has.
    """
    removed: list[str] = []
    failed: list[str] = []
    try:
        # Containers first: they hold volumes, mounts and control groups open.
        leftovers = [*_containers(engine), *_volumes(engine), *_images(engine)]
    except ENGINE_FAULTS as error:
        raise EngineError(f"The engine does not list its containers: {error}") from error
    for what, remove in [*leftovers, *_groups(cgroups), *_folders()]:
        try:
            remove()
        except (*ENGINE_FAULTS, OSError) as error:
            failed.append(f"{what}: {error}")
        else:
            removed.append(what)
    return Reaped(removed=tuple(removed), failed=tuple(failed))


def _here() -> Json:
    return {"label": f"{LABEL_HOST}={host_name()}"}


def _is_dead(labels: dict[str, str] | None) -> bool:
    owner = (labels or {}).get(LABEL_OWNER)
    return owner is not None and not is_alive(owner)


def _containers(engine: Engine) -> Iterator[Removal]:
    for one in engine.api.containers(all=True, filters=_here()):
        if _is_dead(one["Labels"]):
            yield f"container {one['Names'][0]}", partial(engine.remove, one["Id"])


def _volumes(engine: Engine) -> Iterator[Removal]:
    for one in engine.api.volumes(filters=_here())["Volumes"] or ():
        if _is_dead(one["Labels"]):
            yield f"volume {one['Name']}", partial(engine.remove_volume, one["Name"])


def _images(engine: Engine) -> Iterator[Removal]:
    for one in engine.api.images(filters=_here()):
        if _is_dead(one["Labels"]):
            yield f"image {one['Id']}", partial(engine.remove_image, one["Id"])


def _groups(cgroups: CgroupHost | None) -> Iterator[Removal]:
    if cgroups is None or not cgroups.parents:
        return
    for group in all_groups(cgroups):
        if not is_alive(owner_of(group)):
            yield f"control group {group}", partial(_remove_group, cgroups, group)


def _remove_group(cgroups: CgroupHost, group: str) -> None:
    if not cgroups.remove(group):
        raise OSError("still in use")


def _folders() -> Iterator[Removal]:
    """What owners without a living process left in the folder of locks and mounts."""
    base = private_runtime_dir()
    names = {found.name.removesuffix(LOCK_SUFFIX) for found in base.iterdir()}
    for name in sorted(names):
        if is_owner_name(name) and not is_alive(name):
            yield f"folder {base / name}", partial(_remove_folder, base, name)


def _remove_folder(base: Path, owner: str) -> None:
    discard_folder(base / owner)
    with suppress(FileNotFoundError):
        lock = try_hold(base / f"{owner}{LOCK_SUFFIX}", create=False)
        if lock is not None:
            lock.release(remove=True)
