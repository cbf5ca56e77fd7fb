"""JSON Schemas of every file that crosses a border, made from the records themselves.

``python -m segtrial.contracts.schemas docs/schemas`` writes them; a test holds the written ones to
the classes.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from segtrial.contracts.attempt import Attempt
from segtrial.contracts.dataset_card import DatasetCard
from segtrial.contracts.lineage import DatasetNode
from segtrial.contracts.record import Record
from segtrial.contracts.release import BoardManifest
from segtrial.contracts.request import Request
from segtrial.contracts.result import Results
from segtrial.contracts.submission import Submission
from segtrial.contracts.training import KnownModel

RECORDS: dict[str, type[Record]] = {
    "attempt": Attempt,
    "board": BoardManifest,
    "card": DatasetCard,
    "known-model": KnownModel,
    "lineage-node": DatasetNode,
    "request": Request,
    "results": Results,
    "submission": Submission,
}
"""File name of each schema, without its ending, and the record it describes."""


def schema(name: str) -> dict[str, Any]:
    """JSON Schema (2020-12) of one file.

    Parameters
    ----------
    name : str
        A key of `RECORDS`.

    Examples
    --------
    >>> schema("results")["title"]
    'Results'
    """
    body = RECORDS[name].model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **body}


def schema_text(name: str) -> str:
    """The schema as it is written: sorted keys, two spaces, a final newline."""
    return json.dumps(schema(name), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _main(folder: str) -> None:
    for name in RECORDS:
        # The core does not know the world; the name of the folder is the caller's.
        with open(f"{folder}/{name}.json", "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(schema_text(name))


if __name__ == "__main__":
    _main(sys.argv[1])
