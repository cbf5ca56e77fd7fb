"""What may be told to the author of a submission about a run on sealed cases.

Whatever reaches an author takes `AuthorSafe` and nothing else, and only the functions of this
module make one. On sealed cases an author learns our own verdicts, as counts over the track: no
case, no order, no exit code, no time and no byte that a container wrote or printed, because each
of these could carry what it saw. On a dataset whose references are public there is nothing to
carry out, and the author sees everything; that is what such a dataset is good for.

The count of each outcome is itself a channel of a few bits per run. It is as wide as the score
the author is shown anyway, and a quota on runs bounds both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from segtrial.contracts.attempt import OUTCOMES, Outcome
from segtrial.contracts.dataset_card import DatasetCard
from segtrial.errors import SegtrialError

MAX_CHARACTERS = 20_000
"""Longest text an author is shown."""
PRINTED_LINES = 40
"""Most lines of what a container printed that an author is shown."""

_HINTS: Final[dict[Outcome, str]] = {
    "ok": "a readable label map was delivered",
    "failed: timeout": "the time limit was reached; see limits.time_s of the dataset",
    "failed: out_of_memory": "the memory limit was reached; /tmp and /dev/shm count as memory",
    "failed: crash": "the program ended by itself with an exit code other than 0, or never began",
    "failed: no_output": "the program ended well, but /output/segmentation.nii.gz was not there",
    "failed: unreadable_output": "the output is not a plain file holding a gzipped NIfTI label map",
    "failed: wrong_grid": "the label map is not on the grid of the first scan",
    "failed: bad_labels": "the label map holds a label that the manifest does not declare",
    "failed: output_too_large": "/output was full, or the file is larger than it may be",
    "not_run: platform": "our platform failed; this is not counted against you",
    "not_run: stopped": "stopped after equal failures in a row",
    "not_run: pending": "not run yet",
    "unsupported": "the submission does not segment what the case asks for",
}


class AuthorSafe:
    """Text that may reach an author; made by this module's functions alone."""

    __slots__ = ("_text",)

    def __init__(self, text: str, *, made_by: object) -> None:
        """Keep a text; refused to anybody outside this module."""
        if made_by is not _THIS_MODULE:
            raise TypeError("AuthorSafe is made by the functions of segtrial.policy.disclosure")
        self._text = text[:MAX_CHARACTERS]

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"AuthorSafe({self._text!r})"


_THIS_MODULE: Final = object()


def shows_everything(card: DatasetCard) -> bool:
    """Whether authors may see all of a run on a dataset: its references are public anyway."""
    return card.references == "public" and card.publication.per_case_scores


def run_summary(outcomes: Iterable[Outcome]) -> AuthorSafe:
    """How many cases ended how, in a fixed order; for any dataset.

    Examples
    --------
    >>> print(run_summary(["ok", "failed: timeout", "ok"]))
    2 x ok: a readable label map was delivered
    1 x failed: timeout: the time limit was reached; see limits.time_s of the dataset
    """
    counts = Counter(outcomes)
    rows = [f"{counts[name]} x {name}: {_HINTS[name]}" for name in OUTCOMES if counts[name]]
    return _safe("\n".join(rows) or "nothing was run")


def case_verdict(outcome: Outcome, reason: str, *, card: DatasetCard) -> AuthorSafe:
    """Why one case ended as it did: in full where everything may be shown, else in our own words.

    Parameters
    ----------
    outcome
        After its output was read.
    reason
        Ours, but it may quote bytes of the output; so it stays inside on a sealed case.
    card
        Of the dataset the case belongs to.
    """
    if shows_everything(card) and reason:
        return _safe(plain_text(reason.encode()))
    return _safe(_HINTS[outcome])


def printed_text(printed: bytes, *, card: DatasetCard) -> AuthorSafe | None:
    """The last lines that a container printed; None unless everything may be shown.

    Decoded, and freed of what a terminal would obey.
    """
    if not shows_everything(card):
        return None
    lines = plain_text(printed).rstrip("\n").split("\n")
    return _safe("\n".join(lines[-PRINTED_LINES:])[-MAX_CHARACTERS:])


def refusal(error: SegtrialError) -> AuthorSafe:
    """Why a submission was refused before any of its containers has seen a case.

    Parameters
    ----------
    error
        Raised while the manifest was read or the image taken in; never one that was raised about
        an output, because its message may quote what a container wrote.
    """
    notes = [str(note) for note in getattr(error, "__notes__", ())]
    return _safe(plain_text("\n".join([str(error), *notes]).encode()))


def plain_text(printed: bytes) -> str:
    r"""Bytes as text that a terminal only shows: no escape sequences, no control characters.

    Examples
    --------
    >>> plain_text(b"loss 0.1\x1b[2J\xff\r\n")
    'loss 0.1\\x1b[2J\\xff\\r\n'
    """
    text = printed.decode("utf-8", errors="backslashreplace")
    return "".join(
        char if char in "\n\t" or char.isprintable() else _escaped(char) for char in text
    )


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def _safe(text: str) -> AuthorSafe:
    return AuthorSafe(text, made_by=_THIS_MODULE)
