"""Every error segtrial raises on purpose: whose fault it is, and the exit code.

A message says, in this order, what failed, why (expected against got) and what to do next; the
layer that knows *where* (case, file, key) adds it with ``error.add_note(...)``. Anything that is
not a `SegtrialError` is a bug in segtrial and may end in a traceback.

A failed case is none of these: it is a scored record with an outcome. These errors end a command.
"""

from __future__ import annotations

from typing import ClassVar, Literal

Fault = Literal["submission", "platform", "operator"]
"""Who has to act: the model's author, the machine or engine, or whoever typed the command."""

EXIT_DONE = 0
EXIT_NO = 1
EXIT_USAGE = 2
EXIT_BAD_INPUT = 3
EXIT_PLATFORM = 4
EXIT_INTERRUPTED = 130


class SegtrialError(Exception):
    """Base of all errors raised on purpose."""

    fault: ClassVar[Fault] = "platform"
    exit_code: ClassVar[int] = EXIT_PLATFORM


class AnswerIsNoError(SegtrialError):
    """What was asked has an answer, and the answer is no (a check, a comparison)."""

    fault: ClassVar[Fault] = "submission"
    exit_code = EXIT_NO


class UsageError(SegtrialError):
    """The command line asks for something that cannot be meant."""

    fault: ClassVar[Fault] = "operator"
    exit_code = EXIT_USAGE


class InputError(SegtrialError):
    """A file, folder or value handed to segtrial is not what it has to be."""

    fault: ClassVar[Fault] = "operator"
    exit_code = EXIT_BAD_INPUT


class SubmissionError(InputError):
    """A submission's manifest or container image cannot be used."""

    fault: ClassVar[Fault] = "submission"


class DatasetError(InputError):
    """A dataset card or a dataset's files cannot be used."""


class ResultsError(InputError):
    """A results file or a table of scores cannot be used."""


class MetricInputError(InputError):
    """Arrays or parameters handed to a metric that it has no meaning for."""


class PlatformError(SegtrialError):
    """The machine, the engine, the disk or the network failed; nobody's score is touched."""


class EngineError(PlatformError):
    """The container engine does not answer, or refuses what it must be able to do."""


class StoreError(PlatformError):
    """The store cannot be opened, written or trusted."""


class IncompleteError(PlatformError):
    """A run ended with records missing; what is final is kept, and the next run goes on there."""
