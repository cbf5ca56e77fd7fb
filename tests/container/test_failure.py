"""Each row of the failure classifier, and laws that hold over all observations.

Most rows are produced by real containers in tests/hostile; here every row is stated once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segtrial.container.failure import classify
from segtrial.container.observation import (
    EngineStep,
    EngineTrouble,
    LogSeen,
    Observation,
    OurKill,
    OutputSeen,
    OutputStatus,
    StateSeen,
)


def ended(
    exit_code: int = 0,
    output: OutputStatus = "ok",
    *,
    oom: bool = False,
    killed: OurKill | None = None,
    error: str = "",
) -> Observation:
    return Observation(
        state=StateSeen(exit_code=exit_code, oom_killed=oom, error=error, time_s=1.0),
        output=OutputSeen(status=output, detail="there is no file"),
        killed=killed,
    )


def refused(message: str, *strings: str, step: EngineStep = "start") -> Observation:
    return Observation(trouble=EngineTrouble(step=step, message=message), author_strings=strings)


ROWS = {
    "delivered": (ended(), "ok", None, "never"),
    "delivered, a child lost for memory": (ended(oom=True), "ok", None, "never"),
    "killed at the deadline": (
        ended(137, "missing", killed="deadline"), "failed: timeout", "author", "never",
    ),
    "killed at the deadline after losing a child": (
        ended(137, "missing", killed="deadline", oom=True), "failed: timeout", "author", "never",
    ),
    "killed at the deadline with a full output": (
        ended(137, "volume_full", killed="deadline"), "failed: timeout", "author", "never",
    ),
    "ended by itself in the instant of the deadline": (
        ended(0, "ok", killed="deadline"), "ok", None, "never",
    ),
    "killed because we were told to stop": (
        ended(137, "missing", killed="stop"), "not_run: pending", "platform", "never",
    ),
    "output volume full, exit 0": (
        ended(0, "volume_full"), "failed: output_too_large", "author", "never",
    ),
    "output volume full, crash": (
        ended(1, "volume_full"), "failed: output_too_large", "author", "never",
    ),
    "output file too large": (
        ended(0, "too_large"), "failed: output_too_large", "author", "never",
    ),
    "out of memory": (ended(137, "missing", oom=True), "failed: out_of_memory", "author", "never"),
    "out of memory in a child, exit 0, no file": (
        ended(0, "missing", oom=True), "failed: out_of_memory", "author", "never",
    ),
    "out of memory in a child, exit 1, a file": (
        ended(1, "ok", oom=True), "failed: out_of_memory", "author", "never",
    ),
    "out of memory, and the engine missed it": (
        replace(ended(137, "missing"), memory_was_full=True),
        "failed: out_of_memory", "author", "never",
    ),
    "memory once full of cache, then a crash": (
        replace(ended(1, "missing"), memory_was_full=True), "failed: crash", "author", "never",
    ),
    "exit 137, not by us, not for memory": (ended(137), "failed: crash", "ambiguous", "once"),
    "exit 143, as after an engine shutdown": (ended(143), "failed: crash", "ambiguous", "once"),
    "segmentation fault": (ended(139), "failed: crash", "author", "never"),
    "abort": (ended(134), "failed: crash", "author", "never"),
    "program not found": (ended(127), "failed: crash", "author", "never"),
    "exit 1, although a file is there": (ended(1), "failed: crash", "author", "never"),
    "no file": (ended(0, "missing"), "failed: no_output", "author", "never"),
    "a link in place of the file": (
        ended(0, "not_regular"), "failed: unreadable_output", "author", "never",
    ),
    "output never read": (ended(0, "not_read"), "not_run: platform", "platform", "with_back_off"),
    "undying": (
        Observation(still_alive=True, killed="deadline"),
        "not_run: platform", "platform", "with_back_off",
    ),
    "engine gone": (Observation(), "not_run: platform", "platform", "with_back_off"),
    "engine silent": (
        refused("Connection refused", step="wait"), "not_run: platform", "platform",
        "with_back_off",
    ),
    "no disk for the output on our side": (
        refused("[Errno 28] No space left on device", step="output"),
        "not_run: platform", "platform", "with_back_off",
    ),
    # What engines said, word for word: Docker 20.10.24 on this path, 28 where marked.
    "no GPU driver": (
        refused('could not select device driver "" with capabilities: [[gpu]]'),
        "not_run: platform", "platform", "with_back_off",
    ),
    "GPU lost": (
        refused("nvidia-container-cli: initialization error: nvml error: unknown error: unknown"),
        "not_run: platform", "platform", "with_back_off",
    ),
    "CDI device unknown (28)": (
        refused("CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=GPU-1"),
        "not_run: platform", "platform", "with_back_off",
    ),
    "host's disk full": (
        refused("mkdir /var/lib/docker/overlay2/x: no space left on device", step="create"),
        "not_run: platform", "platform", "with_back_off",
    ),
    "no quota for a writable root": (
        refused("--storage-opt is supported only for overlay over xfs with 'pquota' mount option"),
        "not_run: platform", "platform", "with_back_off",
    ),
    "no such runtime": (
        refused("unknown or invalid runtime name: runsc", step="create"),
        "not_run: platform", "platform", "with_back_off",
    ),
    "no init on the host": (
        refused('exec: "docker-init": executable file not found in $PATH: unknown'),
        "not_run: platform", "platform", "with_back_off",
    ),
    "rlimits refused": (
        refused("error setting rlimit type 7: operation not permitted: unknown"),
        "not_run: platform", "platform", "with_back_off",
    ),
    "image removed under us": (
        refused("No such image: sha256:0000", step="create"),
        "not_run: platform", "platform", "with_back_off",
    ),
    "working directory that may not be entered": (
        refused(
            'OCI runtime create failed: chdir to cwd ("/app") set in config.json failed: '
            "permission denied: unknown",
            "/app",
        ),
        "failed: crash", "author", "never",
    ),
    "working directory that is a file": (
        refused("Cannot mkdir: /etc/passwd is not a directory", "/etc/passwd"),
        "failed: crash", "author", "never",
    ),
    "wrong architecture": (
        refused("exec /bin/x: exec format error", "/bin/x"), "failed: crash", "author", "never",
    ),
    "an entrypoint that quotes a platform fault": (
        refused(
            'exec: "no space left on device": executable file not found in $PATH: unknown',
            "no space left on device",
        ),
        "failed: crash", "author", "never",
    ),
    "a working directory named after the GPU": (
        refused("chdir to cwd (/opt/nvidia/cdi) failed: permission denied", "/opt/nvidia/cdi"),
        "failed: crash", "author", "never",
    ),
    "a VOLUME in the place of the root": (
        refused("invalid specification: destination can't be '/'", "/"),
        "failed: crash", "author", "never",
    ),
    "a VOLUME over the place of the init": (
        refused('exec: "/sbin/docker-init": stat /sbin/docker-init: no such file', "/usr"),
        "failed: crash", "author", "never",
    ),
    "a VOLUME on a file": (
        refused('error mounting "tmpfs" to rootfs at "/etc/passwd": not a dir', "/etc/passwd"),
        "failed: crash", "author", "never",
    ),
    "permission denied, about nothing of the image": (
        refused("open /run/containerd/x: permission denied", "/app"),
        "not_run: platform", "platform", "with_back_off",
    ),
    "words never heard": (
        refused("flux capacitor misaligned"), "not_run: platform", "platform", "with_back_off",
    ),
    "an error in State, although it exited": (
        ended(128, error="error while creating mount source path: read-only file system"),
        "not_run: platform", "platform", "with_back_off",
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_the_table(row: str) -> None:
    seen, outcome, fault, retry = ROWS[row]

    verdict = classify(seen)

    assert (verdict.outcome, verdict.fault, verdict.retry) == (outcome, fault, retry)
    assert verdict.reason.endswith(".") or verdict.fault == "platform" or seen.trouble


STATES = st.none() | st.builds(
    StateSeen,
    exit_code=st.integers(0, 255),
    oom_killed=st.booleans(),
    error=st.sampled_from(["", "no space left on device", "permission denied", "?"]),
    time_s=st.none() | st.floats(0, 1e6),
)
TROUBLES = st.none() | st.builds(
    EngineTrouble, step=st.sampled_from(get_args(EngineStep)), message=st.text()
)
OBSERVATIONS = st.builds(
    Observation,
    state=STATES,
    killed=st.sampled_from([None, *get_args(OurKill)]),
    still_alive=st.booleans(),
    trouble=TROUBLES,
    author_strings=st.lists(st.text()).map(tuple),
    output=st.builds(OutputSeen, status=st.sampled_from(get_args(OutputStatus))),
)


@given(OBSERVATIONS)
def test_every_observation_has_a_verdict_that_agrees_with_itself(seen: Observation) -> None:
    verdict = classify(seen)

    starts = {None: "ok", "author": "failed: ", "ambiguous": "failed: ", "platform": "not_run: "}
    assert verdict.outcome.startswith(starts[verdict.fault])
    assert (verdict.retry == "once") == (verdict.fault == "ambiguous")


@given(OBSERVATIONS, st.binary())
def test_what_was_printed_changes_nothing(seen: Observation, printed: bytes) -> None:
    assert classify(seen) == classify(replace(seen, log=LogSeen(head=printed, tail=printed)))
