"""The people of the phantom: 20 invented patients and the 24 scans made of them.

Written out as a table, so that what a slice of the results means can be read here. What differs
between bodies beyond it (organ sizes, positions, contrast) is drawn from the patient's id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from segtrial.errors import DatasetError

Phase = Literal["native", "arterial", "portal"]
Trait = Literal[
    "no_left_kidney", "no_right_kidney", "no_spleen", "fatty_liver", "aneurysm",
    "liver_tumours", "kidney_cysts",
]  # fmt: skip


@dataclass(frozen=True)
class Patient:
    """One invented person.

    Attributes
    ----------
    patient : str
        Id.
    sex : str
        ``F`` or ``M``.
    age : int
        Years at the first scan.
    fat_mm : int
        Thickness of the subcutaneous fat in front.
    traits : frozenset of str
        What is unusual about them.
    """

    patient: str
    sex: Literal["F", "M"]
    age: int
    fat_mm: int
    traits: frozenset[Trait] = frozenset()


@dataclass(frozen=True)
class Case:
    """One scan of a patient.

    Attributes
    ----------
    case : str
        Id.
    patient : Patient
        Who was scanned.
    years_later : int
        Years since the patient's first scan.
    scanner, site : str
        Where, for slices of results; the scanner decides grid and noise.
    phase : str
        Contrast phase.
    bottom_mm, top_mm : int
        Ends of the scan along z, from the first lumbar vertebra.
    """

    case: str
    patient: Patient
    years_later: int
    scanner: Literal["scanner_a", "scanner_b", "scanner_c"]
    site: Literal["site_1", "site_2", "site_3"]
    phase: Phase
    bottom_mm: int
    top_mm: int


def _patient(number: int, sex: Literal["F", "M"], age: int, fat_mm: int, *traits: Trait) -> Patient:
    return Patient(f"patient_{number:02d}", sex, age, fat_mm, frozenset(traits))


PATIENTS = tuple(
    _patient(*row)
    for row in (
        (1, "F", 34, 18),
        (2, "M", 58, 14, "liver_tumours"),
        (3, "F", 71, 24, "kidney_cysts"),
        (4, "M", 45, 22, "fatty_liver"),
        (5, "F", 63, 20, "no_left_kidney", "liver_tumours"),
        (6, "M", 77, 12, "aneurysm", "kidney_cysts"),
        (7, "F", 27, 10),
        (8, "M", 66, 26, "liver_tumours", "fatty_liver"),
        (9, "F", 52, 16, "no_spleen"),
        (10, "M", 39, 10),
        (11, "F", 81, 14, "kidney_cysts"),
        (12, "M", 69, 18, "liver_tumours"),
        (13, "F", 46, 30, "fatty_liver"),
        (14, "M", 73, 16, "aneurysm"),
        (15, "F", 59, 22, "liver_tumours"),
        (16, "M", 24, 8),
        (17, "F", 67, 18, "kidney_cysts", "liver_tumours"),
        (18, "M", 55, 20, "no_right_kidney"),
        (19, "F", 38, 12),
        (20, "M", 62, 15, "liver_tumours", "kidney_cysts"),
    )
)
"""The patients, in the order of their ids."""

_CASES = (
    (1, 0, "a", 1, "portal", -150, 130),
    (2, 0, "a", 1, "portal", -150, 130),
    (3, 0, "b", 2, "portal", -140, 116),
    (4, 0, "c", 3, "native", -130, 120),
    (5, 0, "a", 1, "arterial", -145, 135),
    (6, 0, "b", 2, "arterial", -150, 106),
    (7, 0, "a", 1, "portal", -140, 140),
    (8, 0, "c", 3, "portal", -120, 140),
    (9, 0, "b", 2, "portal", -136, 120),
    (10, 0, "a", 2, "arterial", -150, 130),
    (11, 0, "c", 3, "native", -110, 132),
    (12, 0, "b", 2, "portal", -140, 116),
    (13, 0, "a", 1, "portal", -160, 120),
    (14, 0, "b", 3, "native", -128, 128),
    (15, 0, "a", 1, "portal", -140, 140),
    (16, 0, "b", 2, "portal", -244, 12),
    (17, 0, "c", 3, "arterial", -130, 120),
    (18, 0, "b", 2, "portal", -136, 120),
    (19, 0, "c", 1, "native", -236, 14),
    (20, 0, "a", 1, "portal", -150, 130),
    (2, 1, "b", 2, "portal", -140, 116),
    (6, 2, "a", 1, "native", -150, 130),
    (12, 1, "c", 3, "arterial", -120, 130),
    (15, 2, "b", 2, "portal", -136, 120),
)

CASES = tuple(
    Case(
        f"phantom_{number:03d}",
        PATIENTS[patient - 1],
        years,
        f"scanner_{scanner}",  # type: ignore[arg-type] # the table holds no other
        f"site_{site}",  # type: ignore[arg-type] # as above
        phase,  # type: ignore[arg-type] # as above
        bottom_mm,
        top_mm,
    )
    for number, (patient, years, scanner, site, phase, bottom_mm, top_mm) in enumerate(_CASES, 1)
)
"""The scans, in the order of their ids."""


@dataclass(frozen=True)
class CaseRow:
    """What the table of cases says of one scan; no more than a real dataset would."""

    case: str
    patient: str
    sex: Literal["F", "M"]
    age: int
    scanner: str
    site: str


def case_table() -> list[CaseRow]:
    """Rows of ``cases.csv``, in the order of the case ids."""
    return [
        CaseRow(
            case=case.case,
            patient=case.patient.patient,
            sex=case.patient.sex,
            age=case.patient.age + case.years_later,
            scanner=case.scanner,
            site=case.site,
        )
        for case in CASES
    ]


def case_of(case_id: str) -> Case:
    """Look a case up by its id.

    Raises
    ------
    DatasetError
        There is no such case.
    """
    for case in CASES:
        if case.case == case_id:
            return case
    raise DatasetError(
        f"The phantom has no case {case_id!r}: its cases are {CASES[0].case} to {CASES[-1].case}."
    )
