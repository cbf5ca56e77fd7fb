"""``submission.yaml``: every refusal says what, where, why and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from segtrial.contracts.submission import parse_submission
from segtrial.errors import SubmissionError

GOLDEN = Path(__file__).parents[1] / "golden" / "submission-error"
CASES = sorted(GOLDEN.glob("*.yaml"))


def test_there_are_golden_cases() -> None:
    assert len(CASES) >= 12


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_refusal_reads_exactly(path: Path) -> None:
    with pytest.raises(SubmissionError) as refused:
        parse_submission(path.read_bytes(), source="submission.yaml")

    expected = path.with_suffix(".txt").read_text(encoding="utf-8").strip()
    assert str(refused.value) == expected
