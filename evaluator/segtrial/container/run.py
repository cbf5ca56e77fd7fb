"""One attempt: one container on one case, from create to nothing left behind.

Timed is the container's life by the engine's own clock (FinishedAt minus StartedAt): model
loading and inference, without the making and removing of the container. The limit is kept by our
own monotonic clock, from the answer of the start call, and enforced by SIGKILL. The engine's
exceptions decide nothing: after each silence the container's state is looked at.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import partial
from pathlib import Path

from segtrial.container.bounded_log import first_and_last
from segtrial.container.engine import ENGINE_FAULTS, Json, explanation
from segtrial.container.exchange import Exchange
from segtrial.container.gpu_meter import GpuMeter
from segtrial.container.meter import Meter
from segtrial.container.observation import (
    EngineStep,
    EngineTrouble,
    LogSeen,
    Observation,
    OurKill,
    OutputSeen,
    Resources,
    StateSeen,
)
from segtrial.container.removals import Removals
from segtrial.container.sandbox import Sandbox
from segtrial.container.spec import ContainerSpec, create_body

MIB_PER_GIB = 1024
POLL_S = 0.5
"""Longest time a stop request or a sampled counter waits; an exit is noticed at once."""
OUTAGE_S = 20.0
"""How long an engine may be silent in the middle of an attempt before the attempt is given up."""
DEATH_S = 15.0
"""How long a container may take to die of SIGKILL; one that holds a hung GPU never does."""


def run_attempt(
    sandbox: Sandbox,
    spec: ContainerSpec,
    *,
    output_to: Path,
    stop: threading.Event | None = None,
) -> Observation:
    """Run one container on one case and report what was seen.

    Parameters
    ----------
    sandbox
        The engine and this host.
    spec
        What to run.
    output_to
        New file for the one expected output; exists afterwards only if the status is ``ok``.
    stop
        Set from another thread, it kills the container within `POLL_S` seconds.

    Returns
    -------
    Observation
        Never raises for anything the container or the engine did. Everything made for the
        attempt is removed; what could not be is named in ``leftovers``.

    Raises
    ------
    SubmissionError
        The image cannot be run at all; nothing was started.
    """
    attempt = _Attempt(sandbox, spec, output_to=output_to, stop=stop or threading.Event())
    try:
        attempt.run()
    except _StepError as error:
        attempt.seen.trouble = error.trouble
    finally:
        attempt.clean_up()
    return attempt.seen.freeze()


class _StepError(Exception):
    """A step of ours that failed."""

    def __init__(self, step: EngineStep, error: Exception) -> None:
        super().__init__(str(error))
        self.trouble = EngineTrouble(step=step, message=explanation(error))


@contextmanager
def _step(name: EngineStep) -> Iterator[None]:
    try:
        yield
    except (*ENGINE_FAULTS, OSError) as error:
        raise _StepError(name, error) from error


@dataclass(slots=True)
class _Seen:
    """An observation in the making."""

    author_strings: tuple[str, ...]
    state: StateSeen | None = None
    killed: OurKill | None = None
    still_alive: bool = False
    memory_was_full: bool = False
    trouble: EngineTrouble | None = None
    output: OutputSeen = field(default_factory=OutputSeen)
    log: LogSeen = field(default_factory=LogSeen)
    resources: Resources = field(default_factory=Resources)
    leftovers: list[str] = field(default_factory=list)

    def freeze(self) -> Observation:
        return Observation(
            **{one.name: getattr(self, one.name) for one in fields(self)}
            | {"leftovers": tuple(self.leftovers)}
        )


class _Attempt:
    """The steps of one attempt, in order."""

    def __init__(
        self, sandbox: Sandbox, spec: ContainerSpec, *, output_to: Path, stop: threading.Event
    ) -> None:
        self._sandbox = sandbox
        self._engine = sandbox.engine
        self._spec = spec
        self._output_to = output_to
        self._stop = stop
        # Containers are spoken of by this name, which we chose: one whose create call was
        # answered too late can still be found and removed.
        self._attempt = sandbox.new_attempt_name()
        self._name = f"segtrial-{self._attempt}"
        self._meter = Meter(
            cgroups=sandbox.cgroups,
            attempt=self._attempt,
            gpu=_gpu_meter(sandbox, spec.slot.gpu_uuid),
        )
        self._removals = Removals()
        self.seen = _Seen(author_strings=spec.image.author_strings)

    def run(self) -> None:
        if self._stop.is_set():
            self.seen.killed = "stop"
            return
        self._sandbox.unremoved.run()
        exchange = self._create()
        self._meter.begin()
        with _step("start"):
            self._engine.start(self._name)
        started = time.monotonic()
        self._watch(started)
        self._look(monotonic_s=time.monotonic() - started)
        if not self.seen.still_alive:
            self._collect(exchange)

    def _create(self) -> Exchange:
        with _step("prepare"):
            exchange = self._sandbox.exchanges.open(
                self._attempt, case=self._spec.input_dir, limits=self._spec.limits
            )
        self._removals.add(f"control group of {self._attempt}", self._meter.close)
        self._removals.add(f"exchange of {self._attempt}", exchange.close)
        body = create_body(
            self._spec,
            mounts=exchange.mounts(input_at=self._spec.input_at, output_at=self._spec.output_at),
            cgroup_parent=self._meter.parent,
            labels=self._sandbox.owner.labels,
        )
        self._removals.add(f"container {self._name}", partial(self._engine.remove, self._name))
        with _step("create"):
            self._engine.create(body, name=self._name)
        return exchange

    def _watch(self, started: float) -> None:
        """Wait for the end, or make it."""
        deadline = started + self._spec.limits.time_s
        last_answer = started
        self._meter.attach(self._engine, self._name)
        while not self._stop.is_set() and (remaining := deadline - time.monotonic()) > 0:
            try:
                if self._engine.exited(self._name, within_s=min(remaining, POLL_S)):
                    return
                last_answer = time.monotonic()
            except ENGINE_FAULTS as error:
                if time.monotonic() - last_answer > OUTAGE_S:
                    raise _StepError("wait", error) from error
                time.sleep(POLL_S)
            self._meter.sample()
        self._kill("stop" if self._stop.is_set() else "deadline")

    def _kill(self, why: OurKill) -> None:
        with _step("wait"):
            if self._engine.kill(self._name):
                self.seen.killed = why
            self.seen.still_alive = not self._engine.exited(self._name, within_s=DEATH_S)

    def _look(self, *, monotonic_s: float) -> None:
        """Read State and log before anything is removed."""
        with _step("inspect"):
            self.seen.state = read_state(self._engine.inspect(self._name)["State"])
            self.seen.log = first_and_last(self._engine.log_chunks(self._name))
        self.seen.resources = self._meter.read(monotonic_s=monotonic_s)
        limit_mib = self._spec.limits.memory_gib * MIB_PER_GIB
        self.seen.memory_was_full = self._meter.memory_was_full(limit_mib)

    def _collect(self, exchange: Exchange) -> None:
        with _step("output"):
            self.seen.output = exchange.collect(self._spec.output_file, into=self._output_to)

    def clean_up(self) -> None:
        """Remove all that was made; what will not go is tried again before the next attempt."""
        self.seen.leftovers += self._removals.run()
        self._removals.hand_over(self._sandbox.unremoved)


def _gpu_meter(sandbox: Sandbox, uuid: str | None) -> GpuMeter | None:
    return GpuMeter(sandbox.gpus, uuid) if sandbox.gpus is not None and uuid is not None else None


def read_state(state: Json) -> StateSeen:
    """What the engine's State says of an ended container."""
    return StateSeen(
        exit_code=int(state["ExitCode"]),
        oom_killed=bool(state["OOMKilled"]),
        error=str(state.get("Error") or ""),
        time_s=_seconds_between(str(state["StartedAt"]), str(state["FinishedAt"])),
    )


def _seconds_between(started: str, finished: str) -> float | None:
    """The engine writes year 1 for what has not happened."""
    if started.startswith("0001") or finished.startswith("0001"):
        return None
    return (datetime.fromisoformat(finished) - datetime.fromisoformat(started)).total_seconds()
