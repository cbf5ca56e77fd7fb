"""Publishing over real HTTP: nobody's entry is lost, whatever the Hub answers."""

from __future__ import annotations

import json
import random
import threading
from copy import deepcopy
from functools import cache

import pytest

from hub import boards
from hub.boards import published, remote, results, tools, versions
from hub.fakehub import FakeHub, Fault, Repository, Turnstile
from segtrial.contracts.release import BoardManifest, Retraction
from segtrial.errors import InputError, PlatformError, ResultsError
from segtrial.hub.draft import Wish
from segtrial.hub.publish import Published, preview, publish
from segtrial.hub.remote import Remote

DAY = "2026-11-20"


def put(hub: FakeHub, *entries: tuple[str, str], **wish: object) -> Published:
    made = results(*entries) if entries else None
    given = {"results": [made] if made else [], **wish}
    return publish(
        Wish(date=DAY, **given),  # type: ignore[arg-type]
        dataset=remote(hub, "dataset"),
        space=remote(hub, "space"),
        sdk="static",
        tools=tools(),
    )


def manifest(hub: FakeHub, kind: str = "dataset") -> BoardManifest:
    return BoardManifest.model_validate_json(hub.repo(kind, "lab/board").files["board.json"])


def test_a_first_publication_makes_both_repositories_with_one_commit_each(hub: FakeHub) -> None:
    done = put(hub, ("alder", "1"))
    assert done.release == 1
    assert [title for _, title in hub.repo("dataset", "lab/board").log[1:]] == ["Release 1"]
    assert [title for _, title in hub.repo("space", "lab/board").log[1:]] == ["Show release 1"]
    assert "v1" in hub.repo("dataset", "lab/board").tags
    assert manifest(hub).releases == manifest(hub, "space").releases


def test_publishing_the_same_again_writes_nothing(hub: FakeHub) -> None:
    put(hub, ("alder", "1"))
    before = len(hub.repo("dataset", "lab/board").log)
    assert put(hub, ("alder", "1")).release == 1
    assert len(hub.repo("dataset", "lab/board").log) == before


def test_another_hosts_entries_stay(hub: FakeHub) -> None:
    put(hub, ("alder", "1"), ("birch", "1"))
    put(hub, ("cedar", "1"))
    assert versions(published(hub)) == {"alder": "1", "birch": "1", "cedar": "1"}
    assert manifest(hub).releases[-1].number == 2


@pytest.mark.parametrize(("old", "new", "stands"), [("1.9", "1.10", "1.10"), ("2", "1.5", "2")])
def test_the_higher_version_wins(hub: FakeHub, old: str, new: str, stands: str) -> None:
    put(hub, ("alder", old))
    put(hub, ("alder", new))
    assert versions(published(hub)) == {"alder": stands}


def test_joined_records_are_analysed_again(hub: FakeHub) -> None:
    put(hub, ("alder", "1"))
    put(hub, ("birch", "1"))
    ranking = published(hub).analysis["kidney"]["dice"]["ranking"]
    assert [row["submission"] for row in ranking] == ["alder", "birch"]


def test_the_same_version_is_replaced_only_as_a_named_correction(hub: FakeHub) -> None:
    put(hub, ("alder", "1"))
    other = results(("alder", "1"), score=0.9)
    put(hub, results=[other])
    assert published(hub).records[0].metrics["dice"] == 0.5
    done = put(hub, results=[other], corrected=frozenset({"alder"}))
    assert published(hub).records[0].metrics["dice"] == 0.9
    assert [change.kind for change in done.changes] == ["corrected"]


def test_a_retraction_wins_over_its_version_and_below_and_keeps_history(hub: FakeHub) -> None:
    put(hub, ("alder", "1.1"), ("birch", "1"))
    reason = "trained on the test set"
    gone = Retraction(track="toy--all", submission="alder", version="1.1", reason=reason, date=DAY)
    done = put(hub, retractions=[gone])
    assert [change.text for change in done.changes if change.kind == "retracted"] == [
        f"Alder 1.1 was retracted: {reason}"
    ]
    put(hub, ("alder", "1.1"), ("alder2", "1"))
    assert versions(published(hub)) == {"birch": "1", "alder2": "1"}
    put(hub, ("alder", "1.2"))
    assert "alder" in versions(published(hub))
    log = hub.repo("dataset", "lab/board").trees
    assert any(
        b"alder" in tree.get("downloads/toy--all/results.json", b"") for tree in log.values()
    )


def test_records_of_other_settings_are_refused_and_nothing_is_written(hub: FakeHub) -> None:
    put(hub, ("alder", "1"), ("birch", "1"))
    before = hub.repo("dataset", "lab/board").head
    with pytest.raises(ResultsError, match=r"settings of the analysis differ.*birch"):
        put(hub, results=[results(("alder", "1"), settings={"seed": 2})])
    assert hub.repo("dataset", "lab/board").head == before


def test_everybody_scored_again_replaces_the_table(hub: FakeHub) -> None:
    put(hub, ("alder", "1"), ("birch", "1"))
    again = results(("alder", "1"), ("birch", "1"), ("cedar", "1"), settings={"seed": 2})
    done = put(hub, results=[again])
    assert "method" in {change.kind for change in done.changes}
    assert published(hub).settings == {"seed": 2}


def test_a_dataset_that_keeps_its_cases_publishes_none(hub: FakeHub) -> None:
    private = results(("alder", "1"), public_cases=False)
    put(hub, results=[private])
    assert published(hub).records == ()
    with pytest.raises(ResultsError, match="records of single cases are not public"):
        put(hub, results=[results(("birch", "1"), public_cases=False)])


@pytest.mark.parametrize(
    "fault",
    [
        Fault(500, lands=True),
        Fault(503, lands=True),
        Fault(429, headers={"RateLimit": '"api";r=0;t=7'}),
        Fault(503),
    ],
    ids=["lost reply 500", "lost reply 503", "rate limit", "unavailable"],
)
@pytest.mark.parametrize("which", [0, 1], ids=["dataset", "space"])
def test_after_a_fault_it_waits_looks_and_writes_once(
    hub: FakeHub, fault: Fault, which: int
) -> None:
    hub.faults = [None] * which + [fault]
    waits: list[float] = []
    publish(
        Wish(date=DAY, results=[results(("alder", "1"))]),
        dataset=remote(hub, "dataset"),
        space=remote(hub, "space"),
        sdk="static",
        tools=tools(wait=waits.append),
    )
    assert len(hub.repo("dataset", "lab/board").log) == 2
    assert len(hub.repo("space", "lab/board").log) == 2
    assert 7.0 in waits if fault.status == 429 else waits


@pytest.mark.parametrize(
    ("status", "advice"), [(401, "hf auth login"), (402, "--sdk static"), (403, "write access")]
)
def test_a_refusal_stops_with_advice(hub: FakeHub, status: int, advice: str) -> None:
    hub.faults = [Fault(status)]
    with pytest.raises(InputError, match=advice):
        put(hub, ("alder", "1"))


def test_a_gradio_space_without_a_subscription_leaves_the_dataset_complete(hub: FakeHub) -> None:
    hub.refuse_creation = {"gradio": 402}
    wish = Wish(date=DAY, results=[results(("alder", "1"))])
    places = {"dataset": remote(hub, "dataset"), "space": remote(hub, "space")}
    with pytest.raises(InputError, match="Static Spaces are free"):
        publish(wish, **places, sdk="gradio", tools=tools())
    assert versions(published(hub)) == {"alder": "1"}
    publish(wish, **places, sdk="static", tools=tools())
    assert manifest(hub, "space").releases[-1].number == 1
    assert "v1" in hub.repo("dataset", "lab/board").tags


def test_a_hub_that_stays_busy_ends_with_what_to_do(hub: FakeHub) -> None:
    hub.faults = [Fault(503)] * 100
    with pytest.raises(PlatformError, match="run the same command again"):
        put(hub, ("alder", "1"))


def test_without_a_network_it_says_so_in_minutes() -> None:
    waits: list[float] = []
    nowhere = Remote("lab/board", "dataset", endpoint="http://127.0.0.1:1", token="hf_one")  # noqa: S106 - no secret
    with pytest.raises(PlatformError, match="Look at the network"):
        publish(
            Wish(date=DAY, results=[results(("alder", "1"))]),
            dataset=nowhere,
            space=None,
            sdk="static",
            tools=tools(wait=waits.append),
        )
    assert 60 < sum(waits) < 300


def test_the_next_publication_completes_a_half_finished_one(hub: FakeHub) -> None:
    put(hub, ("alder", "1"))
    publish(
        Wish(date=DAY, results=[results(("birch", "1"))]),
        dataset=remote(hub, "dataset"),
        space=None,
        sdk="static",
        tools=tools(),
    )
    del hub.repo("dataset", "lab/board").tags["v2"]
    assert manifest(hub, "space").releases[-1].number == 1
    put(hub, ("cedar", "1"))
    assert manifest(hub, "space").releases[-1].number == 3
    assert set(hub.repo("dataset", "lab/board").tags) == {"v1", "v2", "v3"}


def test_a_preview_says_what_would_change_and_writes_nothing(hub: FakeHub) -> None:
    put(hub, ("alder", "1"))
    hub.calls.clear()
    wish = Wish(date=DAY, results=[results(("birch", "1"))])
    places = {"dataset": remote(hub, "dataset"), "space": remote(hub, "space")}
    found = preview(wish, **places, tools=tools())
    assert found.release == 2
    assert found.changes[0].text == "Birch 1 is new."
    assert found.dataset_files["downloads/toy--all/results.json"] == "changed"
    assert found.space_files
    assert hub.writes() == []


def test_a_preview_of_a_board_that_is_not_there_adds_everything(hub: FakeHub) -> None:
    wish = Wish(date=DAY, results=[results(("birch", "1"))])
    places = {"dataset": remote(hub, "dataset"), "space": remote(hub, "space")}
    found = preview(wish, **places, tools=tools())
    assert set(found.dataset_files.values()) == {"added"}
    assert hub.repos == {}


def test_files_that_others_put_there_stay(hub: FakeHub) -> None:
    put(hub, ("alder", "1"))
    repo = hub.repo("space", "lab/board")
    repo.trees[repo.head]["notes.md"] = b"by hand"
    put(hub, ("birch", "1"))
    assert repo.files["notes.md"] == b"by hand"


def test_a_broken_board_is_not_overwritten(hub: FakeHub) -> None:
    put(hub, ("alder", "1"))
    repo = hub.repo("dataset", "lab/board")
    repo.trees[repo.head]["board.json"] = b"{"
    before = repo.head
    with pytest.raises(ResultsError, match=r"board\.json is not valid JSON"):
        put(hub, ("birch", "1"))
    assert repo.head == before


@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # of the client's own code
def test_large_files_go_through_the_lfs_protocol(hub: FakeHub) -> None:
    table = bytes(range(256)) * 800
    publish(
        Wish(date=DAY, results=[results(("alder", "1"))]),
        dataset=remote(hub, "dataset"),
        space=remote(hub, "space"),
        sdk="static",
        tools=tools(dataset_files=lambda _: {"downloads/toy--all/per_case.parquet": table}),
    )
    assert hub.repo("dataset", "lab/board").files["downloads/toy--all/per_case.parquet"] == table
    assert "downloads/toy--all/per_case.parquet" not in hub.repo("space", "lab/board").files


@pytest.mark.parametrize("batch", range(20))
def test_two_publishers_at_once_lose_nothing_in_25_interleavings(batch: int) -> None:
    for seed in range(25 * batch, 25 * batch + 25):
        _interleave(seed)


@cache
def _published_once() -> dict[tuple[str, str], Repository]:
    """Where every interleaving starts: a board with one release."""
    with FakeHub() as hub:
        put(hub, ("alder", "1"))
        return hub.repos


def _interleave(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - an order, not a secret
    with FakeHub() as hub:
        hub.repos = deepcopy(_published_once())
        kinds = [None, None, Fault(503, lands=True), Fault(429), Fault(500)]
        hub.faults = [chance.choice(kinds) for _ in range(6)]
        turnstile = Turnstile(2, seed)
        hub.gate = turnstile
        wishes = [
            Wish(date=DAY, results=[results(("birch", "1"), ("elm", chance.choice("12")))]),
            Wish(date=DAY, results=[results(("cedar", "1"), ("elm", chance.choice("12")))]),
        ]
        errors: list[BaseException] = []

        def run(token: str, wish: Wish) -> None:
            try:
                publish(
                    wish,
                    dataset=remote(hub, "dataset", token=token),
                    space=remote(hub, "space", token=token),
                    sdk="static",
                    tools=tools(),
                )
            except BaseException as error:  # noqa: BLE001 - shown by the assertion below
                errors.append(error)
            finally:
                turnstile.leave()

        threads = [
            threading.Thread(target=run, args=(f"hf_{k}", wish)) for k, wish in enumerate(wishes)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not errors, (seed, errors)
        hub.gate = lambda _who: None
        highest = max(versions(one)["elm"] for wish in wishes for one in wish.results)
        expected = {"alder": "1", "birch": "1", "cedar": "1", "elm": highest}
        assert versions(published(hub)) == expected, seed
        listed = manifest(hub)
        assert [r.number for r in listed.releases] == list(range(1, len(listed.releases) + 1))
        assert manifest(hub, "space").releases == listed.releases, seed
        assert set(hub.repo("dataset", "lab/board").tags) == {
            f"v{r.number}" for r in listed.releases
        }
        assert json.loads(boards.published(hub).model_dump_json())["analysis"]
