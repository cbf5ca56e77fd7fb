"""Pictures of single cases, for maintainers: a local page, and no part of any board.

Scans and references are patients' data. Nothing here is called by `render` or by publishing; the
page has no ``board.json``, which is what makes a folder a board, and it is refused inside one
unless the dataset's card allows pictures of its cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from segtrial.board.html import Markup, tag
from segtrial.board.page import asset
from segtrial.contracts.dataset_card import Publication
from segtrial.errors import UsageError
from segtrial.policy.manifest import MANIFEST

_HEIGHT, _WIDTH = 240, 320
"""Of the box that each plane fits into, in pixels."""
_REFERENCE, _PREDICTION = (86, 199, 166), (232, 160, 60)
_PLANES = (("sagittal", "A"), ("coronal", "R"), ("axial", "R"))
"""Each plane and the side of the body on its left, as radiologists look at it."""
_STYLE = "main { padding-block: 24px; } figure img { max-width: 100%; }"


@dataclass(frozen=True)
class CasePicture:
    """One case with its reference and some predictions.

    Attributes
    ----------
    case : str
        Pseudonym.
    title : str
        Structure, and why it is shown.
    scan : float array, shape (I, J, K)
        Intensities in canonical axes: towards the patient's right, front and head (RAS).
    spacing_mm : tuple of 3 floats
        Voxel size.
    window : tuple of 2 floats
        Intensities drawn black and white.
    reference : bool array, shape (I, J, K)
        Reference mask.
    predictions : mapping of str to bool array, shape (I, J, K)
        Prediction mask by name of the entry; an empty mask is a failure or an empty answer.
    """

    case: str
    title: str
    scan: NDArray[np.floating]
    spacing_mm: tuple[float, float, float]
    window: tuple[float, float]
    reference: NDArray[np.bool_]
    predictions: Mapping[str, NDArray[np.bool_]]


def write_case_page(
    pictures: Sequence[CasePicture], out: Path, *, publication: Publication
) -> Path:
    """Write a page of case pictures for the eyes of a maintainer.

    Parameters
    ----------
    pictures : sequence of CasePicture
        In the order they are shown.
    out : Path
        Folder of its own.
    publication : Publication
        Of the dataset's card.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    UsageError
        When ``out`` is in a board's folder and the card forbids pictures of its cases.
    """
    _refuse_inside_a_board(out, publication)
    out.mkdir(parents=True, exist_ok=True)
    sections = []
    for index, one in enumerate(pictures):
        rows = []
        for place, (name, prediction) in enumerate(one.predictions.items()):
            file = f"case-{index:03d}-{place}.png"
            draw_case(one, prediction).save(out / file, optimize=True)
            words = f"{name} on {one.case}: sagittal, coronal and axial plane with both contours"
            rows.append(tag("figure", tag("img", src=file, alt=words), tag("figcaption", name)))
        sections.append(tag("section", tag("h2", one.title), tag("p", one.case), rows))
    page = out / "index.html"
    page.write_text(_page(sections), encoding="utf-8")
    return page


def draw_case(picture: CasePicture, prediction: NDArray[np.bool_]) -> Image.Image:
    """Three planes through the worst of the disagreement, with both contours.

    Parameters
    ----------
    picture : CasePicture
        Scan and reference.
    prediction : bool array, shape (I, J, K)
        On the same grid.

    Returns
    -------
    Image
        The planes side by side, each in the proportions of the body.
    """
    centre = _worst_place(picture.reference, prediction)
    planes = [_plane(picture, prediction, axis, centre[axis]) for axis in range(3)]
    strip = Image.new("RGB", (sum(one.width for one in planes) + 16, _HEIGHT), (0, 0, 0))
    left = 0
    for one in planes:
        strip.paste(one, (left, 0))
        left += one.width + 8
    return strip


def _worst_place(
    reference: NDArray[np.bool_], prediction: NDArray[np.bool_]
) -> tuple[int, int, int]:
    """In each axis, the slice with the most voxels that only one of the two marks."""
    wrong = reference ^ prediction
    if not wrong.any():
        wrong = reference
    if not wrong.any():
        middle = [size // 2 for size in reference.shape]
        return (middle[0], middle[1], middle[2])
    found = [int(np.argmax(wrong.sum(axis=tuple({0, 1, 2} - {axis})))) for axis in range(3)]
    return (found[0], found[1], found[2])


def _plane(
    picture: CasePicture, prediction: NDArray[np.bool_], axis: int, index: int
) -> Image.Image:
    low, high = picture.window
    grey = np.clip((np.take(picture.scan, index, axis) - low) / max(high - low, 1e-9), 0, 1)
    across, up = (picture.spacing_mm[k] for k in range(3) if k != axis)
    height = _HEIGHT
    width = max(1, round(height * grey.shape[0] * across / (grey.shape[1] * up)))
    image = _upright((grey * 255).astype(np.uint8)).resize(
        (width, height), Image.Resampling.BILINEAR
    )
    coloured = image.convert("RGB")
    for mask, colour in ((picture.reference, _REFERENCE), (prediction, _PREDICTION)):
        _contour(coloured, np.take(mask, index, axis), colour)
    name, side = _PLANES[axis]
    pen = ImageDraw.Draw(coloured)
    pen.text((4, 2), f"{name} {index}", fill=(200, 200, 200))
    pen.text((4, coloured.height // 2), side, fill=(200, 200, 200))
    return coloured


def _upright(values: NDArray[np.uint8]) -> Image.Image:
    """First axis (to the patient's right, or forwards) to the left, second upwards."""
    return Image.fromarray(np.ascontiguousarray(values[::-1].T[::-1]))


def _contour(image: Image.Image, mask: NDArray[np.bool_], colour: tuple[int, int, int]) -> None:
    """The edge of a mask, one pixel wide at the picture's size."""
    large = np.asarray(
        _upright(mask.astype(np.uint8) * 255).resize(image.size, Image.Resampling.NEAREST)
    )
    inside = np.pad(large > 0, 1)
    core = inside[1:-1, 1:-1]
    eroded = core & inside[:-2, 1:-1] & inside[2:, 1:-1] & inside[1:-1, :-2] & inside[1:-1, 2:]
    image.paste(colour, (0, 0), Image.fromarray((core & ~eroded).astype(np.uint8) * 255))


def _refuse_inside_a_board(out: Path, publication: Publication) -> None:
    if publication.case_pictures:
        return
    folder = out.resolve()
    board = next((one for one in (folder, *folder.parents) if (one / MANIFEST).exists()), None)
    if board is not None:
        raise UsageError(
            f"{out} is inside the board {board}, and the dataset's card forbids publishing "
            "pictures of its cases. Write them to a folder of their own."
        )


def _page(sections: Sequence[Markup]) -> str:
    policy = "default-src 'none'; img-src 'self' file: data:; style-src 'unsafe-inline'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="robots", content="noindex"),
        tag("title", "Cases to look at \u2013 not for publication"),
        tag("style", Markup(asset("board.css") + _STYLE)),
    )
    lead = (
        "Pictures of patients' scans, for the maintainers of this trial. They are no part of the "
        "board. Green is the reference, orange the prediction; each plane goes through the worst "
        "of their disagreement."
    )
    body = tag("main", tag("h1", "Cases to look at"), tag("p", lead), sections or tag("p", "None."))
    return "<!doctype html>\n" + tag("html", head, tag("body", body), lang="en")
