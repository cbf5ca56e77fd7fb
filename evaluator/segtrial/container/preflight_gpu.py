"""What the doctor finds out about GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from segtrial.container.finding import Finding, measured
from segtrial.container.gpu import Gpu
from segtrial.container.sandbox import Sandbox
from segtrial.container.slot import Slot
from segtrial.container.slots import gpu_route, probe_gpu

_NONE = (
    "No NVIDIA driver answers on this host, so what concerns GPUs could not be tested: that a "
    "container gets its own GPU and no other, that a broken GPU is noticed, and that GPU memory, "
    "utilisation and energy are measured. Attempts run on processors."
)


def judge_gpus(sandbox: Sandbox) -> Iterator[Finding]:
    """One finding for each GPU, or one that says what could not be tested without any."""
    gpus = sandbox.known_gpus()
    if not gpus:
        yield Finding(key="gpu", status="untested", sentence=_NONE)
    for gpu in gpus:
        yield _judge(sandbox, gpu)


def _judge(sandbox: Sandbox, gpu: Gpu) -> Finding:
    route = gpu_route(sandbox.engine.info(), gpu.uuid)
    why = probe_gpu(sandbox, Slot(name=gpu.uuid, gpu_uuid=gpu.uuid, gpu_route=route))
    means = "by CDI" if route == "cdi" else "by NVIDIA's start hook"
    what = f"{gpu.model} {gpu.uuid} (driver {gpu.driver}, {gpu.memory_mib:.0f} MiB)"
    return measured(
        f"gpu {gpu.uuid}",
        holds=why is None,
        good=f"{what}: the engine gives it to a container {means}.",
        bad=f"{what} cannot be used: {why}.",
    )
