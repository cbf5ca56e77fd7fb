"""Asking the Hub until it answers: waits as long as it says, and looks before acting again."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeVar

from segtrial.errors import PlatformError
from segtrial.hub.remote import BusyError

TRIES = 40
"""Before giving up; with several publishers each refusal means that another one got through."""
SILENT_TRIES = 8
"""Without any answer, one after the other: after three minutes it is the network."""
_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 60.0
T = TypeVar("T")


def until_done(
    attempt: Callable[[], T | None],
    *,
    what: str,
    wait: Callable[[float], None],
    say: Callable[[str], None],
) -> T:
    """Make an attempt until it returns something.

    Parameters
    ----------
    attempt : callable
        Looks at what is there first, then does what is missing. None asks for another try; a
        `BusyError` for another try after a wait.
    what : str
        What is attempted, for the error.
    wait : callable
        Sleeps for so many seconds.
    say : callable
        Told about every wait.

    Raises
    ------
    PlatformError
        After forty tries, or eight without any answer.
    """
    wait_s = _FIRST_WAIT_S
    silent = 0
    for _ in range(TRIES):
        try:
            found = attempt()
        except BusyError as busy:
            silent = silent + 1 if busy.silent else 0
            if silent == SILENT_TRIES:
                raise PlatformError(
                    f"Gave up trying to {what}: {busy}, {silent} times. Look at the network, then "
                    "run the same command again; it goes on where this one stopped."
                ) from None
            asked = busy.after_s if busy.after_s is not None else wait_s
            say(f"{busy}; waiting {asked:.0f} s, then looking what landed")
            wait(asked)
            wait_s = min(_LONGEST_WAIT_S, wait_s * 2)
            continue
        silent = 0
        if found is not None:
            return found
        # Publishers that were refused together must not come back together.
        wait(random.uniform(0, wait_s))  # noqa: S311 - not a secret
    raise PlatformError(
        f"Gave up trying to {what}: the Hub stayed busy, or others kept publishing. What is public "
        "is complete; run the same command again, it goes on where this one stopped."
    )
