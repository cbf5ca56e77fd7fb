"""From a dataset's id or folder to its cases."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from segtrial.contracts.dataset_card import DatasetCard
from segtrial.contracts.reading import nearest
from segtrial.datasets.cache import default_cache_dir
from segtrial.datasets.case_table import NOT_KNOWN, Row, read_table, unknown_cases
from segtrial.datasets.catalogue import CARD_NAME, load_card
from segtrial.datasets.found import FoundCase
from segtrial.datasets.progress import Progress
from segtrial.datasets.records import Case, Dataset
from segtrial.errors import DatasetError, StoreError
from segtrial.policy.case_names import CaseIndex

LAYOUTS = ("segtrial", "paired", "totalsegmentator", "chaos", "dap_atlas")
"""Each is a module ``segtrial.datasets.layout_<name>`` with ``find_cases``."""
Finder = Callable[[Path, DatasetCard], list[FoundCase]]


def open_dataset(
    id_or_dir: str | Path, *, cache_dir: Path | None = None, progress: Progress | None = None
) -> Dataset:
    """A dataset on this machine, with its cases.

    Parameters
    ----------
    id_or_dir : str or Path
        An id of the catalogue, or a folder that holds ``card.yaml``.
    cache_dir : Path, optional
        Where datasets are kept; `default_cache_dir` otherwise.
    progress : callable, optional
        Told about long work.

    Raises
    ------
    DatasetError
        There is no such card, its files are not here, or they contradict it.
    """
    cache = cache_dir or default_cache_dir()
    card = load_card(id_or_dir)
    folder = _folder(id_or_dir, card, cache, progress)
    return read_folder(card, folder, cache_dir=cache, progress=progress)


def read_folder(
    card: DatasetCard,
    folder: Path,
    *,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
) -> Dataset:
    """The cases of a dataset's own folder, by the layout its card names.

    Parameters
    ----------
    card : DatasetCard
    folder : Path
        As downloaded and unpacked, with or without the folder that the archive wraps around it.
    cache_dir : Path, optional
        Where label maps go that have to be made of masks.
    progress : callable, optional
        Told about that.

    Raises
    ------
    DatasetError
        The folder is not this dataset's, or not complete enough to be read.
    """
    root, found = find_cases(card, folder)
    _refuse_incomplete(found)
    index = CaseIndex(case.id for case in found)
    rows = read_table(table_folder(card, root, folder), card, _rows_of(card, found))
    if card.layout == "segtrial":
        _table_fits(root, card, index)
    kept = (cache_dir or default_cache_dir()) / "references" / f"{card.id}-{_safe(card.version)}"
    cases = tuple(_case(one, rows, card, kept) for one in found)
    return Dataset(card, cases, root, progress)


def _refuse_incomplete(found: list[FoundCase]) -> None:
    for case in found:
        lost = [path for path in case.scans if not path.exists()]
        if lost:
            raise DatasetError(
                f"Case {case.id!r} lacks {lost[0]}, which belongs to {case.scans[0]}. The download "
                "is not complete; fetch it again."
            )


def find_cases(card: DatasetCard, folder: Path) -> tuple[Path, list[FoundCase]]:
    """The folder that really holds the dataset, and what is in it; `DatasetError` for none."""
    if not folder.is_dir():
        raise DatasetError(f"{folder} is no folder. Name the folder that {card.id} is in.")
    finder = layout(card)
    for root in (folder, *(folder / wrapped for wrapped in card.roots)):
        found = finder(root, card) if root.is_dir() else []
        if found:
            return root, found
    wanted = ", ".join(files.scan for files in card.files) or "cases/<case>/scan.nii.gz"
    raise DatasetError(
        f"{folder} holds no case of {card.id}: there is no file like {wanted}. Is this the "
        "dataset's folder, and is the archive unpacked?"
    )


def table_folder(card: DatasetCard, root: Path, folder: Path) -> Path:
    """Where the table is: beside the cases, or beside the folder that was wrapped around them."""
    name = card.metadata.file if card.metadata is not None else ""
    return root if (root / name).is_file() else folder


def _rows_of(card: DatasetCard, found: list[FoundCase]) -> CaseIndex:
    """The ids that rows of the table are matched with: of cases, or of patients."""
    if card.metadata is not None and card.metadata.rows == "patients":
        return CaseIndex(case.patient for case in found if case.patient)
    return CaseIndex(case.id for case in found)


def layout(card: DatasetCard) -> Finder:
    """The adapter that a card names; `DatasetError` names the nearest where there is none."""
    if card.layout not in LAYOUTS:
        raise DatasetError(
            f"{card.id}: the layout {card.layout!r} has no adapter.{nearest(card.layout, LAYOUTS)} "
            f"There are: {', '.join(LAYOUTS)}."
        )
    module = importlib.import_module(f"segtrial.datasets.layout_{card.layout}")
    finder: Finder = module.find_cases
    return finder


def _folder(
    id_or_dir: str | Path, card: DatasetCard, cache: Path, progress: Progress | None
) -> Path:
    given = Path(id_or_dir)
    if (given / CARD_NAME).is_file():
        return given
    if card.id == "phantom":
        from segtrial.datasets.phantom import ensure_phantom  # noqa: PLC0415 - loads numpy

        made: Path = ensure_phantom(cache, progress=progress)
        return made
    folder = remembered(card, cache) or cache / card.id
    if folder.is_dir():
        return folder
    raise DatasetError(
        f"{card.id} is not on this machine: {folder} does not exist. Fetch it with 'evaluate "
        f"datasets fetch {card.id}', or say where it is with 'evaluate datasets index {card.id} "
        "DIR'."
    )


def _table_fits(folder: Path, card: DatasetCard, index: CaseIndex) -> None:
    """In our own layout the table and the folders name the same cases."""
    lost = unknown_cases(folder, card, index)
    if lost:
        assert card.metadata is not None  # noqa: S101 - it named cases
        raise DatasetError(
            f"{folder / card.metadata.file} names the case {lost[0]!r}, which has no folder in "
            f"{folder / 'cases'}.{index.nearest(lost[0])} Add the case or remove the row."
        )


def remember(card: DatasetCard, folder: Path, cache_dir: Path) -> Path:
    """Keep where a dataset is, so that its id is enough from now on; the file that says so."""
    path = _pointer(card, cache_dir)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{folder.resolve()}\n", encoding="utf-8")
    except OSError as problem:
        raise StoreError(f"{path} cannot be written: {problem.strerror}.") from None
    return path


def remembered(card: DatasetCard, cache_dir: Path) -> Path | None:
    """Where a dataset was said to be, or None."""
    path = _pointer(card, cache_dir)
    return Path(path.read_text(encoding="utf-8").strip()) if path.is_file() else None


def _pointer(card: DatasetCard, cache_dir: Path) -> Path:
    return cache_dir / "where" / f"{card.id}.txt"


def _case(found: FoundCase, rows: Mapping[str, Row], card: DatasetCard, kept: Path) -> Case:
    rows_are_patients = card.metadata is not None and card.metadata.rows == "patients"
    row = rows.get((found.patient if rows_are_patients else found.id) or "")
    values = {part.name: NOT_KNOWN for part in card.slices}
    made = bool(found.masks) or found.slides is not None
    return Case(
        id=found.id,
        patient=found.patient or (row.patient if row else None) or found.id,
        scans=found.scans,
        reference=kept / f"{found.id}.nii.gz" if made else found.reference,
        slices={**values, **(row.values if row else {})},
        split=found.split or (row.split if row else None),
        masks=found.masks,
        slides=found.slides,
    )


def _safe(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "-", text)
