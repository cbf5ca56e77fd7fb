"""Whose fault an attempt's ending is, and its named outcome. One pure function.

The rows are tried in order; each is a function that answers or passes. What is deliberately not
recognised: exit code 137 alone as "out of memory" (a program may exit so by itself, and our own
kill looks the same; the kernel has to have said so), and anything in the container's log (a
stranger wrote it).

A platform fault is tried again and never becomes a score. An ambiguous one is tried once more;
the second time, on a host that runs others well, it counts as the author's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from segtrial.container.observation import Observation, StateSeen
from segtrial.contracts.attempt import Outcome

Fault = Literal["author", "platform", "ambiguous"]
Retry = Literal["never", "once", "with_back_off"]

EXIT_KILLED = 137
EXIT_TERMINATED = 143
_SIGNALS = {
    132: "SIGILL, an instruction this processor does not have",
    134: "SIGABRT",
    135: "SIGBUS, often a full /dev/shm",
    136: "SIGFPE",
    139: "SIGSEGV",
    153: "SIGXFSZ, a file larger than any limit of the contract",
}
_SHELL_CODES = {
    126: "a program that may not be executed, or a code of its own",
    127: "a program or interpreter that was not found, or a code of its own",
}
# What engines answer when the image, not the host, is at fault. Verbatim, Docker 20.10 to 28.
_AUTHOR_MESSAGES = (
    "exec format error",
    "unable to find user",
    "no command specified",
    "destination can't be",
    "/sbin/docker-init",  # where the engine puts its init: the image has no such folder
    "ldcache error",  # of the NVIDIA hook: the image has no working ldconfig
)
# The same, but only where the message quotes something of the image; else the host is meant.
_AUTHOR_MESSAGES_ABOUT = (
    "no such file or directory",
    "executable file not found",
    "permission denied",
    "not a directory",
    "read-only file system",
    "mount",
)
# The same for the host, in a message freed of the author's own strings.
_PLATFORM_MESSAGES = (
    "no space left on device",
    "could not select device driver",
    "nvidia",
    "nvml",
    "cdi",
    'exec: "docker-init"',
    "cannot allocate memory",
    "too many open files",
    "resource temporarily unavailable",
    "storage-opt",
    "unknown runtime",
    "context deadline exceeded",
    "cgroup",
    "input/output error",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Outcome of an attempt before its output is read.

    Attributes
    ----------
    outcome
        ``ok`` means that a file was delivered; reading it may still find it unusable.
    fault
        None when nothing failed.
    reason
        One sentence of ours for the maintainer; holds no text of the container's.
    retry
        Whether the attempt is to be made again.
    """

    outcome: Outcome
    fault: Fault | None
    reason: str
    retry: Retry = "never"


def classify(seen: Observation) -> Verdict:
    """Judge what was seen of an attempt.

    Examples
    --------
    >>> from segtrial.container.observation import Observation, StateSeen
    >>> state = StateSeen(exit_code=137, oom_killed=False, error="", time_s=600.1)
    >>> classify(Observation(state=state, killed="deadline")).outcome
    'failed: timeout'
    """
    return next(verdict for row in _ROWS if (verdict := row(seen)) is not None)


def _stopped_by_us(seen: Observation) -> Verdict | None:
    if seen.killed != "stop":
        return None
    return Verdict(
        outcome="not_run: pending",
        fault="platform",
        reason="The run was interrupted and the container killed.",
    )


def _undying(seen: Observation) -> Verdict | None:
    if not seen.still_alive:
        return None
    return _platform("The container did not die of SIGKILL; its slot is not to be used again.")


def _engine_trouble(seen: Observation) -> Verdict | None:
    if seen.trouble is None:
        return None
    if seen.trouble.step in ("create", "start"):
        return _refused_by_engine(seen.trouble.message, seen.author_strings)
    return _platform(f"At step {seen.trouble.step}: {seen.trouble.message}")


def _never_seen(seen: Observation) -> Verdict | None:
    if seen.state is not None:
        return None
    return _platform("The engine could not say how the container ended.")


def _error_in_state(seen: Observation) -> Verdict | None:
    if not _state(seen).error:
        return None
    return _refused_by_engine(_state(seen).error, seen.author_strings)


def _deadline(seen: Observation) -> Verdict | None:
    # Another exit code means that it ended by itself in the instant before the signal.
    if seen.killed != "deadline" or _state(seen).exit_code != EXIT_KILLED:
        return None
    memory = " The kernel had killed a process of it for memory before." * _state(seen).oom_killed
    return _author("failed: timeout", f"It ran into the time limit and was killed.{memory}")


def _output_volume_full(seen: Observation) -> Verdict | None:
    if seen.output.status not in ("volume_full", "too_large"):
        return None
    return _author("failed: output_too_large", f"It wrote more than it may: {seen.output.detail}.")


def _out_of_memory(seen: Observation) -> Verdict | None:
    if not _lost_to_memory(seen) or _delivered(seen):
        return None
    return _author(
        "failed: out_of_memory",
        "The kernel killed a process of it at the memory limit "
        f"(exit code {_state(seen).exit_code}).",
    )


def _killed_by_another(seen: Observation) -> Verdict | None:
    code = _state(seen).exit_code
    if code not in (EXIT_KILLED, EXIT_TERMINATED):
        return None
    return Verdict(
        outcome="failed: crash",
        fault="ambiguous",
        reason=f"It ended with exit code {code}: its own doing, or somebody's on this host.",
        retry="once",
    )


def _non_zero(seen: Observation) -> Verdict | None:
    code = _state(seen).exit_code
    if code == 0:
        return None
    known = _SIGNALS.get(code) or _SHELL_CODES.get(code)
    meaning = f", which means {known}" if known else ""
    return _author("failed: crash", f"It ended with exit code {code}{meaning}.")


def _no_file(seen: Observation) -> Verdict | None:
    if seen.output.status != "missing":
        return None
    return _author("failed: no_output", f"It ended with exit code 0, but {seen.output.detail}.")


def _no_regular_file(seen: Observation) -> Verdict | None:
    if seen.output.status != "not_regular":
        return None
    return _author(
        "failed: unreadable_output", f"It ended with exit code 0, but {seen.output.detail}."
    )


def _not_read(seen: Observation) -> Verdict | None:
    if seen.output.status != "not_read":
        return None
    return _platform("The output was not read.")


def _ok(seen: Observation) -> Verdict:
    memory = " The kernel had killed a process of it for memory." * _state(seen).oom_killed
    return Verdict(outcome="ok", fault=None, reason=f"It delivered its file.{memory}")


_ROWS: tuple[Callable[[Observation], Verdict | None], ...] = (
    _stopped_by_us,
    _undying,
    _engine_trouble,
    _never_seen,
    _error_in_state,
    _deadline,
    _output_volume_full,
    _out_of_memory,
    _killed_by_another,
    _non_zero,
    _no_file,
    _no_regular_file,
    _not_read,
    _ok,
)


def _refused_by_engine(message: str, author_strings: tuple[str, ...]) -> Verdict:
    """Judge an engine's refusal to create or start a container.

    The message may quote the image's own strings; they are taken out first, or an ENTRYPOINT
    named "no space left on device" would be retried for ever at the host's expense.
    """
    ours = message
    for string in sorted(author_strings, key=len, reverse=True):
        ours = ours.replace(string, "...") if len(string) > 1 else ours
    text = ours.lower()
    of_image = any(known in text for known in _AUTHOR_MESSAGES)
    of_host = any(known in text for known in _PLATFORM_MESSAGES)
    about_image = ours != message and any(known in text for known in _AUTHOR_MESSAGES_ABOUT)
    if of_image or (about_image and not of_host):
        return _author("failed: crash", f"The engine cannot start the image: {ours}")
    return _platform(f"The engine could not run the container: {ours}")


def _state(seen: Observation) -> StateSeen:
    assert seen.state is not None  # noqa: S101 - `_never_seen` stands before every caller
    return seen.state


def _lost_to_memory(seen: Observation) -> bool:
    """Whether the kernel killed a process of it for memory.

    The engine learns of that by an event beside the exit and misses about one in a hundred when
    the container's first process is the victim; the control group's own counters do not.
    """
    state = _state(seen)
    return state.oom_killed or (seen.memory_was_full and state.exit_code == EXIT_KILLED)


def _delivered(seen: Observation) -> bool:
    return _state(seen).exit_code == 0 and seen.output.status == "ok"


def _author(outcome: Outcome, reason: str) -> Verdict:
    return Verdict(outcome=outcome, fault="author", reason=reason)


def _platform(reason: str) -> Verdict:
    return Verdict(
        outcome="not_run: platform", fault="platform", reason=reason, retry="with_back_off"
    )
