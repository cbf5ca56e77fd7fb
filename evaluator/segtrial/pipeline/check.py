"""``evaluate check``: one case through the very steps of the real run, and everything shown.

Only here does anybody see what a container printed, and only on a dataset whose references are
public, where it cannot carry sealed data out; see `segtrial.policy.disclosure`.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segtrial.container.observation import LogSeen, Observation
from segtrial.container.sandbox import open_sandbox
from segtrial.container.slots import open_slots
from segtrial.contracts.attempt import Outcome
from segtrial.contracts.limits import Relaxations
from segtrial.datasets import open_dataset
from segtrial.errors import AnswerIsNoError, InputError, SubmissionError
from segtrial.pipeline.events import CaseDone, Watcher
from segtrial.pipeline.results import track_results
from segtrial.pipeline.run import Host, RunOptions, run_submission
from segtrial.pipeline.submissions import load_submission
from segtrial.pipeline.trial import SAMPLE, with_sample
from segtrial.policy.disclosure import AuthorSafe, case_verdict, printed_text, refusal
from segtrial.resources import resource_dir
from segtrial.store import open_store
from segtrial.store.journal import TrackKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the real run would make of a submission."""

    submission: str
    dataset: str
    case: str
    outcome: Outcome
    reason: AuthorSafe
    time_s: float | None
    peak_memory_mib: float | None
    metrics: dict[str, dict[str, Any]]
    """By structure; empty where the outcome is not ok, or the sample has none of them."""
    log: AuthorSafe | None
    """The last lines the container printed; None where the dataset's references are not public."""
    verdict: str
    evidence: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """Whether the real run would score this case."""
        return self.outcome == "ok"

    def as_dict(self) -> dict[str, Any]:
        """Everything, for a program."""
        names = self.__slots__
        found = {"accepted": self.accepted} | {name: getattr(self, name) for name in names}
        return found | {"reason": str(self.reason), "log": str(self.log or "")}


def check_submission(
    where: Path,
    *,
    dataset: str,
    case: str | None,
    grant: Relaxations,
    build_network: bool = False,
    watcher: Watcher,
    stop: threading.Event,
) -> Checked:
    """Run one case of a submission and say what came of it.

    Raises
    ------
    AnswerIsNoError
        The real run would refuse the image or the manifest.
    InputError
        The dataset has no such case.
    """
    try:
        submission = load_submission(where)
    except SubmissionError as error:
        raise _refused(error) from None
    opened = open_dataset(
        dataset, progress=lambda done, total: watcher.work("cases", done=done, total=total)
    )
    sample = with_sample(opened, case, declared=set(submission.manifest.labels.values()))
    key = TrackKey(sample.card.id, sample.card.version, SAMPLE)
    seen = _Seen(watcher)
    with (
        tempfile.TemporaryDirectory(prefix="segtrial-check-") as folder,
        open_store(Path(folder) / "store") as store,
        open_sandbox() as sandbox,
        open_slots(sandbox, count=1) as slots,
    ):
        try:
            run_submission(
                submission,
                dataset=sample,
                track=key,
                store=store,
                host=Host(sandbox=sandbox, slots=slots),
                options=RunOptions(
                    grant=grant,
                    build=True,
                    build_network=build_network,
                    may_score_nothing=True,
                    on_log=seen.log,
                ),
                watcher=seen,
                stop=stop,
            )
        except SubmissionError as error:
            raise _refused(error) from None
        results = track_results(store, key)
    done = seen.done
    if done is None:
        raise InputError(f"The sample case of {dataset} was not run. Run the check again.")
    return Checked(
        submission=submission.manifest.id,
        dataset=sample.card.id,
        case=sample.cases_of(SAMPLE)[0].id,
        outcome=done.outcome,
        reason=case_verdict(done.outcome, done.reason, card=sample.card),
        time_s=done.time_s,
        peak_memory_mib=results.measured[0].measured.peak_memory_mib if results.measured else None,
        metrics={r.structure: r.metrics for r in results.records if r.outcome == "ok"},
        log=printed_text(seen.printed.head + seen.printed.tail, card=sample.card),
        verdict=results.submissions[0].verdict,
        evidence=results.submissions[0].evidence,
    )


def copy_template(folder: Path) -> None:
    """Copy the submission template to a new folder.

    Raises
    ------
    InputError
        The folder exists and holds something.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder} exists and is not empty. Choose a new folder.")
    shutil.copytree(
        resource_dir("submission_template"),
        folder,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__"),
    )


class _Seen:
    """Passes events on and keeps the last of each kind."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self.done: CaseDone | None = None
        self.printed = LogSeen()

    def step(self, text: str) -> None:
        self._watcher.step(text)

    def work(self, what: str, *, done: int, total: int) -> None:
        self._watcher.work(what, done=done, total=total)

    def case(self, event: CaseDone) -> None:
        self.done = event

    def log(self, seen: Observation) -> None:
        self.printed = seen.log


def _refused(error: SubmissionError) -> AnswerIsNoError:
    return AnswerIsNoError(str(refusal(error)))
