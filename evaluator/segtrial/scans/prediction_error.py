"""How the reading of a prediction can fail."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from segtrial.errors import SubmissionError

PredictionOutcome = Literal[
    "no_output", "unreadable_output", "wrong_grid", "bad_labels", "output_too_large"
]
"""How the reading of a prediction can fail, spelt as in every record."""


class PredictionError(SubmissionError):
    """A prediction cannot be scored; its case fails with `outcome`.

    Parameters
    ----------
    outcome : str
        The outcome that is recorded.
    message : str
        What is wrong, why, and what the author has to change.
    """

    outcome: PredictionOutcome
    outcomes: ClassVar[tuple[PredictionOutcome, ...]] = (
        "no_output", "unreadable_output", "wrong_grid", "bad_labels", "output_too_large",
    )  # fmt: skip

    def __init__(self, outcome: PredictionOutcome, message: str) -> None:
        super().__init__(message)
        self.outcome = outcome

    def __reduce__(self) -> tuple[Any, ...]:
        # It crosses the border of a scoring process, with its notes.
        return type(self), (self.outcome, str(self)), self.__dict__
