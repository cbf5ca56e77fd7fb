"""How an exposure spreads through the lineage.

Images are the same when a dataset that both sides contain holds them, so an exposure runs *down*
from what was declared to what that contains, and then *up* to what contains the same images;
never up and then down again (that two datasets are in one collection says nothing).

An exposure is *sure* when every image it names was seen. Otherwise it is only *possible* for each
of them, although it may be known that at least some were: "204 of these 300, it is not published
which". That number is carried along (`Exposure.least`), because a track that holds all 300 is then
surely not clean, while nothing can be said of a track that holds 90 of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from segtrial.contracts.lineage import Confidence
from segtrial.policy.lineage_graph import Edge, LineageGraph
from segtrial.policy.subset import Shelf, Subset

Kind = Literal["labels", "images"]
_SURE = 2
_RANK: dict[Confidence, int] = {"low": 0, "medium": 1, "high": 2}


@dataclass(frozen=True)
class Step:
    """One link of a path of evidence."""

    sentence: str
    evidence: tuple[str, ...]
    confidence: Confidence


@dataclass(frozen=True)
class Exposure:
    """A model has seen images of ``part`` of ``dataset``."""

    dataset: str
    part: Subset
    sure: bool
    kind: Kind
    path: tuple[Step, ...]
    least: int = 0
    """How many images of ``part`` were seen for sure, where it is not known which; 0 where none."""

    @property
    def confidence(self) -> Confidence:
        """That of the weakest link."""
        return min((step.confidence for step in self.path), key=_RANK.__getitem__)

    @property
    def strength(self) -> tuple[int, int]:
        """Orders exposures: sure ones, then some of it, then possible ones; labels first."""
        return (_SURE if self.sure else int(self.least > 0), int(self.kind == "labels"))


def spread(
    exposures: Iterable[Exposure], graph: LineageGraph, *, target: str
) -> tuple[Exposure, ...]:
    """Everything a model has seen of ``target``.

    Parameters
    ----------
    exposures : iterable of Exposure
        What was declared, on the datasets that were named.
    graph : LineageGraph
    target : str
        Id of the dataset that is evaluated.

    Returns
    -------
    tuple of Exposure
        On ``target``, strongest first; none says what a stronger one says already.
    """
    seen = {dataset: _Ledger(shelf) for dataset, shelf in graph.shelves.items()}
    for exposure in exposures:
        seen[exposure.dataset].add(exposure)
    for dataset in graph.order:
        seen[dataset].join()
        seen[dataset].spread_to_patients(target)
        for edge in graph.inner_of.get(dataset, ()):
            _follow(seen, dataset, edge, _down, graph)
    inside = graph.below(target)
    for dataset in (one for one in reversed(graph.order) if one in inside):
        seen[dataset].spread_to_patients(target)
        for edge in graph.outer_of.get(dataset, ()):
            if edge.outer in inside:
                _follow(seen, dataset, edge, _up, graph)
    return tuple(seen[target].strongest_first())


def _follow(
    seen: dict[str, _Ledger],
    dataset: str,
    edge: Edge,
    move: Callable[[Exposure, Edge, LineageGraph], list[Exposure]],
    graph: LineageGraph,
) -> None:
    for exposure in seen[dataset].strongest_first():
        for found in move(exposure, edge, graph):
            seen[found.dataset].add(found)


class _Ledger:
    """What is known of one dataset so far; an exposure that says nothing new is not kept."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._kept: list[Exposure] = []
        self._cases: dict[tuple[int, int], set[str]] = {}
        self._splits: dict[tuple[int, int], set[str]] = {}

    def add(self, new: Exposure) -> None:
        """Keep an exposure unless stronger ones say as much of every image that it names."""
        if not new.part or self._is_old(new):
            return
        self._kept.append(new)
        self._cases.setdefault(new.strength, set()).update(new.part.cases)
        self._splits.setdefault(new.strength, set()).update(new.part.splits)

    def strongest_first(self) -> list[Exposure]:
        """Sure exposures, then some, then possible ones; labels and short paths first."""
        return sorted(self._kept, key=lambda e: (*(-s for s in e.strength), len(e.path)))

    def join(self) -> None:
        """Add the splits that several exposures make up together, where one alone does not."""
        for kind in ("labels", "images"):
            here = [e for e in self._kept if e.sure and kind in (e.kind, "images")]
            union = self._shelf.tidy(
                Subset(
                    frozenset().union(*(e.part.splits for e in here)),
                    frozenset().union(*(e.part.cases for e in here)),
                )
            )
            if not union.splits or any(union.splits <= e.part.splits for e in here):
                continue
            steps = (e.path for e in here if self._shelf.common(e.part, Subset(union.splits)))
            path = tuple(dict.fromkeys(itertools.chain.from_iterable(steps)))
            dataset = self._shelf.node.id
            self._kept.append(Exposure(dataset, Subset(union.splits), True, kind, path))  # noqa: FBT003

    def spread_to_patients(self, target: str) -> None:
        """Where patients have several scans: one that was seen may be of the patient of any other.

        On the target itself it is known, case by case, who is who.
        """
        node = self._shelf.node
        if node.id == target or not node.several_scans_per_patient:
            return
        everything = self._shelf.everything
        sentence = f"{node.title} has several scans of some patients, here or elsewhere"
        for seen in self.strongest_first():
            if not self._shelf.is_everything(seen.part):
                path = (*seen.path, Step(sentence, (), "high"))
                self.add(Exposure(node.id, everything, False, seen.kind, path))  # noqa: FBT003

    def _is_old(self, new: Exposure) -> bool:
        """Whether what is kept leaves nothing new to say.

        "Some of these" says nothing about some of a part of them: there, only what is sure, or
        the same words, count.
        """
        some = new.least > 0 and not new.sure
        if some and any(
            old.part == new.part and old.least >= new.least and _says_more(old.strength, new)
            for old in self._kept
        ):
            return True
        classes = [
            strength
            for strength in self._cases
            if _says_more(strength, new) and (strength[0] == _SURE or not some)
        ]
        splits = frozenset[str]().union(*(self._splits[strength] for strength in classes))
        if not new.part.splits <= splits:
            return False
        named = new.part.cases
        for strength in classes:
            named = named - self._cases[strength]
        return all(self._shelf.split_of.get(case) in splits for case in named)


def _says_more(strength: tuple[int, int], new: Exposure) -> bool:
    return all(old >= mine for old, mine in zip(strength, new.strength, strict=True))


def _down(exposure: Exposure, edge: Edge, graph: LineageGraph) -> list[Exposure]:
    """What an exposure of a container says about what it contains."""
    outer, inner = graph.shelves[edge.outer], graph.shelves[edge.inner]
    place = outer.named(edge.outer_split)
    common = outer.common(exposure.part, place)
    perhaps = outer.perhaps_common(exposure.part, place)
    if not common and not perhaps:
        return []
    step = _step(edge, graph)
    if exposure.sure and outer.covers(exposure.part, place):
        least = 0 if edge.full else _some(edge.count, inner.size(edge.part))
        return [_moved(exposure, edge.inner, edge.part, step, sure=edge.full, least=least)]
    if not edge.names_known:
        least = _left_of_all(exposure, edge, outer, inner) if edge.full and common else 0
        step = _unmapped(step, graph, edge)
        return [_moved(exposure, edge.inner, edge.part, step, sure=False, least=least)]
    sure, possible = _inner_cases(common, perhaps, edge, outer, inner)
    there = sure.cases & (inner.split_of.keys() | edge.paired_inner)  # a rule may give ids of none
    least = _left_of_mapped(exposure, outer, len(there)) if edge.full else 0
    return [
        _moved(exposure, edge.inner, inner.tidy(sure), step, sure=edge.full, least=least),
        _moved(exposure, edge.inner, inner.tidy(possible), step, sure=False, least=0),
    ]


def _inner_cases(
    common: Subset, perhaps: frozenset[str], edge: Edge, outer: Shelf, inner: Shelf
) -> tuple[Subset, Subset]:
    """Cases of ``inner`` that are surely, and possibly, among images of ``outer``.

    ``common`` are those of its images that are where ``inner`` lies, ``perhaps`` cases that may be.
    """
    cases, hidden = outer.known_cases(common)
    listed, inner_hidden = inner.known_cases(edge.part)
    mapped, may_be = edge.to_inner(cases), edge.to_inner(perhaps)
    sure = mapped & listed
    possible = may_be & listed
    if inner_hidden:
        unlisted = inner.in_no_list(mapped - listed)
        possible |= inner.in_no_list(may_be)
        if inner.unlisted <= inner_hidden:
            sure |= unlisted
        else:
            possible |= unlisted
    splits: frozenset[str] = frozenset()
    if hidden or not _mapping_is_whole(cases | perhaps, edge, listed, inner.size(edge.part)):
        elsewhere = edge.to_inner(
            case for case, split in outer.split_of.items() if split not in common.splits
        )
        elsewhere -= may_be
        possible |= listed - sure - elsewhere
        splits = inner_hidden
    return Subset(cases=sure, exact=True), Subset(splits, possible - sure, exact=True)


def _mapping_is_whole(
    cases: frozenset[str], edge: Edge, inner_listed: frozenset[str], inner_size: int | None
) -> bool:
    """Whether a case without a partner is surely not one of the images of ``inner``.

    A rule for names holds for all images; a list of pairs may be of some of them.
    """
    if edge.names is not None or cases <= edge.paired_outer:
        return True
    paired = edge.paired_inner
    return len(paired) >= inner_size if inner_size is not None else inner_listed <= paired


def _up(exposure: Exposure, edge: Edge, graph: LineageGraph) -> list[Exposure]:
    """What an exposure of contained images says about their container."""
    outer, inner = graph.shelves[edge.outer], graph.shelves[edge.inner]
    common = inner.common(exposure.part, edge.part)
    perhaps = inner.perhaps_common(exposure.part, edge.part)
    if not common and not perhaps:
        return []
    step = _step(edge, graph)
    place = outer.named(edge.outer_split)
    least = _left(exposure, inner, common) if edge.full and common else 0
    if edge.fills_split and inner.covers(exposure.part, edge.part):
        return [_moved(exposure, edge.outer, place, step, sure=edge.full, least=least)]
    if not edge.names_known:
        step = _unmapped(step, graph, edge)
        return [_moved(exposure, edge.outer, place, step, sure=False, least=least)]
    cases, hidden = inner.known_cases(common)
    unmapped = _without_counterpart(cases | perhaps, edge)
    among = place.splits & outer.unlisted
    sure, possible = (
        outer.tidy(Subset(cases=edge.to_outer(some), among=among, exact=True))
        for some in (cases, perhaps)
    )
    if unmapped:
        least = 0
    found = [
        _moved(exposure, edge.outer, sure, step, sure=edge.full, least=least),
        _moved(exposure, edge.outer, possible, step, sure=False, least=0),
    ]
    if hidden or unmapped:
        found.append(_moved(exposure, edge.outer, place, step, sure=False, least=0))
    return found


def _without_counterpart(cases: frozenset[str], edge: Edge) -> bool:
    """Whether some of the cases of the contained dataset have no id in its container."""
    if edge.names is None:
        return not cases <= edge.paired_inner
    return len(edge.to_outer(cases)) < len(cases)


def _some(count: int | None, size: int | None) -> int:
    """How many images "some of these" stands for at least.

    A count as large as the whole counts something else (series, say), so it means "some".
    """
    return count if count is not None and size is not None and count < size else 1


def _left(exposure: Exposure, shelf: Shelf, place: Subset) -> int:
    """How many of the seen images are in ``place`` at least."""
    common = shelf.size(shelf.common(exposure.part, place))
    if exposure.sure:
        return max(common or 1, 1)
    size = shelf.size(exposure.part)
    if exposure.part == place or shelf.covers(place, exposure.part):
        return exposure.least
    return max(exposure.least - size + common, 0) if size is not None and common is not None else 0


def _left_of_mapped(exposure: Exposure, outer: Shelf, mapped: int) -> int:
    """How many of the seen images are among the ``mapped`` ones at least."""
    if exposure.sure:
        return mapped
    size = outer.size(exposure.part)
    return max(exposure.least - (size - mapped), 0) if size is not None else 0


def _left_of_all(exposure: Exposure, edge: Edge, outer: Shelf, inner: Shelf) -> int:
    """How many of the seen images are of ``inner`` at least, when it is not known which are.

    A container of N images with b of ``inner`` holds N - b others; more than that many seen
    images cannot all be others.
    """
    place = outer.named(edge.outer_split)
    size, wanted = outer.size(place), inner.size(edge.part)
    if size is None or wanted is None or size < wanted:
        return 0  # not known, or the two sides count different things (patients, series)
    return max(_left(exposure, outer, place) - (size - wanted), 0)


def _moved(
    exposure: Exposure, dataset: str, part: Subset, step: Step, *, sure: bool, least: int
) -> Exposure:
    believed = step.confidence != "low"
    return Exposure(
        dataset=dataset,
        part=part,
        sure=exposure.sure and sure and believed,
        kind=exposure.kind,
        path=(*exposure.path, step),
        least=least if believed else 0,
    )


def _step(edge: Edge, graph: LineageGraph) -> Step:
    inner = describe(edge.inner, edge.part, graph)
    amount = "" if edge.full else "some of "
    counted = f" ({edge.count} images)" if edge.count else ""
    sentence = f"{graph.title(edge.outer)} contains {amount}{inner}{counted}"
    if edge.note:
        sentence += f" [{edge.note}]"
    return Step(sentence, edge.evidence, edge.confidence)


def _unmapped(step: Step, graph: LineageGraph, edge: Edge) -> Step:
    why = f"which case of {graph.title(edge.outer)} is which is not published"
    return replace(step, sentence=f"{step.sentence}; {why}")


def describe(dataset: str, part: Subset, graph: LineageGraph) -> str:
    """'KiTS23 (split added, 189 cases)': a part of a dataset for people."""
    shelf = graph.shelves[dataset]
    title = graph.title(dataset)
    if shelf.is_everything(part):
        return title
    pieces = [f"split {split}" for split in sorted(part.splits)]
    size = shelf.size(part)
    pieces += ["1 case" if size == 1 else f"{size} cases"] if size is not None else []
    return f"{title} ({', '.join(pieces)})" if pieces else title
