"""Structures by meaning: spelling, unions, laterality."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from segtrial.contracts.record import ID_PATTERN
from segtrial.contracts.structures import (
    STRUCTURES,
    StructureName,
    canonical,
    labels_for,
    parts_of,
)
from segtrial.contracts.vocabulary import ALIASES, INCLUDES, UNIONS
from segtrial.datasets import list_cards, load_models

names = st.sampled_from(sorted(STRUCTURES))
label_maps = st.dictionaries(st.integers(1, 200), names, max_size=12)


class Holder(BaseModel):
    structure: StructureName


def test_every_name_that_the_vocabulary_uses_is_in_it() -> None:
    used = {*ALIASES.values(), *UNIONS, *INCLUDES, *(p for ps in INCLUDES.values() for p in ps)}
    used |= {part for ways in UNIONS.values() for way in ways for part in way}
    assert used <= set(STRUCTURES)
    assert not set(ALIASES) & set(STRUCTURES)
    assert all(re.fullmatch(ID_PATTERN, name) for name in (*STRUCTURES, *ALIASES))


@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=lambda s: s.name)
def test_codes_are_sctids_with_a_valid_check_digit(structure: object) -> None:
    """SNOMED CT ids end in a Verhoeff check digit, so a mistyped code is found here."""
    code = structure.snomed_code  # type: ignore[attr-defined] # a Structure
    if code is not None:
        assert verhoeff(code) == 0, code


def verhoeff(number: str) -> int:
    turn = [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 5, 7, 6, 2, 8, 3, 0, 9, 4],
        [5, 8, 0, 3, 7, 9, 6, 1, 4, 2], [8, 9, 1, 6, 0, 4, 3, 5, 2, 7],
        [9, 4, 5, 3, 1, 2, 6, 8, 7, 0], [4, 2, 8, 6, 5, 7, 3, 9, 0, 1],
        [2, 7, 9, 3, 8, 0, 6, 4, 1, 5], [7, 0, 4, 6, 9, 1, 3, 2, 5, 8],
    ]  # fmt: skip
    found = 0
    for place, digit in enumerate(reversed(number)):
        found = dihedral(found, turn[place % 8][int(digit)])
    return found


def dihedral(a: int, b: int) -> int:
    """Product in the group of the symmetries of a pentagon."""
    if a < 5:
        return (a + b) % 5 if b < 5 else 5 + (a + b - 5) % 5
    return 5 + (a - 5 - b) % 5 if b < 5 else (a - b) % 5


@given(names)
def test_a_canonical_name_means_itself_in_any_spelling(name: str) -> None:
    for spelling in (name, name.upper(), name.replace("_", " "), f" {name.title()} "):
        assert canonical(spelling) == name


@pytest.mark.parametrize("alias", sorted(ALIASES))
def test_an_alias_means_a_structure(alias: str) -> None:
    assert Holder(structure=alias).structure == ALIASES[alias]


@pytest.mark.parametrize(
    ("written", "meant"),
    [("livr", "liver"), ("kidny_left", "kidney_left"), ("vertebra_L1", "vertebrae_l1")],
)
def test_a_typo_gets_the_nearest_name(written: str, meant: str) -> None:
    with pytest.raises(ValidationError, match=f"Did you mean '{meant}'"):
        Holder(structure=written)


def test_a_structure_of_ones_own_is_marked_as_such() -> None:
    assert Holder(structure="x-Plaque").structure == "x-plaque"
    with pytest.raises(ValidationError):
        Holder(structure="x-!")


@given(names, label_maps)
def test_labels_for_gives_only_parts_and_all_of_them(
    structure: str, declared: dict[int, str]
) -> None:
    found = labels_for(structure, declared)
    parts = parts_of(structure) | {structure}
    if found is None:
        assert structure not in declared.values()
    else:
        assert found == tuple(sorted(label for label, name in declared.items() if name in parts))


@given(names, label_maps, st.integers(201, 210), names)
def test_a_model_with_one_more_label_supports_no_less(
    structure: str, declared: dict[int, str], label: int, more: str
) -> None:
    before = labels_for(structure, declared)
    after = labels_for(structure, {**declared, label: more})
    assert before is None or (after is not None and set(before) <= set(after))


def test_one_side_of_a_pair_is_not_the_pair() -> None:
    assert labels_for("kidney", {1: "kidney_left"}) is None
    assert labels_for("kidney_left", {1: "kidney"}) is None
    assert labels_for("lung", {1: "lung_left", 2: "lung_right"}) == (1, 2)


def test_the_right_kidney_is_2_in_amos_4_in_word_and_2_in_flare() -> None:
    cards = {card.id: card for card in list_cards()}
    found = {
        name: cards[name].reference_labels("kidney_right") for name in ("amos22", "word", "flare22")
    }
    assert found == {"amos22": (2,), "word": (4,), "flare22": (2,)}


def test_a_whole_kidney_is_the_union_that_each_side_draws() -> None:
    cards = {card.id: card for card in list_cards()}
    assert cards["kits23"].reference_labels("kidney") == (1, 2, 3)
    # The cysts of TotalSegmentator v2 and CT-FM are labels of their own (23, 24).
    for model in ("totalsegmentator_v2_total", "ctfm_whole_body"):
        assert labels_for("kidney", load_models()[model].labels) == (2, 3, 23, 24)
    assert labels_for("kidney", load_models()["monai_wholebody_ct"].labels) == (2, 3)


def test_stunet_on_abdomenatlas_does_not_number_like_its_dataset() -> None:
    model, card = load_models()["stunet_abdomenatlas"].labels, list_cards()[0]
    assert card.id == "abdomenatlas_1_0_mini"
    assert (model[3], card.labels[3]) == ("inferior_vena_cava", "kidney_left")
