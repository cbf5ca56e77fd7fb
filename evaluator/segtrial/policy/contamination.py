"""Who may be ranked where: eligibility of each case of a track for one submission, with reasons.

`judge` is pure: a declaration, the lineage of all datasets and the case list in, eligibility out.
The rules (DESIGN 8):

- a case whose image, or another scan of whose patient, surely took part with labels (own or
  another model's, or to choose a checkpoint) is *contaminated*;
- a case whose image surely took part without labels is *images_only*;
- where it is possible but not published whether it, or another scan of its patient, took part, or
  the link has low confidence, the case is *unknown*, unless its images surely took part and only
  images may have; so is every case of a submission without a declaration;
- every other case is *clean*, as far as the declaration is true.

A track is *clean* only when every case is, and *contaminated* when every case is. It is *partial*
when some cases are, or are known to be among cases that are unknown one by one ("some of these 300
were used"). Otherwise it is *unknown* where labels may have been used, *images_only* where images
surely were, and *unknown* where they may have been. Only clean is ranked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from segtrial.contracts.attempt import Eligibility, TrackVerdict
from segtrial.contracts.reading import nearest
from segtrial.contracts.training import KnownModel, Training
from segtrial.errors import DatasetError
from segtrial.policy.declaration import read_declaration
from segtrial.policy.evidence import EvidencePath
from segtrial.policy.exposure import Exposure, Kind, Step, spread
from segtrial.policy.lineage_graph import LineageGraph
from segtrial.policy.subset import Shelf
from segtrial.policy.target import Target, TargetCase

__all__ = [
    "EvidencePath",
    "Judgement",
    "Seen",
    "TargetCase",
    "judge",
    "judge_cases",
    "seen_of",
]

_WORST: tuple[Eligibility, ...] = ("contaminated", "unknown", "images_only", "clean")
_RANK: dict[tuple[Eligibility, Kind], int] = {
    ("contaminated", "labels"): 0,
    ("unknown", "labels"): 1,
    ("images_only", "images"): 2,
    ("unknown", "images"): 3,
}
"""Worst first: images that may have been used say less than images that surely were."""


@dataclass(frozen=True)
class Judgement:
    """The policy's answer for one submission on one case list."""

    verdict: TrackVerdict
    eligibility: Mapping[str, Eligibility]
    paths: tuple[EvidencePath, ...]

    @property
    def ranked(self) -> bool:
        """Whether the submission is ranked on these cases."""
        return self.verdict == "clean"

    @property
    def counts(self) -> dict[str, int]:
        """Number of cases of each eligibility, all four named."""
        counted = Counter(self.eligibility.values())
        return {eligibility: counted[eligibility] for eligibility in reversed(_WORST)}

    @property
    def evidence(self) -> tuple[str, ...]:
        """The paths as sentences."""
        return tuple(path.sentence for path in self.paths)


@dataclass(frozen=True)
class Seen:
    """What a model has seen of one dataset, before any case list."""

    dataset: str
    shelf: Shelf
    exposures: tuple[Exposure, ...]
    anything: tuple[tuple[Step, ...], ...]
    """Paths to training data that nobody names: any case may be among them."""


def judge(
    training: Training | None,
    *,
    name: str,
    dataset: str,
    cases: Sequence[TargetCase],
    graph: LineageGraph,
    models: Mapping[str, KnownModel],
    also: Sequence[TargetCase] = (),
) -> Judgement:
    """Eligibility of each case for a submission, and the verdict on all of them together.

    Parameters
    ----------
    training : Training or None
        What the submission declares; None is unknown on everything.
    name : str
        What to call the submission in sentences.
    dataset : str
        Id of the dataset that is scored, in ``graph``.
    cases : sequence of TargetCase
        The track's cases, at least one.
    graph : LineageGraph
        Every dataset; see `LineageGraph.build`.
    models : mapping of str to KnownModel
        Known models by id, for inherited weights and teachers.
    also : sequence of TargetCase
        Further cases of the dataset: one that took part, or may have, taints its patient's cases
        on the track.

    Returns
    -------
    Judgement

    Raises
    ------
    SubmissionError
        The declaration names something that does not exist or contradicts itself.
    DatasetError
        ``dataset`` is not in the graph, or ``cases`` is empty.
    """
    seen = seen_of(training, name=name, dataset=dataset, graph=graph, models=models)
    return judge_cases(seen, cases, also=also)


def seen_of(
    training: Training | None,
    *,
    name: str,
    dataset: str,
    graph: LineageGraph,
    models: Mapping[str, KnownModel],
) -> Seen:
    """What a submission has seen of a dataset; the first half of `judge`, for several tracks."""
    if dataset not in graph.shelves:
        hint = nearest(dataset, graph.shelves)
        raise DatasetError(f"The lineage has no dataset {dataset!r}.{hint}")
    shelf = graph.shelves[dataset]
    if training is None:
        step = Step(f"{name} declares no training data", (), "high")
        return Seen(dataset, shelf, (), ((step,),))
    declared = read_declaration(training, name=name, graph=graph, models=models)
    found = spread(declared.exposures, graph, target=dataset)
    return Seen(dataset, shelf, found, declared.undisclosed)


def judge_cases(
    seen: Seen, cases: Sequence[TargetCase], *, also: Sequence[TargetCase] = ()
) -> Judgement:
    """Eligibility of each case of a track; the second half of `judge`."""
    if not cases:
        raise DatasetError(f"There is no case of {seen.dataset} to judge; name at least one.")
    target = Target(seen.shelf, cases, also)
    reached_by_rank: list[set[str]] = [set() for _ in _RANK]
    paths = []
    for exposure in seen.exposures:
        for path, reached in target.paths(exposure):
            if _worsen(reached_by_rank, reached, path) or path.least:
                paths.append(path)
    for steps in seen.anything:
        path = EvidencePath("unknown", len(target.scored), steps, "high")
        if _worsen(reached_by_rank, target.scored, path):
            paths.append(path)
    eligibility: dict[str, Eligibility] = dict.fromkeys((case.id for case in cases), "clean")
    for (becomes, _), rank in reversed(_RANK.items()):
        eligibility.update(dict.fromkeys(reached_by_rank[rank], becomes))
    return Judgement(_verdict(eligibility, paths), eligibility, tuple(paths))


def _verdict(eligibility: Mapping[str, Eligibility], paths: Sequence[EvidencePath]) -> TrackVerdict:
    found = set(eligibility.values())
    if found <= {"contaminated"}:
        return "contaminated"
    if "contaminated" in found or any(p.least and p.kind == "labels" for p in paths):
        return "partial"
    if any(p.eligibility == "unknown" and p.kind == "labels" for p in paths):
        return "unknown"
    if "images_only" in found or any(p.least for p in paths):
        return "images_only"
    return "unknown" if "unknown" in found else "clean"


def _worsen(reached_by_rank: list[set[str]], cases: set[str], path: EvidencePath) -> bool:
    """Note a path for the cases it makes worse; whether there are any."""
    rank = _RANK[path.eligibility, path.kind]
    worse = cases
    for reached in reached_by_rank[: rank + 1]:
        worse = worse - reached  # one by one: quick for few cases, however many were reached
    reached_by_rank[rank] |= worse
    return bool(worse)
