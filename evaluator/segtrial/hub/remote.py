"""One repository on the Hugging Face Hub: read at a revision, commit on a parent, tag.

The only place that imports ``huggingface_hub``, and only when it is used. What the Hub answers is
turned into one of three things: an outcome of a commit, `BusyError` (wait and look again), or an
error that says what a person has to do. A commit is one request with its parent named:
``upload_folder`` would split it, and then half a board could be public.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from segtrial.errors import InputError, PlatformError, UsageError

if TYPE_CHECKING:
    from huggingface_hub import HfApi

Kind = Literal["dataset", "space"]
Sdk = Literal["static", "gradio"]

_REPO_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_REMAINING = re.compile(r"t=(\d+)")
_CONFLICT, _PRECONDITION = 409, 412
_RATE_LIMITED, _SERVER = 429, 500
_ADVICE = {
    401: "The Hub does not accept the token. Log in with 'hf auth login', or set HF_TOKEN to a "
    "token with write access.",
    402: "The Hub asks for a subscription: Gradio Spaces need PRO, or a Team or Enterprise "
    "organisation. Static Spaces are free: publish with --sdk static.",
    403: "The token may not write there. Ask an owner of the organisation for write access, or "
    "use a token with it.",
}


class BusyError(Exception):
    """The Hub asks to come back later, or did not answer; whether anything happened is open."""

    def __init__(self, message: str, after_s: float | None = None, *, silent: bool = False) -> None:
        super().__init__(message)
        self.silent = silent
        """Whether there was no answer at all."""
        self.after_s = after_s
        """Seconds the Hub asked to wait; None where it did not say."""


class Remote:
    """One repository.

    Parameters
    ----------
    repo_id : str
        ``ORG/NAME``.
    kind : str
        ``dataset`` or ``space``.
    endpoint : str, optional
        Of the Hub; the client's default otherwise.
    token : str, optional
        The client's stored one otherwise.
    """

    def __init__(
        self,
        repo_id: str,
        kind: Kind,
        *,
        endpoint: str | None = None,
        token: str | None = None,
    ) -> None:
        if not _REPO_ID.fullmatch(repo_id):
            raise UsageError(f"{repo_id[:80]!r} is not the name of a repository; write ORG/NAME.")
        self.repo_id = repo_id
        self.kind: Kind = kind
        self._api = _api(endpoint, token)
        self._cache = tempfile.mkdtemp(prefix="segtrial-hub-")
        weakref.finalize(self, shutil.rmtree, self._cache, ignore_errors=True)

    def __str__(self) -> str:
        return f"{self.kind} {self.repo_id}"

    def ensure(self, *, sdk: Sdk | None = None) -> None:
        """Make the repository when it is not there; an existing one stays as it is."""
        with _answers(self):
            self._api.create_repo(self.repo_id, repo_type=self.kind, space_sdk=sdk, exist_ok=True)

    def head(self) -> str | None:
        """Commit that ``main`` is at; None without a repository."""
        from huggingface_hub.errors import RepositoryNotFoundError  # noqa: PLC0415

        with _answers(self):
            try:
                return self._api.repo_info(self.repo_id, repo_type=self.kind).sha
            except RepositoryNotFoundError:
                return None

    def files(self, revision: str) -> set[str]:
        """Paths of all files at a revision."""
        with _answers(self):
            return set(
                self._api.list_repo_files(self.repo_id, repo_type=self.kind, revision=revision)
            )

    def read(self, path: str, revision: str) -> bytes | None:
        """Bytes of a file at a revision; None without it."""
        from huggingface_hub.errors import EntryNotFoundError  # noqa: PLC0415

        with _answers(self):
            try:
                local = self._api.hf_hub_download(
                    self.repo_id,
                    path,
                    repo_type=self.kind,
                    revision=revision,
                    cache_dir=self._cache,
                )
            except EntryNotFoundError:
                return None
            return Path(local).read_bytes()

    def commit(
        self, *, add: Mapping[str, bytes], delete: Iterable[str], message: str, parent: str
    ) -> bool:
        """Put files in place of others in one atomic commit on a known parent.

        Parameters
        ----------
        add : mapping
            Bytes by path.
        delete : iterable of str
            Paths to remove.
        message : str
            Title of the commit.
        parent : str
            The head that ``add`` and ``delete`` were made for.

        Returns
        -------
        bool
            False when the head had moved on; nothing was written then.

        Raises
        ------
        BusyError
            When nobody knows whether it landed until one looks.
        """
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete  # noqa: PLC0415

        # Made anew for every try: the client changes them.
        operations: list[Any] = [
            *(CommitOperationAdd(path, content) for path, content in sorted(add.items())),
            *(CommitOperationDelete(path) for path in sorted(delete)),
        ]
        try:
            with _answers(self):
                self._api.create_commit(
                    self.repo_id,
                    operations=operations,
                    commit_message=message,
                    repo_type=self.kind,
                    parent_commit=parent,
                )
        except _MovedError:
            return False
        return True

    def tags(self) -> set[str]:
        """Names of all tags."""
        with _answers(self):
            refs = self._api.list_repo_refs(self.repo_id, repo_type=self.kind)
            return {tag.name for tag in refs.tags}

    def titles(self) -> dict[str, str]:
        """Title of each commit of ``main`` to its id, the newest where two share a title."""
        with _answers(self):
            commits = self._api.list_repo_commits(self.repo_id, repo_type=self.kind)
            return {commit.title: commit.commit_id for commit in reversed(commits)}

    def tag(self, name: str, revision: str) -> None:
        """Name a revision; a tag that is there stays where it is."""
        with _answers(self):
            self._api.create_tag(
                self.repo_id, tag=name, revision=revision, repo_type=self.kind, exist_ok=True
            )


class _MovedError(Exception):
    """The parent is no longer the head."""


def _api(endpoint: str | None, token: str | None) -> HfApi:
    try:
        from huggingface_hub import HfApi  # noqa: PLC0415 - an extra, and slow to load
    except ImportError:
        raise UsageError(
            "Publishing needs huggingface_hub. Install it with: pip install 'segtrial[hub]'."
        ) from None
    return HfApi(endpoint=endpoint, token=token, library_name="segtrial")


@contextmanager
def _answers(remote: Remote) -> Iterator[None]:
    """Turn what the Hub answers into our own errors."""
    from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError  # noqa: PLC0415

    # The first base is the HTTP library's own error, whichever library this version uses.
    # A RuntimeError is an upload of a large file that broke off.
    transport: tuple[type[Exception], ...] = (*HfHubHTTPError.__bases__, OSError, RuntimeError)
    try:
        yield
    except LocalTokenNotFoundError:
        raise InputError(_ADVICE[401]) from None
    except HfHubHTTPError as error:
        raise _explained(error, remote) from None
    except ValueError as error:  # the client itself refuses: a name, or a README's front matter
        raise InputError(f"{remote} cannot be written: {error}") from None
    except transport as error:
        raise BusyError(f"{remote} did not answer: {type(error).__name__}", silent=True) from None


def _explained(error: Exception, remote: Remote) -> Exception:
    response = getattr(error, "response", None)
    status = getattr(response, "status_code", 0)
    if status in {_CONFLICT, _PRECONDITION}:
        return _MovedError(str(error))
    if status == _RATE_LIMITED or status >= _SERVER:
        headers = getattr(response, "headers", {})
        return BusyError(f"{remote} answers {status}", _asked_wait(headers))
    said = str(getattr(error, "server_message", None) or "").strip()
    advice = _ADVICE.get(status)
    if advice:
        return InputError(f"{remote}: {advice}" + (f" The Hub says: {said[:200]}" if said else ""))
    return PlatformError(f"{remote}: the Hub answers {status}. {said[:300]}".strip())


def _asked_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by the ``RateLimit`` or ``Retry-After`` header, at most ten minutes."""
    found = _REMAINING.search(headers.get("RateLimit", ""))
    value = found[1] if found else headers.get("Retry-After", "")
    return min(600.0, float(value)) if value.isdigit() else None
