"""A figure as PNG, with Pillow: for slides and word processors; papers should take the SVG."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from PIL import Image, ImageColor, ImageDraw, ImageFont

from segtrial.board.drawing import LIGHT, Dots, Figure, Glyphs, Label, Role, Stroke, Tiles

_SCALE = 3
"""Pixels per unit: 288 per inch at the SVG's 96."""
_FONTS = (
    ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf"),
    ("LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf"),
    ("Arial.ttf", "Arial Bold.ttf"),
    ("arial.ttf", "arialbd.ttf"),
    ("Helvetica.ttc", "Helvetica.ttc"),
)
# What Pillow's own font has no glyph for; used only where none of the fonts above is installed.
_PLAIN = str.maketrans(
    {"\u2013": "-", "\u2212": "-", "\u2026": "...", "\u2264": "<=", "\u202f": " "}
)


def write_png(figure: Figure, path: Path) -> None:
    """Write a figure with a white ground, at 288 dots per inch.

    Parameters
    ----------
    figure : Figure
        What to draw.
    path : Path
        File to write; replaced when it exists.
    """
    size = (round(figure.width * _SCALE), round(figure.height * _SCALE))
    image = Image.new("RGB", size, "#ffffff")
    for shape in figure.shapes:
        draw = ImageDraw.Draw(image)
        if isinstance(shape, Label):
            _label(image, shape)
        elif isinstance(shape, Glyphs):
            for x, y in shape.places:
                _label(image, Label(x, y, shape.letter, shape.role, "middle", shape.size))
        elif isinstance(shape, Stroke):
            for line in shape.lines:
                width = max(1, round(shape.width * _SCALE))
                draw.line([value * _SCALE for value in line], fill=LIGHT[shape.role], width=width)
        else:
            _fill(draw, shape)
    image.save(path, optimize=True, dpi=(96 * _SCALE, 96 * _SCALE))


def _fill(draw: ImageDraw.ImageDraw, shape: Tiles | Dots) -> None:
    colour = _faded(shape.role, shape.opacity)
    if isinstance(shape, Tiles):
        for x, y, width, height in shape.boxes:
            # Pillow's far corner is inside the box.
            corners = (x, y, x + width, y + height)
            left, top, right, bottom = (round(value * _SCALE) for value in corners)
            draw.rectangle((left, top, max(left, right - 1), max(top, bottom - 1)), fill=colour)
        return
    for x, y in shape.centres:
        draw.circle((x * _SCALE, y * _SCALE), shape.radius * _SCALE, fill=colour)


def _faded(role: Role, opacity: float) -> tuple[int, ...]:
    """The role's colour over white; a PNG for print has no use for transparency."""
    full = ImageColor.getrgb(LIGHT[role])
    return tuple(round(255 + (part - 255) * opacity) for part in full)


def _label(image: Image.Image, shape: Label) -> None:
    font, plain = _font(round(shape.size * _SCALE), shape.bold)
    words = shape.words.translate(_PLAIN) if plain else shape.words
    where = (round(shape.x * _SCALE), round(shape.y * _SCALE))
    anchor = {"start": "ls", "middle": "ms", "end": "rs"}[shape.anchor]
    if not shape.turned:
        ImageDraw.Draw(image).text(where, words, font=font, fill=LIGHT[shape.role], anchor=anchor)
        return
    left, top, right, bottom = (round(value) for value in font.getbbox(words, anchor="ls"))
    strip = Image.new("L", (right - left, bottom - top), 0)
    ImageDraw.Draw(strip).text((-left, -top), words, font=font, fill=255, anchor="ls")
    turned = strip.rotate(90, expand=True)
    foot = {"start": turned.height, "middle": turned.height // 2, "end": 0}[shape.anchor]
    image.paste(LIGHT[shape.role], (where[0] + top, where[1] - foot), turned)


@cache
def _font(pixels: int, bold: bool) -> tuple[ImageFont.FreeTypeFont, bool]:  # noqa: FBT001 - a cache key
    """An installed font, and whether it is only Pillow's own."""
    for regular, heavy in _FONTS:
        try:
            return ImageFont.truetype(heavy if bold else regular, pixels), False
        except OSError:
            continue
    own = ImageFont.load_default(pixels)
    if not isinstance(own, ImageFont.FreeTypeFont):
        raise TypeError("Pillow was built without FreeType")
    return own, True
