"""A results file as a person hands it over: read, or refused with what to do."""

from __future__ import annotations

from pathlib import Path

from segtrial.contracts.reading import load_json, validate
from segtrial.contracts.result import Results
from segtrial.errors import ResultsError

SCHEMA = "segtrial-results/1"


def read_results(path: Path) -> Results:
    """Read one ``results.json``.

    Raises
    ------
    ResultsError
        When it is missing, cut off, of another schema version, or not results at all.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise ResultsError(
            f"There is no file {path}. Name a results.json that 'evaluate analyze' wrote."
        ) from None
    except IsADirectoryError:
        raise ResultsError(f"{path} is a folder. Name the results.json in it.") from None
    except OSError as problem:
        raise ResultsError(f"{path} cannot be read: {problem.strerror}.") from None
    return parse_results(raw, source=str(path))


def parse_results(raw: bytes, *, source: str) -> Results:
    """Read results from JSON text; errors as `read_results`."""
    value = load_json(raw, source=source, error=ResultsError)
    version = value.get("schema_version") if isinstance(value, dict) else None
    if version != SCHEMA:
        raise ResultsError(
            f"{source} is not a results file that this version can show: expected schema_version "
            f"'{SCHEMA}', got {str(version)[:60]!r}. Analyse the records again with this version, "
            "or use the segtrial version that wrote it."
        )
    return validate(value, Results, source=source, error=ResultsError)
