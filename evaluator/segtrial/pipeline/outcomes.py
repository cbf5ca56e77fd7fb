"""From attempts and scores to one outcome per case and structure."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from segtrial.contracts.attempt import Attempt, Outcome
from segtrial.metrics.signature import metric_signatures
from segtrial.pipeline.cases import CaseFacts
from segtrial.pipeline.entry import EntryBody, TrackBody
from segtrial.pipeline.scoring import ScoreTask
from segtrial.policy.breaker import stop_after
from segtrial.store.keys import score_key


class CaseOutcome(NamedTuple):
    """What a case of an entry came to."""

    outcome: Outcome
    structures: dict[str, dict[str, Any]]


def signatures(track: TrackBody) -> dict[str, dict[str, str]]:
    """Signature of every metric, by structure."""
    return {
        name: metric_signatures(tolerances_mm=(mm,))
        for name, mm in track.track.tolerances_mm.items()
    }


def score_task(
    entry: EntryBody, track: TrackBody, facts: CaseFacts, attempt: Attempt, *, output: Path
) -> ScoreTask:
    """The scoring of one attempt's output, under the key that says when it must be done again."""
    if attempt.output_sha256 is None:
        raise ValueError(f"attempt {attempt.run_key} has no output to score")
    wanted = {name: track.reference_labels[name] for name in entry.prediction_labels}
    return ScoreTask(
        score_key=score_key(
            run=attempt.run_key,
            output=attempt.output_sha256,
            reference=facts.reference_sha256,
            reference_labels=wanted,
            prediction_labels=entry.prediction_labels,
            signature=repr(sorted(signatures(track).items())),
        ),
        output=str(output),
        reference=facts.reference,
        scan=facts.scans[0],
        allowed_labels=entry.manifest.label_ids,
        reference_labels=wanted,
        prediction_labels=dict(entry.prediction_labels),
        tolerances_mm={name: track.track.tolerances_mm[name] for name in wanted},
        max_output_mib=entry.limits.output_mib,
    )


def case_outcomes(
    entry: EntryBody, *, attempts: dict[str, Attempt], scores: dict[str, dict[str, Any]]
) -> dict[str, CaseOutcome]:
    """Outcome of every case of an entry, with the breaker applied in the order of the plan.

    Parameters
    ----------
    entry : EntryBody
        The submission on the track.
    attempts : mapping
        Final attempts, by case.
    scores : mapping
        Bodies of the scores, by case; only cases whose attempt is ok have one.
    """
    found = {}
    for case in entry.order:
        attempt = attempts.get(case)
        if attempt is None:
            found[case] = CaseOutcome("not_run: pending", {})
        elif case in scores:
            found[case] = CaseOutcome(scores[case]["outcome"], scores[case]["structures"])
        else:
            outcome = "not_run: pending" if attempt.outcome == "ok" else attempt.outcome
            found[case] = CaseOutcome(outcome, {})
    counted = stop_after([found[case].outcome for case in entry.order])
    if counted is not None:
        for case in entry.order[counted:]:
            found[case] = CaseOutcome("not_run: stopped", {})
    return found
