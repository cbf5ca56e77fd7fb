"""What NVIDIA's management library (NVML) tells of this host's GPUs, where there is one.

A GPU that is split into MIG slices appears as its slices, each with its own UUID and memory;
NVML has no energy and no utilisation for them. Indices are never used as names: they change with
the driver and from boot to boot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import pynvml

_MIB = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU or MIG slice."""

    uuid: str
    model: str
    driver: str
    memory_mib: float
    index: int
    """Position in NVML's list at this moment, of a slice's GPU; others' containers may name it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSample:
    """One look at a GPU; None where the driver does not say."""

    memory_mib: float | None = None
    utilisation: float | None = None
    energy_j: float | None = None


class GpuReader:
    """An open connection to NVML."""

    def __init__(self) -> None:
        """Open it.

        Raises
        ------
        pynvml.NVMLError
            There is no driver, or it does not answer.
        """
        pynvml.nvmlInit()

    @classmethod
    def open(cls) -> Self | None:
        """A reader, or None on a host without NVIDIA's driver."""
        with suppress(pynvml.NVMLError):
            return cls()
        return None

    def close(self) -> None:
        """Let go of the driver."""
        with suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()

    def gpus(self) -> tuple[Gpu, ...]:
        """GPUs of this host; slices in the place of a GPU that is split."""
        count = _asked(pynvml.nvmlDeviceGetCount) or 0
        found = (_asked(pynvml.nvmlDeviceGetHandleByIndex, index) for index in range(count))
        return tuple(
            gpu
            for index, handle in enumerate(found)
            if handle is not None
            for part in _slices(handle) or [handle]
            if (gpu := _describe(part, parent=handle, index=index)) is not None
        )

    def sample(self, uuid: str) -> GpuSample:
        """Memory in use, utilisation and the energy counter, at this moment."""
        handle = _asked(pynvml.nvmlDeviceGetHandleByUUID, uuid)
        if handle is None:
            return GpuSample()
        memory = _asked(pynvml.nvmlDeviceGetMemoryInfo, handle)
        busy = _asked(pynvml.nvmlDeviceGetUtilizationRates, handle)
        energy_mj = _asked(pynvml.nvmlDeviceGetTotalEnergyConsumption, handle)
        return GpuSample(
            memory_mib=memory.used / _MIB if memory is not None else None,
            utilisation=busy.gpu / 100 if busy is not None else None,
            energy_j=energy_mj / 1000 if energy_mj is not None else None,
        )

    def complaint(self, uuid: str) -> str | None:
        """Why a GPU should not be used now; None when it looks well and idle."""
        try:
            handle = pynvml.nvmlDeviceGetHandleByUUID(uuid)
            pynvml.nvmlDeviceGetMemoryInfo(handle)
        except pynvml.NVMLError as error:
            return f"the driver does not reach it: {error}"
        others = _asked(pynvml.nvmlDeviceGetComputeRunningProcesses, handle) or []
        if others:
            pids = ", ".join(str(one.pid) for one in others)
            return f"other processes compute on it: {pids}"
        return None


def _asked(question: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401 - NVML's types
    """NVML's answer, or None where this GPU or driver has none."""
    with suppress(pynvml.NVMLError):
        return question(*arguments)
    return None


def _slices(handle: object) -> list[object]:
    mode = _asked(pynvml.nvmlDeviceGetMigMode, handle)
    if mode is None or mode[0] != pynvml.NVML_DEVICE_MIG_ENABLE:
        return []
    return list(_slices_of(handle))


def _slices_of(handle: object) -> Iterator[object]:
    for index in range(_asked(pynvml.nvmlDeviceGetMaxMigDeviceCount, handle) or 0):
        part = _asked(pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index)
        if part is not None:
            yield part


def _describe(part: object, *, parent: object, index: int) -> Gpu | None:
    uuid = _asked(pynvml.nvmlDeviceGetUUID, part)
    memory = _asked(pynvml.nvmlDeviceGetMemoryInfo, part)
    if uuid is None or memory is None:
        return None
    name = _asked(pynvml.nvmlDeviceGetName, part) or _asked(pynvml.nvmlDeviceGetName, parent)
    return Gpu(
        uuid=str(uuid),
        model=str(name or "unknown"),
        driver=str(_asked(pynvml.nvmlSystemGetDriverVersion) or "unknown"),
        memory_mib=memory.total / _MIB,
        index=index,
    )
