"""The lineage of all datasets as one graph of "the images of B are in A".

Built once from cards and nodes; refuses what would make a verdict wrong: two datasets of one id or
alias, a relation to an id or split that does not exist, a cycle.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Literal

from segtrial.contracts.lineage import CaseNames, Confidence, DatasetNode, Relation
from segtrial.contracts.reading import nearest
from segtrial.contracts.training import PRIVATE, UNDISCLOSED
from segtrial.errors import DatasetError
from segtrial.policy.case_names import CaseIndex
from segtrial.policy.subset import Shelf, Subset

RESERVED = {
    PRIVATE: "data that is in no public dataset",
    UNDISCLOSED: "data that its authors do not name",
}


@dataclass(frozen=True)
class Edge:
    """Images of ``inner`` (those in ``part``) are in ``outer``."""

    outer: str
    inner: str
    part: Subset
    outer_split: str | None
    fills_split: bool
    """Whether ``outer_split`` holds nothing else, as far as the numbers of images say."""
    full: bool
    names: Literal["same"] | CaseNames | None
    pairs: tuple[tuple[str, str], ...]
    """Case id in outer, case id in inner; two cases may have been made of one."""
    confidence: Confidence
    evidence: tuple[str, ...]
    count: int | None
    note: str | None

    @property
    def names_known(self) -> bool:
        """Whether a case of one side can be found on the other."""
        return self.names is not None or bool(self.pairs)

    def to_inner(self, cases: Iterable[str]) -> frozenset[str]:
        """Ids in ``inner`` of cases of ``outer``, for those that have one."""
        if self.names is None:
            wanted = frozenset(cases)  # itself, where it is one
            return frozenset([inner for outer, inner in self.pairs if outer in wanted])
        return _renamed(cases, self.names, inward=True)

    def to_outer(self, cases: Iterable[str]) -> frozenset[str]:
        """Ids in ``outer`` of cases of ``inner``, for those that have one."""
        if self.names is None:
            wanted = frozenset(cases)
            return frozenset([outer for outer, inner in self.pairs if inner in wanted])
        return _renamed(cases, self.names, inward=False)

    @cached_property
    def paired_outer(self) -> frozenset[str]:
        """Cases of ``outer`` that a pair names."""
        return frozenset(outer for outer, _ in self.pairs)

    @cached_property
    def paired_inner(self) -> frozenset[str]:
        """Cases of ``inner`` that a pair names."""
        return frozenset(inner for _, inner in self.pairs)


@dataclass
class LineageGraph:
    """Every dataset, what its names are, and which holds images of which."""

    shelves: dict[str, Shelf]
    edges: tuple[Edge, ...]
    names: dict[str, str]
    """Folded id or alias to id."""
    inner_of: dict[str, list[Edge]] = field(default_factory=dict)
    outer_of: dict[str, list[Edge]] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    """Containers before what they contain."""

    @classmethod
    def build(cls, nodes: Iterable[DatasetNode]) -> LineageGraph:
        """Join nodes to a graph.

        Raises
        ------
        DatasetError
            Naming every duplicate id or alias, dangling id, missing split and cycle.
        """
        nodes = tuple(nodes)
        problems: list[str] = []
        names = _names(nodes, problems)
        shelves = {node.id: Shelf(node) for node in nodes}
        edges: list[Edge] = []
        for node in nodes:
            for relation in node.lineage:
                edges += _edges(node, relation, shelves, problems)
        _raise(problems)
        graph = cls(shelves, tuple(edges), names)
        for edge in edges:
            graph.inner_of.setdefault(edge.outer, []).append(edge)
            graph.outer_of.setdefault(edge.inner, []).append(edge)
        graph.order = _topological(shelves, graph.inner_of)
        return graph

    def find(self, name: str) -> str | None:
        """The id that an id or alias in any spelling means, or None."""
        return name if name in self.shelves else self.names.get(fold(name))

    def nearest(self, name: str) -> str:
        """' Did you mean ...?' for the nearest id or alias, or the empty string."""
        spellings = {
            spelling: node_id
            for node_id, shelf in self.shelves.items()
            for spelling in (node_id, *shelf.node.aliases)
        }
        return nearest(name, spellings) or nearest(name.lower(), spellings)

    def title(self, dataset: str) -> str:
        """A dataset's title."""
        return self.shelves[dataset].node.title

    def below(self, dataset: str) -> frozenset[str]:
        """Every dataset that has images in ``dataset``, itself included."""
        found = {dataset}
        todo = [dataset]
        while todo:
            for edge in self.inner_of.get(todo.pop(), ()):
                if edge.inner not in found:
                    found.add(edge.inner)
                    todo.append(edge.inner)
        return frozenset(found)


def fold(name: str) -> str:
    """A name without case, spaces and punctuation: how aliases are compared."""
    return re.sub(r"[^a-z0-9]+", "", name.lower())


def _names(nodes: tuple[DatasetNode, ...], problems: list[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    for reserved in RESERVED:
        names[fold(reserved)] = reserved
    seen: set[str] = set()
    for node in nodes:
        if node.id in seen:
            problems.append(f"two datasets have the id {node.id!r}; give each its own")
        seen.add(node.id)
        for spelling in (node.id, node.title, *node.aliases):
            owner = names.setdefault(fold(spelling), node.id)
            if owner in RESERVED:
                problems.append(f"{node.id}: {spelling!r} is a reserved name; choose another")
            elif owner != node.id:
                problems.append(
                    f"{spelling!r} names both {owner!r} and {node.id!r}; remove one of the two"
                )
    return names


def _edges(
    node: DatasetNode, relation: Relation, shelves: dict[str, Shelf], problems: list[str]
) -> list[Edge]:
    other = shelves.get(relation.dataset)
    if other is None:
        hint = nearest(relation.dataset, shelves)
        problems.append(
            f"{node.id}: its lineage names {relation.dataset!r}, which is no dataset here.{hint}"
        )
        return []
    for shelf, split in ((other, relation.split), (shelves[node.id], relation.own_split)):
        if split is not None and split not in {*shelf.splits, *shelf.node.groups}:
            hint = nearest(split, [*shelf.splits, *shelf.node.groups])
            problems.append(
                f"{node.id}: its lineage names the split {split!r} of {shelf.node.id}, "
                f"which has no such split.{hint}"
            )
            return []
    relation = _in_their_spelling(shelves[node.id], relation, other, problems)
    if relation.relation == "overlaps":
        return _through_shared_parts(node, relation, shelves)
    if relation.relation == "contains":
        place = other.named(relation.split).splits
        theirs = other.named(relation.split, relation.cases, among=place & other.unlisted)
        size = other.size(theirs)
        return [_edge(shelves[node.id], other, theirs, relation, relation.own_split, images=size)]
    if relation.cases:
        problems.append(
            f"{node.id}: 'derived_from' {relation.dataset} lists cases; say which case was made of "
            "which by 'pairs', or by 'names'"
        )
        return []
    shelf = shelves[node.id]
    own = shelf.named(relation.own_split)
    size = shelf.size(own)
    return [_edge(other, shelf, own, relation, relation.split, images=size, turned=True)]


def _in_their_spelling(
    own: Shelf, relation: Relation, other: Shelf, problems: list[str]
) -> Relation:
    """The relation with its case ids as the lists of both datasets have them."""
    mine = _listed(own, relation.pairs, problems)
    theirs = _listed(other, (*relation.cases, *relation.pairs.values()), problems)
    if not mine and not theirs:
        return relation
    return relation.model_copy(
        update={
            "cases": tuple(theirs.get(case, case) for case in relation.cases),
            "pairs": {
                mine.get(own_case, own_case): theirs.get(case, case)
                for own_case, case in relation.pairs.items()
            },
        }
    )


def _listed(shelf: Shelf, cases: Iterable[str], problems: list[str]) -> dict[str, str]:
    """The listed id of each case that is spelled otherwise."""
    lost = shelf.in_no_list(cases)
    if not lost or shelf.unlisted:
        return {}
    index = CaseIndex(shelf.split_of)
    found = {case: index.find(case) for case in lost}
    unknown = sorted(case for case, listed in found.items() if listed is None)
    if unknown:
        more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        problems.append(
            f"a relation names the case {unknown[0]!r}{more} of {shelf.node.id}, which lists no "
            f"such case.{index.nearest(unknown[0])}"
        )
    return {case: listed for case, listed in found.items() if listed is not None}


def _edge(
    outer: Shelf,
    inner: Shelf,
    part: Subset,
    relation: Relation,
    split: str | None,
    *,
    images: int | None,
    turned: bool = False,
) -> Edge:
    """``part`` of ``inner``, of so many ``images``, lies in the ``split`` of ``outer``."""
    size = outer.size(outer.named(split))
    names, pairs = relation.names, tuple(relation.pairs.items())
    if turned and isinstance(names, CaseNames):
        names = CaseNames(own=names.theirs, theirs=names.own)
    if turned:
        pairs = tuple((theirs, own_case) for own_case, theirs in pairs)
    return Edge(
        outer=outer.node.id,
        inner=inner.node.id,
        part=part,
        outer_split=split,
        fills_split=split is not None and (size is None or images is None or size <= images),
        full=relation.overlap == "full",
        names=names,
        pairs=pairs,
        confidence=relation.confidence,
        evidence=tuple(relation.evidence),
        count=relation.count,
        note=relation.note,
    )


def _through_shared_parts(
    node: DatasetNode, relation: Relation, shelves: dict[str, Shelf]
) -> list[Edge]:
    """An overlap is a part that both contain: exposure then runs down to it and up again."""
    named = len(relation.pairs)
    if not named or relation.count is None or relation.count <= named:
        return _through_a_shared_part(node, relation, shelves)
    paired = relation.model_copy(update={"count": named})
    others = relation.model_copy(update={"count": relation.count - named, "pairs": {}, "cases": ()})
    return [
        *_through_a_shared_part(node, paired, shelves),
        *_through_a_shared_part(node, others, shelves),
    ]


def _through_a_shared_part(
    node: DatasetNode, relation: Relation, shelves: dict[str, Shelf]
) -> list[Edge]:
    # The number tells two overlaps of the same two datasets apart.
    shared = f"images shared by {node.id} and {relation.dataset} ({len(shelves)})"
    cases = tuple(relation.pairs.values()) or relation.cases
    shelves[shared] = Shelf(
        DatasetNode.model_construct(
            id=shared,
            title=f"the images that {node.title} and {shelves[relation.dataset].node.title} share",
            splits={"shared": cases} if cases else {},
            count=relation.count,
        )
    )
    own, other, both = shelves[node.id], shelves[relation.dataset], shelves[shared]
    whole, size = both.everything, both.size(both.everything)
    sizes = [own.size(own.named(relation.own_split)), other.size(other.named(relation.split))]
    mine = _edge(own, both, whole, relation, relation.own_split, images=size or sizes[1])
    theirs = relation.model_copy(
        update={"names": "same" if mine.names_known or cases else None, "pairs": {}}
    )
    return [mine, _edge(other, both, whole, theirs, relation.split, images=size or sizes[0])]


def _topological(shelves: dict[str, Shelf], inner_of: dict[str, list[Edge]]) -> tuple[str, ...]:
    done: dict[str, None] = {}
    for start in shelves:
        _visit(start, inner_of, done, trail=[])
    return tuple(reversed(done))


def _visit(
    dataset: str, inner_of: dict[str, list[Edge]], done: dict[str, None], trail: list[str]
) -> None:
    if dataset in done:
        return
    if dataset in trail:
        cycle = " contains ".join([*trail[trail.index(dataset) :], dataset])
        raise DatasetError(
            f"The lineage runs in a circle: {cycle}. A dataset cannot contain itself; say which "
            "of them the images come from first."
        )
    for edge in inner_of.get(dataset, ()):
        _visit(edge.inner, inner_of, done, [*trail, dataset])
    done[dataset] = None


def _raise(problems: list[str]) -> None:
    if problems:
        raise DatasetError("The lineage cannot be used:\n" + "\n".join(problems))


def _renamed(
    cases: Iterable[str], names: Literal["same"] | CaseNames, *, inward: bool
) -> frozenset[str]:
    if names == "same":
        return frozenset(cases)
    source, target = (names.own, names.theirs) if inward else (names.theirs, names.own)
    before, width, after = _written(target)
    found = filter(None, map(_pattern(source).fullmatch, cases))
    if width and width == _written(source)[1]:
        return frozenset([f"{before}{m[1]}{after}" for m in found])
    return frozenset([f"{before}{int(m[1]):0{width}d}{after}" for m in found])


@cache
def _written(template: str) -> tuple[str, int, str]:
    before, _, rest = template.partition("{n")
    width, _, after = rest.partition("}")
    return before, int(width.removeprefix(":0") or 0), after


@cache
def _pattern(template: str) -> re.Pattern[str]:
    before, width, after = _written(template)
    # Numbers too long for the width are written without zeros in front.
    digits = rf"(\d{{{width}}}|[1-9]\d{{{width},}})" if width else r"(0|[1-9]\d*)"
    return re.compile(re.escape(before) + digits + re.escape(after))
