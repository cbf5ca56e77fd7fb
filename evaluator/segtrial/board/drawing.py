"""Figures as shapes, written as SVG for the page and for papers, and as PNG.

A figure is a list of shapes with *roles* ("accent", "grid", ...), not colours: on the page the
style sheet gives each role its colour for light, dark and print; a file for a paper carries the
light ones itself. One list of shapes serves both, so the figure in a paper is the one on the page.
Drawn by ourselves because a plotting library costs a page 0.6 to 1.5 MB, and none of them writes
a figure that follows the reader's colour scheme.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from segtrial.board.html import Markup, tag

Anchor = Literal["start", "middle", "end"]
Role = Literal[
    "text",
    "muted",
    "accent",
    "blue",
    "red",
    "amber",
    "grid",
    "axis",
    "faint",
    "on-accent",
    "on-half",
]
LIGHT: dict[Role, str] = {
    "text": "#1a1d21",
    "muted": "#565e68",
    "accent": "#0a6a58",
    "blue": "#2a5ca8",
    "red": "#a02c2c",
    "amber": "#7f4f00",
    "grid": "#e2e5e9",
    "axis": "#c3c9d0",
    "faint": "#f1f3f5",
    "on-accent": "#ffffff",
    "on-half": "#101512",
}
"""Colours of a figure in a file; the same as the style sheet's light ones."""
_SMALL, _MEDIUM = 520.0, 760.0
"""Widths in pixels: up to the first a figure fits a phone, up to the second half a screen."""
_CHAR = 0.56
"""Mean width of a character in ems, of the fonts the page uses; for margins only."""


@dataclass(frozen=True)
class Stroke:
    """Straight lines, each ``(x1, y1, x2, y2)``."""

    lines: tuple[tuple[float, float, float, float], ...]
    role: Role
    width: float = 1.0


@dataclass(frozen=True)
class Tiles:
    """Filled rectangles of one shade, each ``(x, y, width, height)``."""

    boxes: tuple[tuple[float, float, float, float], ...]
    role: Role
    opacity: float = 1.0


@dataclass(frozen=True)
class Dots:
    """Filled circles of one size, each ``(x, y)``."""

    centres: tuple[tuple[float, float], ...]
    role: Role
    radius: float = 3.5
    opacity: float = 1.0


@dataclass(frozen=True)
class Label:
    """One line of text; ``turned`` writes it upwards, from its foot."""

    x: float
    y: float
    words: str
    role: Role = "muted"
    anchor: Anchor = "start"
    size: float = 11.0
    bold: bool = False
    turned: bool = False


@dataclass(frozen=True)
class Glyphs:
    """One letter at many places, each ``(x, y)`` of its middle foot: one element, drawn at once."""

    places: tuple[tuple[float, float], ...]
    letter: str
    role: Role = "text"
    size: float = 11.0


Shape = Stroke | Tiles | Dots | Label | Glyphs


@dataclass(frozen=True)
class Figure:
    """A drawing with what a screen reader says about it."""

    width: float
    height: float
    title: str
    description: str
    shapes: tuple[Shape, ...]


def text_width(words: str, size: float = 11.0) -> float:
    """About how wide a text is."""
    return len(words) * size * _CHAR


def longest(names: Iterable[str], size: float = 11.0) -> float:
    """About how wide the widest of some texts is."""
    return max((text_width(name, size) for name in names), default=0.0)


def shortened(words: str, limit: int = 28) -> str:
    """A name that fits into a margin.

    Examples
    --------
    >>> shortened("a" * 40, 10)
    'aaaaaaaaa\u2026'
    """
    return words if len(words) <= limit else words[: limit - 1] + "\u2026"


def inline_svg(figure: Figure, *, class_: str = "figure") -> Markup:
    """The figure for the page; colours come from the style sheet."""
    return tag(
        "svg",
        [_svg_shape(shape) for shape in figure.shapes],
        class_=f"{class_} {_shrinks(figure.width)}".strip(),
        viewBox=f"0 0 {figure.width:g} {figure.height:g}",
        width=f"{figure.width:g}",
        height=f"{figure.height:g}",
        role="img",
        aria_label=f"{figure.title}. {figure.description}",
    )


def _shrinks(width: float) -> str:
    """How far a figure may shrink to fit before it scrolls: letters have to stay readable."""
    if width <= _SMALL:
        return "small"
    return "medium" if width <= _MEDIUM else ""


def svg_file(figure: Figure) -> str:
    """The figure as a file of its own, with light colours and a white ground."""
    style = "".join(
        f".f-{role}{{fill:{colour}}}.s-{role}{{stroke:{colour};fill:none}}"
        for role, colour in LIGHT.items()
    )
    body = tag(
        "svg",
        tag("title", figure.title),
        tag("desc", figure.description),
        tag("style", Markup(f"text{{font-family:Helvetica,Arial,sans-serif}}{style}")),
        tag("rect", width="100%", height="100%", fill="#ffffff"),
        [_svg_shape(shape) for shape in figure.shapes],
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {figure.width:g} {figure.height:g}",
        width=f"{figure.width:g}",
        height=f"{figure.height:g}",
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _svg_shape(shape: Shape) -> Markup:
    if isinstance(shape, Stroke):
        d = "".join(f"M{_n(a)} {_n(b)}L{_n(c)} {_n(d)}" for a, b, c, d in shape.lines)
        return tag("path", class_=f"s-{shape.role}", d=d, stroke_width=_n(shape.width))
    if isinstance(shape, Tiles):
        d = "".join(f"M{_n(x)} {_n(y)}h{_n(w)}v{_n(h)}h{_n(-w)}z" for x, y, w, h in shape.boxes)
        return tag("path", class_=f"f-{shape.role}", d=d, fill_opacity=_opacity(shape.opacity))
    if isinstance(shape, Dots):
        r = _n(shape.radius)
        # A circle as two arcs, so that any number of them is one element.
        d = "".join(
            f"M{_n(x - shape.radius)} {_n(y)}a{r} {r} 0 1 0 {_n(2 * shape.radius)} 0"
            f"a{r} {r} 0 1 0 {_n(-2 * shape.radius)} 0z"
            for x, y in shape.centres
        )
        return tag("path", class_=f"f-{shape.role}", d=d, fill_opacity=_opacity(shape.opacity))
    if isinstance(shape, Glyphs):
        return tag(
            "text",
            shape.letter * len(shape.places),
            class_=f"f-{shape.role}",
            x=" ".join(_n(x) for x, _ in shape.places),
            y=" ".join(_n(y) for _, y in shape.places),
            font_size=_n(shape.size),
            text_anchor="middle",
        )
    turn = f"rotate(-90 {_n(shape.x)} {_n(shape.y)})" if shape.turned else None
    return tag(
        "text",
        shape.words,
        class_=f"f-{shape.role}",
        x=_n(shape.x),
        y=_n(shape.y),
        font_size=_n(shape.size),
        font_weight="600" if shape.bold else None,
        text_anchor=None if shape.anchor == "start" else shape.anchor,
        transform=turn,
    )


def _n(value: float) -> str:
    return f"{round(value, 1):g}"


def _opacity(value: float) -> str | None:
    return None if value >= 1 else f"{value:.2g}"
