"""A place where one attempt can run at a time: processors, and at most one GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

GpuRoute = Literal["cdi", "hook"]
"""How the engine hands a GPU over: by a CDI device name, or by NVIDIA's start hook."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One slot.

    Attributes
    ----------
    name
        For progress lines and logs.
    gpu_uuid
        The GPU (``GPU-...``) or MIG slice (``MIG-...``); None on a processor slot.
    gpu_route
        How the engine hands it over.
    gpu_model, gpu_driver
        Its name and its driver's version; part of the identity of what ran on it.
    cpuset
        Processors in the kernel's list format, such as ``"0-3"``; None leaves them unshared.
    """

    name: str = "cpu"
    gpu_uuid: str | None = None
    gpu_route: GpuRoute = "hook"
    gpu_model: str | None = None
    gpu_driver: str | None = None
    cpuset: str | None = None
