"""Slots: where attempts run, one at a time each, exclusive across processes.

On a host with GPUs a slot is a GPU or a MIG slice and an equal share of the processors; elsewhere
it is a share of the processors. A GPU is tried before it is first used and again when something
failed on it: one that fails is taken out, and the attempts go on elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, Queue

from segtrial.container.engine import ENGINE_FAULTS, Json, explanation
from segtrial.container.gpu import Gpu
from segtrial.container.holder import holder_body
from segtrial.container.lockfile import HeldLock
from segtrial.container.sandbox import Sandbox
from segtrial.container.slot import GpuRoute, Slot
from segtrial.container.slot_locks import gpus_in_use, release_all, try_hold_all
from segtrial.container.spec import gpu_request
from segtrial.errors import PlatformError

_LOOK_AGAIN_S = 1.0


@dataclass(slots=True)
class SlotPool:
    """The slots of one process.

    Attributes
    ----------
    slots
        All of them, also those in use.
    unused
        GPUs that were not taken, by UUID, with the reason.
    taken_out
        Slots that failed their probe, by name, with the reason.
    """

    slots: tuple[Slot, ...]
    unused: dict[str, str]
    probe: Callable[[Slot], str | None]
    taken_out: dict[str, str] = field(default_factory=dict)
    _free: Queue[Slot] = field(default_factory=Queue)

    def __post_init__(self) -> None:
        for slot in self.slots:
            self._free.put(slot)

    def get(self) -> Slot:
        """A free slot; waits for one.

        Raises
        ------
        PlatformError
            None is left: every one was taken out.
        """
        while len(self.taken_out) < len(self.slots):
            try:
                return self._free.get(timeout=_LOOK_AGAIN_S)
            except Empty:
                continue
        reasons = "; ".join(f"{name}: {why}" for name, why in self.taken_out.items())
        raise PlatformError(
            f"No slot is left to run in ({reasons}). Look after the GPU, then start again; what is "
            "final is kept."
        )

    def put(self, slot: Slot, *, suspect: bool = False) -> None:
        """Give a slot back.

        Parameters
        ----------
        slot
            One that `get` gave.
        suspect
            Whether the attempt in it ended by a fault of the platform: the slot is then tried,
            and taken out if it fails.
        """
        why = self.probe(slot) if suspect else None
        if why is None:
            self._free.put(slot)
        else:
            self.taken_out[slot.name] = why


@contextmanager
def open_slots(
    sandbox: Sandbox, *, count: int | None = None, gpus: Sequence[Gpu] | None = None
) -> Iterator[SlotPool]:
    """Take the free slots of this host until the block ends.

    Parameters
    ----------
    sandbox
        Open.
    count
        How many at most. Default: every free GPU; without GPUs, one slot with all processors.
    gpus
        GPUs to choose from; None takes those NVML knows. None at all means processor slots.

    Raises
    ------
    PlatformError
        There are GPUs but none is free and well, or there are fewer free processors than slots.
    """
    known = tuple(gpus) if gpus is not None else sandbox.known_gpus()
    pool, locks = _gpu_slots(sandbox, known, count) if known else _cpu_slots(count or 1)
    try:
        yield pool
    finally:
        release_all(locks)


def gpu_route(info: Json, uuid: str) -> GpuRoute:
    """How an engine hands a GPU over: by CDI where it lists that very device, else by the hook."""
    devices = {str(device.get("ID")) for device in info.get("DiscoveredDevices") or ()}
    return "cdi" if f"nvidia.com/gpu={uuid}" in devices else "hook"


def probe_gpu(sandbox: Sandbox, slot: Slot) -> str | None:
    """Start a container with a slot's GPU; returns why it cannot be used, or None."""
    if slot.gpu_uuid is None:
        return None
    complaint = sandbox.gpus.complaint(slot.gpu_uuid) if sandbox.gpus else None
    if complaint is not None:
        return complaint
    body = holder_body(sandbox.exchanges.holder_image, mounts=[], labels=sandbox.owner.labels)
    body["HostConfig"]["DeviceRequests"] = [gpu_request(slot)]
    name = f"segtrial-probe-{sandbox.new_attempt_name()}"
    try:
        sandbox.engine.create(body, name=name)
        sandbox.engine.start(name)
    except ENGINE_FAULTS as error:
        return f"a container cannot be given it: {explanation(error)}"
    finally:
        sandbox.unremoved.add(f"container {name}", lambda: sandbox.engine.remove(name))
        sandbox.unremoved.run()
    return None


def _gpu_slots(
    sandbox: Sandbox, gpus: Sequence[Gpu], count: int | None
) -> tuple[SlotPool, list[HeldLock]]:
    """Every free and well GPU, up to a count, each with its share of the processors."""
    unused = {
        uuid: f"container {name} has it" for uuid, name in gpus_in_use(sandbox.engine, gpus).items()
    }
    info = sandbox.engine.info()
    slots: list[Slot] = []
    locks: list[HeldLock] = []
    for gpu, cpuset in zip(gpus, shares(_processors(), len(gpus)), strict=True):
        if gpu.uuid in unused or len(slots) == (count or len(gpus)):
            continue
        slot = Slot(
            name=gpu.uuid,
            gpu_uuid=gpu.uuid,
            gpu_route=gpu_route(info, gpu.uuid),
            gpu_model=gpu.model,
            gpu_driver=gpu.driver,
            cpuset=cpuset,
        )
        held = try_hold_all([f"gpu-{gpu.uuid}"])
        why = probe_gpu(sandbox, slot) if held else "another process of ours has it"
        if why is None:
            slots.append(slot)
            locks += held or []
        else:
            unused[gpu.uuid] = why
            release_all(held or [])
    if not slots:
        reasons = "; ".join(f"{uuid}: {why}" for uuid, why in unused.items())
        raise PlatformError(
            f"None of the {len(gpus)} GPUs of this host can be used ({reasons}). Wait for the "
            "other runs, or look after the GPUs with nvidia-smi."
        )
    probe = partial(probe_gpu, sandbox)
    return SlotPool(slots=tuple(slots), unused=unused, probe=probe), locks


def _cpu_slots(count: int) -> tuple[SlotPool, list[HeldLock]]:
    """Processor slots: one with all of them, or several with processors of their own."""
    processors = _processors()
    if count == 1 or count > len(processors):
        # More slots than processors share them all: good for many waiting containers, not for
        # times that are to be compared.
        names = [f"cpu-{index}" for index in range(count)]
        return _pool([Slot(name=name) for name in names]), []
    held = {cpu: lock for cpu in processors if (lock := try_hold_all([f"cpu-{cpu}"]))}
    locks = [lock for some in held.values() for lock in some]
    if len(held) < count:
        release_all(locks)
        raise PlatformError(
            f"{count} slots need {count} processors of their own; {len(held)} of "
            f"{len(processors)} are free, the others are held by other runs. Wait for them, or "
            "ask for fewer slots."
        )
    return _pool([Slot(name=f"cpu-{s}", cpuset=s) for s in shares(sorted(held), count)]), locks


def _pool(slots: Sequence[Slot]) -> SlotPool:
    return SlotPool(slots=tuple(slots), unused={}, probe=lambda _: None)


def shares(processors: Sequence[int], count: int) -> list[str]:
    """Split processors into equal, neighbouring shares in the kernel's list format.

    With fewer processors than shares, every share is all of them.

    Examples
    --------
    >>> shares([0, 1, 2, 3, 4], 2)
    ['0,1', '2,3']
    >>> shares([0], 2)
    ['0', '0']
    """
    size = len(processors) // count or len(processors)
    starts = range(0, count * size, size) if len(processors) >= count else [0] * count
    return [",".join(str(cpu) for cpu in processors[start : start + size]) for start in starts]


def _processors() -> list[int]:
    return sorted(os.sched_getaffinity(0))
