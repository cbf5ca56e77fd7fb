"""Pictures of cases: drawn for maintainers, and never a part of a board."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from board.synthetic import make_results
from segtrial.board import render
from segtrial.board.case_pictures import (
    _PREDICTION,
    _REFERENCE,
    CasePicture,
    draw_case,
    write_case_page,
)
from segtrial.board.notable import notable_cases
from segtrial.contracts.dataset_card import Publication
from segtrial.contracts.result import Results
from segtrial.errors import UsageError


@pytest.fixture(scope="module")
def results() -> Results:
    return make_results(models=4, structures=1, cases=20)


def picture(prediction: np.ndarray | None = None) -> CasePicture:
    axes = np.meshgrid(*(np.arange(n) for n in (40, 36, 20)), indexing="ij")
    offsets = np.stack([a - c for a, c in zip(axes, (20, 18, 10), strict=True)])
    reference = np.asarray((offsets**2).sum(axis=0) < 64)
    shifted = np.roll(reference, 4, axis=0) if prediction is None else prediction
    scan = np.where(reference, 80.0, -50.0)
    return CasePicture(
        "c1", "kidney: worst", scan, (1.0, 1.0, 2.0), (-150, 200), reference, {"Alder": shifted}
    )


def colours(image: Image.Image) -> set[tuple[int, int, int]]:
    return {(int(r), int(g), int(b)) for r, g, b in np.asarray(image).reshape(-1, 3)}


def test_both_contours_are_drawn_on_three_planes_in_the_bodys_proportions() -> None:
    one = picture()
    image = draw_case(one, one.predictions["Alder"])
    assert {_REFERENCE, _PREDICTION} <= colours(image)
    # 36 x 40 mm, 40 x 40 mm and 40 x 36 mm, each in a box of 320 x 240 pixels.
    assert image.size == (216 + 240 + 267 + 16, 240)


def test_the_patients_right_is_on_the_left_of_the_picture() -> None:
    """As radiologists look at it; the first axis goes to the patient's right."""
    one = picture()
    shifted_right = np.roll(one.reference, 6, axis=0)
    axial = np.asarray(draw_case(one, shifted_right))[:, 216 + 240 + 16 :]
    columns = {
        name: np.flatnonzero((axial == colour).all(axis=2).any(axis=0)).mean()
        for name, colour in (("reference", _REFERENCE), ("prediction", _PREDICTION))
    }
    assert columns["prediction"] < columns["reference"]


@pytest.mark.parametrize("kind", ["equal", "empty"])
def test_a_perfect_and_an_empty_prediction_are_drawn(kind: str) -> None:
    one = picture()
    prediction = one.reference if kind == "equal" else np.zeros_like(one.reference)
    assert (_PREDICTION in colours(draw_case(one, prediction))) is (kind == "equal")


def test_the_page_is_refused_inside_a_board_whose_card_forbids_it(
    results: Results, tmp_path: Path
) -> None:
    render([results], tmp_path / "board")
    inside = tmp_path / "board" / "data" / "pictures"
    with pytest.raises(UsageError, match="forbids publishing"):
        write_case_page([picture()], inside, publication=Publication())
    assert not inside.exists()
    page = write_case_page([picture()], tmp_path / "local", publication=Publication())
    assert page.exists()
    assert not (page.parent / "board.json").exists()


def test_a_board_made_where_pictures_lie_does_not_list_them(
    results: Results, tmp_path: Path
) -> None:
    write_case_page([picture()], tmp_path / "board" / "cases", publication=Publication())
    render([results], tmp_path / "board")
    assert "case-000" not in (tmp_path / "board" / "board.json").read_text(encoding="utf-8")


def test_names_on_the_page_are_text(tmp_path: Path) -> None:
    one = picture()
    evil = "<script>alert(1)</script>"
    hostile = CasePicture(
        evil, evil, one.scan, one.spacing_mm, one.window, one.reference, {evil: one.reference}
    )
    page = write_case_page([hostile], tmp_path, publication=Publication())
    assert "<script>" not in page.read_text(encoding="utf-8")


def test_the_worst_and_the_disputed_cases_are_named_once(results: Results) -> None:
    found = notable_cases(results, structure="kidney", each=4)
    assert len(found) == 8
    assert len({one.case for one in found}) == 8
    worst = [one for one in found if one.why == "worst"]
    medians = [float(np.median(one.scores)) for one in worst]
    assert max(medians) <= min(
        float(np.median(one.scores)) for one in found if one.why == "disputed"
    )
    assert all("empty-mask" not in one.submissions for one in found)
