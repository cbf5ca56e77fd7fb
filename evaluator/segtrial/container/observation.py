"""What was seen of one attempt: facts only, no verdict. `failure.classify` judges them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

OurKill = Literal["deadline", "stop"]
EngineStep = Literal["prepare", "create", "start", "wait", "inspect", "output"]
OutputStatus = Literal["ok", "missing", "not_regular", "too_large", "volume_full", "not_read"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSeen:
    """The engine's State of the container after it ended, read before removal."""

    exit_code: int
    oom_killed: bool
    error: str
    time_s: float | None
    """FinishedAt minus StartedAt by the engine's own clock; None if it never started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSeen:
    """What became of the one expected file."""

    status: OutputStatus = "not_read"
    detail: str = ""
    size_bytes: int = 0
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineTrouble:
    """A call of ours, or an act of our own on this host, that failed."""

    step: EngineStep
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSeen:
    """First and last bytes of what the container printed; hostile text, never shown unescaped."""

    head: bytes = b""
    tail: bytes = b""
    kept_bytes: int = 0
    """Bytes the engine had kept; it keeps the newest 10 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What the attempt used. None means: could not be measured here."""

    monotonic_s: float | None = None
    """From the answer of the engine's start call to the end, by our monotonic clock."""
    cpu_s: float | None = None
    peak_memory_mib: float | None = None
    """High-water mark of the control group, page cache included."""
    memory_is: Literal["exact", "sampled", "absent"] = "absent"
    gpu_memory_mib: float | None = None
    gpu_utilisation: float | None = None
    """Mean over the samples, in [0, 1]."""
    energy_j: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Everything seen of one attempt."""

    state: StateSeen | None = None
    """None when the engine could not be asked, or the container never existed."""
    killed: OurKill | None = None
    """Set only when our own SIGKILL was accepted by the engine."""
    still_alive: bool = False
    """It did not die of SIGKILL: its slot cannot be trusted any more."""
    trouble: EngineTrouble | None = None
    memory_was_full: bool = False
    """The control group had reached its limit, or counted an OOM kill, by the kernel's counters."""
    author_strings: tuple[str, ...] = ()
    """Strings of the image that the engine may have quoted in its messages."""
    output: OutputSeen = field(default_factory=OutputSeen)
    log: LogSeen = field(default_factory=LogSeen)
    resources: Resources = field(default_factory=Resources)
    leftovers: tuple[str, ...] = ()
    """What could not be removed, for the reaper."""
