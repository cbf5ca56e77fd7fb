"""The static program that keeps a volume mounted."""

from __future__ import annotations

import os
import platform
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

from segtrial.container.holder import elf_program

MACHINES = {"x86_64": 62, "aarch64": 183}
EMULATORS = {machine: shutil.which(f"qemu-{machine}-static") for machine in MACHINES}
RUNNABLE = [machine for machine in MACHINES if platform.machine() == machine or EMULATORS[machine]]


@pytest.mark.parametrize("machine", RUNNABLE)
def test_it_sleeps_without_using_the_processor_until_it_is_killed(
    tmp_path: Path, machine: str
) -> None:
    program = tmp_path / "hold"
    program.write_bytes(elf_program(machine))
    program.chmod(0o755)
    emulator = [] if platform.machine() == machine else [str(EMULATORS[machine])]

    process = subprocess.Popen([*emulator, str(program)])
    time.sleep(0.3)
    ticks = sum(int(n) for n in Path(f"/proc/{process.pid}/stat").read_text().split()[13:15])
    process.send_signal(signal.SIGKILL)

    assert process.wait() == -signal.SIGKILL
    assert ticks * 1000 / os.sysconf("SC_CLK_TCK") < 200


@pytest.mark.parametrize(("machine", "number"), MACHINES.items())
def test_it_is_an_executable_whose_entry_is_its_first_instruction(
    machine: str, number: int
) -> None:
    program = elf_program(machine)

    kind, got, _, entry = struct.unpack_from("<HHIQ", program, 16)
    segment_at, address, file_size = struct.unpack_from("<QQ8xQ", program, 64 + 8)
    assert program.startswith(b"\x7fELF\x02\x01\x01")
    assert (kind, got) == (2, number)
    assert segment_at == 0
    assert entry - address == 120
    assert file_size == len(program)
    assert len(program) > 120
