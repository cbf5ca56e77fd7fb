"""When a submission that fails the same way again and again is stopped.

Decided from the outcomes in the order of the plan, never in the order in which slots happened to
finish, so that a run that was killed and resumed ends in the same records.
"""

from __future__ import annotations

from collections.abc import Sequence

from segtrial.contracts.attempt import FAILURES, Outcome

BREAKER = 10
"""Equal author failures in a row after which the rest is not run."""


def stop_after(outcomes: Sequence[Outcome | None], *, limit: int = BREAKER) -> int | None:
    """How many cases of the plan count, if the breaker stops the rest.

    Parameters
    ----------
    outcomes : sequence of str or None
        In the order of the plan; None where there is none yet.
    limit : int
        Equal failures in a row, at least 1.

    Returns
    -------
    int or None
        The number of leading cases that count; None while nothing is stopped.

    Examples
    --------
    >>> stop_after(["ok", "failed: crash", "failed: crash", None], limit=2)
    3
    >>> stop_after(["failed: crash", "failed: timeout", "failed: crash"], limit=2) is None
    True
    """
    run = 0
    last: Outcome | None = None
    for index, outcome in enumerate(outcomes):
        run = run + 1 if outcome == last else 1
        last = outcome
        if outcome in FAILURES and run >= limit:
            return index + 1
    return None
