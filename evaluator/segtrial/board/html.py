"""HTML and SVG as text, escaped by construction.

Every string that reaches the page goes through `tag` or `text`, and both escape: names, summaries
and links come from strangers. Only what these functions returned, a `Markup`, is passed through
as it is, so there is one place to read to know that nothing else can be.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "`": "&#96;"}
)
# Directional marks reorder the text around them; records refuse them, imported text may not have.
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\x7f]")
_SPECIAL = re.compile("[&<>\"'`\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\x7f]")
_HTTPS = re.compile(r"https://[A-Za-z0-9][^\s<>\"'`\\]*\Z")
_ADDRESS = re.compile(r"(https://[A-Za-z0-9][^\s<>\"'`\\;,()\[\]]*[^\s<>\"'`\\;,()\[\].])")
_VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(value: object) -> Markup:
    """Escaped text; markup stays as it is, None is nothing, an iterable is its parts in a row.

    Examples
    --------
    >>> text("<b> & 'c'")
    '&lt;b&gt; &amp; &#39;c&#39;'
    """
    if isinstance(value, Markup):
        return value
    if isinstance(value, str):
        # Most text needs nothing; looking is a third of the cost of doing.
        return Markup(_escaped(value) if _SPECIAL.search(value) else value)
    if value is None or value is False:
        return Markup("")
    if isinstance(value, Iterable):
        return Markup("".join(map(text, value)))
    return Markup(_escaped(str(value)))


def _escaped(value: str) -> str:
    return _DIRECTION.sub("\N{REPLACEMENT CHARACTER}", value).translate(_ESCAPES)


@cache
def _attribute(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """One element.

    Parameters
    ----------
    name : str
        Element name, written by us.
    *children : object
        As `text` takes them.
    **attributes : object
        ``class_`` and ``for_`` lose their underscore, other underscores become hyphens; None and
        False leave the attribute out, True writes it bare.

    Examples
    --------
    >>> tag("td", "a < b", class_="n", data_v=3)
    '<td class="n" data-v="3">a &lt; b</td>'
    """
    parts = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        name_ = _attribute(key)
        parts.append(name_ if value is True else f'{name_}="{text(str(value))}"')
    opening = " ".join(parts)
    if name in _VOID:
        return Markup(f"<{opening}>")
    return Markup(f"<{opening}>{text(children)}</{name}>")


def join(parts: Iterable[object], between: object = "") -> Markup:
    """Parts in a row with something between them."""
    return Markup(text(between).join(text(part) for part in parts))


def link(url: str | None, *children: object, **attributes: object) -> Markup:
    """An outside link, when it is plain https; otherwise only its text.

    It opens beside the board: a Space is a frame, and a frame may not leave its page.
    """
    if url is None or not _HTTPS.match(url):
        return text(children)
    rel = "noopener noreferrer nofollow"
    return tag("a", *children, href=url, rel=rel, target="_blank", **attributes)


def linked(value: str) -> Markup:
    """Text whose https addresses are links, each shown by its host and its last part.

    Examples
    --------
    >>> "github.com/\u2026/data.md" in linked("see https://github.com/a/b/data.md; then")
    True
    """
    parts = _ADDRESS.split(value)
    return text([link(one, _short(one)) if k % 2 else one for k, one in enumerate(parts)])


def _short(url: str) -> str:
    host, _, path = url.removeprefix("https://").partition("/")
    last = path.rstrip("/").rpartition("/")[2]
    return f"{host}/\u2026/{last}" if last and last != path else f"{host}/{path}".rstrip("/")


def hidden(value: str) -> Markup:
    """Text for screen readers only."""
    return tag("span", value, class_="sr")


def json_for_file(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Compact JSON that can stand in a script file of its own.

    U+2028 and U+2029 end a line in old scripts; direction marks reorder what is shown.
    """
    raw = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    marked = _DIRECTION.sub("\N{REPLACEMENT CHARACTER}", raw)
    return marked.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def json_for_script(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """The same for inside a script element, where ``<`` could close it or open a comment.

    Examples
    --------
    >>> "<" in json_for_script("</script>")
    False
    """
    return json_for_file(value).replace("<", "\\u003c").replace(">", "\\u003e")
