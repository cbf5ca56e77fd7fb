"""How heavy and how quick the page is, in a headless Chromium: ``python benchmarks/board.py``.

Two boards: 20 models x 25 structures x 4 metrics, and 200 models x 25 structures x 2 metrics. The
analysis of one structure is computed and stands for all, since weight and speed depend on its size
alone. Times are medians of five, on a page served from this machine.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
# In place of this folder, whose statistics.py would hide the standard library's.
sys.path[0] = str(ROOT / "tests")

from board.conftest import FLAGS, settled  # noqa: E402 - after the path
from board.synthetic import make_results, widened  # noqa: E402
from segtrial.board import render  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser, CDPSession, Page

ROUNDS = 5
BOARDS = {
    "20 models x 25 structures x 4 metrics": (20, ("dice", "nsd", "hd95", "boundary_iou")),
    "200 models x 25 structures x 2 metrics": (200, ("dice", "nsd")),
}


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        pass


def main() -> None:
    """Measure both boards and the Space, and print a table of each."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    chromium = shutil.which("chromium") or shutil.which("chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        for name, (models, metrics) in BOARDS.items():
            site = Path(folder) / str(models)
            print(f"\n{name}", flush=True)
            measure(site, browser, models=models, metrics=metrics)
            if site.name == "20":
                print("\nthe Gradio Space with this board", flush=True)
                measure_space(site)
        browser.close()


def measure(site: Path, browser: Browser, *, models: int, metrics: tuple[str, ...]) -> None:
    """One board: made, weighed, opened, used."""
    made = widened(make_results(models=models, structures=1, cases=30, metrics=metrics), 25)
    start = time.perf_counter()
    render([made], site)
    show("rendered in", f"{time.perf_counter() - start:.1f} s")
    show("folder", f"{sum(p.stat().st_size for p in site.rglob('*') if p.is_file()) / 1e6:.0f} MB")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}/"
    weigh(site, browser, base)
    page = browser.new_page(viewport={"width": 1360, "height": 900})
    page.goto(base)
    settled(page)
    for label, act in actions(models).items():
        times = [timed(page, act, k) for k in range(ROUNDS)]
        wall, cpu = (median([one[part] for one in times]) for part in (0, 1))
        show(label, f"{wall:.0f} ms, {cpu:.0f} of them computing")
    page.close()
    server.shutdown()


def weigh(site: Path, browser: Browser, base: str) -> None:
    """What the first view asks for, and when its table can be read."""
    seen: list[float] = []
    asked: list[str] = []
    for _ in range(ROUNDS):
        page = browser.new_page(viewport={"width": 1360, "height": 900})
        page.goto(base)
        settled(page)
        painted = page.evaluate(
            "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1"
        )
        seen.append(float(painted))
        asked = page.evaluate("performance.getEntries().map(e => e.name)")
        page.close()
    files = {name.removeprefix(base).split("?")[0] for name in asked if name.startswith(base)}
    sizes = [len(gzip.compress((site / (name or "index.html")).read_bytes())) for name in files]
    show("first view", f"{len(files)} requests, {sum(sizes) / 1000:.0f} kB gzipped")
    show("table visible after", f"{median(seen):.0f} ms")


def actions(models: int) -> dict[str, str]:
    """What people do, as scripts of a number that makes every round another one."""
    address = (
        "{ history.pushState(null, '', `?structure="
        "${['liver', 'spleen', 'pancreas', 'stomach', 'aorta'][k]}&view=VIEW`); "
        "dispatchEvent(new PopStateEvent('popstate')); }"
    )
    choose = (
        "{ const select = document.getElementById('metric'); "
        "select.value = ['nsd', 'dice'][k % 2]; "
        "select.dispatchEvent(new Event('change', { bubbles: true })); }"
    )
    sort = "document.querySelector(`th[data-col=${['score', 'model'][k % 2]}] button`).click()"
    return {
        "another structure": address.replace("VIEW", "table"),
        "another metric": choose,
        "sort": sort,
        "open Stability": address.replace("VIEW", "stability"),
        "open Pairwise": address.replace("VIEW", "pairwise"),
        f"open Compare (of {models})": address.replace("VIEW", "compare"),
        "back to Table": address.replace("VIEW", "table"),
    }


def timed(page: Page, act: str, k: int) -> tuple[float, float]:
    """Milliseconds from an action to the end of what it shows, painted; on the page's clock.

    And the processor time of the page's main thread in them, which other work on the machine
    changes less.
    """
    script = f"""async k => {{
        const start = performance.now();
        {act};
        while (document.documentElement.dataset.busy !== "no")
            await new Promise(done => setTimeout(done));
        await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
        return performance.now() - start;
    }}"""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = computing(session)
    took: float = page.evaluate(script, k)
    spent = computing(session) - before
    session.detach()
    page.wait_for_timeout(300)  # what is laid out later is not to be part of the next one
    return took, spent


def computing(session: CDPSession) -> float:
    """Milliseconds of processor time that the page's main thread has spent."""
    found = session.send("Performance.getMetrics")["metrics"]
    return 1000 * next(float(one["value"]) for one in found if one["name"] == "TaskDuration")


def measure_space(site: Path) -> None:
    """Start, memory and speed of the Gradio Space."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "SEGTRIAL_BOARD": str(site), "GRADIO_SERVER_PORT": str(port)}
    start = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603 - our own app
        [sys.executable, str(ROOT / "leaderboard_space" / "app.py")],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    track = json.loads((site / "board.json").read_text(encoding="utf-8"))["tracks"][0]["key"]
    ask = f"track={track}&structure=kidney&metric=dice"
    try:
        wait_for(f"{url}/health")
        show("first answer after", f"{time.perf_counter() - start:.1f} s")
        for _ in range(ROUNDS):
            fetch(f"{url}/")
            fetch(f"{url}/api/model?track={track}&model=alder")
        for label, path in (("page", "/"), ("/api/table", f"/api/table?{ask}")):
            times = [clock(f"{url}{path}") for _ in range(20)]
            show(label, f"{1000 * median(times):.1f} ms")
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        show("resident memory", f"{int(found[1]) / 1024:.0f} MB" if found else "not known here")
    finally:
        process.terminate()
        process.wait(20)


def wait_for(url: str) -> None:
    """Until a server answers."""
    for _ in range(600):
        try:
            fetch(url)
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(url)


def fetch(url: str) -> bytes:
    """Bytes at an address."""
    with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 - a server started here
        body: bytes = answer.read()
    return body


def clock(url: str) -> float:
    """Seconds to fetch an address."""
    start = time.perf_counter()
    fetch(url)
    return time.perf_counter() - start


def median(values: list[float]) -> float:
    """The middle one of an odd number of values."""
    return sorted(values)[len(values) // 2]


def show(label: str, value: str) -> None:
    """One line of the table."""
    print(f"  {label:28s} {value}", flush=True)


if __name__ == "__main__":
    main()
