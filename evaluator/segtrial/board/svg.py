"""Small pictures as inline SVG: scales, ticks, intervals and bars.

Colours are CSS classes, so one drawing serves light, dark and print; positions are attributes, so
the page's content security policy needs no inline style. Every picture carries a title, and a
description where the title is not enough, for people who hear it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from segtrial.board.html import Markup, tag


@dataclass(frozen=True)
class Scale:
    """A linear map from values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Pixels of a value, clipped to the drawing, to a tenth."""
        width = self.high - self.low
        share = 0.5 if width == 0 else (value - self.low) / width
        return round(self.start + min(1.0, max(0.0, share)) * (self.end - self.start), 1)

    def holds(self, value: float) -> bool:
        """Whether the value is inside the drawing."""
        return self.low <= value <= self.high


def nice_ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Round numbers inside a range.

    Examples
    --------
    >>> nice_ticks(0.712, 0.968)
    [0.75, 0.8, 0.85, 0.9, 0.95]
    """
    if not high > low:
        return [low]
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = min((m * power for m in (1, 2, 2.5, 5, 10)), key=lambda s: abs(s - raw))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 10) for k in range(first, last + 1)]


def padded(
    values: Iterable[float], *, floor: float | None = None, ceil: float | None = None
) -> tuple[float, float]:
    """The range of values with a twentieth of air, inside floor and ceiling."""
    listed = [value for value in values if math.isfinite(value)]
    low, high = (min(listed), max(listed)) if listed else (0.0, 1.0)
    air = (high - low) * 0.05 or abs(high) * 0.05 or 0.5
    low, high = low - air, high + air
    return (low if floor is None else max(low, floor), high if ceil is None else min(high, ceil))


def picture(
    *parts: object,
    width: float,
    height: float,
    title: str,
    description: str | None = None,
    class_: str = "",
    fixed: bool = True,
) -> Markup:
    """An SVG element read aloud as one image.

    Parameters
    ----------
    *parts : object
        What is drawn.
    width, height : float
        Of the view box, in pixels.
    title, description : str
        What a screen reader says.
    class_ : str
        CSS classes.
    fixed : bool
        Whether the picture keeps its size; otherwise it fills its container.
    """
    label = title if description is None else f"{title}. {description}"
    return tag(
        "svg",
        *parts,
        class_=class_ or None,
        viewBox=f"0 0 {width:g} {height:g}",
        width=f"{width:g}" if fixed else None,
        height=f"{height:g}" if fixed else None,
        role="img",
        aria_label=label,
    )


def interval_mark(
    scale: Scale, *, low: float | None, high: float | None, middle: float | None, y: float
) -> Markup:
    """A line from low to high, a cap on each end that is inside, a dot at the estimate."""
    parts = []
    if low is not None and high is not None:
        left, right = scale(low), scale(high)
        caps = "".join(
            f"M{x:g} {y - 3:g}v6" for x, end in ((left, low), (right, high)) if scale.holds(end)
        )
        parts.append(tag("path", class_="iv", d=f"M{left:g} {y:g}H{right:g}{caps}"))
    if middle is not None:
        parts.append(tag("circle", class_="dot", cx=f"{scale(middle):g}", cy=f"{y:g}", r="3.5"))
    return Markup("".join(parts))


def guard_mark(scale: Scale, *, low: float, high: float, y: float) -> Markup:
    """A faint line behind an interval: how far it would reach with failures not yet seen."""
    return tag("path", class_="gv", d=f"M{scale(low):g} {y:g}H{scale(high):g}")


def grid_lines(scale: Scale, ticks: Sequence[float], *, top: float, bottom: float) -> Markup:
    """Faint vertical lines at the ticks."""
    d = "".join(f"M{scale(tick):g} {top:g}V{bottom:g}" for tick in ticks)
    return tag("path", class_="grid", d=d)


def sparkline(shares: Sequence[float], *, width: float, height: float, title: str) -> Markup:
    """Bars of shares in [0, 1], one per position; a share of 0 draws nothing."""
    step = width / max(1, len(shares))
    bar = max(1.0, step - (1 if step > 3 else 0))  # noqa: PLR2004 - a gap where there is room
    parts = "".join(
        f"M{k * step:.1f} {height:g}v-{max(1.0, share * (height - 1)):.1f}h{bar:.1f}V{height:g}z"
        for k, share in enumerate(shares)
        if share >= 0.0005  # noqa: PLR2004 - below half a pixel of the tallest drawing
    )
    return picture(
        tag("path", class_="base", d=f"M0 {height - 0.5:g}H{width:g}"),
        tag("path", class_="bars", d=parts or "M0 0"),
        width=width,
        height=height,
        title=title,
        class_="spark",
    )
