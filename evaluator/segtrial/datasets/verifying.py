"""``evaluate datasets verify``: every file that is missing, cut off, mislabelled or misaligned."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal

import numpy as np

from segtrial.contracts.case_list import compact
from segtrial.contracts.dataset_card import DatasetCard
from segtrial.datasets.file_kind import problem_of
from segtrial.datasets.found import FoundCase, Slides
from segtrial.datasets.opening import find_cases, table_folder
from segtrial.datasets.progress import Progress
from segtrial.datasets.slides import SlideError, pair_slides, read_slide
from segtrial.errors import DatasetError
from segtrial.policy.case_names import CaseIndex
from segtrial.scans import Grid, read_grid, read_label_map, read_scan, same_grid, series_files

Kind = Literal["missing", "unreadable", "mislabelled", "misaligned", "unexpected"]


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a dataset's files."""

    kind: Kind
    case: str | None
    path: Path
    why: str

    def __str__(self) -> str:
        return in_words(self, (self.case,) if self.case else ())


def in_words(problem: Problem, cases: Sequence[str]) -> str:
    """A line about a problem that some cases share."""
    where = f"{'case' if len(cases) == 1 else f'{len(cases)} cases'} " if cases else ""
    named = f"{', '.join(compact(tuple(cases)))}, " if cases else ""
    return f"{problem.kind}: {where}{named}{problem.path}: {problem.why}"


@dataclass(frozen=True)
class Verification:
    """What was found."""

    cases: int
    problems: tuple[Problem, ...]

    def lines(self) -> Iterator[str]:
        """Every problem in words; cases that lack the same are on one line."""
        for _, group in groupby(self.problems, key=lambda one: (one.kind, one.path, one.why)):
            alike = list(group)
            yield in_words(alike[0], [one.case for one in alike if one.case])


def verify(card: DatasetCard, folder: Path, *, progress: Progress | None = None) -> Verification:
    """Read every file of a dataset and name what is wrong.

    Parameters
    ----------
    card : DatasetCard
    folder : Path
        As downloaded and unpacked.
    progress : callable, optional
        Told the number of cases done and of all cases.

    Raises
    ------
    DatasetError
        The folder holds nothing of this dataset.
    """
    archives = tuple(_archives(card, folder))
    root, found = _found(card, folder, archives)
    needed = frozenset(case for track in card.tracks for case in card.listed_cases(track) or ())
    problems = [*archives]
    if card.metadata is not None:
        table = table_folder(card, root, folder) / card.metadata.file
        if not table.is_file():
            problems.append(Problem("missing", None, table, "slices and patients are in it"))
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        checked = pool.map(lambda one: _case(card, one, needed), found)
        for done, part in enumerate(checked, start=1):
            problems += part
            if progress:
                progress(done, len(found))
    problems += _missing(
        card, root, found, needed
    )  # last: of a part of a dataset, most are missing
    return Verification(len(found), tuple(problems))


def _found(
    card: DatasetCard, folder: Path, archives: tuple[Problem, ...]
) -> tuple[Path, list[FoundCase]]:
    try:
        return find_cases(card, folder)
    except DatasetError:
        if archives:  # the reason why there is no case is already known
            return folder, []
        raise


def _archives(card: DatasetCard, folder: Path) -> Iterator[Problem]:
    for source in card.sources:
        path = folder / (source.file or "")
        if source.how == "direct" and path.is_file():
            why = problem_of(path, path.name)
            if why is None and source.size_bytes not in {None, path.stat().st_size}:
                why = (
                    f"expected {source.size_bytes} bytes, got {path.stat().st_size}; it is cut off"
                )
            if why is not None:
                yield Problem("unreadable", None, path, why)


def _missing(
    card: DatasetCard, root: Path, found: list[FoundCase], needed: frozenset[str]
) -> Iterator[Problem]:
    """Cases that a track needs and that are not here, and cases nobody listed."""
    here = CaseIndex(case.id for case in found)
    for split, cases in card.splits.items():
        for case in cases:
            if case in needed and here.find(case) is None:
                yield Problem(
                    "missing", case, root, f"no scan, though it is in the split {split!r}"
                )
    listed = CaseIndex(case for cases in card.splits.values() for case in cases)
    for one in found:
        if card.splits and not card.unlisted and listed.find(one.id) is None:
            yield Problem("unexpected", one.id, one.scans[0], "the card does not list this case")


def _case(card: DatasetCard, case: FoundCase, needed: frozenset[str]) -> list[Problem]:
    problems: list[Problem] = []
    grid: Grid | None = None
    for scan in case.scans:
        problem, its_grid = _scan(case, scan)
        problems += problem
        grid = grid or its_grid
    problems += _reference(card, case, grid)
    bare = case.reference is None and not case.masks and case.slides is None
    if bare and case.id in needed:
        why = "a track needs the reference of this scan"
        problems.append(Problem("missing", case.id, case.scans[0], why))
    return problems


def _scan(case: FoundCase, scan: Path) -> tuple[list[Problem], Grid | None]:
    if not scan.exists():
        return [Problem("missing", case.id, scan, "it belongs to the scan of this case")], None
    if scan.is_dir() and not any(scan.iterdir()):
        return [Problem("missing", case.id, scan, "the folder is empty")], None
    why = None if scan.is_dir() else problem_of(scan, scan.name)
    if why is not None:
        return [Problem("unreadable", case.id, scan, why)], None
    try:
        return [], read_scan(scan).grid
    except DatasetError as error:
        return [Problem("unreadable", case.id, scan, str(error))], None


def _reference(card: DatasetCard, case: FoundCase, grid: Grid | None) -> Iterator[Problem]:
    if case.slides is not None:
        yield from _slides(case, case.slides)
    for path in case.masks.values():
        if not path.is_file():
            yield Problem("missing", case.id, path, "every structure has a file of its own")
        else:
            yield from _label_map(case, path, grid, frozenset({1}))
    if case.reference is not None:
        allowed = frozenset(card.labels) | frozenset(card.ignore)
        yield from _label_map(case, case.reference, grid, allowed)


def _slides(case: FoundCase, slides: Slides) -> Iterator[Problem]:
    try:
        files = series_files(case.scans[0])
        shape = read_grid(case.scans[0]).shape[:2]
    except DatasetError:
        return  # already named: the scan cannot be read
    try:
        pictures = pair_slides(slides.folder, files)
    except SlideError as error:
        yield Problem(error.kind, case.id, error.path, error.why)
        return
    for path in pictures:
        try:
            read_slide(path, shape=shape, grey_levels=slides.grey_levels)
        except SlideError as error:
            yield Problem(error.kind, case.id, error.path, error.why)


def _label_map(
    case: FoundCase, path: Path, grid: Grid | None, allowed: frozenset[int]
) -> Iterator[Problem]:
    why = problem_of(path, path.name)
    if why is not None:
        yield Problem("unreadable", case.id, path, why)
        return
    try:
        label_map = read_label_map(path)
        if grid is not None and not same_grid(grid, read_grid(path)):
            yield Problem(
                "misaligned", case.id, path,
                f"it is not on the grid of its scan: shape {label_map.grid.shape} against "
                f"{grid.shape}, or another place in space",
            )  # fmt: skip
        unknown = sorted(set(np.unique(label_map.labels).tolist()) - {0} - allowed)
    except DatasetError as error:
        yield Problem("unreadable", case.id, path, str(error))
        return
    if unknown:
        yield Problem(
            "mislabelled", case.id, path,
            f"it holds label {unknown[0]}, which the card does not name",
        )  # fmt: skip
