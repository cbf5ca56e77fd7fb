"""References that are PNG pictures, one for each slice of a DICOM series.

Which picture belongs to which slice, only the names say: both are taken in the order of the numbers
in their names. Where a slice lies, only DICOM says: CHAOS numbers its CT from the head down, and
its in-phase images with even numbers only. So the n-th picture is put where the n-th file lies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from segtrial.datasets.found import Slides
from segtrial.errors import DatasetError
from segtrial.scans import Grid, series_files

_NUMBER = re.compile(r"(\d+)")
_MODES = {"1", "L", "P", "I", "I;16"}
"""Kinds of picture with one number for each pixel."""
Kind = Literal["missing", "unreadable", "mislabelled", "misaligned"]


class SlideError(DatasetError):
    """A picture that cannot be a part of its reference."""

    def __init__(self, kind: Kind, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.kind = kind
        self.path = path
        self.why = why


def merge_slides(slides: Slides, scan: Path, grid: Grid) -> NDArray[np.uint16]:
    """One label map of the pictures of a reference.

    Parameters
    ----------
    slides : Slides
    scan : Path
        Folder of the DICOM series.
    grid : Grid
        The series'. The rows of a picture run along its second axis, the columns along its first.

    Returns
    -------
    uint16 array, shape ``grid.shape``

    Raises
    ------
    SlideError
        A picture is missing, damaged, of another size, or holds a grey that means nothing.
    """
    merged = np.zeros(grid.shape, dtype=np.uint16, order="F")
    for k, path in enumerate(pair_slides(slides.folder, series_files(scan))):
        merged[..., k] = read_slide(path, shape=grid.shape[:2], grey_levels=slides.grey_levels)
    return merged


def pair_slides(folder: Path, files: Sequence[Path]) -> tuple[Path, ...]:
    """The picture of each file of a series, in the order of the files.

    Raises
    ------
    SlideError
        There are more or fewer pictures than slices, or a number is left out.
    """
    pictures = sorted(folder.glob("*.png"), key=_natural)
    pictures = [path for path in pictures if not path.name.startswith(".")]
    if not pictures:
        raise SlideError("missing", folder, "the folder holds no PNG")
    _refuse_gap(folder, pictures)
    if len(pictures) != len(files):
        raise SlideError(
            "missing",
            folder,
            f"it holds {len(pictures)} pictures, but the scan has {len(files)} slices. The "
            "download is not complete, or a slice was added; fetch it again",
        )
    named = sorted(files, key=_natural)
    picture_of = dict(zip(named, pictures, strict=True))
    same = {path.stem for path in pictures} & {path.stem for path in files}
    for file, picture in picture_of.items():
        if same and file.stem != picture.stem:
            raise SlideError("missing", folder, f"there is no picture of {file.name}")
    return tuple(picture_of[file] for file in files)


def read_slide(
    path: Path, *, shape: tuple[int, int], grey_levels: Mapping[int, tuple[int, int]]
) -> NDArray[np.uint16]:
    """Labels of one slice.

    Parameters
    ----------
    path : Path
        PNG with one number for each pixel, or a colour picture that is grey.
    shape : tuple of int
        Columns and rows that it has to have.
    grey_levels : mapping of int to (int, int)
        Label id to the darkest and brightest pixel that means it.

    Returns
    -------
    uint16 array, shape ``shape``
    """
    pixels = _pixels(path, shape)
    labels = np.zeros(pixels.shape, dtype=np.uint16)
    for label, (darkest, brightest) in grey_levels.items():
        labels[(pixels >= darkest) & (pixels <= brightest)] = label
    strange = pixels[(labels == 0) & (pixels != 0)]
    if strange.size:
        raise SlideError(
            "mislabelled",
            path,
            f"{strange.size} pixels of grey level {strange.flat[0]}, which means no structure",
        )
    return labels.T


def _pixels(path: Path, shape: tuple[int, int]) -> NDArray[np.int64]:
    try:
        with Image.open(path, formats=["PNG"]) as picture:
            if picture.size != shape:  # before anything is inflated
                raise SlideError(
                    "misaligned",
                    path,
                    f"it has {picture.size} pixels, but the slices of the scan have {shape}",
                )
            pixels = np.asarray(picture).astype(np.int64)
            mode = picture.mode
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as problem:
        raise SlideError("unreadable", path, f"it is no PNG, or cut off ({problem})") from None
    if mode in _MODES:
        return pixels
    if pixels.ndim == 3 and (pixels[..., :3] == pixels[..., :1]).all():  # noqa: PLR2004 - colours
        return pixels[..., 0]
    raise SlideError("mislabelled", path, f"it is a picture of kind {mode}, not a grey one")


def _natural(path: Path) -> tuple[tuple[int, str], ...]:
    """Names in the order of their numbers."""
    parts = _NUMBER.split(path.stem)
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in parts)


def _refuse_gap(folder: Path, pictures: Sequence[Path]) -> None:
    """Raise where the last number of the names leaves one out."""
    numbers = [int(found[-1]) for path in pictures if (found := _NUMBER.findall(path.stem))]
    steps = np.diff(numbers)
    if len(numbers) == len(pictures) and steps.size and (steps != steps.min()).any():
        number = int(steps.argmax())
        raise SlideError(
            "missing",
            folder,
            f"a picture is missing between {pictures[number].name} and {pictures[number + 1].name}",
        )
