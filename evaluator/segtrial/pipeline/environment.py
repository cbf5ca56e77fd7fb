"""What a run was measured on: enough to read its times, nothing that says where it was."""

from __future__ import annotations

import re
from pathlib import Path

from segtrial.container.engine import Json
from segtrial.container.sandbox import Sandbox
from segtrial.container.slots import SlotPool


def describe_host(sandbox: Sandbox, slots: SlotPool, *, runtime: str) -> dict[str, str]:
    """Engine, processor, operating system and GPUs of this host."""
    info = sandbox.engine.info()
    found = {
        "engine": f"Docker {info.get('ServerVersion', '')}",
        "runtime": runtime,
        "operating_system": f"{info.get('OperatingSystem', '')}, Linux {_kernel(info)}",
        "cpu": f"{_processor()}, {info.get('NCPU', '')} processors",
        "gpu": ", ".join(sorted({slot.gpu_model for slot in slots.slots if slot.gpu_model})),
        "gpu_driver": ", ".join(sorted({s.gpu_driver for s in slots.slots if s.gpu_driver})),
    }
    return {key: value for key, value in found.items() if value}


def _kernel(info: Json) -> str:
    """Major and minor version; the rest of a kernel's name can tell whose machine it is."""
    found = re.match(r"\d+\.\d+", str(info.get("KernelVersion", "")))
    return found.group() if found else "of unknown version"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown processor"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown processor"
