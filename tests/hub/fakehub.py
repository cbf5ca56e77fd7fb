"""A Hugging Face Hub over real HTTP on this machine, for the unmodified client.

It keeps the protocol where a publisher can go wrong: a commit names its parent and is refused with
412 when the head has moved; an answer can be lost after the commit landed; large files go through
the LFS protocol; a private error code tells a missing repository from a missing file.

A `Turnstile` lets tests choose, request by request, which of several publishers is served next.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit

_REPO = re.compile(r"/api/(datasets|spaces|models)/([^/]+/[^/]+)(?:/([a-z-]+))?(?:/(.*))?$")
_RESOLVE = re.compile(r"/(?:(datasets|spaces)/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)$")
_LFS_BATCH = re.compile(r"/(?:(datasets|spaces)/)?([^/]+/[^/]+)\.git/info/lfs/objects/batch$")
_FIRST = "0" * 40


@dataclass
class Repository:
    """Commits, newest last, and the files at each."""

    log: list[tuple[str, str]] = field(default_factory=lambda: [(_FIRST, "initial commit")])
    trees: dict[str, dict[str, bytes]] = field(default_factory=lambda: {_FIRST: {}})
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def head(self) -> str:
        return self.log[-1][0]

    @property
    def files(self) -> dict[str, bytes]:
        return self.trees[self.head]

    def resolve(self, revision: str) -> str | None:
        if revision == "main":
            return self.head
        return self.tags.get(revision, revision if revision in self.trees else None)


@dataclass
class Fault:
    """What to answer to a commit in place of, or after, doing it."""

    status: int
    lands: bool = False
    headers: dict[str, str] = field(default_factory=dict)


class FakeHub:
    """The server and everything it knows."""

    def __init__(self) -> None:
        self.repos: dict[tuple[str, str], Repository] = {}
        self.calls: list[tuple[str, str]] = []
        self.faults: list[Fault | None] = []
        """What the next commits meet; None lets one through."""
        self.refuse_creation: dict[str, int] = {}
        """Status by kind of Space."""
        self.token_status = 200
        self.objects: dict[str, bytes] = {}
        """Large files by SHA-256."""
        self.gate: Callable[[str], None] = lambda _who: None
        self.lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def repo(self, kind: str, name: str) -> Repository:
        return self.repos[f"{kind}s", name]

    def writes(self) -> list[str]:
        """Paths of requests that change something."""
        return [path for method, path in self.calls if method not in {"GET", "HEAD"}]


class Turnstile:
    """Serves one request at a time, in an order drawn from a seed.

    A request waits until every living publisher has one waiting; then one of them is drawn. So the
    interleaving depends on the seed alone, not on the machine.
    """

    def __init__(self, publishers: int, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - an order, not a secret
        self._living = publishers
        self._waiting: list[str] = []
        self._turn: str | None = None
        self._changed = threading.Condition()

    def __call__(self, who: str) -> None:
        with self._changed:
            self._waiting.append(who)
            self._draw()
            self._changed.wait_for(lambda: self._turn == who, timeout=30)
            self._waiting.remove(who)
            self._turn = None

    def leave(self) -> None:
        """A publisher is done and will not be waited for."""
        with self._changed:
            self._living -= 1
            self._draw()

    def _draw(self) -> None:
        if self._turn is None and self._waiting and len(self._waiting) >= self._living:
            self._turn = self._random.choice(sorted(self._waiting))
            self._changed.notify_all()


def _handler(hub: FakeHub) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        pass

    Handler.hub = hub
    return Handler


class _Handler(BaseHTTPRequestHandler):
    hub: FakeHub
    protocol_version = "HTTP/1.1"
    # An answer leaves as one packet: head and body apart cost 40 ms each on this machine's loop.
    wbufsize = -1
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        pass

    def _handle(self) -> None:
        raw = self._body()
        path = unquote(urlsplit(self.path).path)
        self.hub.gate(self.headers.get("authorization", ""))
        with self.hub.lock:
            self.hub.calls.append((self.command, path))
            if self.hub.token_status != 200:
                self._error(self.hub.token_status, "no")
                return
            self._route(path, raw)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _handle  # noqa: N815 - the base's names

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = []
        while size := int(self.rfile.readline().strip(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _send(self, status: int, body: object = b"", **headers: str) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        if not isinstance(body, bytes):
            self.send_header("Content-Type", "application/json")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def _error(self, status: int, message: str, **headers: str) -> None:
        self._send(status, {"error": message}, X_Error_Message=message, **headers)

    def _route(self, path: str, raw: bytes) -> None:
        if path == "/api/validate-yaml":
            self._send(200, {"errors": [], "warnings": []})
        elif path == "/api/repos/create":
            self._create(json.loads(raw))
        elif match := _LFS_BATCH.match(path):
            self._lfs_batch(json.loads(raw))
        elif path.startswith("/lfs/"):
            self.hub.objects[path.removeprefix("/lfs/")] = raw
            self._send(200)
        elif match := _RESOLVE.match(path):
            self._resolve(match)
        elif match := _REPO.match(path):
            self._repo(match, raw)
        else:
            self._error(404, f"unhandled {path}")

    def _create(self, body: dict[str, Any]) -> None:
        name = f"{body['organization']}/{body['name']}"
        key = (f"{body.get('type', 'model')}s", name)
        url = f"{self.hub.url}/{key[0]}/{name}"
        refused = self.hub.refuse_creation.get(body.get("sdk") or "")
        if key in self.hub.repos:
            self._send(409, {"error": "exists", "url": url}, X_Error_Code="RepoAlreadyExists")
        elif refused:
            self._error(refused, "hosting Gradio Spaces requires a PRO subscription")
        else:
            self.hub.repos[key] = Repository()
            self._send(200, {"url": url, "name": name, "id": name})

    def _repo(self, match: re.Match[str], raw: bytes) -> None:
        repo = self.hub.repos.get((match[1], match[2]))
        if repo is None:  # without this code the client does not know a missing repository
            self._error(404, "not found", X_Error_Code="RepoNotFound")
            return
        action, rest = match[3], match[4] or ""
        if action in (None, "revision"):
            self._info(repo, match[2], rest or "main")
        elif action == "tree":
            self._tree(repo, rest.split("/")[0])
        elif action == "preupload":
            self._preupload(json.loads(raw))
        elif action == "commit":
            self._commit(repo, f"{self.hub.url}/{match[1]}/{match[2]}", raw)
        elif action == "commits":
            listed = [
                {
                    "id": oid,
                    "title": title,
                    "message": "",
                    "authors": [],
                    "date": "2026-01-01T00:00:00Z",
                }
                for oid, title in reversed(repo.log)
            ]
            self._send(200, listed)
        elif action == "refs":
            tags = [
                {"name": name, "ref": f"refs/tags/{name}", "targetCommit": oid}
                for name, oid in repo.tags.items()
            ]
            self._send(200, {"branches": [], "converts": [], "tags": tags})
        elif action == "tag":
            self._tag(repo, rest, json.loads(raw)["tag"])
        elif action == "xet-write-token":
            self._error(404, "no Xet here")
        else:
            self._error(404, f"unhandled action {action}")

    def _info(self, repo: Repository, name: str, revision: str) -> None:
        oid = repo.resolve(revision)
        if oid is None:
            self._error(404, "no such revision", X_Error_Code="RevisionNotFound")
            return
        files = [{"rfilename": path} for path in repo.trees[oid]]
        info = {"id": name, "sha": oid, "private": False, "tags": [], "siblings": files}
        self._send(200, {**info, "downloads": 0, "likes": 0})

    def _tree(self, repo: Repository, revision: str) -> None:
        tree = repo.trees[repo.resolve(revision) or repo.head]
        listed = [
            {"type": "file", "path": path, "size": len(raw), "oid": _git_oid(raw)}
            for path, raw in sorted(tree.items())
        ]
        self._send(200, listed)

    def _preupload(self, body: dict[str, Any]) -> None:
        files = [
            {
                "path": one["path"],
                "uploadMode": "lfs" if one["path"].endswith(".parquet") else "regular",
                "shouldIgnore": False,
            }
            for one in body["files"]
        ]
        self._send(200, {"files": files})

    def _lfs_batch(self, body: dict[str, Any]) -> None:
        objects = [
            {
                "oid": one["oid"],
                "size": one["size"],
                "actions": {"upload": {"href": f"{self.hub.url}/lfs/{one['oid']}"}},
            }
            for one in body["objects"]
        ]
        self._send(200, {"transfer": "basic", "objects": objects})

    def _commit(self, repo: Repository, web: str, raw: bytes) -> None:
        fault = self.hub.faults.pop(0) if self.hub.faults else None
        if fault and not fault.lands:
            self._error(fault.status, "try later", **fault.headers)
            return
        header, *operations = [json.loads(line) for line in raw.splitlines() if line]
        parent = header["value"].get("parentCommit")
        if parent and parent != repo.head:
            self._error(412, "A commit has happened since. Please refresh and try again.")
            return
        tree = dict(repo.files)
        for operation in operations:
            value = operation["value"]
            if operation["key"] == "file":
                tree[value["path"]] = base64.b64decode(value["content"])
            elif operation["key"] == "lfsFile":
                tree[value["path"]] = self.hub.objects[value["oid"]]
            else:
                del tree[value["path"]]
        oid = hashlib.sha1(raw + repo.head.encode()).hexdigest()  # noqa: S324 - as git names commits
        repo.log.append((oid, header["value"]["summary"]))
        repo.trees[oid] = tree
        if fault:
            self._error(fault.status, "the answer is lost")
            return
        url = f"{web}/commit/{oid}"
        self._send(200, {"success": True, "commitOid": oid, "commitUrl": url, "hookOutput": ""})

    def _tag(self, repo: Repository, revision: str, name: str) -> None:
        if name in repo.tags:
            self._error(409, "exists", X_Error_Code="TagAlreadyExists")
            return
        repo.tags[name] = repo.resolve(revision) or repo.head
        self._send(200, {})

    def _resolve(self, match: re.Match[str]) -> None:
        repo = self.hub.repos.get((match[1] or "models", match[2]))
        if repo is None:
            self._error(404, "not found", X_Error_Code="RepoNotFound")
            return
        oid = repo.resolve(match[3])
        raw = repo.trees[oid].get(match[4]) if oid else None
        if oid is None or raw is None:
            self._error(404, "not found", X_Error_Code="EntryNotFound", X_Repo_Commit=oid or "")
            return
        headers = {"X_Repo_Commit": oid, "ETag": f'"{_git_oid(raw)}"'}
        self._send(200, raw, Content_Type="application/octet-stream", **headers)


def _git_oid(raw: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(raw) + raw).hexdigest()  # noqa: S324 - as git does
