"""Rules of publishing without a Hub: versions, joining, and why a rank moved."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.boards import analyse, results, versions
from segtrial.contracts.release import Retraction
from segtrial.errors import ResultsError
from segtrial.policy.changes import changes
from segtrial.policy.merging import merge
from segtrial.policy.versions import version_key

DAY = "2026-11-20"
ENTRY = st.sampled_from(["alder", "birch", "cedar", "elm"])
VERSION = st.sampled_from(["1", "1.0.1", "1.2", "1.10", "2.0rc1", "2.0"])
ENTRIES = st.dictionaries(ENTRY, VERSION, min_size=1)


def gone(submission: str, version: str) -> Retraction:
    return Retraction(
        track="toy--all", submission=submission, version=version, reason="asked to", date=DAY
    )


@pytest.mark.parametrize(
    ("lower", "higher"),
    [("1", "2"), ("1.9", "1.10"), ("1.0rc1", "1.0"), ("1.0", "1.0.1"), ("v1", "1.1"), ("1a", "1b")],
)
def test_versions_are_ordered_as_people_number_them(lower: str, higher: str) -> None:
    assert version_key(lower) < version_key(higher)


@given(ours=ENTRIES, theirs=ENTRIES)
def test_joining_keeps_everybody_at_the_higher_version(
    ours: dict[str, str], theirs: dict[str, str]
) -> None:
    merged = versions(merge(results(*theirs.items()), results(*ours.items())))
    assert set(merged) == set(ours) | set(theirs)
    for entry, version in merged.items():
        offered = [found[entry] for found in (ours, theirs) if entry in found]
        assert version == max(offered, key=version_key)


@given(ours=ENTRIES, theirs=ENTRIES, retracted=ENTRIES)
def test_a_retraction_wins_in_either_order(
    ours: dict[str, str], theirs: dict[str, str], retracted: dict[str, str]
) -> None:
    all_gone = [gone(entry, version) for entry, version in retracted.items()]
    one = merge(results(*theirs.items()), results(*ours.items()), retractions=all_gone)
    other = merge(results(*ours.items()), results(*theirs.items()), retractions=all_gone)
    assert versions(one) == versions(other)
    for entry, version in versions(one).items():
        assert entry not in retracted or version_key(version) > version_key(retracted[entry])


@given(ours=ENTRIES, theirs=ENTRIES)
def test_joining_again_changes_nothing(ours: dict[str, str], theirs: dict[str, str]) -> None:
    merged = analyse(merge(results(*theirs.items()), results(*ours.items())))
    assert merge(merged, results(*ours.items())) is merged
    assert merge(merged, results(*theirs.items())) is merged


@given(entries=ENTRIES)
def test_records_follow_their_entry(entries: dict[str, str]) -> None:
    merged = merge(results(("alder", "0.1")), results(*entries.items()))
    assert {record.submission for record in merged.records} == set(versions(merged))


def test_a_dataset_version_of_its_own_is_not_joined() -> None:
    published = results(("alder", "1"), ("birch", "1"))
    dataset = published.dataset.model_copy(update={"version": "2"})
    ours = results(("alder", "1")).model_copy(update={"dataset": dataset})
    with pytest.raises(ResultsError, match=r"version 1 there, 2 here.*birch"):
        merge(published, ours)


def test_a_new_entry_that_pushes_another_down_is_named_as_the_reason() -> None:
    before = results(("alder", "1"))
    after = analyse(merge(before, results(("aaron", "1"), score=0.9)))
    texts = [change.text for change in changes(before, after)]
    assert texts[0] == "Aaron 1 is new."
    assert texts[1] == "Alder: rank 1 is now 2 (Dice, kidney), because Aaron was added."


def test_a_new_version_moves_its_own_rank() -> None:
    before = analyse(merge(results(("alder", "1")), results(("birch", "1"), score=0.4)))
    after = analyse(merge(before, results(("birch", "2"), score=0.9)))
    said = {change.submission: change.text for change in changes(before, after)}
    assert said["birch"].endswith("because its own scores changed.")
    assert said["alder"].endswith("because Birch has a new version.")


def test_a_retraction_gives_its_reason() -> None:
    before = results(("alder", "1"), ("birch", "1"))
    after = analyse(merge(before, before, retractions=[gone("alder", "1")]))
    found = changes(before, after, retractions=[gone("alder", "1")])
    assert [change.text for change in found] == [
        "Alder 1 was retracted: asked to",
        "Birch: rank 2 is now 1 (Dice, kidney), because Alder was retracted.",
    ]


def test_other_settings_are_named() -> None:
    before, after = results(("alder", "1")), results(("alder", "1"), settings={"seed": 2})
    assert "Settings of the analysis changed: seed." in {c.text for c in changes(before, after)}
