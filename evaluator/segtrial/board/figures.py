"""The figures of a track as files for papers: the ones on the page, as SVG and PNG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from segtrial.board.drawing import Figure, svg_file
from segtrial.board.endpoint import Endpoint
from segtrial.board.plots import (
    critical_difference,
    forest,
    rank_frequencies,
    significance_matrix,
    strips,
)
from segtrial.board.plots.slices import slice_plot
from segtrial.board.track import Track
from segtrial.contracts.result import Results, Unbounded
from segtrial.errors import UsageError
from segtrial.policy.publication import disclose

FORMATS = ("svg", "png")


def write_figures(
    results: Results,
    out: Path,
    *,
    structures: Sequence[str] = (),
    metrics: Sequence[str] = (),
    formats: Sequence[str] = FORMATS,
) -> list[Path]:
    """Write every figure of the chosen endpoints.

    Parameters
    ----------
    results : Results
        One track.
    out : Path
        Folder; made when absent. Files are ``<structure>/<metric>/<figure>.<format>``.
    structures, metrics : sequence of str
        Which; all by default.
    formats : sequence of str
        ``svg``, ``png`` or both.

    Returns
    -------
    list of Path
        What was written, in order.

    Raises
    ------
    UsageError
        For a structure, metric or format that these results have not.
    """
    track = Track(disclose(results))
    _check(track, structures, metrics, formats)
    written = []
    for (structure, metric), endpoint in track.endpoints.items():
        if (structures and structure not in structures) or (metrics and metric not in metrics):
            continue
        for name, drawn in figures_of(track, endpoint):
            path = out / structure / metric / name
            path.parent.mkdir(parents=True, exist_ok=True)
            written += [_write(drawn, path.with_suffix(f".{kind}")) for kind in formats]
    return written


def figures_of(track: Track, endpoint: Endpoint) -> Iterator[tuple[str, Figure]]:
    """Every figure that an endpoint has enough entries for, by name."""
    models = endpoint.without(track.baselines)
    if endpoint.ranking:
        yield "forest", forest(models, track.names)
    if any(row.rank_frequency for row in endpoint.ranking):
        yield "rank-frequencies", rank_frequencies(endpoint, track.names)
    if len(endpoint.ranking) > 1:
        yield "significance", significance_matrix(endpoint, track.names)
        yield "critical-difference", critical_difference(endpoint, track.names)
    scores = patient_scores(track, endpoint)
    if scores:
        yield "patients", strips(models, track.names, scores)
    for one in endpoint.slices:
        if any(level.estimates for level in one.levels):
            yield f"slice-{one.name}", slice_plot(models, track.names, one)


def patient_scores(track: Track, endpoint: Endpoint) -> dict[str, list[float]]:
    """Mean over the scans of each patient, for every ranked entry; empty without single cases.

    Failures of a share count 0; a patient with an unbounded distance or a failed one is left out,
    and the figure counts them beside the row.
    """
    patient = {case.case: case.patient for case in track.results.cases}
    is_share = endpoint.raw.get("unit") == "1" and endpoint.raw.get("higher_is_better")
    found: dict[str, list[float]] = {}
    for row in endpoint.ranking:
        values: dict[str, list[float]] = {}
        for record in track.records[row.submission]:
            if record.structure != endpoint.structure:
                continue
            value = record.metrics.get(endpoint.metric)
            if record.outcome.startswith("failed") and record.reference_present and is_share:
                value = 0.0
            if value is not None and not isinstance(value, Unbounded):
                values.setdefault(patient[record.case], []).append(value)
        if values:
            found[row.submission] = [sum(v) / len(v) for _, v in sorted(values.items())]
    return found


def _write(drawn: Figure, path: Path) -> Path:
    if path.suffix == ".svg":
        path.write_text(svg_file(drawn), encoding="utf-8")
    else:
        from segtrial.board.drawing_png import write_png  # noqa: PLC0415 - Pillow, only for this

        write_png(drawn, path)
    return path


def _check(
    track: Track, structures: Sequence[str], metrics: Sequence[str], formats: Sequence[str]
) -> None:
    valid = {
        "structure": (structures, track.structures),
        "metric": (metrics, tuple(dict.fromkeys(metric for _, metric in track.endpoints))),
        "format": (formats, FORMATS),
    }
    for kind, (given, known) in valid.items():
        unknown = next((one for one in given if one not in known), None)
        if unknown is not None:
            raise UsageError(
                f"There is no {kind} {unknown!r} to draw; choose from: {', '.join(known)}."
            )
