"""Find the scans that two datasets share under different names.

Scans whose exact digests agree are the same. For the others every slice of one dataset is compared
with slices of the other, in all eight layings and both directions; where one scan's slices agree
with another's at one offset, all of their common slices are compared, and the two are the same scan
when on average no more than `MAX_DISTANCE` of their bits differ.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segtrial.datasets.fingerprint import SIDE, Fingerprint, fingerprint, layings
from segtrial.datasets.fingerprint_file import load, save
from segtrial.datasets.progress import Progress
from segtrial.datasets.records import Case

MAX_DISTANCE = 0.13
"""Share of bits that may differ, averaged over the common slices.
``benchmarks/bench_fingerprints.py`` measures how often that is right: copies lie well below it,
scans of other patients above."""
_NEAR = 0.16
"""Share of bits below which two single slices vote for their scans."""
_STEP = 4
"""Every so many slices of the second scan are looked for."""
_MIN_SLICES = 6
"""Common slices below which nothing is claimed."""
_BITS = SIDE * SIDE
_BLOCK_ROWS = 4096


@dataclass(frozen=True)
class Same:
    """Two names of one scan."""

    one: str
    other: str
    how: Literal["exact", "perceptual"]
    slices: int
    """Slices that both have."""
    distance: float
    """Share of their bits that differ."""


def fingerprints(
    cases: Sequence[Case], *, kept: Path | None = None, progress: Progress | None = None
) -> dict[str, Fingerprint]:
    """Fingerprint of the first scan of every case, by case id.

    Parameters
    ----------
    cases : sequence of Case
    kept : Path, optional
        Folder for fingerprints; one is used again while its scan's size and time stay the same.
    progress : callable, optional
        Told the number of cases done and of all cases.

    Raises
    ------
    DatasetError
        A scan cannot be read.
    """
    found: dict[str, Fingerprint] = {}
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        made = pool.map(lambda case: _kept_or_made(case, kept), cases)
        for done, (case, mark) in enumerate(zip(cases, made, strict=True), start=1):
            found[case.id] = mark
            if progress:
                progress(done, len(cases))
    return found


def _kept_or_made(case: Case, kept: Path | None) -> Fingerprint:
    scan = case.scans[0]
    if kept is None:
        return fingerprint(scan)
    path = kept / f"{case.id}.npz"
    found = load(path, scan)
    if found is None:
        found = fingerprint(scan)
        save(path, found, scan)
    return found


def overlap(one: Mapping[str, Fingerprint], other: Mapping[str, Fingerprint]) -> tuple[Same, ...]:
    """Every pair of scans that are the same.

    Parameters
    ----------
    one, other : mapping of str to Fingerprint
        By case id.

    Returns
    -------
    tuple of Same
        In the order of the case ids of ``one``.
    """
    exact = _exact(one, other)
    known = {(same.one, same.other) for same in exact}
    near = [
        same
        for pair in _candidates(one, other)
        if (pair[0], pair[1]) not in known and (same := _compare(one, other, pair)) is not None
    ]
    best: dict[tuple[str, str], Same] = {}
    for same in near:
        kept = best.setdefault((same.one, same.other), same)
        if same.distance < kept.distance:
            best[same.one, same.other] = same
    return tuple(sorted([*exact, *best.values()], key=lambda same: (same.one, same.other)))


def distance(one: Fingerprint, other: Fingerprint) -> float:
    """Smallest share of differing bits over all layings, directions and offsets; 1.0 where none."""
    found = overlap_of(one, other)
    return min((share for share, _ in found), default=1.0)


def overlap_of(one: Fingerprint, other: Fingerprint) -> list[tuple[float, int]]:
    """Share of differing bits and number of common slices, for every laying and offset."""
    found = []
    for laying in range(2 * len(layings())):
        apart = _apart(one, _laid(other, laying))
        rows, columns = apart.shape
        for offset in range(_MIN_SLICES - rows, columns - _MIN_SLICES + 1):
            diagonal = np.diagonal(apart, offset)
            common = diagonal[~np.isnan(diagonal)]
            if common.size >= min(_MIN_SLICES, rows, columns):
                found.append((float(common.mean()), int(common.size)))
    return found


Pair = tuple[str, str, int, int]
"""Case, other case, laying, offset."""


def _exact(one: Mapping[str, Fingerprint], other: Mapping[str, Fingerprint]) -> list[Same]:
    by_digest: dict[str, list[str]] = {}
    for case, mark in other.items():
        by_digest.setdefault(mark.exact, []).append(case)
    return [
        Same(case, twin, "exact", len(mark.slices), 0.0)
        for case, mark in one.items()
        for twin in by_digest.get(mark.exact, ())
    ]


def _candidates(one: Mapping[str, Fingerprint], other: Mapping[str, Fingerprint]) -> list[Pair]:
    """Pairs for which some slices agree at one offset."""
    names, places, signs = _stack(one, step=1)
    votes: Counter[Pair] = Counter()
    for laying in range(2 * len(layings())):
        laid = {case: _laid(mark, laying) for case, mark in other.items()}
        their_names, their_places, their_signs = _stack(laid, step=_STEP)
        for start in range(0, len(signs), _BLOCK_ROWS):
            rows, columns = _agreeing(signs[start : start + _BLOCK_ROWS], their_signs)
            for row, column in zip((rows + start).tolist(), columns.tolist(), strict=True):
                offset = int(their_places[column] - places[row])
                votes[names[row], their_names[column], laying, offset] += 1
    return [pair for pair, count in votes.items() if count > 1]


def _stack(
    marks: Mapping[str, Fingerprint], *, step: int
) -> tuple[list[str], NDArray[np.intp], NDArray[np.float32]]:
    """Names, slice numbers and signs of all slices that show something."""
    names: list[str] = []
    places = []
    signs = []
    for case, mark in marks.items():
        kept = np.flatnonzero(mark.shown)[::step]
        names += [case] * kept.size
        places.append(kept)
        signs.append(_signs(mark.slices[kept]))
    if not names:
        return [], np.zeros(0, dtype=np.intp), np.zeros((0, _BITS), dtype=np.float32)
    return names, np.concatenate(places), np.concatenate(signs)


def _signs(bits: NDArray[np.bool_]) -> NDArray[np.float32]:
    return np.where(bits, np.float32(1), np.float32(-1))


def _agreeing(
    rows: NDArray[np.float32], columns: NDArray[np.float32]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs of slices that differ in fewer than `_NEAR` of their bits."""
    found = np.nonzero(rows @ columns.T > _BITS * (1 - 2 * _NEAR))
    return found[0], found[1]


def _laid(mark: Fingerprint, laying: int) -> Fingerprint:
    """A scan laid down in another way; the upper half of the numbers is feet first."""
    order, turned = layings()[laying % len(layings())]
    slices = mark.slices[:, order] ^ turned
    if laying >= len(layings()):
        return Fingerprint(mark.exact, slices[::-1], mark.shown[::-1])
    return Fingerprint(mark.exact, slices, mark.shown)


def _apart(one: Fingerprint, other: Fingerprint) -> NDArray[np.float64]:
    """Share of differing bits of every slice of one with every slice of the other."""
    agree = _signs(one.slices) @ _signs(other.slices).T
    apart = (1 - agree.astype(np.float64) / _BITS) / 2
    apart[~one.shown, :] = np.nan
    apart[:, ~other.shown] = np.nan
    return apart


def _compare(
    one: Mapping[str, Fingerprint], other: Mapping[str, Fingerprint], pair: Pair
) -> Same | None:
    mine, theirs, laying, offset = pair
    laid = _laid(other[theirs], laying)
    first = max(0, -offset)
    count = min(len(one[mine].slices) - first, len(laid.slices) - first - offset)
    here = slice(first, first + count)
    there = slice(first + offset, first + offset + count)
    shown = one[mine].shown[here] & laid.shown[there]
    if shown.sum() < min(_MIN_SLICES, len(one[mine].slices), len(laid.slices)):
        return None
    apart = float((one[mine].slices[here] ^ laid.slices[there])[shown].mean())
    if apart > MAX_DISTANCE:
        return None
    return Same(mine, theirs, "perceptual", int(shown.sum()), round(apart, 4))
