"""Fetching is resumable, checked and polite, and says what it may not do."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from typer.testing import CliRunner

from segtrial.cli import app
from segtrial.contracts.dataset_card import DatasetCard
from segtrial.datasets import load_card
from segtrial.datasets.download import Wanted, fetch, public_https
from segtrial.datasets.fetching import fetch_dataset
from segtrial.errors import DatasetError, PlatformError

CONTENT = bytes(range(256)) * 1000


class Handler(BaseHTTPRequestHandler):
    """Serves files with ranges, and fails where it is told to."""

    files: ClassVar[dict[str, bytes]] = {}
    busy: ClassVar[int] = 0
    cut: ClassVar[int | None] = None
    seen: ClassVar[list[tuple[str, str]]] = []
    linked: ClassVar[str] = ""

    def do_GET(self) -> None:
        type(self).seen.append((self.path, self.headers.get("Range", "")))
        if type(self).busy:
            type(self).busy -= 1
            self.send_response(503)
            self.send_header("Retry-After", "7")
            self.end_headers()
            return
        if self.path == "/redirect":
            self.send_response(302)
            self.send_header("Location", "https://10.0.0.1/secret")
            self.end_headers()
            return
        if self.path.startswith("/linked/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/linked"))
            self.send_header("X-Linked-ETag", f'"{type(self).linked}"')
            self.end_headers()
            return
        body = self.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        start = int(self.headers.get("Range", "bytes=0-")[6:-1])
        if start >= len(body):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        stop = type(self).cut
        type(self).cut = None
        self.wfile.write(body[start : stop if stop is not None else len(body)])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    Handler.files, Handler.busy, Handler.cut, Handler.seen = {"/scan.bin": CONTENT}, 0, None, []
    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    running.server_close()


def local_only(url: str) -> None:
    """Allow the test's own server, and else what is always allowed."""
    if not url.startswith("http://127.0.0.1:"):
        public_https(url)


def get(wanted: Wanted, waited: list[float] | None = None) -> bool:
    return fetch(wanted, check=local_only, sleep=(waited if waited is not None else []).append)


def test_a_file_is_fetched_once(server: str, tmp_path: Path) -> None:
    wanted = Wanted(f"{server}/scan.bin", tmp_path / "a" / "scan.bin", len(CONTENT))
    assert get(wanted)
    assert wanted.target.read_bytes() == CONTENT
    assert not get(wanted)
    assert len(Handler.seen) == 1


def test_a_cut_connection_is_gone_on_with_where_it_stopped(server: str, tmp_path: Path) -> None:
    Handler.cut = 100_000
    wanted = Wanted(f"{server}/scan.bin", tmp_path / "scan.bin")
    waited: list[float] = []
    assert get(wanted, waited)
    assert wanted.target.read_bytes() == CONTENT
    assert Handler.seen[1] == ("/scan.bin", "bytes=100000-")
    assert waited


def test_what_an_earlier_run_left_is_gone_on_with(server: str, tmp_path: Path) -> None:
    (tmp_path / "scan.bin.part").write_bytes(CONTENT[:5000])
    assert get(Wanted(f"{server}/scan.bin", tmp_path / "scan.bin"))
    assert Handler.seen == [("/scan.bin", "bytes=5000-")]
    assert (tmp_path / "scan.bin").read_bytes() == CONTENT


def test_a_busy_server_is_given_the_time_it_asks_for(server: str, tmp_path: Path) -> None:
    Handler.busy = 2
    waited: list[float] = []
    get(Wanted(f"{server}/scan.bin", tmp_path / "scan.bin"), waited)
    assert waited == [7.0, 7.0]


def test_a_server_that_never_answers_ends_in_a_platform_error(server: str, tmp_path: Path) -> None:
    Handler.busy = 100
    with pytest.raises(PlatformError, match="after 5 tries"):
        get(Wanted(f"{server}/scan.bin", tmp_path / "scan.bin"))


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ({"size_bytes": 5}, "expected 5 bytes"),
        ({"md5": "0" * 32}, "expected md5 0000"),
        ({"sha256": "0" * 64}, "expected sha256 0000"),
    ],
)
def test_another_file_than_the_published_one_is_refused(
    server: str, tmp_path: Path, check: dict[str, object], said: str
) -> None:
    wanted = Wanted(f"{server}/scan.bin", tmp_path / "scan.bin", **check)  # type: ignore[arg-type]
    with pytest.raises(DatasetError, match=said):
        get(wanted)
    assert not wanted.target.exists()


def test_the_right_checksum_is_accepted(server: str, tmp_path: Path) -> None:
    digest = hashlib.sha256(CONTENT).hexdigest()
    assert get(Wanted(f"{server}/scan.bin", tmp_path / "scan.bin", sha256=digest))


def test_the_checksum_that_the_host_names_is_held(server: str, tmp_path: Path) -> None:
    Handler.linked = hashlib.sha256(CONTENT).hexdigest()
    assert get(Wanted(f"{server}/linked/scan.bin", tmp_path / "good.bin"))
    Handler.linked = "0" * 64
    with pytest.raises(DatasetError, match="expected sha256 0000"):
        get(Wanted(f"{server}/linked/scan.bin", tmp_path / "bad.bin"))


def test_a_login_page_instead_of_a_scan_is_refused(server: str, tmp_path: Path) -> None:
    Handler.files["/ct.nii.gz"] = b"<!doctype html><title>Sign in</title>"
    with pytest.raises(DatasetError, match="web page"):
        get(Wanted(f"{server}/ct.nii.gz", tmp_path / "ct.nii.gz"))


def test_what_is_not_there_is_refused_with_the_servers_words(server: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="404"):
        get(Wanted(f"{server}/nothing", tmp_path / "x"))


def test_a_redirect_to_a_private_address_is_not_followed(server: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"10\.0\.0\.1"):
        get(Wanted(f"{server}/redirect", tmp_path / "x"))


@pytest.mark.parametrize(
    "url",
    ["http://example.org/x", "file:///etc/passwd", "https://127.0.0.1/x", "https://[::1]/x",
     "https://169.254.169.254/latest/meta-data"],
)  # fmt: skip
def test_only_https_to_public_addresses(url: str) -> None:
    with pytest.raises(DatasetError):
        public_https(url)


def archive(name: str, member: str) -> bytes:
    file = io.BytesIO()
    if name.endswith(".zip"):
        with zipfile.ZipFile(file, "w") as packed:
            packed.writestr(member, b"scan")
    else:
        with tarfile.open(fileobj=file, mode="w") as tar:
            info = tarfile.TarInfo(member)
            info.size = 4
            tar.addfile(info, io.BytesIO(b"scan"))
    return file.getvalue()


def card_of(url: str, *, how: str, file: str) -> DatasetCard:
    card = load_card("kits23")
    source = {"title": "x", "url": "https://example.org/x", "how": how, "file": file}
    changed = card.replace(sources=[source])
    served = changed.sources[0].model_copy(update={"url": url})
    return changed.model_copy(update={"sources": (served,)})


@pytest.mark.parametrize("name", ["set.tar", "set.zip"])
def test_archives_are_unpacked(server: str, tmp_path: Path, name: str) -> None:
    Handler.files[f"/{name}"] = archive(name, "imagesTr/a.nii.gz")
    card = card_of(f"{server}/{name}", how="direct", file=name)
    fetch_dataset(card, tmp_path, check=local_only, sleep=lambda _: None)
    assert (tmp_path / "imagesTr" / "a.nii.gz").read_bytes() == b"scan"


@pytest.mark.parametrize("name", ["set.tar", "set.zip"])
def test_an_archive_cannot_write_outside_its_folder(server: str, tmp_path: Path, name: str) -> None:
    Handler.files[f"/{name}"] = archive(name, "../outside")
    card = card_of(f"{server}/{name}", how="direct", file=name)
    with pytest.raises(DatasetError):
        fetch_dataset(card, tmp_path / "in", check=local_only, sleep=lambda _: None)
    assert not (tmp_path / "outside").exists()


def test_cases_are_fetched_one_by_one_and_politely(server: str, tmp_path: Path) -> None:
    for number in (400, 401, 402):
        Handler.files[f"/case_{number:05}.bin"] = CONTENT
    card = card_of(f"{server}/{{case}}.bin", how="per_case", file="{case}/imaging.bin")
    waited: list[float] = []
    done = fetch_dataset(card, tmp_path, cases=2, check=local_only, sleep=waited.append)
    assert (done.fetched, done.already_there, waited) == (2, 0, [1.0, 1.0])
    done = fetch_dataset(card, tmp_path, cases=3, check=local_only, sleep=waited.append)
    assert (done.fetched, done.already_there) == (1, 2)


def test_a_single_archive_cannot_be_fetched_by_case(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="Leave --cases out"):
        fetch_dataset(load_card("amos22"), tmp_path, cases=3)


def test_what_needs_a_login_is_explained_and_the_answer_is_no() -> None:
    done = CliRunner().invoke(app, ["datasets", "fetch", "btcv"])
    assert done.exit_code == 1
    said = " ".join(done.output.split())
    assert "https://www.synapse.org/" in said
    assert "Register" in said
    assert "evaluate datasets index btcv DIR" in said
