"""How long the contamination policy takes on a large catalogue.

200 datasets with 100,000 cases of lineage: each holds cases of two earlier ones, partly under other
names, partly it is not known which; a submission declares 40 of them, some by case list, and starts
from a known model that declares 40 more.

    python benchmarks/bench_policy.py
"""

from __future__ import annotations

import resource
import time

from segtrial.contracts.lineage import CaseNames, DatasetNode, Relation
from segtrial.contracts.training import KnownModel, Training, TrainingSource
from segtrial.policy.contamination import TargetCase, judge
from segtrial.policy.lineage_graph import LineageGraph

DATASETS = 200
CASES = 500
TARGET_CASES = 100_000


def main() -> None:
    """Build the catalogue, judge one submission, print times."""
    started = time.perf_counter()
    nodes = [node(number) for number in range(DATASETS)]
    graph = LineageGraph.build([*nodes, target()])
    built_s = time.perf_counter() - started
    cases = [TargetCase(f"case_{n:06}", f"patient_{n // 2:06}") for n in range(TARGET_CASES)]
    training, models = declaration()
    times = []
    for _ in range(5):
        started = time.process_time()
        judged = judge(
            training, name="model", dataset="target", cases=cases, graph=graph, models=models
        )
        times.append(time.process_time() - started)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{len(graph.shelves)} datasets, {len(graph.edges)} relations, {TARGET_CASES} cases")
    print(
        f"graph from records: {built_s:.2f} s; "
        f"verdict: {min(times):.2f} to {max(times):.2f} s of one CPU"
    )
    print(f"verdict {judged.verdict}, {len(judged.paths)} paths, {judged.counts}")
    print(f"peak memory {peak_mib:.0f} MiB")


def node(number: int) -> DatasetNode:
    """A dataset of 500 cases that also holds some of two earlier ones."""
    evidence = ("https://example.org/lineage",)
    relations = [
        Relation(
            relation="contains",
            dataset=f"set{number - back:03}",
            cases=tuple(f"s{number - back:03}_{n:05}" for n in range(0, CASES, 2)),
            overlap="full" if number % 3 else "partial",
            names=CaseNames(own=f"s{number:03}_{{n:05}}", theirs=f"s{number - back:03}_{{n:05}}")
            if back == 1
            else None,
            confidence="high" if number % 5 else "medium",
            evidence=evidence,
        )
        for back in (1, 7)
        if number >= back
    ]
    return DatasetNode(
        id=f"set{number:03}",
        title=f"Dataset number {number}",
        count=CASES,
        splits={"all": tuple(f"s{number:03}_{n:05}" for n in range(CASES))},
        lineage=tuple(relations),
    )


def target() -> DatasetNode:
    """What is evaluated: 100,000 cases, every 500 of them one of the datasets, renamed."""
    relations = tuple(
        Relation(
            relation="contains",
            dataset=f"set{number:03}",
            pairs={f"case_{number * CASES + n:06}": f"s{number:03}_{n:05}" for n in range(CASES)},
            confidence="high",
            evidence=("https://example.org/lineage",),
        )
        for number in range(DATASETS)
    )
    return DatasetNode(
        id="target",
        title="Target",
        count=TARGET_CASES,
        splits={"test": tuple(f"case_{n:06}" for n in range(TARGET_CASES))},
        lineage=relations,
    )


def declaration() -> tuple[Training, dict[str, KnownModel]]:
    """40 sources, half of them by case list, and a parent with 40 more."""

    def source(number: int) -> TrainingSource:
        few = tuple(f"s{number:03}_{n:05}" for n in range(0, CASES, 3)) if number % 2 else ()
        return TrainingSource(dataset=f"Dataset number {number}", cases=few)

    parent = KnownModel(
        id="parent",
        title="Parent",
        declaration="complete",
        training=Training(sources=tuple(source(n) for n in range(100, 140))),
    )
    training = Training(
        sources=tuple(source(n) for n in range(0, 80, 2)), initialised_from=("parent",)
    )
    return training, {"parent": parent}


if __name__ == "__main__":
    main()
