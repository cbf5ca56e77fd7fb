"""Commands on scores: analyse them, repeat a published analysis, plan the next test set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

from segtrial.cli.console import PANEL_SCORES, print_json, stdout
from segtrial.errors import AnswerIsNoError, ResultsError, UsageError

if TYPE_CHECKING:
    from segtrial.contracts.result import Results
    from segtrial.statistics.difference import Difference

_SHOWN_DIFFERENCES = 20
_Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    for command in (analyze, reanalyze, plan):
        app.command(rich_help_panel=PANEL_SCORES)(command)


def analyze(
    source: Annotated[
        Path, typer.Argument(help="A store folder, or a table of scores: .csv, .tsv, .parquet.")
    ],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.")] = Path(
        "results.json"
    ),
    track: Annotated[
        str | None, typer.Option(help="DATASET/TRACK, where a store holds several.")
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option(help="Table with a column 'case': the track's cases, for a table of scores."),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="A column of the table to leave out; repeatable.")
    ] = None,
    interval: Annotated[
        Literal["bootstrap-t", "percentile", "bca"],
        typer.Option(help="Interval of a mean, for a table; the last two are for comparison."),
    ] = "bootstrap-t",
    as_json: _Json = False,
) -> None:
    """Analyse the scores of a store or a table: intervals, verdicts, ranks."""
    from segtrial.pipeline.results_file import write_results  # noqa: PLC0415 - loads NumPy

    found = _results_of(source, track=track, cases=cases, drop=drop or [], interval=interval)
    paths = _outputs(found, output)
    for results, path in zip(found, paths, strict=True):
        write_results(results, path)
    if as_json:
        written = zip(found, paths, strict=True)
        print_json([{"track": _track(results), "output": str(path)} for results, path in written])
        return
    for results, path in zip(found, paths, strict=True):
        _show(results)
        stdout().print(str(path), soft_wrap=True)


def reanalyze(
    results_file: Annotated[Path, typer.Argument(metavar="RESULTS", help="A results.json.")],
    *,
    write: Annotated[
        bool, typer.Option("--write", help="Write the recomputed file where it differs.")
    ] = False,
    as_json: _Json = False,
) -> None:
    """Recompute everything shown from the per-case records, and compare byte for byte."""
    from segtrial.pipeline.results_file import write_results  # noqa: PLC0415 - only when it runs
    from segtrial.statistics import analyse_results  # noqa: PLC0415 - loads NumPy
    from segtrial.statistics.difference import differing_fields  # noqa: PLC0415 - as above

    published = _read(results_file)
    if published.analysis and not published.records:
        raise ResultsError(
            f"{results_file} holds no per-case records: the card of its dataset keeps them in. "
            "Only whoever has the store can repeat this analysis."
        )
    recomputed = analyse_results(published)
    changed = _changed_settings(recomputed.settings)
    found = differing_fields(
        _shown(published, published.content_sha256), _shown(recomputed, _hash_of(recomputed))
    )
    if found and write:
        write_results(recomputed, results_file)
    if as_json:
        print_json(
            {
                "same": not found,
                "differing": len(found),
                "written": bool(found) and write,
                "changed_settings": changed,
                "first": [difference.as_dict() for difference in found[:_SHOWN_DIFFERENCES]],
            }
        )
    if found:
        _refuse(results_file, found, written=write)
    if not as_json:
        stdout().print(
            f"{results_file}: the analysis follows from the records, byte for byte.",
            soft_wrap=True,
        )
        if changed:
            told = "; ".join(f"{key} {value}" for key, value in changed.items())
            stdout().print(f"Not by default: {told}.", soft_wrap=True, markup=False)


def plan(
    results_file: Annotated[
        Path | None, typer.Argument(metavar="[RESULTS]", help="A results.json to learn from.")
    ] = None,
    *,
    structure: Annotated[
        str | None, typer.Option(help="Structure; the macro-average or the first by default.")
    ] = None,
    metric: Annotated[str, typer.Option(help="Metric.")] = "dice",
    difference: Annotated[
        float | None, typer.Option(help="True difference to find, in the metric's unit.")
    ] = None,
    deviation: Annotated[
        float | None,
        typer.Option(help="Standard deviation of the paired differences, without RESULTS."),
    ] = None,
    submissions: Annotated[
        int | None, typer.Option(min=2, help="Number of submissions that will be compared.")
    ] = None,
    power: Annotated[float, typer.Option(min=0.05, max=0.999, help="Power wanted.")] = 0.8,
    alpha: Annotated[
        float, typer.Option(min=1e-6, max=0.5, help="Family-wise error of the verdicts.")
    ] = 0.05,
    as_json: _Json = False,
) -> None:
    """Say how many patients separate two submissions, and what a test set can see at all."""
    from segtrial.statistics.outlook import outlook, outlook_without_results  # noqa: PLC0415 - NumPy

    if results_file is None:
        if difference is None or deviation is None:
            raise UsageError(
                "Without RESULTS, 'evaluate plan' needs --difference and --deviation: the true "
                "difference to find and the spread of the paired differences."
            )
        answer = outlook_without_results(
            difference=difference,
            deviation=deviation,
            submissions=submissions or 2,
            power=power,
            alpha=alpha,
        )
    else:
        if deviation is not None:
            raise UsageError("--deviation is read from RESULTS; leave one of the two out.")
        answer = outlook(
            _read(results_file),
            structure=structure,
            metric=metric,
            difference=difference,
            submissions=submissions,
            power=power,
            alpha=alpha,
        )
    if as_json:
        print_json(answer.as_dict())
    else:
        stdout().print(answer.text(), soft_wrap=True, markup=False)


def _results_of(
    source: Path,
    *,
    track: str | None,
    cases: Path | None,
    drop: list[str],
    interval: str,
) -> list[Results]:
    """Analysed results of a store or a table."""
    from segtrial.tables import is_table, read_score_table  # noqa: PLC0415 - only when it runs

    if source.is_dir():
        if cases is not None or drop or interval != "bootstrap-t":
            raise UsageError(
                "--cases, --drop and --interval are for tables of scores; a store has its cases, "
                "and its published interval is the bootstrap-t."
            )
        from segtrial.pipeline.results import results_from_store  # noqa: PLC0415 - opens a store

        return results_from_store(source, track=track)
    if not is_table(source):
        raise ResultsError(
            f"{source} is neither a store folder nor a table (.csv, .tsv, .parquet). "
            "To repeat the analysis of a results.json, use 'evaluate reanalyze'."
        )
    if track is not None:
        raise UsageError("--track chooses a track of a store; a table of scores is one track.")
    from segtrial.statistics import analyse_results  # noqa: PLC0415 - loads NumPy
    from segtrial.statistics.settings import AnalysisSettings  # noqa: PLC0415 - as above

    settings = AnalysisSettings.model_validate({"interval": interval})
    table = read_score_table(source, case_list=cases, drop=drop, settings=settings)
    return [analyse_results(table)]


def _outputs(found: list[Results], output: Path) -> list[Path]:
    """One file for each track: the output itself, or a name of its own in that folder."""
    if len(found) == 1 and not output.is_dir():
        return [output]
    if output.suffix == ".json":
        names = ", ".join(_track(results) for results in found)
        raise UsageError(
            f"The store holds several tracks ({names}). Choose one with --track, or give a folder "
            "with -o."
        )
    return [output / f"{r.dataset.id}_{r.track.id.replace('/', '_')}.json" for r in found]


def _track(results: Results) -> str:
    return f"{results.dataset.id}/{results.track.id}"


def _show(results: Results) -> None:
    """The rankings of the primary metrics, or of all where none is primary."""
    stdout().print(f"{_track(results)}. {results.track.title}", soft_wrap=True, markup=False)
    for structure in sorted(results.analysis):
        families = results.analysis[structure]
        primary = [metric for metric in sorted(families) if families[metric]["role"] == "primary"]
        for metric in primary or sorted(families):
            _show_family(structure, metric, families[metric])


def _show_family(structure: str, metric: str, family: dict[str, Any]) -> None:
    few = ", few patients" if family["low_n"] else ""
    lines = [f"\n{structure}, {metric} (n = {family['n']}{few})"]
    for row in family["ranking"]:
        low, high = row["rank_interval"]
        ranks = f"{low}" if low == high else f"{low}-{high}"
        estimate = _written(row.get("mean", row.get("median")))
        lines.append(
            f"  {ranks:>7}  {row['submission']:<30} {estimate}  {_written(row['interval'])}  "
            f"failed {row['failed']}/{family['n']}"
            + ("  near zero: check label ids, side, orientation" * ("near_zero" in row))
        )
    lines += [
        f"  {'-':>7}  {row['submission']:<30} not ranked: {row['reason']}"
        for row in family["unranked"]
    ]
    stdout().print("\n".join(lines), soft_wrap=True, markup=False)


def _written(value: object) -> str:
    """A number, an interval, or why there is none."""
    if isinstance(value, dict):
        return str(value.get("reason", value["state"]))
    if isinstance(value, list):
        return "[" + ", ".join(_written(end) for end in value) + "]"
    return f"{value:.4f}"


def _read(path: Path) -> Results:
    from segtrial.contracts.reading import parse_json  # noqa: PLC0415 - only when it runs
    from segtrial.contracts.result import Results  # noqa: PLC0415 - as above

    try:
        text = path.read_bytes()
    except OSError as problem:
        raise ResultsError(f"{path} cannot be read: {problem.strerror}.") from None
    return parse_json(text, Results, source=str(path), error=ResultsError)


def _shown(results: Results, content_sha256: str | None) -> dict[str, Any]:
    """What must come out the same; the hash covers all the rest that a reader is shown."""
    return {
        "settings": results.settings,
        "analysis": results.analysis,
        "content_sha256": content_sha256,
    }


def _changed_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings that are not the methodology's: a file can repeat itself and still be lenient."""
    from segtrial.statistics.settings import SETTINGS  # noqa: PLC0415 - only when it runs

    usual = SETTINGS.model_dump(mode="json")
    return {key: value for key, value in sorted(settings.items()) if value != usual[key]}


def _hash_of(results: Results) -> str:
    from segtrial.pipeline.results_file import content_sha256  # noqa: PLC0415 - only when it runs

    return content_sha256(results.model_dump(mode="json"))


def _refuse(path: Path, found: list[Difference], *, written: bool) -> NoReturn:
    """End with exit code 1, naming the fields."""
    lines = [
        f"  {one.field}: published {one.published[:80]}, recomputed {one.recomputed[:80]}"
        for one in found[:_SHOWN_DIFFERENCES]
    ]
    if len(found) > _SHOWN_DIFFERENCES:
        lines.append(f"  ... and {len(found) - _SHOWN_DIFFERENCES} more")
    fields = "1 field differs" if len(found) == 1 else f"{len(found)} fields differ"
    advice = (
        "The recomputed file was written in its place."
        if written
        else "Either the file was edited or another version of segtrial wrote it; --write replaces "
        "the analysis with what follows from the records."
    )
    raise AnswerIsNoError(
        f"{path}: the published analysis does not follow from the records; {fields}.\n"
        + "\n".join(lines)
        + f"\n{advice}"
    )
