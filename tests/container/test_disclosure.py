"""Authors learn verdicts and counts; nothing a container did on a sealed case reaches them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segtrial.contracts.attempt import OUTCOMES, Outcome
from segtrial.contracts.dataset_card import DatasetCard
from segtrial.errors import SubmissionError
from segtrial.policy.disclosure import (
    MAX_CHARACTERS,
    PRINTED_LINES,
    AuthorSafe,
    case_verdict,
    plain_text,
    printed_text,
    refusal,
    run_summary,
    shows_everything,
)


def card(**changes: Any) -> DatasetCard:  # noqa: ANN401 - any field of a card
    fields: dict[str, Any] = {
        "schema_version": "segtrial-card/1",
        "id": "sealed",
        "title": "Sealed cases",
        "version": "1",
        "licence": {"name": "none"},
        "references": "private",
        "modality": "ct",
        "layout": "folders",
        "labels": {1: "liver"},
        "tracks": [{"id": "all", "title": "All", "structures": ["liver"]}],
    }
    return DatasetCard.model_validate(fields | changes)


PUBLIC = {"references": "public"}


def test_nobody_else_makes_one() -> None:
    with pytest.raises(TypeError, match="made by the functions"):
        AuthorSafe("the label of case 7 is 3", made_by=None)


@pytest.mark.parametrize("references", ["private", "gated"])
def test_nothing_of_a_single_sealed_case_is_shown(references: str) -> None:
    sealed = card(references=references)
    reason = "The header says b'label of case 7 is 3'."

    assert printed_text(b"secret", card=sealed) is None
    assert "label of case 7" not in str(case_verdict("failed: bad_labels", reason, card=sealed))


def test_public_references_alone_are_not_enough() -> None:
    quiet = card(**PUBLIC, publication={"per_case_scores": False})

    assert not shows_everything(quiet)
    assert printed_text(b"secret", card=quiet) is None


def test_a_public_dataset_shows_everything() -> None:
    shown = card(**PUBLIC)
    printed = b"\n".join([b"loading"] * 50 + [b"Traceback: no weights\x1b[2J"])

    assert str(case_verdict("failed: crash", "exit code 77", card=shown)) == "exit code 77"
    assert str(printed_text(printed, card=shown)).splitlines() == (
        ["loading"] * (PRINTED_LINES - 1) + ["Traceback: no weights\\x1b[2J"]
    )


@given(st.lists(st.sampled_from(OUTCOMES), max_size=12))
def test_a_summary_does_not_depend_on_the_order_of_cases(outcomes: list[Outcome]) -> None:
    texts = {
        str(run_summary(order)) for order in itertools.islice(itertools.permutations(outcomes), 20)
    }

    assert len(texts) == 1


def test_a_summary_has_a_hint_for_every_outcome() -> None:
    rows = str(run_summary(OUTCOMES)).splitlines()

    assert [row.split(" x ")[1].rpartition(": ")[0] for row in rows] == list(OUTCOMES)


def test_a_summary_of_nothing_says_so() -> None:
    assert str(run_summary([])) == "nothing was run"


def test_a_refusal_is_told_with_where() -> None:
    error = SubmissionError("The image has no ENTRYPOINT.")
    error.add_note("submission model")

    assert str(refusal(error)) == "The image has no ENTRYPOINT.\nsubmission model"


@given(st.binary())
def test_a_terminal_obeys_nothing_that_was_printed(printed: bytes) -> None:
    assert all(char in "\n\t" or char.isprintable() for char in plain_text(printed))


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Zs"])))
def test_ordinary_text_is_shown_as_it_is(text: str) -> None:
    ordinary = "".join(char for char in text if char.isprintable())

    assert plain_text(ordinary.encode()) == ordinary


def test_what_is_shown_is_bounded() -> None:
    shown = printed_text(b"x" * 10**6, card=card(**PUBLIC))

    assert len(str(shown)) == MAX_CHARACTERS
