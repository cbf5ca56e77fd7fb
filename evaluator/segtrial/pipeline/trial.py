"""Tracks for trying out: the first cases of a declared track, or a single one.

Such a track has a name of its own, so its results are never mistaken for the declared track's.
"""

from __future__ import annotations

from dataclasses import replace

from segtrial.contracts.dataset_card import Track
from segtrial.contracts.reading import nearest
from segtrial.datasets import Dataset
from segtrial.errors import InputError

SAMPLE = "sample"


def with_first_cases(dataset: Dataset, track_id: str, count: int) -> tuple[Dataset, str]:
    """The dataset with a trial track of the first cases of a track, and that track's id.

    All of them, and the declared track itself, when it has no more cases than asked for.
    """
    track = dataset.track(track_id)
    cases = [case.id for case in dataset.cases_of(track)]
    if count >= len(cases):
        return dataset, track.id
    trial = f"{track.id[:40]}-first-{count}"
    title = f"Trial: the first {count} of {len(cases)} cases of {track.id}"
    first = Track(id=trial, title=title, cases=tuple(cases[:count]), structures=track.structures)
    return _only(dataset, first), trial


def with_sample(dataset: Dataset, case_id: str | None, *, declared: set[str]) -> Dataset:
    """The dataset with a track `SAMPLE` of one case, the first of its first track by default.

    It scores whatever the submission declares and the references can tell, not only what a
    declared track asks for.

    Raises
    ------
    InputError
        There is no such case.
    """
    track = dataset.card.tracks[0]
    cases = [case.id for case in dataset.cases_of(track)]
    chosen = cases[0] if case_id is None else case_id
    if chosen not in cases:
        raise InputError(
            f"{dataset.card.id} has no case {chosen!r} in its track {track.id}."
            f"{nearest(chosen, cases)}"
        )
    structures = [name for name in sorted(declared) if dataset.card.reference_labels(name)]
    sample = Track(
        id=SAMPLE,
        title="One sample case",
        cases=(chosen,),
        structures=tuple(structures) or track.structures,
    )
    return _only(dataset, sample)


def _only(dataset: Dataset, trial: Track) -> Dataset:
    return replace(dataset, card=dataset.card.model_copy(update={"tracks": (trial,)}))
