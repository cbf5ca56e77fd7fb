"""Programs that take more than they may."""

from __future__ import annotations

import time

import pytest

from containers import SMALL, Bench
from segtrial.container.failure import classify

pytestmark = pytest.mark.docker

SHORT = SMALL.model_copy(update={"time_s": 2})
OUT = "/output/segmentation.nii.gz"


def fill(path: str) -> tuple[str, ...]:
    """Write to a file until the kernel says no, then tell how far it came and why."""
    return (
        "import errno, os",
        f"out = os.open({path!r}, os.O_WRONLY | os.O_CREAT)",
        "done = 0",
        "try:",
        "    while True: done += os.write(out, b'x' * 65536)",
        "except OSError as error:",
        "    print(done // 1024, errno.errorcode[error.errno], flush=True)",
    )


def test_a_fork_bomb_ends_at_the_deadline(bench: Bench) -> None:
    began = time.monotonic()
    seen = bench.python(
        "import os",
        "while True:",
        "    try: os.fork()",
        "    except OSError: pass",
        limits=SHORT,
    )

    assert classify(seen).outcome == "failed: timeout"
    assert time.monotonic() - began < 30


def test_processes_are_counted(bench: Bench) -> None:
    seen = bench.python(
        "import os, time",
        "count = 0",
        "try:",
        "    while True:",
        "        if os.fork() == 0: time.sleep(30)",
        "        count += 1",
        "except OSError as error: print(count, error.strerror, flush=True)",
    )

    count = int(seen.log.head.split()[0])
    assert SMALL.pids - 4 < count < SMALL.pids
    assert b"temporarily unavailable" in seen.log.head


def test_a_memory_bomb_is_out_of_memory(bench: Bench) -> None:
    seen = bench.python("block = b'x' * (1 << 30)")

    assert classify(seen).outcome == "failed: out_of_memory"


def test_a_memory_bomb_in_a_child_of_a_parent_that_exits_0_is_out_of_memory(bench: Bench) -> None:
    seen = bench.python(
        "import os",
        "if os.fork() == 0: block = b'x' * (1 << 30)",
        "os.wait()",
    )

    assert seen.state is not None
    assert seen.state.exit_code == 0
    assert classify(seen).outcome == "failed: out_of_memory"


def test_a_lost_child_is_forgiven_when_the_file_came(bench: Bench) -> None:
    seen = bench.python(
        "import os",
        "if os.fork() == 0: block = b'x' * (1 << 30)",
        "os.wait()",
        f"open({OUT!r}, 'w').write('result')",
    )

    verdict = classify(seen)
    assert verdict.outcome == "ok"
    assert "memory" in verdict.reason


def test_memory_has_no_swap_behind_it(bench: Bench) -> None:
    seen = bench.python(
        "import mmap",
        "block = mmap.mmap(-1, 256 << 20)",
        "for page in range(0, 256 << 20, 4096): block[page] = 1",
    )

    assert classify(seen).outcome == "failed: out_of_memory"
    assert seen.resources.peak_memory_mib == pytest.approx(SMALL.memory_gib * 1024, abs=1)


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm"])  # noqa: S108 - in the container
def test_memory_file_systems_are_full_at_their_size(bench: Bench, place: str) -> None:
    seen = bench.python(*fill(f"{place}/junk"))

    assert seen.log.head.split() == [b"32768", b"ENOSPC"]
    assert classify(seen).outcome == "failed: no_output"


def test_tmp_is_bounded_in_inodes(bench: Bench) -> None:
    seen = bench.python(
        "import errno",
        "try:",
        "    for n in range(100_000): open(f'/tmp/{n}', 'w').close()",
        "except OSError as error: print(n, errno.errorcode[error.errno], flush=True)",
    )

    # At the latest at the tmpfs's own bound; where inodes cost more, the memory limit is nearer.
    assert b"ENOSPC" in seen.log.head or classify(seen).outcome == "failed: out_of_memory"


@pytest.mark.parametrize("exit_code", [0, 1])
def test_a_full_output_volume_is_too_large_whatever_the_exit_code(
    exchange_bench: Bench, exit_code: int
) -> None:
    seen = exchange_bench.python(*fill(OUT), f"os._exit({exit_code})")

    assert b"ENOSPC" in seen.log.head
    assert 8 * 1024 <= int(seen.log.head.split()[0]) < 9 * 1024
    assert classify(seen).outcome == "failed: output_too_large"


def test_an_output_volume_full_of_inodes_is_too_large(exchange_bench: Bench) -> None:
    seen = exchange_bench.python(
        "import errno, os",
        f"open({OUT!r}, 'w').write('result')",
        "try:",
        "    for n in range(1000): os.mkdir(f'/output/{n}')",
        "except OSError as error: print(n, errno.errorcode[error.errno], flush=True)",
    )

    assert int(seen.log.head.split()[0]) <= SMALL.output_files + 1
    assert classify(seen).outcome == "failed: output_too_large"


def test_a_file_of_exactly_the_limit_is_delivered(exchange_bench: Bench) -> None:
    seen = exchange_bench.python(
        f"open({OUT!r}, 'wb').write(b'x' * ({SMALL.output_mib} << 20))",
    )

    assert classify(seen).outcome == "ok"
    assert seen.output.size_bytes == SMALL.output_mib << 20


def test_a_sparse_file_above_the_limit_is_too_large(exchange_bench: Bench) -> None:
    seen = exchange_bench.python(
        "import os",
        f"open({OUT!r}, 'w').close()",
        f"os.truncate({OUT!r}, 20 << 20)",
    )

    assert classify(seen).outcome == "failed: output_too_large"
    assert not exchange_bench.output.exists()


def test_a_sparse_file_of_a_terabyte_cannot_be_made(bench: Bench) -> None:
    seen = bench.python(
        "import os",
        f"open({OUT!r}, 'w').close()",
        f"os.truncate({OUT!r}, 1 << 40)",
    )

    assert b"File too large" in seen.log.head
    assert classify(seen).outcome == "failed: crash"


def test_300_mb_of_binary_noise_on_stdout_stay_bounded(bench: Bench) -> None:
    seen = bench.python(
        "import os",
        "os.write(1, b'first words ')",
        "for _ in range(300): os.write(1, b'\\xff\\xfe' * (1 << 19))",
        "os.write(1, b' last words')",
        f"open({OUT!r}, 'w').write('result')",
    )

    assert classify(seen).outcome == "ok"
    assert seen.log.kept_bytes < 12 << 20
    assert len(seen.log.head) + len(seen.log.tail) <= 128 << 10
    assert seen.log.tail.endswith(b"\xff\xfe last words")


def test_processor_time_is_bounded_by_cpus(bench: Bench) -> None:
    half = SMALL.model_copy(update={"cpus": 0.25})
    seen = bench.python(
        "import time",
        "end = time.monotonic() + 1.5",
        "while time.monotonic() < end: pass",
        limits=half,
    )

    assert seen.resources.cpu_s is not None
    assert seen.resources.cpu_s < 0.8
