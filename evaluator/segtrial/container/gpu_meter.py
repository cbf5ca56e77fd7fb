"""What one attempt uses of its GPU: memory peak, mean utilisation, energy.

NVML is asked ten times a second. The memory in use before the start is taken off the peak; the
energy is the difference of the GPU's own counter and includes what an idle GPU draws. Both are
the attempt's alone because its slot has the GPU alone.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from segtrial.container.gpu import GpuReader, GpuSample

PERIOD_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuUsage:
    """Use of a GPU over an attempt; None where the driver does not say."""

    memory_mib: float | None = None
    utilisation: float | None = None
    energy_j: float | None = None


class GpuMeter:
    """Samples one GPU from `begin` to `end`."""

    def __init__(self, reader: GpuReader, uuid: str) -> None:
        self._reader = reader
        self._uuid = uuid
        self._samples: list[GpuSample] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"meter {uuid}", daemon=True)

    def begin(self) -> None:
        """Take the sample before the start, and go on sampling beside it."""
        self._samples.append(self._reader.sample(self._uuid))
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(PERIOD_S):
            self._samples.append(self._reader.sample(self._uuid))

    def end(self) -> GpuUsage:
        """Take the last sample and sum up."""
        if not self._ended.is_set():
            self._ended.set()
            if self._thread.ident is not None:
                self._thread.join()
            self._samples.append(self._reader.sample(self._uuid))
        return summary(self._samples)


def summary(samples: list[GpuSample]) -> GpuUsage:
    """Usage from samples in the order of time, the first of them before the start.

    Examples
    --------
    >>> summary([
    ...     GpuSample(memory_mib=500, utilisation=0.0, energy_j=10.0),
    ...     GpuSample(memory_mib=2500, utilisation=1.0, energy_j=70.0),
    ...     GpuSample(memory_mib=900, utilisation=0.5, energy_j=110.0),
    ... ])
    GpuUsage(memory_mib=2000, utilisation=0.75, energy_j=100.0)
    """
    memory = [one.memory_mib for one in samples if one.memory_mib is not None]
    energy = [one.energy_j for one in samples if one.energy_j is not None]
    busy = [one.utilisation for one in samples[1:] if one.utilisation is not None]
    return GpuUsage(
        memory_mib=max(memory) - memory[0] if memory else None,
        utilisation=sum(busy) / len(busy) if busy else None,
        energy_j=energy[-1] - energy[0] if energy else None,
    )
