"""The folder that `render` writes, read back as text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from board.synthetic import make_results
from segtrial.board import read_results, render
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
