"""Ways on which training data reaches a track that are easy to overlook. None of them is clean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from segtrial.contracts.lineage import DatasetNode
from segtrial.contracts.training import Training
from segtrial.datasets import load_card
from segtrial.datasets.eligibility import Entry, answer
from segtrial.errors import DatasetError, SubmissionError
from segtrial.policy.contamination import Judgement, TargetCase, judge
from segtrial.policy.lineage_graph import LineageGraph

LINK = ["https://example.org/paper"]
T = ["t1", "t2", "t3", "t4"]
SPLITS = {"train": ["t1", "t2"], "test": ["t3", "t4"]}


def node(node_id: str, *lineage: Mapping[str, Any], **rest: object) -> DatasetNode:
    relations = [{"confidence": "high", "evidence": LINK, **relation} for relation in lineage]
    return DatasetNode.model_validate(
        {"id": node_id, "title": f"The {node_id} set", "lineage": relations, **rest}
    )


def target(*lineage: Mapping[str, Any], **rest: object) -> DatasetNode:
    return node("target", *lineage, **({"splits": SPLITS} | rest))


def contains(dataset: str, **rest: object) -> dict[str, Any]:
    return {"relation": "contains", "dataset": dataset, **rest}


def overlaps(dataset: str, **rest: object) -> dict[str, Any]:
    return {"relation": "overlaps", "dataset": dataset, **rest}


def derived(dataset: str, **rest: object) -> dict[str, Any]:
    return {"relation": "derived_from", "dataset": dataset, **rest}


def ask(
    nodes: Sequence[DatasetNode],
    *sources: Mapping[str, Any],
    cases: Sequence[str | TargetCase] = T,
) -> Judgement:
    return judge(
        Training.model_validate({"sources": list(sources)}),
        name="m",
        dataset="target",
        cases=[TargetCase(case) if isinstance(case, str) else case for case in cases],
        graph=LineageGraph.build(nodes),
        models={},
    )


def states(found: Judgement) -> str:
    """The eligibility of each case in order: c(lean), u(nknown), i(mages only) or x."""
    return "".join(
        "x" if eligibility == "contaminated" else eligibility[0]
        for eligibility in found.eligibility.values()
    )


X4 = {"a": ["x1", "x2", "x3", "x4"]}
ONE = {"dataset": "src", "cases": ["a1"]}
PATHS: dict[str, tuple[list[DatasetNode], list[dict[str, Any]], str]] = {
    "a case of a source without lists": ([node("src"), target(contains("src"))], [ONE], "uuuu"),
    "the same, by name": (
        [node("src"), target(contains("src", names="same"))],
        [{"dataset": "src", "cases": ["t1"]}],
        "xccc",
    ),
    "all of a source without lists, of which cases are named": (
        [
            node("src"),
            target(contains("src", cases=["a1", "a2"], pairs={"t1": "a1", "t2": "a2"})),
        ],
        [{"dataset": "src"}],
        "xxcc",
    ),
    "a case that may be in the split that holds the target": (
        [node("src", contains("target", own_split="s"), unlisted={"s": 10, "u": 10}), target()],
        [ONE],
        "uuuu",
    ),
    "a case of the split that does not": (
        [node("src", contains("target", own_split="s"), unlisted={"s": 10, "u": 10}), target()],
        [{**ONE, "split": "u"}],
        "cccc",
    ),
    "a split without ids of a container, names known": (
        [
            node("src", contains("target", names="same"), splits={"a": ["t1"]}, unlisted={"b": 3}),
            target(),
        ],
        [{"dataset": "src", "split": "b"}],
        "cuuu",
    ),
    "an overlap whose ids are the same": (
        [node("src", overlaps("target", names="same"), splits={"a": ["t1", "t2", "z"]}), target()],
        [{"dataset": "src", "cases": ["t1"]}],
        "xccc",
    ),
    "pairs of some of what is contained": (
        [node("src", contains("target", pairs={"x1": "t1"}), splits=X4), target()],
        [{"dataset": "src", "cases": ["x2"]}],
        "cuuu",
    ),
    "pairs of some of what is contained, upwards": (
        [node("src", splits=X4), target(contains("src", pairs={"t1": "x1"}))],
        [{"dataset": "src", "cases": ["x2"]}],
        "uuuu",
    ),
    "pairs of some of an overlap": (
        [node("src", overlaps("target", pairs={"x1": "t1"}, count=3), splits=X4), target()],
        [{"dataset": "src"}],
        "xuuu",
    ),
    "two overlaps of the same two datasets": (
        [
            node(
                "src",
                overlaps("target", pairs={"x1": "t1"}),
                overlaps("target", pairs={"x2": "t3"}, confidence="low"),
                splits=X4,
            ),
            target(),
        ],
        [{"dataset": "src", "cases": ["x1", "x2"]}],
        "xcuc",
    ),
    "an overlap of listed cases": (
        [node("src", overlaps("target", cases=["t1"]), splits=X4), target()],
        [{"dataset": "src"}],
        "xccc",
    ),
    "two cases made of one": (
        [node("src", splits=X4), target(derived("src", pairs={"t1": "x1", "t2": "x1"}))],
        [{"dataset": "src", "cases": ["x1"]}],
        "xxcc",
    ),
    "a relation that spells a case otherwise": (
        [
            node("src", splits={"a": ["case_001", "case_002"]}),
            target(contains("src", cases=["CASE-1"])),
        ],
        [{"dataset": "src", "cases": ["case_001"]}],
        "uuuu",
    ),
    "a split that holds more than what it contains": (
        [
            node("src", splits={"a": ["x1"]}),
            target(contains("src", own_split="train", pairs={"t1": "x1"})),
        ],
        [{"dataset": "src"}],
        "xccc",
    ),
    "an overlap smaller than the split it is in": (
        [node("src", splits=X4), target(overlaps("src", own_split="train", count=1))],
        [{"dataset": "src"}],
        "uucc",
    ),
    "two splits that hold the target only together": (
        [
            node(
                "src",
                contains("target", own_split="g"),
                splits={"s1": ["b1"], "s2": ["b2"], "s3": ["b3"]},
                groups={"g": ["s1", "s2"]},
            ),
            target(),
        ],
        [{"dataset": "src", "split": "s1"}, {"dataset": "src", "cases": ["b2"]}],
        "xxxx",
    ),
    "another scan of a patient": (
        [
            node("src", splits={"a": ["t1", "t1b"]}, several_scans_per_patient=True),
            target(derived("src", names="same")),
        ],
        [{"dataset": "src", "cases": ["t1b"]}],
        "uccc",
    ),
    "any scan of a dataset whose patients nobody names": (
        [target(several_scans_per_patient=True)],
        [{"dataset": "target", "cases": ["t1"]}],
        "xuuu",
    ),
}


@pytest.mark.parametrize("way", PATHS)
def test_what_becomes_of_each_case(way: str) -> None:
    nodes, sources, expected = PATHS[way]
    assert states(ask(nodes, *sources)) == expected


def test_numbers_longer_than_their_width_are_found() -> None:
    names = {"own": "x{n:03}", "theirs": "t{n:04}"}
    found = ask(
        [
            node("src", contains("target", names=names), splits={"a": ["x999", "x1000"]}),
            node("target", splits={"a": ["t0999", "t1000"]}),
        ],
        {"dataset": "src", "cases": ["x1000"]},
        cases=["t0999", "t1000"],
    )
    assert states(found) == "cx"


@pytest.mark.parametrize("written", ["case-1", "scan_A"])
def test_an_id_that_no_list_has_may_be_any_case_of_its_split(written: str) -> None:
    nodes = [node("target", unlisted={"a": 2, "b": 1})]
    cases = [TargetCase("case_1", split="a"), TargetCase("case_01", split="a")]
    assert states(ask(nodes, {"dataset": "target", "cases": [written]}, cases=cases)) == "uu"
    elsewhere = {"dataset": "target", "split": "b", "cases": ["scan_A"]}
    assert states(ask(nodes, elsewhere, cases=cases)) == "cc"


def test_ids_that_differ_in_their_folder_are_not_told_apart() -> None:
    nodes = [node("target", splits={"s": ["a/1", "b/1"]})]
    found = ask(nodes, {"dataset": "target", "cases": ["a/1"]}, cases=["A/1", "B/1"])
    assert states(found) == "uu"


@pytest.mark.parametrize(
    ("source", "listed"),
    [({"split": "tr", "cases": ["case_O7"]}, "case_7"), ({"cases": ["1.nii.gz"]}, "train/1")],
)
def test_a_misspelt_id_is_refused_also_where_other_splits_list_none(
    source: dict[str, Any], listed: str
) -> None:
    nodes = [node("target", splits={"tr": [listed, "x/1"]}, unlisted={"a": 2})]
    with pytest.raises(SubmissionError, match="has no case"):
        ask(nodes, {"dataset": "target", **source}, cases=["x/1"])


def test_an_id_that_a_complete_list_does_not_have_is_refused_in_the_lineage() -> None:
    with pytest.raises(DatasetError, match=r"'x_1' of src.*Did you mean"):
        LineageGraph.build(
            [node("src", contains("target", pairs={"x_1": "t1"}), splits=X4), target()]
        )


def test_cases_that_something_was_derived_from_need_their_counterparts() -> None:
    with pytest.raises(DatasetError, match="by 'pairs', or by 'names'"):
        LineageGraph.build([node("src", splits=X4), target(derived("src", cases=["x1"]))])


def test_a_patient_counts_whichever_list_names_it() -> None:
    found = judge(
        Training.model_validate({"sources": [{"dataset": "target", "cases": ["t1"]}]}),
        name="m",
        dataset="target",
        cases=[TargetCase("t3"), TargetCase("t4")],
        also=[TargetCase("t1", "anna"), TargetCase("t3", "anna"), TargetCase("t4", "bert")],
        graph=LineageGraph.build([target()]),
        models={},
    )
    assert states(found) == "xc"


def test_no_more_is_claimed_than_follows() -> None:
    many = {"a": [f"t{n}" for n in range(1, 101)]}
    pool = node("src", contains("target", names="same"), splits=many)
    five = ask([pool, target()], {"dataset": "src", "extent": "some", "count": 5})
    assert (five.verdict, five.paths[0].least) == ("unknown", 0)  # all five may be others
    most = ask([pool, target()], {"dataset": "src", "extent": "some", "count": 98})
    assert (most.verdict, most.paths[0].least) == ("partial", 2)

    nodes = [node("target", unlisted={"s2": 3, "s1": 2})]
    two = ask(
        nodes,
        {"dataset": "target", "split": "s1", "extent": "some", "count": 2},
        cases=["v1", "v2", "v3"],
    )
    assert (two.verdict, two.paths[0].least) == ("unknown", 0)


def test_studies_of_the_same_patients_are_not_clean_in_the_catalogue() -> None:
    training = Training.model_validate(
        {"sources": [{"dataset": "fdg_pet_ct_lesions", "split": "other"}]}
    )
    found = answer(Entry("m", training, "author"), load_card("dap_atlas"))
    assert found.overall.verdict == "unknown"
    one = Training.model_validate(
        {"sources": [{"dataset": "dap_atlas", "cases": ["AutoPET_0011f3deaf_10445"]}]}
    )
    for dataset in ("dap_atlas", "fdg_pet_ct_lesions"):
        found = answer(Entry("m", one, "author"), load_card(dataset))
        assert not found.overall.ranked
