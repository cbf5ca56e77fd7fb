"""The Gradio Space, started as a Space starts it, asked over HTTP."""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
import yaml

from board.synthetic import make_results
from hub.fakehub import FakeHub, Repository
from segtrial.board import board_files, render
from segtrial.policy.manifest import board_manifest, manifest_bytes
from segtrial.policy.publication import disclose

APP = Path(__file__).parents[2] / "leaderboard_space"
TRACK = "kits23--clean-400-588"
ASK = f"track={TRACK}&structure=kidney&metric=dice"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    render([make_results(models=4, structures=1, cases=20)], folder)
    return folder


@pytest.fixture(scope="module")
def space(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with Running(site, tmp_path_factory.mktemp("log")) as running:
        yield running.url


class Running:
    """The app in a process of its own, until the end of a block."""

    def __init__(self, site: Path, folder: Path, **environment: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = folder / "space.log"
        self._environment = {
            **os.environ,
            "SEGTRIAL_BOARD": str(site),
            "GRADIO_SERVER_PORT": str(port),
            **environment,
        }

    def __enter__(self) -> Self:
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "app.py"], cwd=APP, env=self._environment, stdout=log, stderr=log
            )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.url}/health", timeout=1).close()
            except OSError:
                time.sleep(0.1)
            else:
                return self
        raise AssertionError(self.log.read_text(encoding="utf-8"))

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(20)

    def resident_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found
        return int(found[1]) / 1024


def fetch(url: str, **headers: str) -> tuple[int, Any, bytes]:
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def test_the_page_is_the_one_that_was_rendered_compressed_where_asked(
    space: str, site: Path
) -> None:
    _, headers, raw = fetch(f"{space}/", **{"Accept-Encoding": "gzip"})
    assert headers["content-encoding"] == "gzip"
    assert gzip.decompress(raw) == (site / "index.html").read_bytes()


def test_every_file_of_the_board_is_served_and_nothing_else(space: str, site: Path) -> None:
    listed = json.loads((site / "board.json").read_text(encoding="utf-8"))["files"]
    for path in listed:
        status, _, raw = fetch(f"{space}/{path}")
        assert (status, raw) == (200, (site / path).read_bytes()), path
    for path in ("app.py", "data/none/x.js", f"downloads/{TRACK}/..%2f..%2fapp.py", "assets/no"):
        assert fetch(f"{space}/{path}")[0] == 404, path


def test_a_file_that_has_not_changed_is_not_sent_again(space: str) -> None:
    _, headers, _ = fetch(f"{space}/assets/board.css?v=1")
    assert "immutable" in headers["cache-control"]
    again = {"If-None-Match": headers["etag"]}
    assert fetch(f"{space}/assets/board.css", **again)[0] == 304


def test_health_names_what_is_shown(space: str) -> None:
    _, _, raw = fetch(f"{space}/health")
    assert json.loads(raw) == {"status": "ok", "release": None, "tracks": 1}


def test_the_api_answers_with_the_published_numbers(space: str, site: Path) -> None:
    raw = (site / "downloads" / TRACK / "results.json").read_text(encoding="utf-8")
    expected = json.loads(raw)["analysis"]["kidney"]["dice"]
    table = json.loads(fetch(f"{space}/api/table?{ASK}")[2])
    assert table["ranking"] == expected["ranking"]
    model = json.loads(fetch(f"{space}/api/model?track={TRACK}&model=alder")[2])
    assert model["kidney"]["dice"] in expected["ranking"]
    pair = expected["pairs"][0]
    compared = json.loads(fetch(f"{space}/api/compare?{ASK}&a={pair['b']}&b={pair['a']}")[2])
    for key in ("a", "b", "difference", "p_adjusted", "verdict"):
        assert compared["pair"][key] == pair[key]
    assert [compared["pair"]["low"], compared["pair"]["high"]] == pair["interval"]
    assert len(compared["values"][pair["a"]]) == len(compared["cases"]) == 20


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("table?track=x&structure=kidney&metric=dice", f"there are: {TRACK}"),
        (f"table?track={TRACK}&structure=x&metric=dice", "there are: kidney"),
        (f"table?track={TRACK}&structure=kidney&metric=x", "dice"),
        (f"model?track={TRACK}&model=x", "no ranked model"),
        (f"compare?{ASK}&a=alder&b=alder", "name ranked models"),
    ],
)
def test_a_question_about_nothing_says_what_there_is(space: str, query: str, said: str) -> None:
    status, _, raw = fetch(f"{space}/api/{query}")
    assert status == 404
    assert said in json.loads(raw)["error"]


def test_the_same_questions_by_name_for_gradio_clients(space: str) -> None:
    body = json.dumps({"data": [TRACK, "kidney", "dice"]}).encode()
    start = urllib.request.Request(
        f"{space}/gradio_api/call/table", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(start, timeout=20) as answer:
        event = json.loads(answer.read())["event_id"]
    _, _, raw = fetch(f"{space}/gradio_api/call/table/{event}")
    assert b"event: complete" in raw
    assert b'"ranking"' in raw


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_it_stays_under_200_mb(site: Path, tmp_path: Path) -> None:
    with Running(site, tmp_path) as running:
        for _ in range(20):
            fetch(f"{running.url}/api/model?track={TRACK}&model=alder")
            fetch(f"{running.url}/")
        assert running.resident_mb() < 200


def test_a_new_revision_of_the_dataset_repository_is_shown_without_a_restart(
    tmp_path: Path,
) -> None:
    """Also where no board lies beside the app."""
    with FakeHub() as hub:
        repo = hub.repos["datasets", "lab/board"] = Repository()
        put_board(repo, "a" * 40, models=3)
        environment = {
            "SEGTRIAL_DATASET": "lab/board",
            "SEGTRIAL_REFRESH_S": "0.2",
            "SEGTRIAL_CACHE": str(tmp_path / "cache"),
            "HF_ENDPOINT": hub.url,
            "HF_HUB_DISABLE_TELEMETRY": "1",
        }
        with Running(tmp_path / "none", tmp_path, **environment) as running:
            wait_for_models(running.url, 4)
            put_board(repo, "b" * 40, models=5)
            wait_for_models(running.url, 6)
            repo.trees["c" * 40] = {**repo.files, "assets/board.css": b"not the listed one"}
            repo.log.append(("c" * 40, "tampered"))
            time.sleep(1)
            wait_for_models(running.url, 6)
            assert "is not the file that board.json lists" in running.log.read_text("utf-8")


def put_board(repo: Repository, oid: str, *, models: int) -> None:
    made = disclose(make_results(models=models, structures=1, cases=12, unranked=False))
    files = board_files([made])
    manifest = manifest_bytes(board_manifest([made], files, segtrial_version="0.1.0"))
    repo.trees[oid] = {**files, "board.json": manifest}
    repo.log.append((oid, "release"))


def wait_for_models(url: str, count: int) -> None:
    deadline = time.monotonic() + 20
    found = 0
    while time.monotonic() < deadline:
        status, _, raw = fetch(f"{url}/api/table?{ASK}")
        found = len(json.loads(raw)["ranking"]) if status == 200 else 0
        if found == count:
            return
        time.sleep(0.1)
    raise AssertionError(f"expected {count} models, found {found}")


def test_a_folder_that_is_no_board_ends_with_the_reason(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "app.py"],
        cwd=APP,
        env={**os.environ, "SEGTRIAL_BOARD": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode != 0
    assert "board.json cannot be read" in done.stderr
    assert "Set SEGTRIAL_BOARD" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_front_matter_is_valid_for_a_gradio_space() -> None:
    front = yaml.safe_load((APP / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    colours = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
    assert front["sdk"] == "gradio"
    assert (APP / front["app_file"]).is_file()
    assert {front["colorFrom"], front["colorTo"]} <= colours
    assert len(front["short_description"]) <= 60
    assert re.fullmatch(r"6\.\d+\.\d+", str(front["sdk_version"]))
