"""The published JSON Schemas are those of the classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from segtrial.contracts.schemas import RECORDS, schema_text

FOLDER = Path(__file__).parents[2] / "docs" / "schemas"


@pytest.mark.parametrize("name", RECORDS)
def test_a_published_schema_is_the_one_of_its_class(name: str) -> None:
    written = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    again = f"write it again with: python -m segtrial.contracts.schemas {FOLDER.name}"
    assert written == schema_text(name), again


def test_nothing_else_is_published_as_a_schema() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(RECORDS)
