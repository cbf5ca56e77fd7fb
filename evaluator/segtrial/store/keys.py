"""The two keys that decide what is done again: one for running, one for scoring."""

from __future__ import annotations

import hashlib
import json

from segtrial.contracts.limits import Limits, Relaxations


def run_key(
    *,
    contract: str,
    image_digest: str,
    case_input: str,
    structures: tuple[str, ...],
    granted: Relaxations,
    limits: Limits,
    gpu_model: str | None,
    runtime: str,
) -> str:
    """Identity of one attempt: whatever could change what the container writes.

    ``case_input`` is the hash of the decompressed voxels and affine of every scan, so a
    re-compressed scan is the same input; the opaque case id is not part of it.
    """
    return _digest(
        {
            "contract": contract,
            "image": image_digest,
            "input": case_input,
            "structures": list(structures),
            "granted": granted.model_dump(),
            "limits": limits.model_dump(),
            "gpu": gpu_model,
            "runtime": runtime,
        }
    )


def score_key(
    *,
    run: str,
    output: str,
    reference: str,
    reference_labels: dict[str, tuple[int, ...]],
    prediction_labels: dict[str, tuple[int, ...]],
    signature: str,
) -> str:
    """Identity of one scoring: a new metric, label map or reference re-scores, never re-runs."""
    return _digest(
        {
            "run": run,
            "output": output,
            "reference": reference,
            "reference_labels": {k: list(v) for k, v in reference_labels.items()},
            "prediction_labels": {k: list(v) for k, v in prediction_labels.items()},
            "signature": signature,
        }
    )


def _digest(parts: dict[str, object]) -> str:
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
