"""What the harness adds to a container's own life, and how many attempts a host makes a second.

For each attempt: wall time of `run_attempt` less the engine's FinishedAt - StartedAt. Beside it,
on the same image and program, the engine's bare command line (``docker run --rm``), without any of
the walls. Run on an idle machine:

    python benchmarks/harness.py --cases 1000
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np

from segtrial.container.base_image import ensure_base_image
from segtrial.container.exchange import ExchangeKind
from segtrial.container.failure import classify
from segtrial.container.image_facts import read_image
from segtrial.container.run import run_attempt
from segtrial.container.sandbox import Sandbox, open_sandbox
from segtrial.container.spec import ContainerSpec
from segtrial.contracts.limits import Limits

PROGRAM = ("/bin/sh", "-c", "echo result > /output/segmentation.nii.gz")
LIMITS = Limits(memory_gib=0.25, tmp_gib=0.0625, shm_gib=0.0625, output_mib=64)
MAX_ADDED_S = 0.35
MIN_PER_S = 4.0


@dataclass(frozen=True, kw_only=True)
class Timed:
    """One way of running many short cases."""

    name: str
    cases: int
    wall_s: float
    added_s: list[float]

    def row(self) -> str:
        """Line of the printed table."""
        added_ms = 1000 * np.asarray(self.added_s)
        median, p95 = np.quantile(added_ms, (0.5, 0.95))
        return (
            f"{self.name:34} {self.cases:6d} {median:9.0f} {added_ms.mean():9.0f} {p95:9.0f} "
            f"{self.cases / self.wall_s:9.2f}"
        )


def main() -> None:
    """Print the table and whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=200, help="attempts of each row")
    parser.add_argument("--input-mib", type=float, default=0.1, help="size of each case's scan")
    parser.add_argument("--slots", type=int, nargs="*", default=(1, 4), help="attempts at once")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="segtrial-bench-")))
        case = _stage(folder, input_mib=options.input_mib)
        print(f"{os.cpu_count()} processors, scan of {options.input_mib:g} MiB; added in ms")
        print(f"{'':34} {'cases':>6} {'median':>9} {'mean':>9} {'p95':>9} {'per s':>9}")
        bare = _bare(max(options.cases // 10, 10))
        print(bare.row(), flush=True)
        kinds: tuple[ExchangeKind, ...] = ("host tmpfs", "engine volume")
        for kind in kinds:
            with open_sandbox(slots=max(options.slots), exchange=kind) as sandbox:
                for slots in options.slots:
                    cases = options.cases if kind == "host tmpfs" else max(options.cases // 10, 4)
                    timed = _harness(sandbox, case, cases=cases, slots=slots)
                    print(timed.row(), flush=True)
                    _judge(kind, slots, timed)


def _stage(folder: Path, *, input_mib: float) -> Path:
    case = folder / "input"
    case.mkdir()
    (case / "request.json").write_text("{}")
    (case / "scan_0.nii.gz").write_bytes(os.urandom(int(input_mib * (1 << 20))))
    return case


def _harness(sandbox: Sandbox, case: Path, *, cases: int, slots: int) -> Timed:
    """Attempts of the sealed run, on threads as the pipeline makes them."""
    base = ensure_base_image(sandbox.engine, announce=print)
    image = read_image(sandbox.engine, base.id, labels=sandbox.owner.labels)
    spec = ContainerSpec(image=image, input_dir=case, limits=LIMITS, entrypoint=PROGRAM)
    numbers = count()

    def attempt(_: int) -> float:
        output = case.with_name(f"output-{next(numbers)}")
        began = time.perf_counter()
        seen = run_attempt(sandbox, spec, output_to=output)
        took = time.perf_counter() - began
        if classify(seen).outcome != "ok" or seen.state is None or seen.state.time_s is None:
            raise RuntimeError(f"an attempt of the benchmark failed: {seen}")
        output.unlink()
        return took - seen.state.time_s

    name = f"sealed, {sandbox.exchanges.kind}, {slots} slot{'s' * (slots > 1)}"
    return _timed(name, attempt, cases=cases, slots=slots)


def _bare(cases: int) -> Timed:
    """The engine's command line with nothing but the program."""
    with open_sandbox() as sandbox:
        image = ensure_base_image(sandbox.engine, announce=print).id
    command = ["docker", "run", "--rm", "--network=none", "--entrypoint=/bin/true", image]

    def once(_: int) -> float:
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - all ours
        return time.perf_counter() - began

    return _timed("docker run --rm, 1 at a time", once, cases=cases, slots=1)


def _timed(name: str, once: Callable[[int], float], *, cases: int, slots: int) -> Timed:
    began = time.perf_counter()
    with ThreadPoolExecutor(slots) as threads:
        added = list(threads.map(once, range(cases)))
    return Timed(name=name, cases=cases, wall_s=time.perf_counter() - began, added_s=added)


def _judge(kind: ExchangeKind, slots: int, timed: Timed) -> None:
    """Say whether the targets, which hold for root's exchange, are met."""
    if kind != "host tmpfs":
        return
    if slots == 1:
        added = float(np.mean(timed.added_s))
        print(f"  target: at most {MAX_ADDED_S} s added per case: {_met(added <= MAX_ADDED_S)}")
    else:
        rate = timed.cases / timed.wall_s
        print(f"  target: at least {MIN_PER_S:g} containers per second: {_met(rate >= MIN_PER_S)}")


def _met(yes: bool) -> str:  # noqa: FBT001 - a word for an answer
    return "met" if yes else "MISSED"


if __name__ == "__main__":
    main()
