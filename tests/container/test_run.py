"""One attempt in a real container: what it is given, how it ends, what is left."""

from __future__ import annotations

import threading

import pytest

from containers import SMALL, Bench, left_behind, needs_root
from segtrial.container.failure import classify
from segtrial.container.mounting import discard_mount, mount_tmpfs
from segtrial.container.run import run_attempt

pytestmark = pytest.mark.docker

WRITE = "open('/output/segmentation.nii.gz', 'wb').write(b'x' * 1000)"


def test_a_file_comes_out_byte_for_byte(bench: Bench) -> None:
    seen = bench.python(
        "data = bytes(range(256)) * 5000",
        "open('/output/segmentation.nii.gz', 'wb').write(data)",
    )

    assert classify(seen).outcome == "ok"
    assert bench.output.read_bytes() == bytes(range(256)) * 5000
    assert seen.output.size_bytes == 256 * 5000
    assert bench.output.stat().st_mode & 0o777 == 0o600


def test_nothing_is_left_behind(bench: Bench) -> None:
    bench.python(WRITE)

    assert left_behind(bench.sandbox) == []


def test_time_is_the_containers_life_by_the_engines_clock(bench: Bench) -> None:
    seen = bench.python(WRITE, "import time; time.sleep(1)")

    assert seen.state is not None
    assert seen.state.time_s is not None
    # Upper bounds are wide in this file: a new host's first containers start slowly.
    assert 1.0 < seen.state.time_s < 15
    assert seen.resources.monotonic_s == pytest.approx(seen.state.time_s, abs=5)


@needs_root
def test_processor_time_and_peak_memory_are_counted(bench: Bench) -> None:
    seen = bench.python(
        "import time",
        "block = b'x' * (64 << 20)",
        "end = time.process_time() + 0.5",
        "while time.process_time() < end: pass",
    )

    assert seen.resources.memory_is == "exact"
    assert seen.resources.peak_memory_mib == pytest.approx(72, abs=8)
    assert seen.resources.cpu_s is not None
    assert 0.5 <= seen.resources.cpu_s < 2


def test_the_deadline_kills(bench: Bench) -> None:
    limits = SMALL.model_copy(update={"time_s": 1})
    seen = bench.python("import time; time.sleep(60)", limits=limits)

    assert classify(seen).outcome == "failed: timeout"
    assert seen.resources.monotonic_s is not None
    assert 1.0 <= seen.resources.monotonic_s < 15


def test_a_stop_request_kills(bench: Bench) -> None:
    stop = threading.Event()
    threading.Timer(1.0, stop.set).start()

    seen = bench.run(bench.spec("import time; time.sleep(60)"), stop=stop)

    assert classify(seen).outcome == "not_run: pending"
    assert seen.resources.monotonic_s is not None
    assert seen.resources.monotonic_s < 15


def test_after_a_stop_request_nothing_starts(bench: Bench) -> None:
    stop = threading.Event()
    stop.set()

    seen = bench.run(bench.spec(WRITE), stop=stop)

    assert classify(seen).outcome == "not_run: pending"
    assert not bench.output.exists()


def test_the_log_keeps_what_was_printed_last(bench: Bench) -> None:
    seen = bench.python("import sys; print('out', flush=True); print('err', file=sys.stderr)")

    # The order of the two streams is not kept by any engine.
    assert sorted(seen.log.head.splitlines()) == [b"err", b"out"]


@needs_root
def test_a_full_disk_on_our_side_is_the_platforms(bench: Bench) -> None:
    full = bench.folder / "full"
    full.mkdir()
    mount_tmpfs(full, mode="0700", bounds={"size": 64 << 10, "nr_inodes": 10})
    output = full / "output"
    spec = bench.spec("open('/output/segmentation.nii.gz', 'wb').write(bytes(1 << 20))")
    try:
        seen = run_attempt(bench.sandbox, spec, output_to=output)
        verdict = classify(seen)

        assert (verdict.outcome, verdict.retry) == ("not_run: platform", "with_back_off")
        assert "No space left on device" in verdict.reason
        assert not output.exists()
    finally:
        discard_mount(full)


def test_an_output_path_that_is_taken_is_not_overwritten(bench: Bench) -> None:
    taken = bench.folder / "taken"
    taken.write_text("another attempt's")

    seen = run_attempt(bench.sandbox, bench.spec(WRITE), output_to=taken)

    assert classify(seen).fault == "platform"
    assert taken.read_text() == "another attempt's"
