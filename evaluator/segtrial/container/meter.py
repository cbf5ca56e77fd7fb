"""The meter of one attempt: processor time, peak memory and the GPU, as this host allows."""

from __future__ import annotations

from contextlib import suppress
from typing import Literal

from segtrial.container.cgroup import CgroupHost, Usage
from segtrial.container.engine import ENGINE_FAULTS, Engine
from segtrial.container.gpu_meter import GpuMeter, GpuUsage
from segtrial.container.observation import Resources


class Meter:
    """Counts what one container uses."""

    def __init__(
        self, *, cgroups: CgroupHost | None, attempt: str, gpu: GpuMeter | None = None
    ) -> None:
        self._cgroups = cgroups
        self.parent = cgroups.parent_for(attempt) if cgroups else None
        """Control group for the create call; None where counters are sampled or absent."""
        self._group: str | None = None
        self._last = Usage()
        self._gpu = gpu

    def begin(self) -> None:
        """Look at the GPU before the container starts."""
        if self._gpu is not None:
            self._gpu.begin()

    def attach(self, engine: Engine, container: str) -> None:
        """Find the started container's own group, where there is no parent to count in."""
        if self._cgroups is None or self.parent is not None:
            return
        with suppress(*ENGINE_FAULTS):
            pid = int(engine.inspect(container)["State"]["Pid"])
            self._group = self._cgroups.group_of(pid) if pid else None
        self.sample()

    def sample(self) -> None:
        """Read the living container's counters, which only grow; keep the last ones seen."""
        if self._cgroups is not None and self._group is not None:
            now = self._cgroups.usage(self._group)
            self._last = now if now.cpu_s is not None else self._last

    def memory_was_full(self, limit_mib: float) -> bool:
        """Whether the container had reached its memory limit, as far as was counted."""
        return self._usage().was_full(limit_mib)

    def _usage(self) -> Usage:
        if self._cgroups is not None and self.parent is not None:
            return self._cgroups.usage(self.parent)
        return self._last

    def read(self, *, monotonic_s: float) -> Resources:
        """What was counted, after the end."""
        usage, gpu = self._usage(), self._gpu.end() if self._gpu else GpuUsage()
        return Resources(
            monotonic_s=monotonic_s,
            cpu_s=usage.cpu_s,
            peak_memory_mib=usage.peak_memory_mib,
            memory_is=self._how(usage),
            gpu_memory_mib=gpu.memory_mib,
            gpu_utilisation=gpu.utilisation,
            energy_j=gpu.energy_j,
        )

    def _how(self, usage: Usage) -> Literal["exact", "sampled", "absent"]:
        if usage.peak_memory_mib is None:
            return "absent"
        return "sampled" if self.parent is None else "exact"

    def close(self) -> None:
        """Stop sampling and remove the parent group.

        Raises
        ------
        OSError
            It still holds something.
        """
        if self._gpu is not None:
            self._gpu.end()
        if self._cgroups is None or self.parent is None:
            return
        if not self._cgroups.remove(self.parent):
            raise OSError(f"control group {self.parent} is still in use")
