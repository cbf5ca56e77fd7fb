"""One case of one submission: stage, run, retry what was the platform's fault, record.

The attempt is in the journal, and its output in the store, before its slot takes the next case.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from segtrial import scans
from segtrial.container.failure import Verdict, classify
from segtrial.container.image_facts import ImageFacts
from segtrial.container.observation import Observation
from segtrial.container.run import run_attempt
from segtrial.container.sandbox import Sandbox
from segtrial.container.slot import Slot
from segtrial.container.slots import SlotPool
from segtrial.container.spec import ContainerSpec
from segtrial.contracts.attempt import Attempt, Measured
from segtrial.contracts.limits import Limits, Relaxations
from segtrial.contracts.request import Request, RequestedScan
from segtrial.contracts.submission import Modality
from segtrial.errors import EngineError
from segtrial.store import Store

_BACK_OFF_S = (1.0, 4.0)
"""Waits before the second and third try after a platform fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One case to be run."""

    case: str
    opaque_id: str
    run_key: str
    scans: tuple[Path, ...]


@dataclass(frozen=True, kw_only=True)
class AttemptRunner:
    """Runs the cases of one submission on the slots of this host.

    Attributes
    ----------
    sandbox, store
        Open for longer than this runner.
    submission : str
        Its id.
    image : ImageFacts
        What is run, by id.
    structures : tuple of str
        Structures asked for in the request.
    slots : SlotPool
        Places to run in, one attempt at a time each.
    with_gpu : bool
        Whether a slot's GPU is handed over; a submission that needs none sees none.
    stop : Event
        Set it to kill what runs and to begin nothing more.
    """

    sandbox: Sandbox
    store: Store
    submission: str
    image: ImageFacts
    modalities: tuple[Modality, ...]
    """Of each scan of a case, in their order; the last stands for any further one."""
    structures: tuple[str, ...]
    limits: Limits
    granted: Relaxations
    slots: SlotPool
    with_gpu: bool
    stop: threading.Event
    on_log: Callable[[Observation], None] | None = None
    """Sees what a container printed; set only where the cases are public."""
    _ambiguous: set[str] = field(default_factory=set)

    def run(self, job: Job) -> Attempt:
        """Run one case until its outcome is final, or not to be had on this platform now.

        Each try takes a slot of its own: after a fault of the platform the slot is looked at, and
        if it is broken the case goes on elsewhere.

        Returns
        -------
        Attempt
            Final and in the journal, unless its outcome is ``not_run``.

        Raises
        ------
        PlatformError
            Every slot is broken.
        """
        with self._staged(job) as folder:
            tries = 0
            while True:
                tries += 1
                output = self.store.owner.tmp / f"{secrets.token_hex(8)}.out"
                seen, verdict = self._try(folder, output)
                if not self._again(job, verdict, tries):
                    break
                output.unlink(missing_ok=True)
            if self.on_log is not None and verdict.outcome != "not_run: pending":
                self.on_log(seen)
            return self._record(job, verdict, seen, output=output, tries=tries)

    def _try(self, folder: Path, output: Path) -> tuple[Observation, Verdict]:
        slot = self.slots.get()
        suspect = True
        try:
            used = slot if self.with_gpu else replace(slot, gpu_uuid=None, gpu_model=None)
            spec = self._spec(folder, used)
            seen = run_attempt(self.sandbox, spec, output_to=output, stop=self.stop)
            verdict = classify(seen)
            suspect = verdict.outcome == "not_run: platform"
            return seen, verdict
        finally:
            self.slots.put(slot, suspect=suspect)

    def _again(self, job: Job, verdict: Verdict, tries: int) -> bool:
        """Whether the case is to be tried once more; waits where it is."""
        if verdict.retry == "with_back_off" and tries <= len(_BACK_OFF_S):
            if self.stop.wait(_BACK_OFF_S[tries - 1]):
                return False
            # What a dead owner left running may be what this try failed for.
            with suppress(EngineError):
                self.sandbox.reap()
            return True
        if verdict.retry == "once" and job.case not in self._ambiguous:
            self._ambiguous.add(job.case)
            return True
        return False

    def _record(
        self, job: Job, verdict: Verdict, seen: Observation, *, output: Path, tries: int
    ) -> Attempt:
        sha256 = None
        if output.exists():
            if verdict.outcome == "ok":
                sha256 = self.store.blobs.add(output)
            else:
                output.unlink()
        attempt = self._attempt(job, verdict, seen, tries=tries, output_sha256=sha256)
        if not attempt.outcome.startswith("not_run"):
            self.store.journal.add_attempt(attempt)
        return attempt

    def _attempt(
        self,
        job: Job,
        verdict: Verdict,
        seen: Observation,
        *,
        tries: int,
        output_sha256: str | None = None,
    ) -> Attempt:
        return Attempt(
            submission=self.submission,
            case=job.case,
            run_key=job.run_key,
            outcome=verdict.outcome,
            reason=verdict.reason,
            exit_code=seen.state.exit_code if seen.state else None,
            tries=tries,
            output_sha256=output_sha256,
            measured=_measured(seen),
        )

    def _spec(self, folder: Path, slot: Slot) -> ContainerSpec:
        return ContainerSpec(
            image=self.image,
            input_dir=folder,
            limits=self.limits,
            granted=self.granted,
            slot=slot,
            labels=self.sandbox.owner.labels,
        )

    @contextmanager
    def _staged(self, job: Job) -> Iterator[Path]:
        """A folder of neutral name with the scans and the request; readable, never writable."""
        folder = self.store.owner.staging / secrets.token_hex(8)
        folder.mkdir(mode=0o755)
        try:
            names = [f"scan_{index}.nii.gz" for index in range(len(job.scans))]
            for source, name in zip(job.scans, names, strict=True):
                scans.stage_scan(source, folder / name)
            request = Request(
                case_id=job.opaque_id,
                scans=tuple(
                    RequestedScan(
                        file=name, modality=self.modalities[min(n, len(self.modalities) - 1)]
                    )
                    for n, name in enumerate(names)
                ),
                structures=self.structures,
            )
            path = folder / "request.json"
            path.write_text(json.dumps(request.model_dump(), indent=2) + "\n", encoding="utf-8")
            path.chmod(0o444)
            for written in (path, folder):
                os.utime(written, ns=(0, 0))
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _measured(seen: Observation) -> Measured:
    used = seen.resources
    return Measured(
        time_s=seen.state.time_s if seen.state else None,
        cpu_s=used.cpu_s,
        peak_memory_mib=used.peak_memory_mib,
        gpu_memory_mib=used.gpu_memory_mib,
        gpu_utilisation=used.gpu_utilisation,
        energy_j=used.energy_j,
    )
