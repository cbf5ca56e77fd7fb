"""A folder like that of CHAOS, with its own names and quirks, in a few voxels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from dicom_files import Dicom
from segtrial.datasets import load_card

SHAPE = (8, 7, 5)
CT = tuple(load_card("chaos").splits["ct_train"])
MR = tuple(sorted({case.split("_")[1] for case in load_card("chaos").splits["mr_train"]}, key=int))
GREY = {1: 63, 2: 126, 3: 189, 4: 252}


def organs(number: int) -> NDArray[np.uint8]:
    """Liver, right and left kidney, spleen; none of it the same after a flip."""
    labels = np.zeros(SHAPE, dtype=np.uint8)
    labels[1:4, 1:4, 1:4] = 1
    labels[1:3, 4:6, : 2 + number % 2] = 2
    labels[5:7, 4:6, 0:2] = 3
    labels[5:8, 1:3, 3:] = 4
    return labels


def liver(number: int) -> NDArray[np.uint8]:
    """The liver alone, as in the CT half."""
    return (organs(number) == 1).astype(np.uint8)


def write_pictures(folder: Path, values: NDArray[Any], names: list[str]) -> None:
    """One PNG for each slice, in the order of the third axis."""
    folder.mkdir(parents=True, exist_ok=True)
    for k, name in enumerate(names):
        Image.fromarray(np.ascontiguousarray(values[:, :, k].T)).save(folder / name)


def write_ct(folder: Path, case: str) -> Path:
    """One case of the CT half; half of them are named in the other way that CHAOS has."""
    labels = liver(int(case))
    other = int(case) % 2 == 0
    series = Dicom(
        labels.astype(np.uint16) * 1100 + 24,
        intercept=-1024,
        head_first=True,
        names="IMG-0002-{n1:05}.dcm" if other else "i{n:04},0000b.dcm",
        fields={"BitsStored": 12, "HighBit": 11},
    )
    here = folder / "Train_Sets" / "CT" / case
    series.write(here / "DICOM_anon")
    count = SHAPE[2]
    names = [f"liver_GT_{count - 1 - k:03}.png" for k in range(count)]
    write_pictures(here / "Ground", labels.astype(bool), names)
    return here


def write_mr(folder: Path, patient: str) -> Path:
    """Both sequences of a patient of the MR half; the two phases share a series UID."""
    labels = organs(int(patient))
    grey = np.zeros(256, dtype=np.uint8)
    grey[list(GREY)] = list(GREY.values())
    here = folder / "Train_Sets" / "MR" / patient
    t1 = Dicom(labels.astype(np.int16) * 100)
    t1.with_(echo_time_ms=4.6, names="IMG-0004-{even:05}.dcm").write(
        here / "T1DUAL" / "DICOM_anon" / "InPhase"
    )
    t1.with_(values=t1.values + 1, echo_time_ms=2.3, names="IMG-0004-{odd:05}.dcm").write(
        here / "T1DUAL" / "DICOM_anon" / "OutPhase"
    )
    in_phase = [f"IMG-0004-{2 * k + 2:05}.png" for k in range(SHAPE[2])]
    write_pictures(here / "T1DUAL" / "Ground", grey[labels], in_phase)
    t2 = Dicom(labels.astype(np.int16) * 90, echo_time_ms=80, names="IMG-0009-{n1:05}.dcm")
    t2.write(here / "T2SPIR" / "DICOM_anon")
    names_t2 = [f"IMG-0009-{k + 1:05}.png" for k in range(SHAPE[2])]
    write_pictures(here / "T2SPIR" / "Ground", grey[labels], names_t2)
    return here
