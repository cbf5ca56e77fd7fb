"""The leaderboard as a Gradio Space: the same page as everywhere, and an API beside it.

The page is a folder of files made beforehand; ``board.json`` in it lists every file with its hash,
and nothing that is not listed is served. The folder lies beside this file, or comes from a dataset
repository: with ``SEGTRIAL_DATASET`` set, its revision ``SEGTRIAL_REVISION`` (``main`` by default,
or a tag or commit to stay there) is asked for every ``SEGTRIAL_REFRESH_S`` seconds, and a new one
takes the old one's place between two requests, without a restart.

This file is deployed alone: it needs gradio (which brings fastapi and huggingface_hub) and imports
nothing else.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from fastapi import HTTPException, Request, Response
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import JSONResponse
from gradio import Server
from huggingface_hub import HfApi, snapshot_download

HERE = Path(__file__).resolve().parent
MANIFEST = "board.json"
SCHEMA = "segtrial-board/1"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".csv": "text/csv; charset=utf-8",
    ".bib": "text/plain; charset=utf-8",
    ".parquet": "application/octet-stream",
}
PAIR = ("a", "b", "difference", "low", "high", "p_adjusted", "verdict", "patients_needed")
"""Fields of a pair as the Compare view has them: a minus b, with its interval."""
FRAME_SCRIPT = b'<script src="static/js/iframeResizer.contentWindow.min.js" async></script></head>'
"""Gradio's own copy; without it a page in the Space's frame does not scroll."""
NO_BOARD = (
    "Set SEGTRIAL_BOARD to a folder that 'evaluate board' wrote, "
    "or SEGTRIAL_DATASET to a dataset repository that 'evaluate publish' filled."
)
log = logging.getLogger("leaderboard")


class BoardError(Exception):
    """The folder is not a board that can be shown."""


class Board:
    """A folder with a board, read only through its manifest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            raw = (folder / MANIFEST).read_bytes()
            self.manifest: dict[str, Any] = json.loads(raw)
        except (OSError, ValueError) as problem:
            raise BoardError(f"{folder / MANIFEST} cannot be read: {problem}") from None
        if self.manifest.get("schema_version") != SCHEMA:
            found = str(self.manifest.get("schema_version"))[:60]
            raise BoardError(f"board.json has the schema {found!r}; this app shows {SCHEMA!r}.")
        self.hashes: dict[str, str] = dict(self.manifest["files"])
        self.hashes[MANIFEST] = hashlib.sha256(raw).hexdigest()
        self.tracks = [track["key"] for track in self.manifest["tracks"]]
        self._json = lru_cache(maxsize=2)(self._load)

    @property
    def release(self) -> int | None:
        """Number of the newest release; None for a board that was only made."""
        releases = self.manifest["releases"]
        return releases[-1]["number"] if releases else None

    def check(self) -> None:
        """Compare every file that the page needs with its hash."""
        for path, expected in self.hashes.items():
            if path.startswith(("assets/", "data/")) or path == "index.html":
                found = hashlib.sha256((self.folder / path).read_bytes()).hexdigest()
                if found != expected:
                    raise BoardError(f"{path} is not the file that board.json lists.")

    def read(self, path: str) -> bytes:
        """Bytes of a listed file; KeyError for any other path."""
        if path not in self.hashes:
            raise KeyError(path)
        return (self.folder / path).read_bytes()

    def structures(self, track: str) -> list[str]:
        """Structures of a track that have an analysis."""
        start = f"downloads/{track}/analysis-"
        names = (path for path in self.hashes if path.startswith(start))
        return [path.removeprefix(start).removesuffix(".json") for path in names]

    def analysis(self, track: str, structure: str) -> dict[str, Any]:
        """The analysis of one structure, by metric."""
        found: dict[str, Any] = self._json(f"downloads/{track}/analysis-{structure}.json")
        return found

    def cases(self, track: str, structure: str) -> dict[str, Any]:
        """Per-case values of one structure, as the page's Compare view has them."""
        found: dict[str, Any] = self._json(f"data/{track}/cases-{structure}.js")
        return found

    def _load(self, path: str) -> Any:  # noqa: ANN401 - any JSON
        text = self.read(path).decode()
        if path.endswith(".js"):  # segtrialChunk("name",{...});
            text = text[text.index(",") + 1 : text.rindex(")")]
        return json.loads(text)


class Shown:
    """The board on the screen; replaced as a whole when a newer one has arrived."""

    def __init__(self, board: Board) -> None:
        self.board = board

    def follow(self, dataset: str, revision: str, folder: Path, every_s: float) -> None:
        """Keep asking the dataset repository, in a thread of its own."""
        seen = ""
        pause = threading.Event()
        while True:
            try:
                seen = self.refresh(dataset, revision, folder, seen)
            except Exception as problem:  # noqa: BLE001 - the old board stays; try again later
                log.warning("the board was not refreshed: %s", problem)
            pause.wait(every_s)

    def refresh(self, dataset: str, revision: str, folder: Path, seen: str) -> str:
        """Take the board of a revision when it is another one than last time."""
        found = head_of(dataset, revision)
        if found != seen:
            self.board, found = fetched(dataset, found, folder)
            log.info("showing %s at %s", dataset, found)
        return found


def head_of(dataset: str, revision: str) -> str:
    """Commit that a revision of a dataset repository is at."""
    return HfApi().repo_info(dataset, repo_type="dataset", revision=revision).sha or ""


def fetched(dataset: str, revision: str, folder: Path) -> tuple[Board, str]:
    """The board of a revision, checked against its own hashes, and its commit."""
    commit = head_of(dataset, revision)
    local = snapshot_download(
        dataset,
        repo_type="dataset",
        revision=commit,
        local_dir=folder / commit,
        ignore_patterns=["*/per_case.*"],
    )
    board = Board(Path(local))
    board.check()
    return board, commit


def build(shown: Shown) -> Server:
    """The app: files of the board, the API, and a health check."""
    app = Server(title="Leaderboard", docs_url=None, redoc_url=None)
    app.add_middleware(GZipMiddleware, minimum_size=1000)
    _add_files(app, shown)
    _add_api(app, shown)
    return app


def _add_files(app: Server, shown: Shown) -> None:
    async def send(request: Request, path: str = "index.html") -> Response:
        board = shown.board
        if request.url.path.strip("/"):
            path = request.url.path.strip("/")
        try:
            raw = board.read(path)
        except (KeyError, OSError):
            raise HTTPException(404, "There is no such file on this board.") from None
        return _file(request, path, raw, board.hashes[path])

    for route in ("/", "/index.html", "/board.json", "/assets/{name}", "/data/{track}/{name}",
                  "/downloads/{track}/{name}"):  # fmt: skip
        app.add_api_route(route, send, methods=["GET", "HEAD"], include_in_schema=False)

    @app.get("/health")
    def health() -> dict[str, Any]:
        board = shown.board
        return {"status": "ok", "release": board.release, "tracks": len(board.tracks)}


def _file(request: Request, path: str, raw: bytes, digest: str) -> Response:
    headers = {
        "ETag": f'"{digest}"',
        "X-Content-Type-Options": "nosniff",
        # An address with a version never changes its content; any other is asked for again.
        "Cache-Control": "public, max-age=31536000, immutable"
        if request.query_params.get("v") and path != "index.html"
        else "no-cache",
    }
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    if path == "index.html" and os.environ.get("SPACE_ID"):
        raw = raw.replace(b"</head>", FRAME_SCRIPT, 1)
    kind = TYPES.get(Path(path).suffix, "application/octet-stream")
    return Response(raw, media_type=kind, headers=headers)


class Api:
    """What programs ask; LookupError names what there is instead."""

    def __init__(self, shown: Shown) -> None:
        self.shown = shown

    def tracks(self) -> list[dict[str, Any]]:
        """Tracks of this board, each with its structures and metrics."""
        board = self.shown.board
        return [
            {
                "track": track,
                "structures": {
                    s: sorted(board.analysis(track, s)) for s in board.structures(track)
                },
            }
            for track in board.tracks
        ]

    def table(self, track: str, structure: str, metric: str) -> dict[str, Any]:
        """Ranking of one structure and metric, and the entries that are not ranked."""
        return _endpoint(self.shown.board, track, structure, metric)

    def model(self, track: str, model: str) -> dict[str, Any]:
        """Every ranking row of one entry, by structure and metric."""
        board = self.shown.board
        _require(board.tracks, track, "track")
        found: dict[str, Any] = {}
        for structure in board.structures(track):
            for metric, body in board.analysis(track, structure).items():
                row = next((r for r in body["ranking"] if r["submission"] == model), None)
                if row:
                    found.setdefault(structure, {})[metric] = row
        if not found:
            raise LookupError(f"There is no ranked model {model[:80]!r} on {track}.")
        return found

    def compare(self, track: str, structure: str, metric: str, a: str, b: str) -> dict[str, Any]:
        """The verdict on a pair, and the values of both on every case where they are public."""
        board = self.shown.board
        _endpoint(board, track, structure, metric)
        cases = board.cases(track, structure)
        found = cases["metrics"][metric]
        pair = next((p for p in found["pairs"] if {p[0], p[1]} == {a, b}), None)
        if pair is None:
            raise LookupError(f"There is no pair of {a[:80]!r} and {b[:80]!r}; name ranked models.")
        values = found["values"]
        return {
            "pair": dict(zip(PAIR, pair, strict=True)),
            "cases": [case[0] for case in cases["cases"]] if values else [],
            "values": {key: values[key] for key in (a, b) if key in values},
        }


def _add_api(app: Server, shown: Shown) -> None:
    api = Api(shown)
    for answer in (api.tracks, api.table, api.model, api.compare):
        name = answer.__name__
        app.api(answer, name=name)
        app.add_api_route(f"/api/{name}", answer, methods=["GET"])

    @app.exception_handler(LookupError)
    def refuse(_request: Request, problem: LookupError) -> JSONResponse:
        return JSONResponse({"error": str(problem.args[0])}, status_code=404)


def _endpoint(board: Board, track: str, structure: str, metric: str) -> dict[str, Any]:
    _require(board.tracks, track, "track")
    _require(board.structures(track), structure, "structure")
    block = board.analysis(track, structure)
    _require(list(block), metric, "metric")
    found: dict[str, Any] = block[metric]
    return found


def _require(valid: list[str], given: str, kind: str) -> None:
    if given not in valid:
        raise LookupError(f"There is no {kind} {given[:80]!r}; there are: {', '.join(valid)}.")


def main() -> None:
    """Serve the board; on a Space, on the port it expects."""
    logging.basicConfig(level=logging.INFO)
    dataset = os.environ.get("SEGTRIAL_DATASET")
    revision = os.environ.get("SEGTRIAL_REVISION", "main")
    cache = Path(os.environ.get("SEGTRIAL_CACHE", "/tmp/board"))  # noqa: S108 - a Space has no other
    try:
        shown = Shown(Board(Path(os.environ.get("SEGTRIAL_BOARD", HERE))))
    except BoardError as problem:
        if not dataset:
            raise SystemExit(f"{problem}\n{NO_BOARD}") from None
        shown = Shown(fetched(dataset, revision, cache)[0])
    if dataset:
        every_s = float(os.environ.get("SEGTRIAL_REFRESH_S", "300"))
        arguments = (dataset, revision, cache, every_s)
        threading.Thread(target=shown.follow, args=arguments, daemon=True).start()
    build(shown).launch(
        server_name=os.environ.get("GRADIO_SERVER_NAME", "127.0.0.1"),
        server_port=int(os.environ.get("GRADIO_SERVER_PORT", "7860")),
        quiet=True,
        show_error=False,
        ssr_mode=False,
    )


if __name__ == "__main__":
    main()
