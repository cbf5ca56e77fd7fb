"""Pools of worker processes that die with the evaluator and cannot take the host with them."""

from __future__ import annotations

import os
import resource
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context, parent_process

_WORKER_GIB = 16
"""Address space of a worker: a 1024^3 uint16 pair needs 4 GiB, with room for the rest."""


def worker_pool(processes: int) -> ProcessPoolExecutor:
    """A pool whose workers parse files; Ctrl-C leaves them to the evaluator to end.

    Started anew: threads of ours hold locks, and a forked child would inherit them locked. Not by
    a fork server, which leaves a folder behind when the evaluator is killed.
    """
    return ProcessPoolExecutor(
        max_workers=processes, mp_context=get_context("spawn"), initializer=_prepare
    )


def _prepare() -> None:
    limit = _WORKER_GIB << 30
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A killed evaluator never closes its queues, so a worker would wait on them for ever.
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
