"""Which exchange this host can hold; measured, not guessed."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from segtrial.container.engine import ENGINE_FAULTS, Engine
from segtrial.container.exchange import Exchange, ExchangeKind
from segtrial.container.exchange_host import HostExchange
from segtrial.container.exchange_volume import VolumeExchange
from segtrial.container.holder import IN, OUT, holder_body
from segtrial.container.owner import Owner, scratch
from segtrial.contracts.limits import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanges:
    """Maker of exchanges."""

    kind: ExchangeKind
    engine: Engine
    owner: Owner
    holder_image: str

    def open(self, name: str, *, case: Path, limits: Limits) -> Exchange:
        """Exchange of one attempt.

        Raises
        ------
        OSError, docker.errors.DockerException, requests.RequestException
            The host or the engine refuses; nothing is left.
        """
        if self.kind == "host tmpfs":
            return HostExchange(self.owner.folder / name, case=case, limits=limits)
        return VolumeExchange(
            self.engine,
            name=name,
            case=case,
            limits=limits,
            holder_image=self.holder_image,
            labels=self.owner.labels,
        )


def choose_kind(engine: Engine, owner: Owner, *, holder_image: str) -> ExchangeKind:
    """The host's own mounts where a container really sees them, else volumes of the engine."""
    if os.geteuid() == 0 and engine.is_local:
        with suppress(*ENGINE_FAULTS, OSError):
            if _containers_see_our_mounts(engine, owner, holder_image=holder_image):
                return "host tmpfs"
    return "engine volume"


def _containers_see_our_mounts(engine: Engine, owner: Owner, *, holder_image: str) -> bool:
    """Whether a mount of ours, bound into a started container, is the very same file system.

    It is not where the engine runs in another mount namespace or on another machine; a container
    would then write to the folder below, on a disk and without a bound.
    """
    name = f"{owner.name}-trial"
    with scratch(owner) as empty:
        exchange = HostExchange(owner.folder / name, case=empty, limits=Limits(output_mib=1))
    mounts = exchange.mounts(input_at=IN, output_at=OUT)
    container = f"segtrial-{name}"
    try:
        ours = Path(mounts[1]["Source"]).stat().st_dev
        engine.create(holder_body(holder_image, mounts=mounts, labels=owner.labels), name=container)
        engine.start(container)
        pid = int(engine.inspect(container)["State"]["Pid"])
        return _device_at(pid, OUT) == f"{os.major(ours)}:{os.minor(ours)}"
    finally:
        engine.remove(container)
        exchange.close()


def _device_at(pid: int, path: str) -> str | None:
    """Device number, as ``major:minor``, of what a process of this host has mounted at a path."""
    for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines():
        columns = line.split()
        if columns[4] == path:
            return columns[2]
    return None
