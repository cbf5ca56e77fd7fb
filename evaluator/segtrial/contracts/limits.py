"""What a container may use, and what an author may ask to have relaxed.

The limits are part of a run's identity: a score made under other limits is another score.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from segtrial.contracts.record import Record


class Limits(Record):
    """Hard limits of one attempt; a dataset's card may set its own."""

    time_s: Annotated[float, Field(gt=0, le=86_400)] = 600.0
    """Wall time from start to exit, in seconds."""
    memory_gib: Annotated[float, Field(ge=0.0625, le=4096)] = 16.0
    """Memory, files in ``/tmp`` and ``/dev/shm`` included, in GiB; there is no swap."""
    pids: Annotated[int, Field(ge=8, le=65_536)] = 512
    """Processes and threads."""
    cpus: Annotated[float, Field(gt=0, le=1024)] | None = None
    """CPU time per second of wall time; None leaves the slot's processors unshared."""
    tmp_gib: Annotated[float, Field(ge=0.001, le=1024)] = 2.0
    """Size of ``/tmp`` (also ``HOME``), in memory, in GiB."""
    shm_gib: Annotated[float, Field(ge=0.001, le=1024)] = 1.0
    """Size of ``/dev/shm``, in GiB."""
    output_mib: Annotated[int, Field(ge=1, le=65_536)] = 1024
    """Bytes that fit into ``/output``, in MiB."""
    output_files: Annotated[int, Field(ge=4, le=100_000)] = 64
    """Files and folders that fit into ``/output``."""


class Relaxations(Record):
    """What a submission asks for beyond the contract.

    Asked is not granted: the maintainer grants by flag, within caps, and what was granted is
    published beside the score.
    """

    root: bool = False
    """Run as the image's root user (without any capability)."""
    writable_rootfs: bool = False
    """Write outside ``/output`` and ``/tmp``; only where the disk it may use is bounded."""
    shm_gib: Annotated[float, Field(gt=0, le=1024)] | None = None
    """A larger ``/dev/shm``, in GiB."""
    tmp_gib: Annotated[float, Field(gt=0, le=1024)] | None = None
    """A larger ``/tmp``, in GiB."""

    def asked(self) -> tuple[str, ...]:
        """Names of what is asked for, in a fixed order."""
        return tuple(
            name for name in type(self).model_fields if getattr(self, name) not in (False, None)
        )
