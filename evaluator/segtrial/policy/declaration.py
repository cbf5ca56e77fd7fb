"""From what authors declare to exposures: aliases, splits, spellings, inherited weights, teachers.

Every problem of a declaration is named at once; a declaration that cannot be read is never judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from segtrial.contracts.reading import nearest
from segtrial.contracts.training import (
    PRIVATE,
    UNDISCLOSED,
    KnownModel,
    Training,
    TrainingSource,
)
from segtrial.errors import SubmissionError
from segtrial.policy.case_names import CaseIndex
from segtrial.policy.exposure import Exposure, Kind, Step, describe
from segtrial.policy.lineage_graph import LineageGraph, fold
from segtrial.policy.subset import Subset

_VERB = {
    "labels": "was trained with labels on",
    "pseudo_labels": "was trained with pseudo labels on",
    "images": "was pre-trained on the images of",
    "selection": "was chosen by its scores on",
}
_KIND: dict[str, Kind] = {
    "labels": "labels",
    "pseudo_labels": "labels",
    "images": "images",
    "selection": "labels",
}


@dataclass(frozen=True)
class Declared:
    """What a declaration says."""

    exposures: tuple[Exposure, ...]
    undisclosed: tuple[tuple[Step, ...], ...]
    """Paths to data that nobody names: anything may be in it."""


def read_declaration(
    training: Training,
    *,
    name: str,
    graph: LineageGraph,
    models: Mapping[str, KnownModel],
) -> Declared:
    """Resolve a declaration against the lineage and the known models.

    Parameters
    ----------
    training : Training
    name : str
        What to call the model in sentences.
    graph : LineageGraph
    models : mapping of str to KnownModel
        By id.

    Raises
    ------
    SubmissionError
        Naming every unknown dataset, split, case and model, and every contradiction.
    """
    reader = _Reader(graph, models)
    reader.read(training, name=name, trail=(), lineage=())
    if reader.problems:
        raise SubmissionError(
            f"The training declaration of {name} cannot be used:\n" + "\n".join(reader.problems)
        )
    return Declared(tuple(reader.exposures), tuple(reader.undisclosed))


def find_model(name: str, models: Mapping[str, KnownModel]) -> str | None:
    """Id of the known model that an id, title or alias in any spelling means."""
    if name in models:
        return name
    for model in models.values():
        if fold(name) in {fold(spelling) for spelling in (model.id, model.title, *model.aliases)}:
            return model.id
    return None


class _Reader:
    def __init__(self, graph: LineageGraph, models: Mapping[str, KnownModel]) -> None:
        self.graph = graph
        self.models = models
        self.problems: list[str] = []
        self.exposures: list[Exposure] = []
        self.undisclosed: list[tuple[Step, ...]] = []
        self._indices: dict[str, CaseIndex] = {}

    def read(
        self, training: Training, *, name: str, trail: tuple[Step, ...], lineage: tuple[str, ...]
    ) -> None:
        self._contradictions(training)
        for source in training.sources:
            self._source(source, name=name, trail=trail)
        for parents, words in (
            (training.initialised_from, "starts from the weights of"),
            (training.teachers, "learned from the predictions of"),
        ):
            for parent in parents:
                self._parent(parent, words, name=name, trail=trail, lineage=lineage)

    def _parent(
        self,
        parent: str,
        words: str,
        *,
        name: str,
        trail: tuple[Step, ...],
        lineage: tuple[str, ...],
    ) -> None:
        found = find_model(parent, self.models)
        if found is None:
            hint = nearest(parent, self.models)
            self.problems.append(
                f"{parent!r} is no known model.{hint} 'evaluate policy matrix' lists them; for "
                "another one, declare what it was trained on as sources of your own, or the "
                f"dataset {UNDISCLOSED!r}."
            )
            return
        if found in lineage:
            return
        model = self.models[found]
        step = Step(f"{name} {words} {model.title}", (), "high")
        if model.training is None:
            end = Step(f"{model.title} names no training data", _links(model), "high")
            self.undisclosed.append((*trail, step, end))
            return
        self.read(model.training, name=model.title, trail=(*trail, step), lineage=(*lineage, found))

    def _source(self, source: TrainingSource, *, name: str, trail: tuple[Step, ...]) -> None:
        dataset = self.graph.find(source.dataset)
        if dataset is None:
            self.problems.append(
                f"{source.dataset!r} is no dataset id or alias known here."
                f"{self.graph.nearest(source.dataset)} 'evaluate datasets list --all' shows them. "
                f"For data that is in no public dataset write {PRIVATE!r}, for data you do not "
                f"name {UNDISCLOSED!r}."
            )
            return
        if dataset == PRIVATE:
            return
        if dataset == UNDISCLOSED:
            words = f"{name} {_VERB[source.used_for]} data that its authors do not name"
            self.undisclosed.append((*trail, Step(words, source.evidence, source.confidence)))
            return
        part = self._part(source, dataset)
        if not part:
            return
        some = "some of " if source.extent == "some" else ""
        sentence = f"{name} {_VERB[source.used_for]} {some}{describe(dataset, part, self.graph)}"
        if source.note:
            sentence += f" [{source.note}]"
        self.exposures.append(
            Exposure(
                dataset=dataset,
                part=part,
                sure=source.extent == "all" and source.confidence != "low",
                kind=_KIND[source.used_for],
                path=(*trail, Step(sentence, source.evidence, source.confidence)),
                least=self._least(source, dataset, part),
            )
        )

    def _least(self, source: TrainingSource, dataset: str, part: Subset) -> int:
        if source.confidence == "low":
            return 0
        size = self.graph.shelves[dataset].size(part)
        if source.count is not None and size is not None and source.count > size:
            self.problems.append(
                f"{dataset}: {source.count} cases are declared, but there are only {size} in what "
                "is named; correct the number, or count cases and not series."
            )
        return source.count or 1

    def _part(self, source: TrainingSource, dataset: str) -> Subset:
        shelf = self.graph.shelves[dataset]
        node = shelf.node
        if source.split is not None and source.split not in {*shelf.splits, *node.groups}:
            valid = sorted({*node.splits, *node.unlisted, *node.groups})
            hint = nearest(source.split, valid) or (
                f" It has: {', '.join(valid)}." if valid else " It has no splits."
            )
            self.problems.append(f"{dataset} has no split {source.split!r}.{hint}")
            return Subset()
        if not source.cases:
            return shelf.named(source.split)
        return self._cases(source, dataset)

    def _cases(self, source: TrainingSource, dataset: str) -> Subset:
        shelf = self.graph.shelves[dataset]
        index = self._indices.setdefault(dataset, CaseIndex(shelf.split_of))
        inside = shelf.named(source.split).splits
        hidden = inside & shelf.unlisted
        found = set()
        lost = []
        for written in source.cases:
            case = index.find(written)
            if case is None and hidden and not index.alike(written):
                found.add(written)  # its split's ids are published nowhere: taken as written
            elif case is None:
                lost.append(written)
            elif source.split is not None and shelf.split_of[case] not in inside:
                self.problems.append(
                    f"{dataset}: case {case!r} is declared in the split {source.split!r} but is in "
                    f"{shelf.split_of[case]!r}; correct one of them."
                )
            else:
                found.add(case)
        if lost:
            more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
            self.problems.append(
                f"{dataset} has no case {lost[0]!r}{more}.{index.nearest(lost[0])} "
                "Write the ids as the dataset does."
            )
        return shelf.named(None, found, among=hidden) if found else Subset()

    def _contradictions(self, training: Training) -> None:
        whole: dict[tuple[str, str], TrainingSource] = {}
        for source in training.sources:
            dataset = self.graph.find(source.dataset)
            if dataset in (PRIVATE, UNDISCLOSED) and (source.split or source.cases):
                self.problems.append(
                    f"{dataset!r} stands for data without a public name; it has no splits or cases."
                )
            if dataset is None or source.cases:
                continue
            key = (dataset, source.split or "")
            other = whole.setdefault(key, source)
            if other is not source and {other.extent, source.extent} == {"all", "some"}:
                where = f"{dataset} split {source.split}" if source.split else dataset
                self.problems.append(
                    f"{where} is declared twice, once as all of it and once as some of it; "
                    "keep the one that is true."
                )


def _links(model: KnownModel) -> tuple[str, ...]:
    return (model.homepage,) if model.homepage else ()
