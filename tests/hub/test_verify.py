"""Verifying: a board that is as it was published holds, and any change of it is named."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from board.synthetic import make_results
from hub.fakehub import FakeHub
from segtrial import hub as segtrial_hub
from segtrial.board import board_files, render
from segtrial.contracts.dataset_card import Publication
from segtrial.errors import InputError, PlatformError, ResultsError
from segtrial.hub import sources
from segtrial.hub.sources import FolderSource, WebSource, source_of
from segtrial.hub.verify import Verification, check_page, verify
from segtrial.policy.publication import content_sha256

TRACK = "kits23--clean-400-588"
RESULTS = f"downloads/{TRACK}/results.json"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    render([make_results(models=3, structures=1, cases=12, metrics=("dice",))], folder)
    return folder


@pytest.fixture
def board(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "board")


def check(folder: Path) -> Verification:
    found, manifest, results = verify(FolderSource(folder))
    version = manifest.segtrial_version
    return check_page(found, manifest, results, page=board_files, segtrial_version=version)


def said(found: Verification) -> str:
    return "\n".join(f"{one.where}: {one.said}" for one in found.findings)


def relist(folder: Path, path: str) -> None:
    """Put the hash that a file has now into board.json, as a forger would."""
    manifest = json.loads((folder / "board.json").read_text(encoding="utf-8"))
    raw = (folder / path).read_bytes()
    manifest["files"][path] = hashlib.sha256(raw).hexdigest()
    if path == RESULTS:
        content = json.loads(raw)["content_sha256"]
        manifest["tracks"][0]["content_sha256"] = content
    (folder / "board.json").write_text(json.dumps(manifest), encoding="utf-8")


def edit_results(folder: Path, change: Any) -> None:  # noqa: ANN401 - a function of the JSON
    body = json.loads((folder / RESULTS).read_text(encoding="utf-8"))
    change(body)
    body["content_sha256"] = content_sha256(body)
    (folder / RESULTS).write_text(json.dumps(body), encoding="utf-8")
    relist(folder, RESULTS)


def test_a_board_as_it_was_made_holds(board: Path) -> None:
    found = check(board)
    assert found.holds, said(found)
    assert found.numbers == (TRACK,)
    assert found.files > 10


def test_a_changed_file_is_named(board: Path) -> None:
    path = board / "assets" / "board.css"
    path.write_text("body { display: none }", encoding="utf-8")
    assert "assets/board.css: has the hash" in said(check(board))


def test_a_missing_file_is_named(board: Path) -> None:
    (board / "index.html").unlink()
    assert "index.html: is listed and missing" in said(check(board))


def test_a_changed_number_is_named_even_when_every_hash_was_made_to_fit(board: Path) -> None:
    def better(body: dict[str, Any]) -> None:
        body["analysis"]["kidney"]["dice"]["ranking"][1]["mean"] = 0.999

    edit_results(board, better)
    found = said(check(board))
    assert f"{TRACK}: analysis.kidney.dice.ranking" in found
    assert "is 0.999, the records give 0." in found


def test_a_changed_record_shows_in_the_numbers_that_follow(board: Path) -> None:
    def better(body: dict[str, Any]) -> None:
        body["records"][0]["metrics"]["dice"] = 1.0

    edit_results(board, better)
    assert f"{TRACK}: analysis.kidney.dice" in said(check(board))


def test_a_page_that_shows_other_numbers_is_named(board: Path) -> None:
    page = board / "index.html"
    page.write_text(page.read_text("utf-8").replace("Alder", "Aldus"), encoding="utf-8")
    relist(board, "index.html")
    assert "index.html: is not what these results render to" in said(check(board))


def test_fields_that_must_not_be_public_are_named(board: Path) -> None:
    def leak(body: dict[str, Any]) -> None:
        body["analysis"]["kidney"]["dice"]["scratch"] = 1

    edit_results(board, leak)
    assert "holds fields that must not be public" in said(check(board))


def test_without_records_it_says_that_nothing_was_recomputed(tmp_path: Path) -> None:
    private = Publication(per_case_scores=False)
    made = make_results(models=2, structures=1, cases=12, metrics=("dice",), publication=private)
    render([made], tmp_path)
    found = check(tmp_path)
    assert found.holds
    assert found.numbers == ()
    assert "only the hashes were checked" in found.notes[0]


def test_a_folder_without_a_board_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"There is no board\.json"):
        verify(FolderSource(tmp_path))


@pytest.mark.parametrize(
    "path", ["../outside.txt", "/etc/hostname", "a/../../outside.txt", "a//b", ".hidden", "a\\b"]
)
def test_a_manifest_cannot_name_a_file_outside_its_folder(board: Path, path: str) -> None:
    manifest = json.loads((board / "board.json").read_text(encoding="utf-8"))
    manifest["files"][path] = "0" * 64
    (board / "board.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(ResultsError, match="files"):
        check(board)


def test_a_link_that_leads_outside_is_not_followed(board: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x", encoding="utf-8")
    (board / "index.html").unlink()
    (board / "index.html").symlink_to(tmp_path / "secret")
    assert "index.html: is listed and missing" in said(check(board))


# --- signatures ---------------------------------------------------------------------------------


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key.pem"
    encoding = serialization.Encoding.PEM
    form = serialization.PrivateFormat.PKCS8
    private = ed25519.Ed25519PrivateKey.generate()
    path.write_bytes(private.private_bytes(encoding, form, serialization.NoEncryption()))
    return path


def test_a_signature_holds_for_its_bytes_and_key_and_no_others(key: Path) -> None:
    signer = segtrial_hub.signer_from(key)
    signature = signer.sign(b"board")
    public = segtrial_hub.check_signature(b"board", signature, public_key=signer.public_key)
    assert public == signer.public_key
    with pytest.raises(ResultsError, match="changed after signing"):
        segtrial_hub.check_signature(b"boarD", signature, public_key=None)
    with pytest.raises(ResultsError, match="not with"):
        segtrial_hub.check_signature(b"board", signature, public_key="A" * 43 + "=")


@pytest.mark.parametrize("content", [b"", b"-----BEGIN PRIVATE KEY-----\nx\n"])
def test_a_file_that_is_no_key_is_refused_with_how_to_make_one(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "key").write_bytes(content)
    with pytest.raises(InputError, match="openssl genpkey -algorithm ed25519"):
        segtrial_hub.signer_from(tmp_path / "key")


# --- the web ------------------------------------------------------------------------------------


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        pass

    def do_GET(self) -> None:
        if self.path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/moved"))
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path.startswith("/loop/"):
            self.send_response(302)
            self.send_header("Location", self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            super().do_GET()


@pytest.fixture
def address(made: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(made)))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("suffix", ["", "/", "/index.html", "/moved/"])
def test_a_board_on_the_web_is_read_through_redirects(address: str, suffix: str) -> None:
    found, _, _ = verify(WebSource(address + suffix, allow_private=True))
    assert found.holds, said(found)


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/board",
        "https://localhost/board",
        "https://[::1]/",
        "https://169.254.169.254/latest",
        "https://10.0.0.1/",
        "https://2130706433/",
        "https://[::ffff:10.0.0.1]/",
        "https://[64:ff9b::a00:1]/",
        "https://[2002:a00:1::]/",
    ],
)
def test_a_private_address_is_not_asked(url: str) -> None:
    with pytest.raises(InputError, match="not a public address"):
        WebSource(url).read("board.json")


@pytest.mark.parametrize("url", ["https://a:99999/", "https://[::1", "https://", "https:///b"])
def test_what_is_no_address_is_refused_as_such(url: str) -> None:
    with pytest.raises(InputError, match=r"no address|is not an address|names no host"):
        source_of(url).read("board.json")


def test_a_long_answer_beside_a_redirect_is_not_read(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_ASIDE", 100)
    with pytest.raises(InputError, match="answers 404 and more than 100 bytes"):
        WebSource(address, allow_private=True).read("nothing-there.json")


def test_a_redirect_to_a_private_address_is_not_followed(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first host counts as public here; the one it leads to does not."""
    port = int(address.rpartition(":")[2])
    checked = sources._public_address

    def only_first(host: str, port: int, **_given: bool) -> str:
        return "127.0.0.1" if host == "board.example" else checked(host, port, allow_private=False)

    monkeypatch.setattr(sources, "_public_address", only_first)
    monkeypatch.setattr(_Handler, "do_GET", _redirect_home)
    with pytest.raises(InputError, match="not a public address"):
        WebSource(f"http://board.example:{port}/", allow_private=True).read("board.json")


def _redirect_home(handler: SimpleHTTPRequestHandler) -> None:
    handler.send_response(302)
    handler.send_header("Location", "http://127.0.0.1:1/secret")
    handler.send_header("Content-Length", "0")
    handler.end_headers()


@pytest.mark.parametrize("url", ["http://example.org/", "ftp://example.org/", "file:///etc"])
def test_only_https_is_asked(url: str) -> None:
    with pytest.raises(InputError, match="not an https address"):
        source_of(url).read("board.json")


def test_endless_redirects_end(address: str) -> None:
    with pytest.raises(InputError, match="redirects"):
        WebSource(f"{address}/loop/", allow_private=True).read("board.json")


def test_a_file_beyond_the_cap_is_not_read(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "LARGEST_FILE", 1000)
    with pytest.raises(InputError, match="larger than 1000 bytes"):
        WebSource(address, allow_private=True).read("index.html")


def test_a_board_beyond_the_cap_is_not_read(board: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "LARGEST_BOARD", 50_000)
    with pytest.raises(InputError, match="The board is larger"):
        verify(FolderSource(board))


def test_a_host_that_is_not_there_is_platform_trouble() -> None:
    with pytest.raises(PlatformError, match="cannot be fetched"):
        WebSource("http://127.0.0.1:1/", allow_private=True).read("board.json")


def test_the_page_of_a_hub_repository_means_its_files() -> None:
    source = WebSource("https://huggingface.co/datasets/lab/board/tree/main")
    assert str(source) == "https://huggingface.co/datasets/lab/board/resolve/main/"


# --- the commands, from the outside --------------------------------------------------------------


def evaluate(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    import os  # noqa: PLC0415

    command = [sys.executable, "-m", "segtrial", *arguments]
    env = {**os.environ, "HF_TOKEN": "hf_test", "COLUMNS": "200", **environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


def test_publish_preview_retract_and_verify_as_a_maintainer_types_them(
    tmp_path: Path, key: Path
) -> None:
    results = tmp_path / "results.json"
    made = make_results(models=3, structures=1, cases=12, metrics=("dice",))
    results.write_text(made.model_dump_json(), encoding="utf-8")
    with FakeHub() as hub:
        where = ["--dataset-repo", "lab/results", "--space", "lab/board"]
        there = {"HF_ENDPOINT": hub.url}
        plan = evaluate("publish", str(results), *where, "--dry-run", **there)
        assert plan.returncode == 0, plan.stderr
        assert "Release 1 would be public." in plan.stdout
        assert "New track with 8 entries." in plan.stdout
        assert hub.repos == {}

        done = evaluate("publish", str(results), *where, "--sign-key", str(key), **there)
        assert done.returncode == 0, done.stderr
        assert "Release 1 is public." in done.stdout
        assert "board.json.sig" in hub.repo("dataset", "lab/results").files
        space = hub.repo("space", "lab/board").files
        assert b"sdk: static" in space["README.md"]
        assert f"downloads/{TRACK}/per_case.parquet" not in space
        card = hub.repo("dataset", "lab/results").files["README.md"].decode()
        assert f"config_name: {TRACK}" in card

        entry = f"{TRACK}/birch@9"
        gone = evaluate("publish", *where, "--retract", entry, "--reason", "asked to", **there)
        assert gone.returncode == 0, gone.stderr
        assert "Birch 1.1.0 was retracted: asked to" in gone.stdout

        assert "board.json.sig" not in hub.repo("dataset", "lab/results").files
        again = evaluate("publish", str(results), *where, "--json", **there)
        assert json.loads(again.stdout)["dataset_files"] == {}

        folder = tmp_path / "downloaded"
        for path, raw in hub.repo("dataset", "lab/results").files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(raw)
        checked = evaluate("verify", str(folder))
        assert checked.returncode == 0, checked.stdout + checked.stderr
        assert "This proves the arithmetic, not the runs." in checked.stdout

        (folder / "index.html").write_text("changed", encoding="utf-8")
        checked = evaluate("verify", str(folder), "--json")
        assert checked.returncode == 1
        assert json.loads(checked.stdout)["findings"][0]["where"] == "index.html"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["publish", "--dataset-repo", "no-slash"], 2, "write ORG/NAME"),
        (["publish", "--dataset-repo", "a/b"], 2, "nothing to publish"),
        (["publish", "--dataset-repo", "a/b", "--retract", "x"], 2, "TRACK/ENTRY@VERSION"),
        (["publish", "--dataset-repo", "a/b", "--retract", "t/x@1"], 2, "needs --reason"),
        (["verify", "/nonexistent"], 3, "neither a folder nor an https address"),
        (["board", "/nonexistent.json"], 3, "There is no file"),
    ],
)
def test_bad_input_gets_a_message_and_an_exit_code(
    arguments: list[str], code: int, words: str
) -> None:
    done = evaluate(*arguments)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_an_analysis_that_does_not_follow_from_its_records_is_not_published(tmp_path: Path) -> None:
    made = make_results(models=2, structures=1, cases=12, metrics=("dice",))
    body = made.model_dump(mode="json")
    body["analysis"]["kidney"]["dice"]["ranking"][0]["mean"] = 0.999
    path = tmp_path / "results.json"
    path.write_text(json.dumps(body), encoding="utf-8")
    done = evaluate("publish", str(path), "--dataset-repo", "a/b", "--dry-run")
    assert done.returncode == 3
    assert "do not follow from the records" in done.stderr
