"""``evaluate datasets make``: a dataset folder of our own layout, from NIfTI files that exist.

Files are hard-linked where the file system allows it and copied otherwise; nothing is converted.
The card's structures are those that occur in the references.
"""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from segtrial.contracts.dataset_card import DatasetCard
from segtrial.contracts.reading import validate
from segtrial.datasets.catalogue import CARD_NAME
from segtrial.datasets.layout_segtrial import REFERENCE, SCAN
from segtrial.errors import DatasetError


@dataclass(frozen=True)
class GivenCase:
    """One case as it was named on the command line."""

    id: str
    scan: Path
    reference: Path


def parse_case(text: str) -> GivenCase:
    """``CASE=SCAN,REFERENCE`` as a record; `DatasetError` says what is missing.

    Examples
    --------
    >>> parse_case("a=ct.nii.gz,labels.nii.gz").reference.name
    'labels.nii.gz'
    """
    case, equals, files = text.partition("=")
    scan, comma, reference = files.partition(",")
    if not (equals and comma and case.strip() and scan.strip() and reference.strip()):
        raise DatasetError(
            f"{text!r} does not name a case. Write CASE=SCAN,REFERENCE, for example "
            "case_1=ct.nii.gz,labels.nii.gz."
        )
    return GivenCase(case.strip(), Path(scan.strip()), Path(reference.strip()))


def make_dataset(
    folder: Path,
    *,
    dataset_id: str,
    title: str,
    cases: Sequence[GivenCase],
    labels: Mapping[int, str],
    modality: str = "ct",
    version: str = "1",
    licence: str = "not stated",
) -> DatasetCard:
    """Write a dataset folder; see the module docstring.

    Parameters
    ----------
    folder : Path
        Must not exist, or be empty.
    dataset_id : str
    title : str
    cases : sequence of GivenCase
        At least one; ids are told apart.
    labels : mapping of int to str
        What each label id of the references means.
    modality, version, licence : str
        As the card keeps them.

    Returns
    -------
    DatasetCard
        With one track, ``all``: every case, and every labelled structure that occurs.

    Raises
    ------
    DatasetError
        A file is missing or unreadable, a reference is not on its scan's grid, holds labels that
        are not in ``labels``, or the folder is not empty.
    """
    _check(folder, cases)
    present = _labels_present(cases, labels)
    meant = {label: labels[label] for label in sorted(labels)}
    structures = sorted({labels[label] for label in present})
    plain: dict[str, Any] = {
        "schema_version": "segtrial-card/1",
        "id": dataset_id,
        "title": title,
        "version": version,
        "licence": {"name": licence},
        "references": "private",
        "modality": modality,
        "layout": "segtrial",
        "labels": meant,
        "splits": {"all": [case.id for case in cases]},
        "tracks": [{"id": "all", "title": "All cases", "split": "all", "structures": structures}],
        "metadata": {"file": "cases.csv", "case_column": "case", "patient_column": "patient"},
        "publication": {"per_case_scores": True},
    }
    card = validate(plain, DatasetCard, source=f"the card of {dataset_id}", error=DatasetError)
    _write(folder, plain, cases)
    return card


def _check(folder: Path, cases: Sequence[GivenCase]) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DatasetError(f"{folder} exists and is not an empty folder. Name a new folder.")
    seen: set[str] = set()
    for case in cases:
        if case.id in seen or Path(case.id).name != case.id or case.id in {".", ".."}:
            why = "is given twice" if case.id in seen else "is not a plain name"
            raise DatasetError(f"The case id {case.id!r} {why}. Give each case a name of its own.")
        seen.add(case.id)
        for path in (case.scan, case.reference):
            if not path.is_file():
                raise DatasetError(f"Case {case.id!r}: {path} is not a file. Check the path.")
            if not path.name.endswith(".nii.gz"):
                raise DatasetError(
                    f"Case {case.id!r}: {path} is not a .nii.gz file. Nothing is converted here; "
                    "compress or convert it first."
                )


def _labels_present(cases: Sequence[GivenCase], labels: Mapping[int, str]) -> frozenset[int]:
    """Labels that occur in the references, each of which is on its scan's grid."""
    import numpy as np  # noqa: PLC0415 - only this command reads voxels

    from segtrial.scans import read_grid, read_label_map  # noqa: PLC0415 - loads numpy

    found: set[int] = set()
    for case in cases:
        try:
            grid = read_grid(case.scan)
            present = np.unique(read_label_map(case.reference, grid=grid).labels)
        except DatasetError as error:
            error.add_note(f"case {case.id}")
            raise
        found |= set(present.tolist()) - {0}
        unnamed = sorted(set(found) - set(labels))
        if unnamed:
            raise DatasetError(
                f"Case {case.id!r}: {case.reference} holds label {unnamed[0]}, which the label map "
                "does not name. Name every label that occurs."
            )
    if not found:
        raise DatasetError("No reference holds any label; there would be nothing to score.")
    return frozenset(found)


def _write(folder: Path, plain: Mapping[str, Any], cases: Sequence[GivenCase]) -> None:
    try:
        for case in cases:
            here = folder / "cases" / case.id
            here.mkdir(parents=True)
            _link(case.scan, here / SCAN)
            _link(case.reference, here / REFERENCE)
        with (folder / "cases.csv").open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(("case", "patient"))
            table.writerows((case.id, case.id) for case in cases)
        text = yaml.safe_dump(dict(plain), sort_keys=False, allow_unicode=True)
        (folder / CARD_NAME).write_text(text, encoding="utf-8")
    except OSError as problem:
        raise DatasetError(f"{folder} cannot be written: {problem}.") from None


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source.resolve(), target)
    except OSError:  # another file system, or one without links
        shutil.copyfile(source, target)
