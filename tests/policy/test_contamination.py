"""A model is caught under any name of its data, and is never cleaner for saying more."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segtrial.contracts.lineage import DatasetNode
from segtrial.contracts.training import KnownModel, Training
from segtrial.policy.contamination import Judgement, TargetCase, judge
from segtrial.policy.lineage_graph import LineageGraph

LINK = ["https://example.org/paper"]
CASES = [f"case_{n:05}" for n in range(40)]
TARGET = [TargetCase(case) for case in CASES]


def node(node_id: str, *, lineage: Sequence[dict[str, Any]] = (), **rest: object) -> DatasetNode:
    lineage = [{"confidence": "high", "evidence": LINK, **relation} for relation in lineage]
    return DatasetNode.model_validate(
        {"id": node_id, "title": f"The {node_id} set", "lineage": lineage, **rest}
    )


TARGET_NODE = node(
    "target",
    aliases=["Target Challenge 2024", "TGT"],
    splits={"train": ["case_00000..case_00029"], "test": ["case_00030..case_00039"]},
    groups={"public": ["train", "test"]},
)


def ask(
    sources: Sequence[dict[str, Any]] | None,
    *nodes: DatasetNode,
    cases: Sequence[TargetCase] = TARGET,
    models: dict[str, KnownModel] | None = None,
    **training: object,
) -> Judgement:
    declared = (
        None if sources is None else Training.model_validate({"sources": list(sources), **training})
    )
    return judge(
        declared,
        name="my-model",
        dataset="target",
        cases=cases,
        graph=LineageGraph.build([TARGET_NODE, *nodes]),
        models=models or {},
    )


def test_no_declaration_is_unknown_never_clean() -> None:
    found = ask(None)
    assert found.verdict == "unknown"
    assert not found.ranked
    assert "declares no training data" in found.evidence[0]


def test_a_declaration_of_nothing_is_clean() -> None:
    assert ask([]).ranked


def test_private_data_is_clean_and_undisclosed_data_is_unknown() -> None:
    assert ask([{"dataset": "private"}]).verdict == "clean"
    assert ask([{"dataset": "undisclosed"}]).verdict == "unknown"


@pytest.mark.parametrize("name", ["target", "TGT", "target challenge-2024", "The target set"])
def test_an_alias_is_caught(name: str) -> None:
    found = ask([{"dataset": name}])
    assert found.verdict == "contaminated"


def test_a_subset_is_caught_case_by_case() -> None:
    found = ask([{"dataset": "target", "cases": ["case_00007", "imagesTr/CASE-31.nii.gz"]}])
    assert found.verdict == "partial"
    dirty = {case for case, verdict in found.eligibility.items() if verdict == "contaminated"}
    assert dirty == {"case_00007", "case_00031"}


def test_a_split_leaves_the_other_split_clean() -> None:
    found = ask([{"dataset": "target", "split": "train"}], cases=TARGET[30:])
    assert found.ranked
    assert ask([{"dataset": "target", "split": "train"}], cases=TARGET[:30]).verdict == (
        "contaminated"
    )


def test_a_superset_is_caught() -> None:
    big = node("big", lineage=[{"relation": "contains", "dataset": "target"}])
    assert ask([{"dataset": "big"}], big).verdict == "contaminated"


def test_a_superset_of_a_superset_is_caught_and_the_path_names_each_link() -> None:
    big = node("big", lineage=[{"relation": "contains", "dataset": "target", "split": "test"}])
    bigger = node("bigger", lineage=[{"relation": "contains", "dataset": "big"}])
    found = ask([{"dataset": "bigger"}], big, bigger)
    assert found.counts == {"clean": 30, "images_only": 0, "unknown": 0, "contaminated": 10}
    said = [step.sentence for step in found.paths[0].steps]
    assert said == [
        "my-model was trained with labels on The bigger set",
        "The bigger set contains The big set",
        "The big set contains The target set (split test, 10 cases)",
    ]
    assert found.paths[0].steps[1].evidence == tuple(LINK)


def test_a_renamed_copy_is_caught_case_by_case() -> None:
    copy = node(
        "copy",
        splits={"all": ["img0000..img0039"]},
        lineage=[
            {
                "relation": "contains",
                "dataset": "target",
                "names": {"own": "img{n:04}", "theirs": "case_{n:05}"},
            }
        ],
    )
    found = ask([{"dataset": "copy", "cases": ["img0003..img0005"]}], copy)
    dirty = {case for case, verdict in found.eligibility.items() if verdict == "contaminated"}
    assert dirty == {"case_00003", "case_00004", "case_00005"}


def test_a_renamed_copy_with_a_table_of_names_is_caught() -> None:
    copy = node(
        "copy",
        lineage=[
            {
                "relation": "contains",
                "dataset": "target",
                "cases": ["case_00001", "case_00002"],
                "pairs": {"a": "case_00001", "b": "case_00002"},
            }
        ],
    )
    assert ask([{"dataset": "copy"}], copy).counts["contaminated"] == 2


def test_a_derived_set_is_caught_in_both_directions() -> None:
    source = node("source", splits={"all": [*CASES, "more_1"]})
    derived = TARGET_NODE.replace(
        lineage=[
            {"relation": "derived_from", "dataset": "source", "names": "same",
             "confidence": "high", "evidence": LINK}
        ]
    )  # fmt: skip
    graph = LineageGraph.build([derived, source])
    for cases, expected in (
        (["case_00004"], "partial"),
        (["more_1"], "clean"),
        ([], "contaminated"),
    ):
        training = Training.model_validate({"sources": [{"dataset": "source", "cases": cases}]})
        found = judge(training, name="m", dataset="target", cases=TARGET, graph=graph, models={})
        assert found.verdict == expected


def test_an_overlap_is_caught_from_both_sides_and_only_where_it_is() -> None:
    other = node(
        "other",
        splits={"all": ["x1", "x2", "x3"]},
        lineage=[
            {
                "relation": "overlaps",
                "dataset": "target",
                "pairs": {"x1": "case_00010", "x2": "case_00011"},
            }
        ],
    )
    found = ask([{"dataset": "other"}], other)
    assert found.counts["contaminated"] == 2
    assert ask([{"dataset": "other", "cases": ["x3"]}], other).verdict == "clean"
    back = judge(
        Training.model_validate({"sources": [{"dataset": "target", "cases": ["case_00011"]}]}),
        name="m",
        dataset="other",
        cases=[TargetCase("x1"), TargetCase("x2"), TargetCase("x3")],
        graph=LineageGraph.build([TARGET_NODE, other]),
        models={},
    )
    assert back.eligibility == {"x1": "clean", "x2": "contaminated", "x3": "clean"}


def test_two_datasets_in_one_collection_do_not_taint_each_other() -> None:
    """Exposure runs down and then up, never up and then down."""
    sister = node("sister", splits={"all": ["s1"]})
    both = node(
        "both",
        lineage=[
            {"relation": "contains", "dataset": "target"},
            {"relation": "contains", "dataset": "sister"},
        ],
    )
    assert ask([{"dataset": "sister"}], sister, both).ranked


def test_images_without_labels_are_images_only() -> None:
    assert ask([{"dataset": "target", "used_for": "images"}]).verdict == "images_only"


@pytest.mark.parametrize("use", ["labels", "pseudo_labels", "selection"])
def test_every_other_use_is_contaminated(use: str) -> None:
    assert ask([{"dataset": "target", "used_for": use}]).verdict == "contaminated"


def test_a_low_confidence_link_is_unknown_never_clean() -> None:
    big = node("big", lineage=[{"relation": "contains", "dataset": "target", "confidence": "low"}])
    found = ask([{"dataset": "big"}], big)
    assert found.verdict == "unknown"
    assert found.paths[0].confidence == "low"


def test_some_of_a_set_is_partial_for_all_of_it_and_unknown_for_a_part() -> None:
    big = node(
        "big",
        lineage=[{"relation": "contains", "dataset": "target", "overlap": "partial", "count": 15}],
    )
    found = ask([{"dataset": "big"}], big)
    assert found.verdict == "partial"
    assert set(found.eligibility.values()) == {"unknown"}
    assert "at least 15 of them took part" in found.evidence[0]
    # 15 of 40 may all lie outside these 10, but not all outside these 30.
    assert ask([{"dataset": "big"}], big, cases=TARGET[30:]).verdict == "unknown"
    assert ask([{"dataset": "big"}], big, cases=TARGET[:30]).verdict == "partial"


def test_an_unpublished_mapping_is_unknown_case_by_case_and_counts_are_carried() -> None:
    pool = node(
        "pool",
        count=100,
        splits={"all": ["p_000..p_099"]},
        lineage=[{"relation": "contains", "dataset": "target"}],
    )
    # 70 of 100 were used, 60 of the 100 are others: at least 10 of the target's 40 were used.
    found = ask([{"dataset": "pool", "cases": ["p_000..p_069"]}], pool)
    assert found.verdict == "partial"
    assert found.paths[0].least == 10
    assert ask([{"dataset": "pool", "cases": ["p_000..p_049"]}], pool).verdict == "unknown"
    assert ask([{"dataset": "pool"}], pool).verdict == "contaminated"


def test_another_scan_of_the_same_patient_is_contaminated_too() -> None:
    cases = [TargetCase("case_00000", "anna"), TargetCase("case_00001", "anna")]
    found = ask([{"dataset": "target", "cases": ["case_00000"]}], cases=cases)
    assert found.verdict == "contaminated"
    assert "same patient" in found.evidence[1]


def test_a_patient_is_tainted_by_a_scan_that_is_not_on_the_track() -> None:
    cases = [TargetCase("case_00000", "anna"), TargetCase("case_00002", "bert")]
    found = judge(
        Training.model_validate({"sources": [{"dataset": "target", "cases": ["case_00001"]}]}),
        name="m",
        dataset="target",
        cases=cases,
        also=[*cases, TargetCase("case_00001", "anna")],
        graph=LineageGraph.build([TARGET_NODE]),
        models={},
    )
    assert found.eligibility == {"case_00000": "contaminated", "case_00002": "clean"}
    assert found.paths[0].cases == 1


@pytest.mark.parametrize("on_the_track", [True, False])
def test_where_a_scan_may_have_taken_part_every_scan_of_its_patient_may(
    on_the_track: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    cases = [TargetCase("case_00000", "anna"), TargetCase("case_00002", "bert")]
    other = TargetCase("case_00001", "anna")
    found = judge(
        Training.model_validate(
            {"sources": [{"dataset": "target", "cases": ["case_00001"], "extent": "some"}]}
        ),
        name="m",
        dataset="target",
        cases=[*cases, other] if on_the_track else cases,
        also=[other],
        graph=LineageGraph.build([TARGET_NODE]),
        models={},
    )
    assert found.eligibility["case_00000"] == "unknown"
    assert found.eligibility["case_00002"] == "clean"
    assert "same patient" in found.evidence[-1]
    assert not found.ranked


def model(model_id: str, sources: list[dict[str, Any]] | None, **training: object) -> KnownModel:
    declared = None if sources is None else {"sources": sources, **training}
    return KnownModel.model_validate(
        {"id": model_id, "title": f"Model {model_id}", "declaration": "x", "training": declared}
    )


@pytest.mark.parametrize("how", ["initialised_from", "teachers"])
def test_inherited_weights_and_teachers_are_caught(how: str) -> None:
    models = {
        "parent": model("parent", [{"dataset": "private"}], initialised_from=["grandparent"]),
        "grandparent": model("grandparent", [{"dataset": "target", "split": "test"}]),
    }
    found = ask([], models=models, **{how: ["Model parent"]})
    assert found.counts["contaminated"] == 10
    assert "Model parent starts from the weights of Model grandparent" in found.evidence[0]


def test_an_undeclared_parent_makes_everything_unknown() -> None:
    assert ask([], models={"p": model("p", None)}, initialised_from=["p"]).verdict == "unknown"


def test_a_circle_of_parents_ends() -> None:
    models = {
        "a": model("a", [], initialised_from=["b"]),
        "b": model("b", [{"dataset": "target"}], initialised_from=["a"]),
    }
    assert ask([], models=models, initialised_from=["a"]).verdict == "contaminated"


def test_all_splits_declared_one_by_one_are_the_whole() -> None:
    big = node(
        "big",
        splits={"one": ["b1"], "two": ["b2"]},
        lineage=[{"relation": "contains", "dataset": "target"}],
    )
    both = [{"dataset": "big", "split": "one"}, {"dataset": "big", "split": "two"}]
    assert ask(both, big).verdict == "contaminated"
    assert ask(both[:1], big).verdict == "unknown"


# Laws over random lineages of a few datasets.
NAMES = ["target", "s1", "s2", "s3", "s4"]
relations = st.fixed_dictionaries(
    {
        "relation": st.just("contains"),
        "overlap": st.sampled_from(["full", "partial"]),
        "confidence": st.sampled_from(["high", "medium", "low"]),
        "split": st.sampled_from([None, "train", "test"]),
    }
)
sources = st.lists(
    st.fixed_dictionaries(
        {
            "dataset": st.sampled_from(NAMES),
            "used_for": st.sampled_from(["labels", "images"]),
            "extent": st.sampled_from(["all", "some"]),
            "split": st.sampled_from([None, "train", "test"]),
            "confidence": st.sampled_from(["high", "low"]),
        }
    ),
    max_size=4,
    unique_by=lambda source: (source["dataset"], source["split"]),
)


@st.composite
def lineages(draw: st.DrawFn) -> list[DatasetNode]:
    nodes = []
    for number in range(1, 5):
        inner = draw(st.lists(st.sampled_from(NAMES[:number]), max_size=2, unique=True))
        lineage = [{**draw(relations), "dataset": name} for name in inner]
        splits = {
            "train": [f"s{number}_{n}" for n in range(5)],
            "test": [f"s{number}_{n}" for n in range(5, 9)],
        }
        nodes.append(node(f"s{number}", splits=splits, lineage=lineage))
    return nodes


WORSE: dict[str, set[str]] = {
    "clean": {"clean", "images_only", "unknown", "contaminated"},
    "images_only": {"images_only", "unknown", "contaminated"},
    "unknown": {"unknown", "contaminated"},
    "contaminated": {"contaminated"},
}
"""What a case may become when more is declared."""


@settings(max_examples=150, deadline=None)
@given(lineages(), sources, sources)
def test_saying_more_never_makes_a_case_cleaner(
    nodes: list[DatasetNode], some: list[dict[str, Any]], more: list[dict[str, Any]]
) -> None:
    declared = {(source["dataset"], source["split"]) for source in some}
    extra = [source for source in more if (source["dataset"], source["split"]) not in declared]
    before, after = ask(some, *nodes), ask([*some, *extra], *nodes)
    by_labels = ask([source for source in some if source["used_for"] == "labels"], *nodes)
    for case in CASES:
        may_become = set(WORSE[before.eligibility[case]])
        if by_labels.eligibility[case] == "clean":
            may_become.add("images_only")  # images that may have been used turn out to have been
        assert after.eligibility[case] in may_become
    assert before.ranked or not after.ranked


@settings(max_examples=100, deadline=None)
@given(lineages(), sources, st.randoms(use_true_random=False))
def test_the_order_of_sources_changes_no_case(
    nodes: list[DatasetNode], some: list[dict[str, Any]], random: Random
) -> None:
    shuffled = list(some)
    random.shuffle(shuffled)
    assert ask(some, *nodes).eligibility == ask(shuffled, *nodes).eligibility
    assert ask(some, *nodes).verdict == ask(shuffled, *nodes).verdict


@settings(max_examples=100, deadline=None)
@given(lineages(), sources)
def test_fewer_cases_never_change_what_each_is(
    nodes: list[DatasetNode], some: list[dict[str, Any]]
) -> None:
    whole = ask(some, *nodes)
    part = ask(some, *nodes, cases=TARGET[:12])
    assert part.eligibility == {case.id: whole.eligibility[case.id] for case in TARGET[:12]}


@settings(max_examples=100, deadline=None)
@given(lineages(), sources)
def test_clean_means_no_path_and_ranked(
    nodes: list[DatasetNode], some: list[dict[str, Any]]
) -> None:
    found = ask(some, *nodes)
    assert found.ranked == (set(found.eligibility.values()) == {"clean"})
    assert found.ranked == (not found.paths)
