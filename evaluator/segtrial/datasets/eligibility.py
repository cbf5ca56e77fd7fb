"""The policy's answer for one submission and one dataset: each track, and all of them together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from segtrial.contracts.dataset_card import DatasetCard, Track
from segtrial.contracts.reading import nearest
from segtrial.contracts.submission import parse_submission
from segtrial.contracts.training import Training
from segtrial.datasets.cache import default_cache_dir
from segtrial.datasets.catalogue import CARD_NAME, list_cards, load_lineage, load_models
from segtrial.datasets.opening import open_dataset, remembered
from segtrial.datasets.patterns import fill, names_in
from segtrial.datasets.records import Case, Dataset
from segtrial.errors import DatasetError, SubmissionError
from segtrial.policy.contamination import (
    Judgement,
    Seen,
    TargetCase,
    judge_cases,
    seen_of,
)
from segtrial.policy.declaration import find_model
from segtrial.resources import resource_dir

MANIFEST = "submission.yaml"


@dataclass(frozen=True)
class Entry:
    """Whoever is judged."""

    name: str
    training: Training | None
    declared_by: str
    """``the submission``, or ``us`` for a known model."""


@dataclass(frozen=True)
class DatasetAnswer:
    """Verdicts for one entry on one dataset."""

    entry: Entry
    card: DatasetCard
    overall: Judgement
    """On all cases of all tracks."""
    tracks: Mapping[str, Judgement]

    def as_json(self) -> dict[str, object]:
        """Plain values, for a program."""
        return {
            "submission": self.entry.name,
            "declared_by": self.entry.declared_by,
            "dataset": self.card.id,
            "version": self.card.version,
            "references": self.card.references,
            "verdict": self.overall.verdict,
            "ranked": self.overall.ranked,
            "cases": self.overall.counts,
            "tracks": [
                {"id": track, "verdict": judged.verdict, "ranked": judged.ranked,
                 "cases": judged.counts}
                for track, judged in self.tracks.items()
            ],
            "paths": [path.as_json() for path in self.overall.paths],
        }  # fmt: skip


def dataset_here(name: str, card: DatasetCard) -> Dataset | None:
    """The dataset where its folder was named, or is remembered and complete; else None."""
    if (Path(name) / CARD_NAME).is_file():
        return open_dataset(name)
    cache = default_cache_dir()
    if remembered(card, cache) is None and not (cache / card.id).is_dir():
        return None
    try:
        found = open_dataset(name)
        for track in card.tracks:
            found.select(track)
    except DatasetError:
        return None
    return found


def find_entry(name: str) -> Entry:
    """A submission by folder or file, or a known model or model image by id.

    Raises
    ------
    SubmissionError
        There is none; the message names the nearest known model.
    """
    path = Path(name)
    if path.is_dir():
        path /= MANIFEST
    if path.is_file():
        return _from_manifest(path)
    models = load_models()
    model = find_model(name, models)
    if model is not None:
        return Entry(models[model].id, models[model].training, "us")
    packaged = resource_dir("model_images") / name / MANIFEST
    if "/" not in name and packaged.is_file():
        return _from_manifest(packaged)
    raise SubmissionError(
        f"{name!r} is no submission folder or file, and no known model.{nearest(name, models)} "
        f"Known models: {', '.join(models)}."
    )


def answer(
    entry: Entry, card: DatasetCard, *, dataset: Dataset | None = None, track: str | None = None
) -> DatasetAnswer:
    """Verdicts for an entry on every track of a dataset.

    Parameters
    ----------
    entry : Entry
    card : DatasetCard
    dataset : Dataset, optional
        The dataset on this machine: then patients and splits are those that were found. Without
        it every case is a patient of its own, and cases whose ids the card does not list stand for
        themselves by number.
    track : str, optional
        Only this one.

    Raises
    ------
    SubmissionError
        The declaration cannot be used.
    DatasetError
        There is no such track.
    """
    tracks = card.tracks if track is None else (_track(card, track),)
    cases = {one.id: _cases(card, one, dataset) for one in tracks}
    together = {case.id: case for one in cases.values() for case in one}
    everyone = (
        listed_everywhere(card) if dataset is None else [_target(case) for case in dataset.cases]
    )
    seen = _seen(entry, card)
    judged = {one: judge_cases(seen, part, also=everyone) for one, part in cases.items()}
    overall = judge_cases(seen, list(together.values()), also=everyone)
    return DatasetAnswer(entry, card, overall, judged)


def matrix() -> dict[str, dict[str, Judgement]]:
    """Every known model on every track: ``{model: {dataset/track: answer}}``."""
    found: dict[str, dict[str, Judgement]] = {}
    cards = [card for card in list_cards() if card.id != "phantom"]
    cases = {card.id: {one.id: _cases(card, one, None) for one in card.tracks} for card in cards}
    everyone = {card.id: listed_everywhere(card) for card in cards}
    for model in load_models().values():
        entry = Entry(model.id, model.training, "us")
        row = found[model.id] = {}
        for card in cards:
            seen = _seen(entry, card)
            for track, scored in cases[card.id].items():
                row[f"{card.id}/{track}"] = judge_cases(seen, scored, also=everyone[card.id])
    return found


def _seen(entry: Entry, card: DatasetCard) -> Seen:
    return seen_of(
        entry.training,
        name=entry.name,
        dataset=card.id,
        graph=load_lineage(card),
        models=load_models(),
    )


def _target(case: Case) -> TargetCase:
    return TargetCase(case.id, case.patient, case.split)


def _cases(card: DatasetCard, track: Track, dataset: Dataset | None) -> list[TargetCase]:
    if dataset is not None:
        return [_target(case) for case in dataset.select(track)]
    listed = card.listed_cases(track)
    if listed is not None:
        return _by_id(card, listed)
    splits = card.groups.get(track.split or "", (track.split,) if track.split else ())
    names = splits or (*card.splits, *card.unlisted)
    found = _by_id(card, (case for name in names for case in card.splits.get(name, ())))
    for name in names:
        count = card.unlisted.get(name)
        found += [
            TargetCase(f"{name} {n}", "", name, nameless=True) for n in range(1, (count or 0) + 1)
        ]
    return found or [
        TargetCase(f"case {n}", nameless=True) for n in range(1, (card.count or 1) + 1)
    ]


def listed_everywhere(card: DatasetCard) -> list[TargetCase]:
    """Every case that the card lists, with its patient as far as its name says it."""
    return _by_id(card, (case for split in card.splits.values() for case in split))


def _by_id(card: DatasetCard, cases: Iterable[str]) -> list[TargetCase]:
    return [TargetCase(case, _patient(card, case)) for case in cases]


def _patient(card: DatasetCard, case: str) -> str:
    """Whose case it is, where the card says so in how it names cases; else nobody knows yet."""
    for files in card.files:
        names = names_in(files.id, case) if files.patient else None
        if names is not None and files.patient is not None:
            return fill(files.patient, names)
    return ""


def _track(card: DatasetCard, track: str) -> Track:
    try:
        return card.track(track)
    except ValueError as problem:
        hint = nearest(track, [one.id for one in card.tracks])
        raise DatasetError(f"{problem}.{hint}") from None


def _from_manifest(path: Path) -> Entry:
    try:
        manifest = parse_submission(path.read_bytes(), source=str(path))
    except OSError as problem:
        raise SubmissionError(f"{path} cannot be read: {problem.strerror}.") from None
    return Entry(manifest.id, manifest.training, "the submission")
