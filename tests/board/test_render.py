"""The folder that `render` writes, read back as text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from board.synthetic import make_results
from segtrial.board import read_results, render
from segtrial.board.drawing import Label, text_width
from segtrial.board.endpoint import Endpoint, Level, Slice, _level_order
from segtrial.board.plots.cost_scatter import _names
from segtrial.board.views.slices import slices_view
from segtrial.contracts.result import Results
from segtrial.errors import ResultsError, UsageError


@pytest.fixture(scope="module")
def results() -> Results:
    return make_results(models=6, structures=2, cases=24)


@pytest.fixture(scope="module")
def page(results: Results, tmp_path_factory: pytest.TempPathFactory) -> str:
    return render([results], tmp_path_factory.mktemp("site")).read_text(encoding="utf-8")


def rows(page: str) -> list[str]:
    return re.findall(r"<tr[^>]*data-id=\"[^\"]+\".*?</tr>", page, flags=re.DOTALL)


def test_every_entry_is_in_sight_once_before_any_script_runs(results: Results, page: str) -> None:
    shown = re.findall(r'<tr[^>]*data-id="([^"]+)"', page)
    assert sorted(shown) == sorted(row.id for row in results.submissions)


def test_a_ranked_row_says_rank_interval_score_failures_and_n(results: Results, page: str) -> None:
    endpoint = results.analysis["macro_average"]["dice"]
    first = endpoint["ranking"][0]
    row = next(row for row in rows(page) if f'data-id="{first["submission"]}"' in row)
    low, high = first["rank_interval"]
    assert (f">{low}<" if low == high else f">{low}\u2013{high}<") in row
    assert f"{first['mean']:.3f}" in row
    assert f"{first['interval'][0]:.3f}\u2013{first['interval'][1]:.3f}" in row
    assert f">{endpoint['n']}<" in row


def test_entries_that_are_not_ranked_say_why(page: str) -> None:
    below = page.split('class="unranked"', 1)[1]
    assert "partly trained on" in below
    assert "16 of 24 cases were in its training data" in below
    assert "12 of 24 cases not run" in below


def test_the_marks_of_a_row_are_explained_below_the_table(page: str) -> None:
    legend = page.split('class="legend"', 1)[1].split("</ul>", 1)[0]
    assert "Mean over patients and its 95\u202f% interval" in legend
    assert "failures that nobody has seen yet" in legend
    assert "Tied for first" in legend


def test_scores_without_a_run_have_no_column_of_times(results: Results, tmp_path: Path) -> None:
    imported = render([results.model_copy(update={"measured": ()})], tmp_path)
    table = re.search(r'<table class="(ranking[^"]*)"', imported.read_text(encoding="utf-8"))
    assert table is not None
    assert "hide-time" in table[1].split()


def test_a_slice_without_estimates_lists_its_levels_in_their_order() -> None:
    levels = [Level(name, 4, low_n=True, estimates=()) for name in (">=65", "<45", "45-65")]
    ordered = sorted(levels, key=_level_order)
    assert [level.level for level in ordered] == ["<45", "45-65", ">=65"]
    one = Slice("age_band", tuple(ordered), 0, None, None)
    endpoint = Endpoint("liver", "dice", 12, (), (), (), (one,), is_primary=True, raw={})
    view = slices_view(endpoint, {})
    assert "<svg" not in view
    assert "No subgroup has enough patients" in view
    assert re.findall(r"<th scope=\"row\">([^<]+)</th>", view) == [
        "&lt;45",
        "45-65",
        "&gt;=65",
    ]


def test_no_name_lies_on_another_or_on_a_dot_of_the_cost_plot() -> None:
    crowd = [(100.0 + 9 * k, 200.0 + 4 * (k % 5), f"entry number {k}") for k in range(40)]
    labels = [shape for shape in _names(crowd) if isinstance(shape, Label)]
    assert labels
    boxes = []
    for label in labels:
        width = text_width(label.words, 10)
        left = label.x - width if label.anchor == "end" else label.x
        boxes.append((left, left + width, label.y - 7, label.y))
    for one in boxes:
        assert not any(
            one[0] < x + 4 and x - 4 < one[1] and one[2] < y + 4 and y - 4 < one[3]
            for x, y, _ in crowd
        )
        others = [box for box in boxes if box is not one]
        assert not any(
            one[0] < b[1] and b[0] < one[1] and one[2] < b[3] and b[2] < one[3] for b in others
        )


def test_the_page_asks_nobody_else_for_anything(page: str) -> None:
    asked = re.findall(r'(?:src|href)="([^"]+)"', page)
    outside = {url for url in asked if url.startswith(("http", "//"))}
    assert all(f'<a href="{url}" rel="noopener noreferrer nofollow"' in page for url in outside), (
        "an outside address may only be a link that somebody clicks"
    )
    assert "default-src &#39;none&#39;" in page


def test_the_same_results_give_the_same_folder(results: Results, tmp_path: Path) -> None:
    for name in ("one", "two"):
        render([results], tmp_path / name)
    files = [path for path in (tmp_path / "one").rglob("*.*") if path.is_file()]
    assert len(files) > len(results.track.structures)
    for path in files:
        other = tmp_path / "two" / path.relative_to(tmp_path / "one")
        assert path.read_bytes() == other.read_bytes(), path.name


def test_no_results_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Name at least one results\.json"):
        render([], tmp_path)


def test_a_truncated_file_is_refused_with_what_to_do(results: Results, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(results.model_dump_json()[:-100], encoding="utf-8")
    with pytest.raises(ResultsError, match="fetch or write it again"):
        read_results(path)


def test_another_schema_version_is_refused_by_name(results: Results, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    text = results.model_dump_json().replace("segtrial-results/1", "segtrial-results/9")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ResultsError, match="got 'segtrial-results/9'"):
        read_results(path)
