"""The shell around the views: head, title, controls, footer, and what the scripts are told."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from segtrial.board.columns import CHOICES
from segtrial.board.controls import controls
from segtrial.board.html import Markup, json_for_script, tag
from segtrial.board.title import title_block
from segtrial.board.track import Track
from segtrial.board.words import metric_words, plural, structure_choice

_ASSETS = files("segtrial.board") / "assets"
_SCRIPTS = ("state", "chunks", "table", "csv", "scatter", "compare", "main")
VIEWS = {
    "table": "Table",
    "stability": "Stability",
    "pairwise": "Pairwise",
    "compare": "Compare",
    "slices": "Slices",
    "cost": "Cost",
    "model": "Model",
    "dataset": "Dataset",
    "method": "Method",
    "changelog": "Changelog",
}
"""Every view and its name, in order."""


def asset(name: str) -> str:
    """Text of one of our own files."""
    return (_ASSETS / name).read_text(encoding="utf-8")


def script() -> str:
    """The page's one script file; strict, and leaving one name in the window."""
    parts = "\n".join(asset(f"js/{name}.js") for name in _SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


def page(tracks: Sequence[Track], *, body: Markup, stamp: str, space: str | None) -> str:
    """The whole document.

    Parameters
    ----------
    tracks : sequence of Track
        At least one; the first is shown.
    body : Markup
        The default view of the first track.
    stamp : str
        Changes whenever any content changes, so that nothing stale is shown.
    space : str or None
        ``ORG/NAME`` of the Space the page is published to, for links people copy.
    """
    first = tracks[0]
    theme = asset("theme.js")
    title = f"{first.results.dataset.title} \u00b7 segmentation leaderboard"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(theme)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="description", content=_description(first)),
        tag("meta", property="og:title", content=title),
        tag("meta", property="og:description", content=_description(first)),
        tag("title", title),
        tag("link", rel="icon", href=_ICON),
        tag("script", Markup(theme)),
        tag("link", rel="stylesheet", href=f"assets/board.css?v={stamp}"),
        tag("script", src=f"assets/board.js?v={stamp}", defer=True),
    )
    showing = "/".join((first.key, "table", *(first.default or ())))
    view = tag("section", body, id="view", tabindex=-1, aria_label="Results", data_showing=showing)
    content = tag(
        "body",
        tag("a", "Skip to the results", class_="skip", href="#view"),
        _top(),
        tag(
            "main",
            tag("div", title_block(first), class_="title", id="title"),
            _views(),
            controls(tracks),
            view,
            tag("noscript", tag("p", _NO_SCRIPT, class_="note")),
        ),
        _foot(),
        tag(
            "script",
            Markup(json_for_script(_manifest(tracks, stamp, space))),
            type="application/json",
            id="manifest",
        ),
    )
    return "<!doctype html>\n" + tag("html", head, content, lang="en")


_NO_SCRIPT = (
    "Without scripts this page shows its first table. Every number is in the downloads below."
)


_ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Cpath d='M2 5h9M4 8h10M1 11h6' stroke='%230a6a58' stroke-width='2'/%3E%3C/svg%3E"
)


def _policy(inline: str) -> str:
    digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
    # file: lets the saved folder load its own scripts; 'self' means nothing there in some browsers.
    return (
        f"default-src 'none'; script-src 'self' file: 'sha256-{digest}'; style-src 'self' file:; "
        "img-src 'self' file: data:; connect-src 'none'; font-src 'none'; base-uri 'none'; "
        "form-action 'none'; object-src 'none'; frame-src 'none'"
    )


def _description(track: Track) -> str:
    count = sum(1 for row in track.results.submissions if not row.baseline)
    return (
        f"{plural(count, 'segmentation model')} on {track.results.dataset.title}: sealed runs, "
        "every score with its interval, every rank with what is tied."
    )


def _top() -> Markup:
    theme = "Switch between light and dark"
    return tag(
        "header",
        tag("a", "segtrial", tag("span", " leaderboard"), class_="brand", href="?"),
        tag("button", "Copy link", type="button", id="copy", class_="button"),
        tag("button", "Theme", type="button", id="theme", class_="button", aria_label=theme),
        class_="top",
    )


def _views() -> Markup:
    links = [
        tag(
            "a",
            label,
            href=f"?view={key}",
            data_view=key,
            aria_current="page" if key == "table" else None,
        )
        for key, label in VIEWS.items()
    ]
    return tag("nav", links, class_="views", aria_label="Views")


def _foot() -> Markup:
    return tag(
        "footer",
        tag("div", id="downloads"),
        tag(
            "p",
            "Intervals are 95\u202f%. Ranks and ties come from paired tests over the shared "
            "patients, corrected for the number of comparisons; intervals that overlap do not "
            "mean a tie.",
        ),
        class_="foot",
    )


def _manifest(tracks: Sequence[Track], stamp: str, space: str | None) -> dict[str, object]:
    return {
        "stamp": stamp,
        "space": space,
        "views": list(VIEWS),
        "columns": [list(choice) for choice in CHOICES],
        "structures": {s: structure_choice(s) for t in tracks for s in t.structures},
        "metrics": {m: metric_words(m).label for t in tracks for _, m in t.endpoints},
        "tracks": [_track(track) for track in tracks],
    }


def _track(track: Track) -> dict[str, object]:
    structure, metric = track.default or (None, None)
    return {
        "key": track.key,
        "title": f"{track.results.dataset.title}: {track.results.track.title}",
        "structure": structure,
        "metric": metric,
        "endpoints": {structure: track.metrics(structure) for structure in track.structures},
        "entries": [[key, name] for key, name in track.names.items()],
    }
