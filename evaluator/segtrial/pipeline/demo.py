"""``evaluate demo``: the shipped models, in real containers, on the embedded dataset."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path

from segtrial.board import render
from segtrial.contracts.result import Results
from segtrial.pipeline.events import Watcher
from segtrial.pipeline.session import RunRequest, run_track

DEMO_MODELS = ("hu_threshold", "hu_threshold_coarse", "empty", "full", "fails_on_purpose")


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """What the demo made."""

    results: Results
    results_path: Path
    board: Path


def run_demo(out: Path, *, slots: int | None, watcher: Watcher, stop: threading.Event) -> Demo:
    """Run everything that is not final yet, analyse, and render the board.

    Parameters
    ----------
    out : Path
        Folder for ``store/`` and ``board/``.
    slots : int
        Attempts at once; by default one for each processor.
    """
    request = RunRequest(
        submissions=DEMO_MODELS,
        dataset="phantom",
        store=out / "store",
        slots=slots or os.cpu_count() or 1,
        gpus=(),
        build=True,
        must_be_sound=False,
    )
    path, results = run_track(request, watcher=watcher, stop=stop)
    return Demo(results=results, results_path=path, board=render([results], out / "board"))
