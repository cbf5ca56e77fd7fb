"""A lineage that would make a verdict wrong is refused, with what to do."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from segtrial.contracts.lineage import DatasetNode, Relation
from segtrial.contracts.training import Training
from segtrial.errors import DatasetError
from segtrial.policy.contamination import TargetCase, judge
from segtrial.policy.lineage_graph import LineageGraph

LINK = ["https://example.org/paper"]


def node(node_id: str, *inner: dict[str, Any], **rest: object) -> DatasetNode:
    lineage = [
        {"relation": "contains", "confidence": "high", "evidence": LINK, **one} for one in inner
    ]
    return DatasetNode.model_validate(
        {"id": node_id, "title": f"Set {node_id}", "lineage": lineage, **rest}
    )


def refused(*nodes: DatasetNode) -> str:
    with pytest.raises(DatasetError) as caught:
        LineageGraph.build(nodes)
    return str(caught.value)


def test_a_circle_is_refused_and_drawn() -> None:
    message = refused(
        node("a", {"dataset": "b"}), node("b", {"dataset": "c"}), node("c", {"dataset": "a"})
    )
    assert "a contains b contains c contains a" in message


def test_a_dangling_id_is_refused_with_the_nearest() -> None:
    message = refused(node("kits23", {"dataset": "kits91"}), node("kits19"))
    assert "'kits91', which is no dataset here. Did you mean 'kits19'?" in message


def test_a_split_that_does_not_exist_is_refused() -> None:
    message = refused(
        node("a", {"dataset": "b", "split": "trian"}), node("b", splits={"train": ["1"]})
    )
    assert "'trian'" in message
    assert "Did you mean 'train'?" in message


def test_two_datasets_of_one_id_or_alias_are_refused() -> None:
    message = refused(node("a"), node("a"), node("b", aliases=["The A", "SET A"]))
    assert "two datasets have the id 'a'" in message
    assert "'SET A' names both 'a' and 'b'" in message


def test_reserved_names_are_refused() -> None:
    assert "'private'" in refused(node("private"))


def test_an_edge_without_evidence_is_refused() -> None:
    with pytest.raises(ValidationError, match="evidence"):
        Relation.model_validate({"relation": "contains", "dataset": "b", "confidence": "high"})


def test_a_verdict_on_100000_cases_through_200_datasets_is_right_for_each() -> None:
    nodes = [
        node(
            f"set{number:03}",
            *([{"dataset": f"set{number - 1:03}", "overlap": "partial"}] if number else []),
            *([{"dataset": f"set{number - 9:03}"}] if number > 9 else []),
            splits={"all": [f"s{number:03}_{n:05}" for n in range(500)]},
        )
        for number in range(199)
    ]
    copies = [
        {
            "dataset": f"set{number:03}",
            "pairs": {f"case_{number * 500 + n:06}": f"s{number:03}_{n:05}" for n in range(500)},
        }
        for number in range(199)
    ]
    target = node("target", *copies, splits={"all": ["case_000000..case_099999"]})
    graph = LineageGraph.build([*nodes, target])
    trained = range(0, 199, 7)
    training = Training.model_validate(
        {"sources": [{"dataset": f"Set set{number:03}"} for number in trained]}
    )
    cases = [TargetCase(f"case_{n:06}", f"patient_{n // 3}") for n in range(100_000)]

    found = judge(training, name="m", dataset="target", cases=cases, graph=graph, models={})

    inside = {inner for outer in trained for inner in range(outer, -1, -9)}

    def expected(case: int) -> str:
        first = case - case % 3  # a patient's cases share what was found of any of them
        sets = {other // 500 for other in range(first, first + 3)}
        if sets & inside:
            return "contaminated"
        return (
            "unknown" if min(sets) < 199 else "clean"
        )  # partly in a set that was used, or in none

    assert found.verdict == "partial"
    assert found.eligibility == {f"case_{n:06}": expected(n) for n in range(100_000)}
