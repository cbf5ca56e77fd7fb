"""Everything that outlives one attempt: the engine, our ownership, and what this host can do."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from segtrial.container.cgroup import CgroupHost, look_at_host
from segtrial.container.engine import ENGINE_FAULTS, Engine, connect
from segtrial.container.exchange import ExchangeKind
from segtrial.container.exchanges import Exchanges, choose_kind
from segtrial.container.gpu import Gpu, GpuReader
from segtrial.container.holder import import_holder
from segtrial.container.owner import Owner, claim_owner
from segtrial.container.reaper import Reaped, reap_dead_owners
from segtrial.container.removals import Removals


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """What attempts need of this host; safe to share between threads."""

    engine: Engine
    owner: Owner
    cgroups: CgroupHost | None
    exchanges: Exchanges
    reaped: Reaped
    """What dead owners had left, removed when this sandbox was opened."""
    gpus: GpuReader | None
    """NVIDIA's library; None on a host without its driver."""
    unremoved: Removals = field(default_factory=Removals)
    """What earlier attempts could not remove, as when the engine went away; tried again."""

    def reap(self) -> Reaped:
        """Clean up after owners that died since: before an attempt of theirs is made again.

        Raises
        ------
        EngineError
            The engine does not answer.
        """
        return reap_dead_owners(self.engine, self.cgroups)

    def known_gpus(self) -> tuple[Gpu, ...]:
        """GPUs of this host that NVIDIA's library knows."""
        return self.gpus.gpus() if self.gpus is not None else ()

    def new_attempt_name(self) -> str:
        """A name for one attempt's container, mount and control group; says nothing about it."""
        return f"{self.owner.name}-{secrets.token_hex(6)}"


@contextmanager
def open_sandbox(*, slots: int = 1, exchange: ExchangeKind | None = None) -> Iterator[Sandbox]:
    """Connect to the engine, become an owner, clean up after dead ones.

    Parameters
    ----------
    slots
        Attempts that will run at once.
    exchange
        How cases go in and outputs come out; None takes the fastest that this host can hold.

    Raises
    ------
    EngineError
        No engine answers, or it refuses what the sealed run needs.
    PlatformError
        The folder for locks and mounts is not ours alone.
    """
    engine = connect(slots=slots)
    gpus = GpuReader.open()
    try:
        with claim_owner() as owner:
            cgroups = look_at_host(engine)
            reaped = reap_dead_owners(engine, cgroups)
            holder_image = import_holder(engine, labels=owner.labels)
            try:
                kind = exchange or choose_kind(engine, owner, holder_image=holder_image)
                yield Sandbox(
                    engine=engine,
                    owner=owner,
                    cgroups=cgroups,
                    exchanges=Exchanges(
                        kind=kind, engine=engine, owner=owner, holder_image=holder_image
                    ),
                    reaped=reaped,
                    gpus=gpus,
                )
            finally:
                # An engine that is gone leaves it to the next reaper.
                with suppress(*ENGINE_FAULTS):
                    engine.remove_image(holder_image)
    finally:
        if gpus is not None:
            gpus.close()
        engine.close()
