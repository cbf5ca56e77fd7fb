"""A Chromium that watches for errors and for anything that leaves the page's origin."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from board.synthetic import make_results
from segtrial.board import render
from segtrial.contracts.result import Results

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only with --run-browser

    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
    if path is None:
        pytest.fail("There is no Chromium; install one with: apt-get install chromium")
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def results() -> Results:
    return make_results(models=8, structures=3, cases=36)


@pytest.fixture(scope="session")
def site(results: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board of two tracks."""
    folder = tmp_path_factory.mktemp("board")
    second = make_results(models=3, structures=1, cases=20, track="second", seed=3)
    render([results, second], folder)
    return folder


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A folder behind a plain web server on this machine."""
    handler = partial(_Quiet, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def address(site: Path) -> Iterator[str]:
    with served(site) as url:
        yield url


Open = Callable[..., "Page"]


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[Open]:
    """Opens an address of the board; what goes wrong on any page fails the test at its end."""
    contexts = []
    wrong: list[str] = []

    def opened(query: str = "", *, base: str = address, **settings: Any) -> Page:  # noqa: ANN401 - Playwright's own
        given = {"viewport": {"width": 1360, "height": 900}, "accept_downloads": True, **settings}
        context = browser.new_context(**given)
        contexts.append(context)
        page = context.new_page()
        origin = base.split("index.html", maxsplit=1)[0]
        page.on("console", lambda m: wrong.append(m.text) if m.type != "log" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: _refuse(dialog, wrong))
        page.on("request", lambda r: _watch(r.url, origin, wrong))
        page.on("requestfailed", lambda r: wrong.append(f"failed: {r.url}"))
        page.goto(base + (f"?{query}" if query else ""))
        settled(page)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def settled(page: Page) -> None:
    """Wait until the view that the address asks for is on the screen."""
    page.locator("html[data-busy=no]").wait_for(state="attached")


def _refuse(dialog: Dialog, wrong: list[str]) -> None:
    wrong.append(f"dialog: {dialog.message}")
    dialog.dismiss()


def _watch(url: str, origin: str, wrong: list[str]) -> None:
    if not url.startswith((origin, "data:", "blob:")):
        wrong.append(f"outside request: {url}")
