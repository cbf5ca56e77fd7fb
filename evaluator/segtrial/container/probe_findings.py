"""From what a probe saw or did to findings. Pure, so that a broken wall can be tested as data."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from segtrial.container.failure import classify
from segtrial.container.finding import Finding, measured
from segtrial.container.observation import Observation
from segtrial.contracts.limits import Limits

LIMITS = Limits(
    time_s=60, memory_gib=0.125, pids=48, tmp_gib=0.03125, shm_gib=0.03125, output_mib=4
)
"""Of the probes: reached in a moment."""
DEADLINE_S = 1.5
# A busy host takes its time to reap what was killed; what never dies is noticed after 15 s.
_DEADLINE_SLACK_S = 10.0
_LOG_MAX_BYTES = 12 << 20
# Room for rounding to pages, and for a place that is one file short of full.
_SIZE_SLACK_MIB = 0.5
_MIB_PER_GIB = 1024
# The init and the probe itself.
_OTHER_PROCESSES = 2

Facts = dict[str, Any]


def judge(probe: str, seen: Observation) -> tuple[Finding, ...]:
    """Findings of one probe; one that could not run at all breaks everything it was to show."""
    if seen.trouble is not None:
        return tuple(
            Finding(
                key=check.__name__.lstrip("_"),
                status="broken",
                sentence=f"The probe could not run: {seen.trouble.message}",
            )
            for check in _CHECKS[probe]
        )
    return tuple(check(_facts(seen), seen) for check in _CHECKS[probe])


def _facts(seen: Observation) -> Facts:
    try:
        facts: Facts = json.loads(seen.log.head)
    except ValueError:
        return {}
    return facts


def _rights(facts: Facts, _: Observation) -> Finding:
    status = facts.get("status") or {}
    return measured(
        "rights",
        holds=status.get("CapBnd") == "0" * 16
        and status.get("NoNewPrivs") == "1"
        and status.get("Seccomp") == "2"
        and facts.get("user") not in (0, None),
        good="A container runs as nobody, without capabilities, and can gain none.",
        bad=f"A container has rights it must not have: {status}, user {facts.get('user')}.",
    )


def _network(facts: Facts, _: Observation) -> Finding:
    reached = facts.get("reached")
    return measured(
        "network",
        holds=reached == [] and facts.get("interfaces") == ["lo"],
        good="A container has no network: it sees only its own loopback device.",
        bad=f"A container has a network: {facts.get('interfaces')}, it reached {reached}.",
    )


def _read_only(facts: Facts, _: Observation) -> Finding:
    writable = facts.get("writable")
    return measured(
        "read_only",
        holds=writable == [],
        good="A container can change neither its root file system nor its input.",
        bad=f"A container could write to {writable}.",
    )


def _isolation(facts: Facts, _: Observation) -> Finding:
    processes = facts.get("processes") or []
    return measured(
        "isolation",
        holds=0 < len(processes) <= _OTHER_PROCESSES + 1,
        good="A container sees no process but its own.",
        bad=f"A container sees {len(processes)} processes; it should see its own two.",
    )


def _input(facts: Facts, _: Observation) -> Finding:
    return measured(
        "input",
        holds=facts.get("input") == ["request.json"],
        good="A container sees exactly the files that were staged for it.",
        bad=f"A container sees {facts.get('input')} as its input instead of request.json.",
    )


def _tmp(facts: Facts, _: Observation) -> Finding:
    return _size("tmp", "/tmp", facts.get("tmp_mib"), LIMITS.tmp_gib * _MIB_PER_GIB)  # noqa: S108


def _shm(facts: Facts, _: Observation) -> Finding:
    return _size("shm", "/dev/shm", facts.get("shm_mib"), LIMITS.shm_gib * _MIB_PER_GIB)  # noqa: S108


def _size(key: str, place: str, got_mib: float | None, expected_mib: float) -> Finding:
    return measured(
        key,
        holds=got_mib is not None and abs(got_mib - expected_mib) <= _SIZE_SLACK_MIB,
        good=f"{place} is full at its size.",
        bad=f"{place} should be full at {expected_mib:g} MiB; it took {got_mib} MiB.",
    )


def _pids(facts: Facts, _: Observation) -> Finding:
    count = facts.get("processes")
    return measured(
        "pids",
        holds=isinstance(count, int) and count < LIMITS.pids,
        good="The number of processes is bounded; a fork bomb ends there.",
        bad=f"{count} processes could be made with a limit of {LIMITS.pids}.",
    )


def _log(_: Facts, seen: Observation) -> Finding:
    return measured(
        "log",
        holds=0 < seen.log.kept_bytes <= _LOG_MAX_BYTES,
        good="What a container prints is bounded on the engine's disk.",
        bad=f"The engine kept {seen.log.kept_bytes >> 20} MiB of log.",
    )


def _output(_: Facts, seen: Observation) -> Finding:
    return measured(
        "output",
        holds=classify(seen).outcome == "failed: output_too_large",
        good="The output is bounded in bytes, and a full one is noticed.",
        bad=f"A full output was not noticed: {classify(seen).reason}",
    )


def _memory(_: Facts, seen: Observation) -> Finding:
    return measured(
        "memory",
        holds=classify(seen).outcome == "failed: out_of_memory",
        good="Memory is bounded, and running out of it is recognised.",
        bad=(
            f"A program that takes all memory ended as {classify(seen).outcome}: "
            f"{classify(seen).reason}"
        ),
    )


def _deadline(_: Facts, seen: Observation) -> Finding:
    took_s = seen.resources.monotonic_s or 0.0
    return measured(
        "deadline",
        holds=classify(seen).outcome == "failed: timeout"
        and took_s < DEADLINE_S + _DEADLINE_SLACK_S,
        good="A container that ignores every signal is dead at its deadline.",
        bad=f"A container with {DEADLINE_S} s ended after {took_s:.1f} s: {classify(seen).reason}",
    )


def _metering(_: Facts, seen: Observation) -> Finding:
    how = seen.resources.memory_is
    sentences = {
        "exact": "Processor time and peak memory are the kernel's own totals.",
        "sampled": (
            "Processor time and peak memory are sampled twice a second, because control groups "
            "cannot be made here; short peaks can be missed. As root on an engine with cgroupfs "
            "they are exact."
        ),
        "absent": (
            "Processor time and peak memory cannot be measured: the engine's host is another one."
        ),
    }
    return Finding(key="metering", status="note", sentence=sentences[how])


_Check = Callable[[Facts, Observation], Finding]
_CHECKS: dict[str, tuple[_Check, ...]] = {
    "walls": (_rights, _network, _read_only, _isolation, _input),
    "fill": (_tmp, _shm, _pids),
    "flood": (_log,),
    "output": (_output,),
    "memory": (_memory,),
    "undying": (_deadline, _metering),
}
PROBES = tuple(_CHECKS)
"""Names of the probes, in the order in which they are run."""


def judge_writable_root(seen: Observation) -> Finding:
    """Whether a writable root file system can be granted: bounded, or refused by the engine."""
    if seen.trouble is not None:
        return Finding(
            key="writable_rootfs",
            status="note",
            sentence=(
                "A writable root file system cannot be granted: this engine has no quota to bound "
                "it by (it needs overlay2 on XFS mounted with pquota). Attempts with that grant "
                "are refused."
            ),
        )
    return Finding(
        key="writable_rootfs",
        status="holds",
        sentence="A writable root file system can be granted; a quota bounds it.",
    )
