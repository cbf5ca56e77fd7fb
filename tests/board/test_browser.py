"""The page in a real Chromium: addresses, choices, keyboard, looks; nothing leaves the origin."""

from __future__ import annotations

import csv
import gzip
import io
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

from board.conftest import Open, served, settled
from board.synthetic import make_results, widened
from segtrial.board import board_files, render
from segtrial.contracts.result import Results
from segtrial.policy.publication import PublicResults
from segtrial.statistics import analyse_results

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

TRACK = "kits23--clean-400-588"
VIEWS = (
    "table", "stability", "pairwise", "compare", "slices", "cost", "model", "dataset", "method",
    "changelog",
)  # fmt: skip
PHONE = {"viewport": {"width": 390, "height": 800}}


def names(page: Page) -> list[str]:
    """Entries on the screen, from top to bottom."""
    return page.locator(".ranking tbody tr[data-id]:visible .model").all_inner_texts()


def query(page: Page) -> str:
    return str(page.evaluate("location.search"))


def ranking(results: Results, structure: str, metric: str) -> list[str]:
    entries = {row.id: row.name for row in results.submissions}
    rows = results.analysis[structure][metric]["ranking"]
    return [entries[row["submission"]] for row in rows]


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_opens_by_its_address_from_a_server_and_from_a_disk(
    open_page: Open, site: Path, view: str
) -> None:
    for base in (None, (site / "index.html").as_uri()):
        page = open_page(f"view={view}&structure=kidney", **({"base": base} if base else {}))
        assert page.locator(".views [aria-current]").get_attribute("data-view") == view
        assert "could not be shown" not in page.locator("#view").inner_text()
        assert len(page.locator("#view").inner_text()) > 60


@pytest.mark.parametrize(
    ("structure", "metric"), [("macro_average", "nsd"), ("kidney_cyst", "hd95"), ("kidney", "dice")]
)
def test_a_deep_link_shows_its_ranking(
    open_page: Open, results: Results, structure: str, metric: str
) -> None:
    page = open_page(f"structure={structure}&metric={metric}")
    expected = ranking(results, structure, metric)
    assert names(page)[: len(expected)] == expected
    assert page.locator("#structure").input_value() == structure
    assert page.locator("#metric").input_value() == metric


def test_an_address_that_means_nothing_shows_the_default(open_page: Open) -> None:
    page = open_page("track=x&view=y&structure=../../etc&metric=<script>&model=%00&a=1&sort=zzz")
    assert page.locator("#metric").input_value() == "dice"
    assert names(page)


def test_what_scripts_draw_is_what_was_there_before_them(open_page: Open) -> None:
    page = open_page()
    first = page.locator("#view").inner_html()
    page.select_option("#metric", "nsd")
    settled(page)
    page.select_option("#metric", "dice")
    settled(page)
    assert page.locator("#view").inner_html() == first


def test_choices_are_in_the_address_and_back_undoes_them(open_page: Open) -> None:
    page = open_page()
    page.select_option("#structure", "kidney")
    settled(page)
    page.select_option("#metric", "hd95")
    settled(page)
    assert query(page) == "?structure=kidney&metric=hd95"
    page.click(".views [data-view=pairwise]")
    settled(page)
    assert "view=pairwise" in query(page)
    page.go_back()
    settled(page)
    page.go_back()
    settled(page)
    assert page.locator("#metric").input_value() == "dice"
    assert query(page) == "?structure=kidney"
    page.reload()
    settled(page)
    assert page.locator("#structure").input_value() == "kidney"


def test_sorting_says_so_and_turns_round(open_page: Open, results: Results) -> None:
    page = open_page("structure=kidney&metric=dice")
    heading = page.locator("th[data-col=score]")
    heading.locator("button").click()
    settled(page)
    assert heading.get_attribute("aria-sort") == "descending"
    assert page.locator("th[data-col=rank]").get_attribute("aria-sort") is None
    heading.locator("button").click()
    settled(page)
    assert heading.get_attribute("aria-sort") == "ascending"
    expected = ranking(results, "kidney", "dice")
    assert names(page)[: len(expected)] == expected[::-1]
    assert "sort=-score" in query(page)
    page.locator("th[data-col=model] button").click()
    settled(page)
    ranked = names(page)[: len(expected)]
    assert ranked == sorted(ranked, key=str.lower)


def test_a_line_stands_under_the_tied_only_where_they_stand_together(open_page: Open) -> None:
    page = open_page("structure=kidney&metric=dice")
    tied = page.locator("tr.tied").count()
    assert 0 < tied < page.locator("tbody.ranked tr").count()
    together = page.evaluate(
        "[...document.querySelectorAll('tbody.ranked tr')].findLastIndex("
        "row => row.classList.contains('tied'))"
    )
    assert page.locator("tr.tie-end").count() == (1 if together == tied - 1 else 0)
    page.goto(page.url + "&sort=-score")
    settled(page)
    assert page.locator("tr.tie-end").count() == 0


def test_finding_and_choosing_entries(open_page: Open) -> None:
    page = open_page()
    page.locator("#find").press_sequentially("ced")
    settled(page)
    assert names(page) == ["Cedar"]
    assert page.locator("#count").inner_text() == "1 shown"
    assert "find=ced" in query(page)
    page.reload()
    settled(page)
    assert names(page) == ["Cedar"]
    page.fill("#find", "")
    page.select_option("#show", "unranked")
    settled(page)
    assert set(names(page)) == {"Mangrove", "Willow", "Yew", "Sumac"}


def test_columns_are_chosen_and_remembered_in_the_address(open_page: Open) -> None:
    page = open_page()
    assert page.locator("td.c-energy").first.is_hidden()
    page.click("text=Columns")
    page.check(".chooser input[value=energy]")
    page.uncheck(".chooser input[value=frequency]")
    settled(page)
    assert page.locator("td.c-energy").first.is_visible()
    assert page.locator("td.c-frequency").first.is_hidden()
    page.reload()
    settled(page)
    assert page.locator("td.c-energy").first.is_visible()


def test_the_evidence_opens_on_click_and_closes_on_escape(open_page: Open) -> None:
    page = open_page()
    page.locator("tr[data-id=willow] .badge").click()
    shown = page.locator(".pop:popover-open")
    assert "abdomenatlas includes 41 of 60 cases" in shown.inner_text()
    page.keyboard.press("Escape")
    assert shown.count() == 0


def test_comparing_two_models_says_what_the_analysis_says(
    open_page: Open, results: Results
) -> None:
    pair = results.analysis["kidney"]["dice"]["pairs"][3]
    entries = {row.id: row.name for row in results.submissions}
    page = open_page(f"view=compare&structure=kidney&metric=dice&a={pair['a']}&b={pair['b']}")
    said = page.locator("#comparison .finding").inner_text()
    assert entries[pair["a"]] in said
    assert f"{abs(pair['difference']):.3f}" in said
    dots = page.locator("#comparison circle.case").count()
    assert dots == results.analysis["kidney"]["dice"]["cases"]
    page.keyboard.press("/")  # a shortcut of another control leaves this one as it is
    page.click("#swap")
    settled(page)
    assert f"a={pair['b']}" in query(page)
    page.locator("#comparison circle.case").first.hover(force=True)
    assert re.match(r"c[0-9a-f]{12}: ", page.locator("#readout").inner_text())


def test_a_tile_of_the_matrix_opens_its_comparison(open_page: Open, results: Results) -> None:
    page = open_page("view=pairwise&structure=kidney&metric=dice")
    figure = page.locator("figure.matrix")
    start, cell = (float(figure.get_attribute(f"data-{k}") or 0) for k in ("start", "cell"))
    place = (start + cell * 2.5, start + cell * 0.5)
    figure.locator("svg").click(position={"x": place[0], "y": place[1]})
    settled(page)
    order = [row["submission"] for row in results.analysis["kidney"]["dice"]["ranking"]]
    assert f"a={order[0]}&b={order[2]}" in query(page)


def test_a_link_is_copied_or_shown_to_be_copied(open_page: Open) -> None:
    page = open_page("structure=kidney", permissions=["clipboard-read", "clipboard-write"])
    page.click("#copy")
    page.locator("#copy", has_text="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    refused = open_page("structure=kidney")
    refused.evaluate("void (navigator.clipboard.writeText = () => Promise.reject(new Error('no')))")
    refused.click("#copy")
    assert refused.locator("#link").input_value() == refused.url


def test_a_second_track_has_its_own_title_and_structures(open_page: Open) -> None:
    page = open_page()
    page.select_option("#track", "kits23--second")
    settled(page)
    assert "20 patients" in page.locator("#title").inner_text()
    assert "track=kits23--second" in query(page)
    assert page.locator("#structure option").count() == 1
    page.go_back()
    settled(page)
    assert "36 patients" in page.locator("#title").inner_text()


def test_the_table_is_taken_away_as_it_is_shown(open_page: Open, results: Results) -> None:
    page = open_page("structure=kidney&metric=dice&sort=-score")
    with page.expect_download() as caught:
        page.click("#csv")
    assert caught.value.suggested_filename == f"{TRACK}-kidney-dice.csv"
    rows = list(csv.DictReader(io.StringIO(Path(caught.value.path()).read_text("utf-8"))))
    assert [row["Model"] for row in rows] == [
        name.lower() for name in ranking(results, "kidney", "dice")[::-1]
    ]
    assert float(rows[-1]["Dice"]) == results.analysis["kidney"]["dice"]["ranking"][0]["mean"]


def test_every_download_is_there(open_page: Open, site: Path) -> None:
    page = open_page()
    links = page.locator("#downloads a")
    links.first.wait_for()
    assert links.count() == 6
    for link in links.all():
        with page.expect_download() as caught:
            link.click()
        path = site / (link.get_attribute("href") or "")
        assert Path(caught.value.path()).read_bytes() == path.read_bytes()


def test_dark_and_light_follow_the_system_until_somebody_chooses(open_page: Open) -> None:
    page = open_page(color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.click("#theme")
    assert page.evaluate(ground) != dark
    page.reload()
    settled(page)
    assert page.evaluate(ground) != dark
    assert page.evaluate(ground) == "rgb(255, 255, 255)"


@pytest.mark.parametrize("view", VIEWS)
def test_a_phone_never_scrolls_sideways_as_a_whole(open_page: Open, view: str) -> None:
    page = open_page(f"view={view}&structure=kidney", **PHONE)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_on_a_phone_the_name_stays_while_the_table_scrolls(open_page: Open) -> None:
    page = open_page(**PHONE)
    region = page.locator(".scroll").first
    region.evaluate("element => element.scrollLeft = 300")
    box = page.locator("tbody.ranked .c-model").first.bounding_box()
    assert box is not None
    assert 0 <= box["x"] < 100


def test_everything_is_reached_by_keyboard(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "view"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "find"
    page.focus("th[data-col=time] button")
    page.keyboard.press("Enter")
    settled(page)
    assert page.locator("th[data-col=time]").get_attribute("aria-sort") == "ascending"
    assert page.evaluate("document.activeElement.dataset.sort") == "time"
    page.focus(".views [data-view=stability]")
    page.keyboard.press("Enter")
    settled(page)
    assert "view=stability" in query(page)
    page.focus(".views [data-view=table]")
    page.keyboard.press("Enter")
    settled(page)
    page.focus("tr[data-id=willow] .badge")
    page.keyboard.press("Enter")
    assert page.locator(".pop:popover-open").count() == 1


def test_without_scripts_the_first_table_is_there(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert page.locator("tbody.ranked tr").count() > 5
    assert "Every number is in the downloads" in page.locator("noscript").inner_text()
    context.close()


def test_on_paper_the_table_stands_alone(open_page: Open) -> None:
    page = open_page(color_scheme="dark")
    page.emulate_media(media="print")
    assert page.locator(".controls").is_hidden()
    assert page.locator(".ranking").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing(open_page: Open, view: str, scheme: str) -> None:
    page = open_page(f"view={view}&structure=kidney", color_scheme=scheme)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_axe_finds_nothing_on_a_phone_and_in_an_open_popover(open_page: Open) -> None:
    page = open_page(**PHONE)
    page.locator("tr[data-id=willow] .badge").scroll_into_view_if_needed()
    page.locator("tr[data-id=willow] .badge").click()
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


# --- size -----------------------------------------------------------------------------------------


def test_the_first_view_of_a_large_board_is_light(open_page: Open, tmp_path: Path) -> None:
    """20 models x 25 structures x 4 metrics: at most 150 kB compressed and 5 requests."""
    render([widened(make_results(models=20, structures=1, cases=20), 25)], tmp_path)
    asked: list[str] = []
    with served(tmp_path) as base:
        page = open_page(base=base)
        asked = page.evaluate("performance.getEntries().map(e => e.name)")
    files = {name.removeprefix(base).split("?")[0] for name in asked if name.startswith(base)}
    sizes = [len(gzip.compress((tmp_path / (name or "index.html")).read_bytes())) for name in files]
    assert len(files) <= 5
    assert sum(sizes) <= 150_000


# --- hostile and small --------------------------------------------------------------------------


def test_a_hostile_name_is_text_everywhere(open_page: Open, tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>\"'`</script><script>alert(2)</script>"
    made = make_results(models=3, structures=1, cases=20)
    rows = [
        row.model_copy(
            update={
                "name": f"{evil} \u202e{index}",
                "licence": evil,
                "authors": (evil,),
                "summary": evil,
                "paper": "javascript:alert(3)",
                "code": 'https://a.example/"onmouseover="alert(4)',
                "evidence": (evil,),
                "declared_training": (evil,),
            }
        )
        for index, row in enumerate(made.submissions)
    ]
    cases = [case.model_copy(update={"slices": {"sex": evil}}) for case in made.cases]
    dataset = made.dataset.model_copy(
        update={"title": evil, "citation": evil, "homepage": "data:,x"}
    )
    hostile = made.model_copy(
        update={"submissions": tuple(rows), "cases": tuple(cases), "dataset": dataset}
    )
    _render_unchecked(hostile, tmp_path)
    with served(tmp_path) as base:
        for view in VIEWS:
            page = open_page(f"view={view}&structure=kidney", base=base)
            assert page.locator("img").count() == 0
            assert page.locator("#view a[href^='javascript']").count() == 0
            assert page.evaluate("document.querySelectorAll('[onerror],[onmouseover]').length") == 0
            assert "\u202e" not in page.content()


def _render_unchecked(results: Results, folder: Path) -> None:
    """Render what no record would let in: the page is the last to defend itself."""
    found = PublicResults.model_construct(**{k: getattr(results, k) for k in Results.model_fields})
    for name, raw in board_files([found]).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(raw)


@pytest.mark.parametrize(
    ("models", "cases", "words"),
    [(1, 12, "is the only ranked entry"), (2, 1, "1 patient"), (0, 12, "Empty mask")],
    ids=["one model", "one case", "only the baseline"],
)
def test_a_small_board_says_what_it_can(
    open_page: Open, tmp_path: Path, models: int, cases: int, words: str
) -> None:
    made = make_results(models=models, structures=1, cases=cases, unranked=False)
    keep = made.submissions[:models] or made.submissions
    if models == 1:
        made = _only(made, {row.id for row in keep})
    render([made], tmp_path)
    with served(tmp_path) as base:
        for view in VIEWS:
            page = open_page(f"view={view}", base=base)
            assert "could not be shown" not in page.locator("#view").inner_text(), view
        assert words in open_page(base=base).locator("main").inner_text()


def test_a_board_without_any_ranked_entry_says_so(open_page: Open, tmp_path: Path) -> None:
    made = make_results(models=1, structures=1, cases=12)
    render([_only(made, {"mangrove", "yew"})], tmp_path)
    with served(tmp_path) as base:
        for view in VIEWS:
            page = open_page(f"view={view}", base=base)
            assert "could not be shown" not in page.locator("#view").inner_text(), view
        page = open_page(base=base)
        assert "No entry is ranked" in page.locator("main").inner_text()
        assert names(page) == ["Mangrove", "Yew"]


def _only(made: Results, ids: set[str]) -> Results:
    return analyse_results(
        made.model_copy(
            update={
                "submissions": tuple(row for row in made.submissions if row.id in ids),
                "records": tuple(r for r in made.records if r.submission in ids),
                "measured": tuple(r for r in made.measured if r.submission in ids),
                "analysis": {},
            }
        )
    )


def test_a_copy_without_its_data_says_what_to_do(
    browser: Browser, site: Path, tmp_path: Path
) -> None:
    """Not through `open_page`: here the browser's own complaint about the file is expected."""
    copy = shutil.copytree(site, tmp_path / "copy")
    shutil.rmtree(copy / "data")
    page = browser.new_page()
    page.goto(f"{(copy / 'index.html').as_uri()}?view=stability")
    settled(page)
    assert "copy its whole folder" in page.locator("#view [role=alert]").inner_text()
    page.close()
