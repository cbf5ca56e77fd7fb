"""Publishing that cannot lose or overwrite.

The dataset repository is the truth; the Space shows it. One try is: read the head, join what is
there with what we bring, analyse, render, and commit on that head. When somebody was faster the
Hub refuses (412) and the try is made again from the new head. When the Hub did not answer, the
commit may have landed: the next try reads the head first, finds nothing left to change, and is
done. So there is one rule for a conflict, a lost reply and a half-finished publication: look again,
and do what is still missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from segtrial.contracts.release import Change, Release
from segtrial.errors import PlatformError, UsageError
from segtrial.hub.draft import Analyse, Draft, Wish, as_published, draft_of
from segtrial.hub.patience import until_done
from segtrial.hub.remote import Remote, Sdk
from segtrial.hub.state import BoardState, StateReader, shallow_state
from segtrial.hub.target import Diff, Signer, Target, difference, target_of, without_large
from segtrial.policy.publication import PublicResults
from segtrial.statistics import analyse_results

T = TypeVar("T")


class Page(Protocol):
    """Makes the files of a board, all but ``board.json``."""

    def __call__(
        self,
        results: Sequence[PublicResults],
        *,
        releases: Sequence[Release],
        dataset: str | None,
        space: str | None,
    ) -> Mapping[str, bytes]:
        """Bytes by path."""


@dataclass(frozen=True, kw_only=True)
class Tools:
    """What the other rooms lend to a publication."""

    page: Page
    dataset_files: Callable[[Sequence[PublicResults]], Mapping[str, bytes]]
    """Files that only the dataset repository has, such as its card."""
    space_files: Callable[[Sequence[PublicResults]], Mapping[str, bytes]]
    """Files that only the Space has, such as its app."""
    signer: Signer | None = None
    analyse: Analyse = analyse_results
    wait: Callable[[float], None] = time.sleep
    say: Callable[[str], None] = lambda _said: None


@dataclass(frozen=True, kw_only=True)
class Published:
    """What a publication came to."""

    release: int
    changes: tuple[Change, ...] = ()
    dataset_files: Diff = field(default_factory=dict)
    """What was, or in a preview would be, done to each file."""
    space_files: Diff = field(default_factory=dict)


def publish(
    wish: Wish, *, dataset: Remote, space: Remote | None, sdk: Sdk, tools: Tools
) -> Published:
    """Make a wish public in a dataset repository and, where given, a Space.

    Parameters
    ----------
    wish : Wish
        Results and retractions.
    dataset : Remote
        The source of truth; made when absent.
    space : Remote or None
        Shows what the dataset repository holds; made when absent.
    sdk : str
        Kind of Space.
    tools : Tools
        Analysis, page, patience and voice.

    Returns
    -------
    Published
        The release that stands, and what changed.

    Raises
    ------
    ResultsError
        When the results cannot be joined with the published ones; nothing is written then.
    InputError
        When the Hub refuses: token, subscription or rights.
    PlatformError
        When the Hub stays busy; what is public is complete, and the same command goes on there.
    """
    wish = replace(wish, space=space.repo_id if space else wish.space)
    if not wish.results and not wish.retractions:
        raise UsageError("There is nothing to publish: name results, or an entry to retract.")
    _asked(dataset.ensure, tools)
    done = _publish_dataset(wish, dataset, tools)
    tools.say(f"{dataset}: release {done.release}")
    space_files: Diff = {}
    if space is not None:
        _asked(lambda: space.ensure(sdk=sdk), tools)
        space_files = _publish_space(dataset, space, tools)
        tools.say(f"{space}: shows release {done.release}")
    _tag_releases(dataset, tools)
    return Published(
        release=done.release,
        changes=done.changes,
        dataset_files=done.dataset_files,
        space_files=space_files,
    )


def preview(wish: Wish, *, dataset: Remote, space: Remote | None, tools: Tools) -> Published:
    """What `publish` would do now; only reads."""
    wish = replace(wish, space=space.repo_id if space else wish.space)
    head = _asked(dataset.head, tools)
    state = (
        BoardState("") if head is None else _asked(lambda: StateReader(dataset).read(head), tools)
    )
    draft = draft_of(state, wish, dataset=dataset.repo_id, analyse=tools.analyse)
    page = _page(draft, tools)
    shown: Diff = {}
    if space is not None:
        at = _asked(space.head, tools)
        there = BoardState("") if at is None else _asked(lambda: shallow_state(space, at), tools)
        shown = difference(there, _space_target(page, draft, tools))
    return Published(
        release=draft.number,
        changes=draft.changes,
        dataset_files=difference(state, target_of(page, draft, tools.signer)),
        space_files=shown,
    )


def _publish_dataset(wish: Wish, dataset: Remote, tools: Tools) -> Published:
    reader = StateReader(dataset)
    done = Published(release=0)

    def attempt() -> Published | None:
        nonlocal done
        state = reader.read(_head(dataset))
        draft = draft_of(state, wish, dataset=dataset.repo_id, analyse=tools.analyse)
        target = target_of(_page(draft, tools), draft, tools.signer)
        diff = difference(state, target)
        if not diff:
            return replace(done, release=draft.number)
        done = Published(
            release=draft.number, changes=draft.changes or done.changes, dataset_files=diff
        )
        if draft.number > state.number:
            title = release_title(draft.number)
        else:
            title = f"{release_title(draft.number)}, as this version renders it"
        landed = _landed(dataset, state, target, diff=diff, title=title, say=tools.say)
        return done if landed else None

    return _until_done(attempt, tools, f"publish to {dataset}")


def _publish_space(dataset: Remote, space: Remote, tools: Tools) -> Diff:
    """Bring the Space to what the dataset repository holds at its head, whoever put it there."""
    reader = StateReader(dataset)
    touched: Diff = {}

    def attempt() -> Diff | None:
        nonlocal touched
        truth = reader.read(_head(dataset))
        shown = shallow_state(space, _head(space))
        if shown.number > truth.number:
            return touched  # somebody newer has been here
        draft = as_published(truth, dataset=dataset.repo_id)
        target = _space_target(_page(draft, tools), draft, tools)
        diff = difference(shown, target)
        if not diff:
            return touched
        touched = diff
        title = f"Show release {draft.number}"
        landed = _landed(space, shown, target, diff=diff, title=title, say=tools.say)
        # Also after landing: the dataset repository may have moved on since it was read.
        return touched if landed and _head(dataset) == truth.head else None

    return _until_done(attempt, tools, f"publish to {space}")


def _landed(
    remote: Remote,
    state: BoardState,
    target: Target,
    *,
    diff: Diff,
    title: str,
    say: Callable[[str], None],
) -> bool:
    """Commit a difference; False when somebody else was faster."""
    add = {path: target.files[path] for path, what in diff.items() if what != "removed"}
    size_mb = sum(map(len, add.values())) / 1e6
    say(f"{remote}: sending {len(add)} files, {size_mb:.1f} MB, in one commit")
    return remote.commit(
        add=add,
        delete=[path for path, what in diff.items() if what == "removed"],
        message=title,
        parent=state.head,
    )


def _head(remote: Remote) -> str:
    head = remote.head()
    if head is None:
        raise PlatformError(f"{remote} was removed while publishing. Publish again.")
    return head


def release_title(number: int) -> str:
    """Title of the commit that made a release."""
    return f"Release {number}"


def _tag_releases(dataset: Remote, tools: Tools) -> None:
    """A tag for every release that has none: an earlier publication may have stopped before."""

    def attempt() -> bool:
        manifest = shallow_state(dataset, _head(dataset)).manifest
        there = dataset.tags()
        numbers = [one.number for one in manifest.releases] if manifest else []
        missing = [number for number in numbers if f"v{number}" not in there]
        titles = dataset.titles() if missing else {}
        for number in missing:
            revision = titles.get(release_title(number))
            if revision:
                dataset.tag(f"v{number}", revision)
        return True

    _until_done(attempt, tools, "tag the releases")


def _page(draft: Draft, tools: Tools) -> dict[str, bytes]:
    """Files of the dataset repository without its manifest."""
    tracks = draft.in_order()
    page = tools.page(tracks, releases=draft.releases, dataset=draft.dataset, space=draft.space)
    return {**page, **tools.dataset_files(tracks)}


def _space_target(page: Mapping[str, bytes], draft: Draft, tools: Tools) -> Target:
    files = {**without_large(page), **tools.space_files(draft.in_order())}
    return target_of(files, draft, tools.signer)


def _asked(ask: Callable[[], T], tools: Tools) -> T:
    """Ask until there is an answer."""
    return _until_done(lambda: (ask(),), tools, "read from the Hub")[0]


def _until_done(attempt: Callable[[], T | None], tools: Tools, what: str) -> T:
    return until_done(attempt, what=what, wait=tools.wait, say=tools.say)
