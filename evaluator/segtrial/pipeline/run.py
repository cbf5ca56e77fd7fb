"""Run one submission on one track: the steps in order.

1. intake: the image comes in, is looked at, and is run by id from then on
2. policy: eligibility of each case, with its path of evidence
3. plan: the track's cases, in the order of their opaque ids; what is final is not run again
4. attempts: one container per case, a canary first
5. read and score, in processes beside the next attempts
6. record: attempts as they end, scores as they are computed

Analysis and publication follow from the store (`segtrial.pipeline.results`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from segtrial.container.base_image import ensure_base_image
from segtrial.container.engine_images import held
from segtrial.container.image_facts import read_image
from segtrial.container.intake import Intake, take_in
from segtrial.container.observation import Observation
from segtrial.container.sandbox import Sandbox
from segtrial.container.slots import SlotPool
from segtrial.contracts.attempt import Attempt, Outcome
from segtrial.contracts.limits import Relaxations
from segtrial.contracts.submission import CONTRACT, Submission
from segtrial.datasets import Dataset
from segtrial.errors import IncompleteError, PlatformError
from segtrial.pipeline.attempts import AttemptRunner, Job
from segtrial.pipeline.cases import CaseFacts, examine
from segtrial.pipeline.entry import EntryBody, TrackBody, entry_identity, track_body
from segtrial.pipeline.environment import describe_host
from segtrial.pipeline.events import CaseDone, Watcher
from segtrial.pipeline.outcomes import score_task
from segtrial.pipeline.planning import asked_structures, make_entry, scored_labels
from segtrial.pipeline.scoring import Scorer, ScoreTask
from segtrial.pipeline.submissions import LoadedSubmission
from segtrial.policy.breaker import stop_after
from segtrial.resources import resource_dir
from segtrial.store import Store
from segtrial.store.journal import TrackKey
from segtrial.store.keys import run_key

_PLATFORM_FAILURES = 3
"""Cases in a row that the platform could not run, after which it is not asked again."""
_POLL_S = 0.2
_S_PER_H = 3600.0
_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Host:
    """What a run uses of this machine."""

    sandbox: Sandbox
    slots: SlotPool
    scoring_processes: int = 1
    runtime: str = "runc"

    def gpu_model(self, manifest: Submission) -> str | None:
        """Model of the GPUs that a submission runs on; None where it runs on none.

        Raises
        ------
        PlatformError
            It needs a GPU and there is none, or the slots have GPUs of several models: scores
            and times of one entry come from one model.
        """
        models = sorted({slot.gpu_model or "" for slot in self.slots.slots})
        if manifest.gpu == "none" or models == [""]:
            if manifest.gpu == "required":
                raise PlatformError(
                    f"{manifest.id} needs a GPU and this host has none to give. Run it on a host "
                    "with one; `evaluate doctor` says what a host has."
                )
            return None
        if len(models) > 1:
            raise PlatformError(
                f"The slots have GPUs of several models ({', '.join(models)}). Name those of one "
                "model with --gpu."
            )
        return models[0]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What the maintainer decided for one run."""

    grant: Relaxations = field(default_factory=Relaxations)
    build: bool = False
    """Build a Dockerfile; a stranger's is never built unless this is asked for."""
    build_network: bool = False
    """Let the RUN lines of a Dockerfile use the network."""
    budget_h: float | None = None
    """Most hours of slots (of GPUs, where slots are GPUs) that the submission may use on the track,
    over all its runs. Only final attempts use it: no fault of the platform, no interruption."""
    may_score_nothing: bool = False
    """Run a submission that declares none of the track's structures, to see whether it runs."""
    on_log: Callable[[Observation], None] | None = None


def run_submission(
    submission: LoadedSubmission,
    *,
    dataset: Dataset,
    track: TrackKey,
    store: Store,
    host: Host,
    options: RunOptions,
    watcher: Watcher,
    stop: threading.Event,
) -> None:
    """Run a submission on every case of a track and record what became of it.

    Raises
    ------
    SubmissionError
        The image is refused, or the submission declares none of the track's structures.
    DatasetError
        A case's files are not what the card says.
    PlatformError
        The engine, disk or machine failed; what is final stays final.
    IncompleteError
        The run was stopped, by budget or by another owner, with cases missing.
    """
    manifest = submission.manifest
    cases = dataset.cases_of(track.track)
    facts = examine(dataset, cases, store=store, watcher=watcher, processes=host.scoring_processes)
    watcher.step(f"{manifest.id}: taking the image in")
    intake = _take_in(submission, host.sandbox, store, options, watcher)
    for finding in intake.findings:
        watcher.step(f"{manifest.id}: {finding.action}: {finding}")
    recorded = track_body(dataset, track)
    gpu_model = host.gpu_model(manifest)
    labels = scored_labels(manifest, recorded, may_be_none=options.may_score_nothing)
    entry = make_entry(
        manifest,
        dataset=dataset,
        track=track,
        prediction_labels=labels,
        image_digest=intake.config_digest,
        granted=intake.granted,
        secret=store.secret,
        run_keys={
            case: run_key(
                contract=CONTRACT,
                image_digest=intake.config_digest,
                case_input=known.input_sha256,
                structures=asked_structures(manifest, labels),
                granted=intake.granted,
                limits=dataset.card.limits,
                gpu_model=gpu_model,
                runtime=host.runtime,
            )
            for case, known in facts.items()
        },
    )
    entry = entry.replace(environment=describe_host(host.sandbox, host.slots, runtime=host.runtime))
    store.journal.set_track(track, recorded.to_json())
    entry_id = store.journal.set_entry(
        track, submission=manifest.id, identity=entry_identity(entry), body=entry.to_json()
    )
    store.journal.set_plan(entry_id, entry.run_keys)
    watcher.step(f"{manifest.id}: running {len(entry.order)} cases of {dataset.card.id}")
    run = _Run(entry=entry, track=recorded, facts=facts, store=store, watcher=watcher, stop=stop)
    runner = AttemptRunner(
        sandbox=host.sandbox,
        store=store,
        submission=manifest.id,
        image=read_image(host.sandbox.engine, intake.image_id, labels=host.sandbox.owner.labels),
        modalities=dataset.card.modalities(dataset.track(track.track)),
        structures=tuple(entry.prediction_labels) or tuple(sorted(set(manifest.labels.values()))),
        limits=entry.limits,
        granted=entry.granted,
        slots=host.slots,
        with_gpu=gpu_model is not None,
        stop=stop,
        on_log=options.on_log,
    )
    with held(host.sandbox.engine, intake.image_id, labels=host.sandbox.owner.labels):
        run.go(
            runner,
            slots=len(host.slots.slots),
            processes=host.scoring_processes,
            budget_h=options.budget_h,
        )


def _take_in(
    submission: LoadedSubmission,
    sandbox: Sandbox,
    store: Store,
    options: RunOptions,
    watcher: Watcher,
) -> Intake:
    base = None
    # The models that come with segtrial are no strangers'.
    ours = submission.folder.is_relative_to(resource_dir("model_images"))
    may_build = options.build or ours
    if submission.manifest.image.dockerfile and may_build:
        base = ensure_base_image(sandbox.engine, announce=watcher.step).id
    return take_in(
        sandbox.engine,
        submission.manifest,
        submission.folder,
        granted=options.grant,
        archives=store.root / "images",
        base_image=base,
        may_build=may_build,
        network=options.build_network,
        labels=sandbox.owner.labels,
    )


class _Run:
    """The cases of one entry, from what is final already to what is final now."""

    def __init__(
        self,
        *,
        entry: EntryBody,
        track: TrackBody,
        facts: dict[str, CaseFacts],
        store: Store,
        watcher: Watcher,
        stop: threading.Event,
    ) -> None:
        self._entry = entry
        self._track = track
        self._facts = facts
        self._store = store
        self._watcher = watcher
        self._stop = stop
        self._outcomes: dict[str, Outcome] = {}
        self._elsewhere: set[str] = set()
        self._lock = threading.Lock()
        self._platform_in_a_row = 0
        self._platform_reason = ""
        self._budget_h: float | None = None
        self._used_s = 0.0

    def go(
        self, runner: AttemptRunner, *, slots: int, processes: int, budget_h: float | None
    ) -> None:
        self._budget_h = budget_h
        scorer = Scorer(processes)
        # More threads than slots: cases are staged, or wait to be tried again, beside busy slots.
        pool = ThreadPoolExecutor(max_workers=2 * slots)
        # Threads of their own wait for scores, so that however slow scoring is no slot waits too.
        finishing = ThreadPoolExecutor(max_workers=processes + 1)
        self._finisher = finishing
        try:
            waiting, begun = self._take_up(scorer, self._entry.order)
            while waiting:
                is_new = len(waiting) == len(self._entry.order)
                for group in _canary_first(waiting) if is_new else [waiting]:
                    running = {pool.submit(self._one, runner, scorer, c): c for c in group}
                    for future, case in running.items():
                        finished = self._await(future, case)
                        if finished is not None:
                            begun[finished] = case
                    if len(group) == 1:
                        self._await_all(begun)
                # Another process on this store has the rest; it ends, or dies and leaves them.
                elsewhere, self._elsewhere = sorted(self._elsewhere), set()
                waiting = []
                if elsewhere and not self._stop.wait(_POLL_S):
                    waiting, more = self._take_up(scorer, tuple(elsewhere))
                    begun |= more
            self._await_all(begun)
        except BaseException:
            self._stop.set()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
            finishing.shutdown(wait=False, cancel_futures=True)
            scorer.close()
            finishing.shutdown(wait=True)
        self._demand_complete()

    def _take_up(
        self, scorer: Scorer, cases: tuple[str, ...]
    ) -> tuple[list[str], dict[Future[None], str]]:
        """Begin to score what was run and not yet scored; and the cases that are still to be run.

        Returns
        -------
        tuple of list and dict
            Cases to run; what is being finished, with its case.
        """
        final = self._store.journal.attempts({self._entry.run_keys[case] for case in cases})
        to_run = []
        begun = {}
        for case in cases:
            attempt = final.get(self._entry.run_keys[case])
            if attempt is None:
                to_run.append(case)
                continue
            self._count_time(attempt)
            scoring = self._begin_scoring(scorer, attempt, case)
            if scoring is not None and scoring[1] is not None:
                later = self._finisher.submit(
                    self._finish, scorer, case, attempt, scoring, kept=True
                )
                begun[later] = case
            else:  # at once: the breaker has to know it before anything is run
                self._finish(scorer, case, attempt, scoring, kept=True)
        return to_run, begun

    def _one(self, runner: AttemptRunner, scorer: Scorer, case: str) -> Future[None] | None:
        """Run one case, and hand its output on to be scored."""
        key = self._entry.run_keys[case]
        if self._is_over():
            return None
        if not self._claimed(key):
            self._elsewhere.add(case)
            return None
        try:
            if self._store.journal.attempts({key}):
                self._elsewhere.add(case)  # became final while we waited for our turn
                return None
            job = Job(
                case=case,
                opaque_id=self._entry.opaque[case],
                run_key=key,
                scans=tuple(Path(path) for path in self._facts[case].scans),
            )
            attempt = runner.run(job)
        finally:
            self._store.journal.release(key, self._store.owner.id)
        if attempt.outcome == "not_run: pending":
            return None
        self._note_platform(attempt)
        self._count_time(attempt)
        scoring = self._begin_scoring(scorer, attempt, case)
        return self._finisher.submit(self._finish, scorer, case, attempt, scoring, kept=False)

    def _count_time(self, attempt: Attempt) -> None:
        if not attempt.outcome.startswith("not_run"):
            with self._lock:
                self._used_s += attempt.measured.time_s or 0.0

    def _begin_scoring(
        self, scorer: Scorer, attempt: Attempt, case: str
    ) -> tuple[ScoreTask, Future[Any] | None] | None:
        if attempt.outcome != "ok" or attempt.output_sha256 is None:
            return None
        task = score_task(
            self._entry,
            self._track,
            self._facts[case],
            attempt,
            output=self._store.blobs.get(attempt.output_sha256),
        )
        if self._store.journal.scores({task.score_key}):
            return task, None
        return task, scorer.submit(task)

    def _finish(
        self,
        scorer: Scorer,
        case: str,
        attempt: Attempt,
        scoring: tuple[ScoreTask, Future[Any] | None] | None,
        *,
        kept: bool,
    ) -> None:
        outcome, reason = attempt.outcome, attempt.reason
        if scoring is not None:
            task, future = scoring
            if future is not None:
                scored = scorer.result(task, future)
                self._store.journal.add_scores(task.score_key, scored.body())
            body = self._store.journal.scores({task.score_key})[task.score_key]
            outcome, reason = body["outcome"], body["reason"] or reason
        with self._lock:
            self._outcomes[case] = outcome
            done = len(self._outcomes)
        self._watcher.case(
            CaseDone(
                submission=self._entry.manifest.id,
                number=done,
                total=len(self._entry.order),
                outcome=outcome,
                time_s=attempt.measured.time_s,
                reason=reason,
                kept=kept,
            )
        )

    def _is_over(self) -> bool:
        with self._lock:
            ordered = [self._outcomes.get(case) for case in self._entry.order]
            platform = self._platform_in_a_row >= _PLATFORM_FAILURES
        return (
            self._stop.is_set()
            or platform
            or self._budget_is_spent()
            or stop_after(ordered) is not None
        )

    def _budget_is_spent(self) -> bool:
        return self._budget_h is not None and self._used_s > self._budget_h * _S_PER_H

    def _claimed(self, key: str) -> bool:
        """Whether this process holds the attempt; a dead owner's claim is taken over."""
        if self._store.journal.claim(key, self._store.owner.id) == self._store.owner.id:
            return True
        self._store.recover()
        return self._store.journal.claim(key, self._store.owner.id) == self._store.owner.id

    def _note_platform(self, attempt: Attempt) -> None:
        with self._lock:
            failed = attempt.outcome == "not_run: platform"
            self._platform_in_a_row = self._platform_in_a_row + 1 if failed else 0
            self._platform_reason = attempt.reason if failed else self._platform_reason

    def _await_all(self, futures: dict[Future[None], str]) -> None:
        """Wait for scores; a stop does not, and the next start scores what is missing."""
        for future, case in futures.items():
            if self._stop.is_set():
                return
            self._await(future, case)
        futures.clear()

    def _await(self, future: Future[_T], case: str) -> _T:
        """Wait for a future, looking up often enough for Ctrl-C to be served."""
        while not wait((future,), timeout=_POLL_S).done:
            pass
        try:
            return future.result()
        except PlatformError as error:
            error.add_note(f"submission {self._entry.manifest.id}, case {case}")
            raise

    def _demand_complete(self) -> None:
        if self._stop.is_set():
            raise KeyboardInterrupt
        ordered = [self._outcomes.get(case) for case in self._entry.order]
        if stop_after(ordered) is not None:
            return
        missing = sum(o is None or o == "not_run: platform" for o in ordered)
        if not missing:
            return
        missed = (
            f"{self._entry.manifest.id} has {missing} of {len(ordered)} cases without an outcome."
        )
        if self._budget_is_spent():
            raise IncompleteError(
                f"{missed} Its final attempts have used {self._used_s / _S_PER_H:.3g} h of its "
                f"budget of {self._budget_h:g} h. Everything final is kept; give it a larger "
                "--budget-h to go on from here."
            )
        why = f" The last trouble was: {self._platform_reason}" if self._platform_reason else ""
        raise IncompleteError(
            f"{missed}{why} Everything final is kept; run the same command again to go on from "
            "here."
        )


def _canary_first(cases: list[str]) -> Iterator[list[str]]:
    if cases:
        yield cases[:1]
    if len(cases) > 1:
        yield cases[1:]
