"""Write ``results.json``: canonical text, so that equal results are equal bytes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from segtrial.contracts.result import Results
from segtrial.errors import PlatformError

_SET_ASIDE = ("measured", "environment", "content_sha256")
"""What no rerun repeats, and the hash itself."""
_LISTS_BY_LINE = ("records", "cases", "submissions", "measured")


def write_results(results: Results, path: Path) -> None:
    """Write the file in one piece: a reader sees the old one or the new one, never a half.

    Raises
    ------
    PlatformError
        When it cannot be written there.
    """
    part = path.with_name(f".{path.name}.part")
    text = results_text(results)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as problem:
        raise PlatformError(
            f"The results cannot be written to {path}: {problem.strerror}. Give another path, or "
            "make room."
        ) from None


def results_text(results: Results) -> str:
    """The file's text: sorted keys, one line for each record, case and submission."""
    body = results.model_dump(mode="json", exclude={"content_sha256"})
    body["content_sha256"] = content_sha256(body)
    parts = [f"{json.dumps(key)}: {_part(key, body[key])}" for key in sorted(body)]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def content_sha256(body: dict[str, Any]) -> str:
    """SHA-256 of the canonical JSON of everything that a rerun must repeat."""
    kept = {key: value for key, value in body.items() if key not in _SET_ASIDE}
    return hashlib.sha256(_compact(kept).encode()).hexdigest()


def _part(key: str, value: object) -> str:
    if key in _LISTS_BY_LINE and isinstance(value, list) and value:
        return "[\n" + ",\n".join(_compact(item) for item in value) + "\n]"
    return _compact(value)


def _compact(value: object) -> str:
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
