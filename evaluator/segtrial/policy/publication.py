"""What leaves the host, field by field.

`disclose` is the only way to a `PublicResults`, and everything that shows or uploads results takes
nothing else. It copies what is named in the tables below and nothing more: a field that somebody
adds to a record, or a key that somebody adds to the analysis, stays at home until it is named here.

Some fields leave only where the dataset's card says so: ``per_case_scores`` for everything about a
single case or patient, ``slice_values`` for subgroups. References, true ids, paths, logs and host
names are in no record at all; `leaks` looks for them all the same, because text that a person wrote
can hold anything.
"""

from __future__ import annotations

import hashlib
import json
import re
import typing
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

from segtrial.contracts.attempt import Measured
from segtrial.contracts.dataset_card import Licence, Publication
from segtrial.contracts.limits import Limits, Relaxations
from segtrial.contracts.record import Record
from segtrial.contracts.result import (
    CaseRow,
    DatasetRow,
    MeasuredRow,
    Protocol,
    Results,
    ScoreRecord,
    SubmissionRow,
    TrackRow,
    Unbounded,
)
from segtrial.errors import ResultsError

Condition = Literal["always", "per_case", "slices", "never"]


class PublicResults(Results):
    """Results of which everything may leave the host; made by `disclose` alone."""


def _always(*names: str) -> dict[str, Condition]:
    return dict.fromkeys(names, "always")


ALLOWED: Mapping[type[Record], Mapping[str, Condition]] = {
    Results: {
        **_always("schema_version", "segtrial_version", "dataset", "track", "protocol", "settings"),
        **_always("submissions", "analysis", "content_sha256"),
        "cases": "per_case",
        "records": "per_case",
        "measured": "per_case",
        "environment": "always",  # key by key, see ENVIRONMENT
    },
    DatasetRow: _always(
        *("id", "title", "version", "modality", "licence", "citation", "homepage", "references"),
        "publication",
    ),
    Licence: _always("name", "url", "conflicts"),
    Publication: _always(
        "per_case_scores", "predictions", "case_pictures", "slice_values", "masks"
    ),
    TrackRow: _always("id", "title", "structures", "tolerances_mm"),
    Protocol: _always("contract", "limits", "signatures"),
    Limits: _always(
        *("time_s", "memory_gib", "pids", "cpus", "tmp_gib", "shm_gib", "output_mib"),
        "output_files",
    ),
    SubmissionRow: _always(
        *("id", "name", "version", "authors", "licence", "summary", "paper", "code", "baseline"),
        *("image_digest", "granted", "verdict", "evidence", "declared_training", "tries"),
    ),
    Relaxations: _always("root", "writable_rootfs", "shm_gib", "tmp_gib"),
    CaseRow: {
        **_always("case", "patient", "diagonal_mm", "volume_ml", "reference_ml"),
        "slices": "slices",
    },
    ScoreRecord: _always(
        *("submission", "case", "structure", "outcome", "eligibility", "reference_present"),
        "metrics",
    ),
    Unbounded: _always("state"),
    MeasuredRow: _always("submission", "case", "measured"),
    Measured: _always(
        *("time_s", "cpu_s", "peak_memory_mib", "gpu_memory_mib", "gpu_utilisation", "energy_j"),
    ),
}
"""Condition of every field of every record that results are made of."""

ENVIRONMENT = frozenset({"gpu", "gpu_driver", "engine", "runtime", "cpu", "operating_system"})
"""Keys of the environment that say on what something was measured, and nothing of where."""

ANALYSIS: Mapping[str, Condition] = {
    **_always(
        *("n", "cases", "endpoint", "role", "estimand", "higher_is_better", "unit", "low_n"),
        *("smallest_visible_failure_rate", "detectable_difference", "decidable"),
        *("resamples", "structures"),
        *("ranking", "unranked", "pairs", "stability", "schemes", "wilcoxon_disagreements"),
    ),
    "slices": "slices",
}
"""Keys of one endpoint of the analysis."""

# A path of some machine: /a/b, C:\a or ~/a, but not a link, a fraction or a licence such as A/B.
_PATH = re.compile(r"(?<![\w:/.])(?:/[\w.-]+){2,}|\b[A-Za-z]:\\|(?<!\w)~/\w")
_SET_ASIDE = ("measured", "environment", "content_sha256")


def disclose(results: Results, *, secrets: Collection[str] = ()) -> PublicResults:
    """The public part of results, exactly as reading the published file gives it.

    Parameters
    ----------
    results : Results
        As analysed on the host.
    secrets : collection of str
        Names that must appear nowhere, such as the true case and patient ids; checked, not used.

    Returns
    -------
    PublicResults
        With its own content hash.

    Raises
    ------
    ResultsError
        When a text holds a path or one of the secrets; the message names the field.
    """
    allowed = _conditions(results.dataset.publication)
    # Names of what is let out, so that whatever is not named stays. The analysis is plain JSON
    # already, and by far the largest part: it is neither copied nor read again.
    names = _names(Results, allowed)
    del names["analysis"]
    body = {"cases": [], "records": [], **results.model_dump(mode="json", include=names)}
    body["environment"] = {k: v for k, v in results.environment.items() if k in ENVIRONMENT}
    body.pop("content_sha256", None)
    read = PublicResults.model_validate_json(canonical_json({**body, "analysis": {}}))
    body = read.model_dump(mode="json", exclude={"content_sha256"})
    body["analysis"] = _analysis(results.analysis, allowed)
    found = next(leaks(body, secrets=secrets), None)
    if found is not None:
        raise ResultsError(
            f"{found} must not leave this host, so nothing is written. Correct the text where it "
            "comes from (submission.yaml, card.yaml or the table of scores) and analyse again."
        )
    return read.model_copy(
        update={"analysis": body["analysis"], "content_sha256": content_sha256(body)}
    )


def leaks(value: object, *, secrets: Collection[str] = (), where: str = "results") -> Iterator[str]:
    """Every text that holds a path or a secret, as a phrase that names its field.

    Examples
    --------
    >>> list(leaks({"summary": "see /data/kits/case_1"}))
    ["results.summary holds the path '/data/kits/case_1', which"]
    """
    text = canonical_json(value)
    # One look at the whole text; which field it is matters only when there is something.
    if _PATH.search(text) or any(secret in text for secret in secrets):
        yield from _places(value, secrets, where)


def canonical_json(value: object) -> str:
    """Compact JSON with sorted keys: equal values are equal text."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def content_sha256(body: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical JSON of everything in results that a rerun repeats.

    Parameters
    ----------
    body : mapping
        Results as plain JSON values; ``measured``, ``environment`` and ``content_sha256`` are left
        out of the hash.
    """
    kept = {key: value for key, value in body.items() if key not in _SET_ASIDE}
    return hashlib.sha256(canonical_json(kept).encode()).hexdigest()


def _conditions(publication: Publication) -> frozenset[Condition]:
    met: set[Condition] = {"always"}
    if publication.per_case_scores:
        met.add("per_case")
    if publication.slice_values:
        met.add("slices")
    return frozenset(met)


def _names(record: type[Record], allowed: frozenset[Condition]) -> dict[str, Any]:
    """What pydantic is to include of a record: the allowed fields, and theirs."""
    names: dict[str, Any] = {}
    for name, condition in ALLOWED.get(record, {}).items():
        if condition not in allowed:
            continue
        annotation = record.model_fields[name].annotation
        inner = next(_records_in(annotation), None)
        if inner is None or inner is Unbounded:
            names[name] = True
        elif typing.get_origin(annotation) is tuple:
            names[name] = {"__all__": _names(inner, allowed)}
        else:
            names[name] = _names(inner, allowed)
    return names


def _records_in(annotation: object) -> Iterator[type[Record]]:
    if isinstance(annotation, type) and issubclass(annotation, Record):
        yield annotation
    for part in typing.get_args(annotation):
        yield from _records_in(part)


def _analysis(analysis: Mapping[str, Any], allowed: frozenset[Condition]) -> dict[str, Any]:
    return {
        structure: {metric: _endpoint(body, allowed) for metric, body in block.items()}
        for structure, block in analysis.items()
    }


def _endpoint(body: Mapping[str, Any], allowed: frozenset[Condition]) -> dict[str, Any]:
    return {key: value for key, value in body.items() if ANALYSIS.get(key, "never") in allowed}


def _places(value: object, secrets: Collection[str], where: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _places(key, secrets, f"{where} (a key)")
            yield from _places(inner, secrets, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _places(inner, secrets, f"{where}[{index}]")
    elif isinstance(value, str):
        path = _PATH.search(value)
        if path:
            yield f"{where} holds the path {path[0]!r}, which"
        elif any(secret in value for secret in secrets):
            yield f"{where} holds a true case or patient id, which"
