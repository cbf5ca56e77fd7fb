"""What a visitor can take away: results, tables and a citation, each number with its signature."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Collection, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

from segtrial.board.endpoint import Endpoint
from segtrial.board.html import Markup, link, tag
from segtrial.board.track import Track
from segtrial.contracts.result import Unbounded
from segtrial.policy.publication import canonical_json

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_RANKING = (
    "structure", "metric", "submission", "name", "version", "baseline", "n", "score", "low", "high",
    "guarded_low", "guarded_high", "p90", "rank_low", "rank_high", "tied_for_first",
    "first_in_resamples", "failure_rate", "failure_low", "failure_high", "signature",
)  # fmt: skip
_PAIRS = (
    "structure", "metric", "a", "b", "difference", "low", "high", "p", "p_adjusted", "verdict",
    "patients_needed", "signature",
)  # fmt: skip
_PER_CASE = (
    "submission", "case", "patient", "structure", "outcome", "eligibility", "reference_present",
    "metric", "value", "state", "signature",
)  # fmt: skip


_LABELS = {
    "results.json": "results (JSON)",
    "ranking.csv": "ranking (CSV)",
    "pairs.csv": "pairs (CSV)",
    "per_case.csv": "single cases (CSV)",
    "per_case.parquet": "single cases (Parquet)",
    "citation.bib": "citation (BibTeX)",
}
_IN_DATASET = ("per_case.csv", "per_case.parquet")
"""Where there is a dataset repository, only it holds these."""


def download_files(track: Track) -> dict[str, bytes]:
    """Every file to take away, by its name; Parquet where pyarrow is installed.

    ``analysis-<structure>.json`` is for programs, the Space's API among them.
    """
    files = {
        "results.json": results_text(track).encode(),
        "ranking.csv": csv_text(_RANKING, ranking_rows(track)).encode(),
        "pairs.csv": csv_text(_PAIRS, pair_rows(track)).encode(),
        "citation.bib": bibtex(track).encode(),
    }
    for structure, block in track.results.analysis.items():
        # Pairs are most of an analysis, and in results.json, pairs.csv and the Compare view.
        kept = {m: {k: v for k, v in body.items() if k != "pairs"} for m, body in block.items()}
        files[f"analysis-{structure}.json"] = (canonical_json(kept) + "\n").encode()
    if track.results.records:
        files["per_case.csv"] = csv_text(_PER_CASE, per_case_rows(track)).encode()
        if find_spec("pyarrow") is not None:
            files["per_case.parquet"] = parquet_bytes(track)
    return files


def download_links(track: Track, names: Collection[str], *, dataset: str | None) -> Markup:
    """Links to what people take away, with what each is.

    Parameters
    ----------
    track : Track
        The track.
    names : collection of str
        Files there are.
    dataset : str or None
        ``ORG/NAME`` of the dataset repository, where the large ones are then.
    """
    links = [_link(track, name, words, dataset) for name, words in _LABELS.items() if name in names]
    results = track.results
    content = tag("code", results.content_sha256 or "")
    return Markup(
        tag("p", "Download: ", [[", " if k else "", one] for k, one in enumerate(links)], ".")
        + tag("p", f"segtrial {results.segtrial_version}, content hash ", content, class_="hash")
    )


def _link(track: Track, name: str, words: str, dataset: str | None) -> Markup:
    path = f"downloads/{track.key}/{name}"
    if dataset and name in _IN_DATASET:
        url = f"https://huggingface.co/datasets/{dataset}/resolve/main/{path}"
        return link(url, words)
    return tag("a", words, href=path, download=True)


def results_text(track: Track) -> str:
    """The public results as canonical JSON, one record a line."""
    body = track.results.model_dump(mode="json")
    parts = []
    for key in sorted(body):
        value = body[key]
        if isinstance(value, list) and value:
            written = "[\n" + ",\n".join(canonical_json(item) for item in value) + "\n]"
        else:
            written = canonical_json(value)
        parts.append(f"{json.dumps(key)}: {written}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def csv_text(head: Sequence[str], rows: Iterator[Sequence[Any]]) -> str:
    """A table for a spreadsheet; cells that it would run as a formula are quoted."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(head)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return out.getvalue()


def _cell(value: object) -> object:
    """What a cell holds; text that begins like a formula gets an apostrophe.

    Examples
    --------
    >>> _cell("=1+1"), _cell(-0.5), _cell(None)
    ("'=1+1", -0.5, '')
    """
    if value is None:
        return ""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value


def ranking_rows(track: Track) -> Iterator[tuple[Any, ...]]:
    """Every row of every ranking."""
    for endpoint in track.endpoints.values():
        for row in endpoint.ranking:
            entry = track.entries[row.submission]
            yield (
                endpoint.structure,
                endpoint.metric,
                row.submission,
                entry.name,
                entry.version,
                entry.baseline,
                endpoint.n,
                "unbounded" if row.estimate is None else row.estimate,
                row.interval.low,
                row.interval.high,
                row.guarded.low,
                row.guarded.high,
                row.p90,
                *row.rank,
                row.tied_for_first,
                row.rank_frequency[0] if row.rank_frequency else None,
                row.failure_rate,
                row.failure_interval.low,
                row.failure_interval.high,
                signature(track, endpoint.structure, endpoint.metric),
            )


def pair_rows(track: Track) -> Iterator[tuple[Any, ...]]:
    """Every pair of every endpoint."""
    for endpoint in track.endpoints.values():
        yield from _pairs_of(track, endpoint)


def _pairs_of(track: Track, endpoint: Endpoint) -> Iterator[tuple[Any, ...]]:
    written = signature(track, endpoint.structure, endpoint.metric)
    for pair in endpoint.pairs:
        yield (
            endpoint.structure,
            endpoint.metric,
            pair.a,
            pair.b,
            pair.difference,
            pair.interval.low,
            pair.interval.high,
            pair.p,
            pair.p_adjusted,
            pair.verdict,
            pair.patients_needed,
            written,
        )


def per_case_rows(track: Track) -> Iterator[tuple[Any, ...]]:
    """One row for each value; one without a value where a case has none."""
    patient = {case.case: case.patient for case in track.results.cases}
    for r in track.results.records:
        head = (r.submission, r.case, patient.get(r.case), r.structure, r.outcome, r.eligibility)
        if not r.metrics:
            yield (*head, r.reference_present, None, None, None, None)
        for metric, value in r.metrics.items():
            number, state = (None, value.state) if isinstance(value, Unbounded) else (value, None)
            yield (
                *head,
                r.reference_present,
                metric,
                number,
                state,
                signature(track, r.structure, metric),
            )


def signature(track: Track, structure: str, metric: str) -> str | None:
    """What decides the value of a metric on a structure."""
    known = track.results.protocol.signatures
    return known.get(f"{structure}.{metric}", known.get(metric))


def parquet_bytes(track: Track) -> bytes:
    """Per-case values as Parquet, one row for each value."""
    import pyarrow as pa  # noqa: PLC0415 - an extra
    from pyarrow import parquet  # noqa: PLC0415

    rows = list(per_case_rows(track))
    types = {"reference_present": pa.bool_(), "value": pa.float64()}
    schema = pa.schema([(name, types.get(name, pa.string())) for name in _PER_CASE])
    arrays = [pa.array([row[k] for row in rows], type=f.type) for k, f in enumerate(schema)]
    sink = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays(arrays, schema=schema), sink, compression="zstd")
    return sink.getvalue()


def bibtex(track: Track) -> str:
    """How to cite this board and the dataset it stands on."""
    results = track.results
    key = track.key.replace("-", "_")
    url = results.dataset.homepage or ""
    return (
        f"@misc{{segtrial_{key},\n"
        f"  title = {{{_tex(results.dataset.title)}: {_tex(results.track.title)}}},\n"
        f"  note = {{segtrial {results.segtrial_version}, content {results.content_sha256}}},\n"
        f"  howpublished = {{Leaderboard of segmentation models, dataset {_tex(url)}}}\n"
        "}\n"
        + (
            f"% Cite the dataset as: {_one_line(results.dataset.citation)}\n"
            if results.dataset.citation
            else ""
        )
    )


def _tex(value: str) -> str:
    """Text without what BibTeX or TeX would act on."""
    return "".join(f"\\{c}" if c in "&%$#_{}" else "" if c in "\\~^" else c for c in value)


def _one_line(value: str) -> str:
    return " ".join(value.split())
