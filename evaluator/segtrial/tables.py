"""Tables of per-case scores on disk: CSV, TSV or Parquet, read as text cells by column."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from segtrial import __version__
from segtrial.contracts.reading import nearest
from segtrial.errors import ResultsError

if TYPE_CHECKING:
    from segtrial.contracts.result import Results
    from segtrial.statistics.settings import AnalysisSettings

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_UNNAMED = re.compile(r"(__index_level_\d+__|Unnamed: \d+)?")
"""A column without a name, also as pandas writes one (the numbers of its rows): not read."""
_MAX_FIELD = 10_000
"""Characters in a cell; a longer one is a quote that was never closed."""

Rows = Iterator[tuple[str, dict[str, str]]]


def is_table(path: Path) -> bool:
    """Whether a path is read as a table, by its ending."""
    return path.suffix.lower() in {*_DELIMITERS, ".parquet"}


def read_score_table(
    path: Path,
    *,
    case_list: Path | None = None,
    drop: Sequence[str] = (),
    settings: AnalysisSettings | None = None,
) -> Results:
    """Results (not yet analysed) of a table of per-case scores.

    Parameters
    ----------
    path : Path
        ``.csv``, ``.tsv`` or ``.parquet``; `segtrial.statistics.table` says what the columns mean.
    case_list : Path, optional
        A table with a column ``case``: the track's cases, where the union over submissions is not
        meant.
    drop : sequence of str
        Columns to leave out.
    settings : AnalysisSettings, optional
        Of the analysis to come.

    Raises
    ------
    ResultsError
        For a file that cannot be read, a missing column, or a row that does not fit; the row is
        named.
    """
    from segtrial.statistics.table import REQUIRED, results_of_table  # noqa: PLC0415 - loads NumPy

    return results_of_table(
        read_rows(path, required=REQUIRED, drop=drop),
        name=path.stem,
        segtrial_version=__version__,
        case_list=None if case_list is None else read_rows(case_list, required=("case",)),
        settings=settings,
    )


def read_rows(path: Path, *, required: Sequence[str], drop: Sequence[str] = ()) -> Rows:
    """Rows of a table, each with where it stands.

    Parameters
    ----------
    path : Path
        The file.
    required : sequence of str
        Columns that must be there.
    drop : sequence of str
        Columns to leave out.

    Yields
    ------
    (str, dict)
        ``"scores.csv, row 3"`` (the header is row 1) and the cells by column.

    Raises
    ------
    ResultsError
        As `read_score_table`.
    """
    if not is_table(path):
        raise ResultsError(
            f"{path} is not a table: its name ends in none of .csv, .tsv, .parquet. Rename or "
            "convert it."
        )
    if not path.is_file():
        raise ResultsError(f"{path} is not there. Check the path.")
    rows = _parquet(path) if path.suffix.lower() == ".parquet" else _csv(path)
    columns = next(rows)
    _check_columns(path, columns, required, drop)
    kept = [
        (index, name)
        for index, name in enumerate(columns)
        if name not in drop and not _UNNAMED.fullmatch(name)
    ]
    for number, cells in enumerate(rows, start=2):
        if not any(cell.strip() for cell in cells):
            continue
        where = f"{path.name}, row {number}"
        if len(cells) != len(columns):
            error = ResultsError(
                f"The row has {len(cells)} cells, the header {len(columns)}. Is a comma inside a "
                "cell without quotes?"
            )
            error.add_note(where)
            raise error
        yield where, {name: cells[index] for index, name in kept}


def _check_columns(
    path: Path, columns: list[str], required: Sequence[str], drop: Sequence[str]
) -> None:
    from segtrial.statistics.table import check_columns  # noqa: PLC0415 - loads NumPy

    unknown = [name for name in drop if name not in columns]
    if unknown:
        raise ResultsError(
            f"There is no column {unknown[0]!r} in {path} to drop.{nearest(unknown[0], columns)}"
        )
    try:
        read = [name for name in columns if name not in drop and not _UNNAMED.fullmatch(name)]
        check_columns(read, required=required)
    except ResultsError as error:
        error.add_note(f"file {path}")
        raise


def _csv(path: Path) -> Iterator[list[str]]:
    limit = csv.field_size_limit(_MAX_FIELD)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=_DELIMITERS[path.suffix.lower()], strict=True)
            header = next(reader, None)
            yield [name.strip() for name in header or []]
            yield from reader
    except UnicodeDecodeError as problem:
        raise ResultsError(
            f"{path} is not UTF-8 text (byte {problem.start}). Save it as UTF-8."
        ) from None
    except csv.Error as problem:
        raise ResultsError(
            f"{path} is not a well-formed table: {problem} (near line {reader.line_num})."
        ) from None
    except OSError as problem:
        raise ResultsError(f"{path} cannot be read: {problem.strerror}.") from None
    finally:
        csv.field_size_limit(limit)


def _parquet(path: Path) -> Iterator[list[str]]:
    try:
        from pyarrow import ArrowException, parquet  # noqa: PLC0415 - an extra of 40 MB
    except ImportError:
        raise ResultsError(
            f"Reading {path} needs the package pyarrow. Install it (pip install "
            "'segtrial[parquet]'), or save the table as CSV."
        ) from None
    try:
        with parquet.ParquetFile(path) as file:
            yield list(file.schema_arrow.names)
            for batch in file.iter_batches():
                columns = [[_text(value) for value in column.to_pylist()] for column in batch]
                yield from (list(cells) for cells in zip(*columns, strict=True))
    except (ArrowException, OSError) as problem:
        raise ResultsError(f"{path} is not a Parquet file that can be read: {problem}") from None


def _text(value: object) -> str:
    """A cell as CSV would hold it; a missing one is empty, a NaN is not the same as missing."""
    return "" if value is None else str(value)
