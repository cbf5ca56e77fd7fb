"""A container that does nothing, for ever: it keeps a tmpfs volume mounted while we read it.

It must be trusted, so it cannot come from the submission's image, and it must not need a
registry. So its image is made here, from one static program of a few machine instructions that
sleeps until it is killed. It is imported for each sandbox and removed with it: a tag left in the
engine could be taken over by the next archive that somebody loads.
"""

from __future__ import annotations

import io
import struct
import tarfile
from collections.abc import Mapping

from segtrial.container.engine import ENGINE_FAULTS, Engine, Json
from segtrial.errors import EngineError

IN = "/in"
OUT = "/out"
_PROGRAM = "hold"
_REPOSITORY = "segtrial/holder"
_LOAD_ADDRESS = 0x400000
_MEMORY_BYTES = 32 << 20
_PIDS = 32

# One system call in a loop. x86-64: mov eax, 34 (pause); syscall; jmp back.
_X86_64 = bytes.fromhex("b822000000 0f05 ebf7")
# AArch64 has no pause: ppoll(0, 0, 0, 0), number 73, waits just as long.
_AARCH64 = struct.pack(
    "<7I", 0xD2800000, 0xD2800001, 0xD2800002, 0xD2800003, 0xD2800928, 0xD4000001, 0x17FFFFFA
)
_MACHINES = {"x86_64": (62, _X86_64), "aarch64": (183, _AARCH64)}


def import_holder(engine: Engine, *, labels: Mapping[str, str]) -> str:
    """Make the holder's image in the engine; returns its id.

    Raises
    ------
    EngineError
        The engine refuses it, or runs on a processor for which there is no holder.
    """
    machine = str(engine.info().get("Architecture"))
    if machine not in _MACHINES:
        raise EngineError(
            f"The engine's processor ({machine}) is none of {', '.join(_MACHINES)}, for which the "
            "output volume can be kept open. Run as root on the engine's own host."
        )
    changes = [f"LABEL {name}={value}" for name, value in labels.items()]
    changes.append(f'ENTRYPOINT ["/{_PROGRAM}"]')
    # One name per owner: a shared one would move from image to image.
    tag = labels.get("segtrial.owner", "latest")
    try:
        engine.api.import_image_from_data(
            _archive(machine), repository=_REPOSITORY, tag=tag, changes=changes
        )
        found: Json = engine.api.inspect_image(f"{_REPOSITORY}:{tag}")  # type: ignore[no-untyped-call]
    except ENGINE_FAULTS as error:
        raise EngineError(f"The engine refuses the holder's image: {error}") from error
    return str(found["Id"])


def holder_body(image: str, *, mounts: list[Json], labels: Mapping[str, str]) -> Json:
    """Body of a holder's create call."""
    return {
        "Image": image,
        "User": "65534:65534",
        "Labels": dict(labels),
        "HostConfig": {
            "NetworkMode": "none",
            "ReadonlyRootfs": True,
            "CapDrop": ["ALL"],
            "SecurityOpt": ["no-new-privileges:true"],
            "PidsLimit": _PIDS,
            "Memory": _MEMORY_BYTES,
            "MemorySwap": _MEMORY_BYTES,
            "LogConfig": {"Type": "none"},
            "Mounts": mounts,
        },
    }


def _archive(machine: str) -> bytes:
    """Root file system with the one program, as a tar file."""
    program = elf_program(machine)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        member = tarfile.TarInfo(_PROGRAM)
        member.size, member.mode = len(program), 0o755
        tar.addfile(member, io.BytesIO(program))
        for path in (IN, OUT):
            folder = tarfile.TarInfo(path.lstrip("/"))
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(folder)
    return packed.getvalue()


def elf_program(machine: str) -> bytes:
    """A static ELF executable that sleeps: header, one loadable segment, its instructions."""
    number, code = _MACHINES[machine]
    header_size, segment_size = 64, 56
    start = header_size + segment_size
    identity = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)  # 64 bits, little-endian, version 1
    executable, version, readable_executable, page = 2, 1, 5, 0x1000
    header = identity + struct.pack(
        "<HHIQQQIHHHHHH",
        executable,
        number,
        version,
        _LOAD_ADDRESS + start,
        header_size,  # where the table of segments begins
        0,
        0,
        header_size,
        segment_size,
        1,
        0,
        0,
        0,
    )
    size = start + len(code)
    segment = struct.pack(
        "<IIQQQQQQ", 1, readable_executable, 0, _LOAD_ADDRESS, _LOAD_ADDRESS, size, size, page
    )
    return header + segment + code
