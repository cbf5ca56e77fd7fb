"""Changelog: what changed between published versions, and why a rank moved."""

from __future__ import annotations

from collections.abc import Sequence

from segtrial.board.entry import bullets
from segtrial.board.html import Markup, tag
from segtrial.contracts.release import Release


def changelog_view(releases: Sequence[Release], *, track: str) -> Markup:
    """Every published version that touched a track, newest first."""
    if not releases:
        return tag(
            "p",
            "This board has no published history: it was made from files. Published boards list "
            "here what every version changed.",
            class_="finding",
        )
    newest_first = sorted(releases, key=lambda release: -release.number)
    return Markup("".join(_release(release, track) for release in newest_first))


def _release(release: Release, track: str) -> Markup:
    lines = [change.text for change in release.changes if change.track in (track, "")]
    body = bullets(lines) if lines else tag("p", "Nothing on this track.", class_="muted")
    said = tag("p", release.note) if release.note else ""
    return tag(
        "section",
        tag("h2", f"Version {release.number}", tag("span", f" {release.date}", class_="muted")),
        said,
        body,
    )
