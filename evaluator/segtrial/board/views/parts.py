"""What several views are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from segtrial.board.drawing import Figure, inline_svg
from segtrial.board.html import Markup, tag


def figure(drawn: Figure, *, caption: object = None, **attributes: object) -> Markup:
    """A figure that scrolls sideways where it does not fit, with what to know below it."""
    inner = tag(
        "div",
        inline_svg(drawn),
        class_="scroll",
        role="region",
        tabindex=0,
        aria_label=drawn.title,
    )
    below = tag("figcaption", caption) if caption else ""
    return tag("figure", inner, below, **attributes)


def section(title: str, *children: object, lead: object = None) -> Markup:
    """A titled part of a view."""
    return tag("section", tag("h2", title), tag("p", lead) if lead else "", children)


def plain_table(
    head: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    caption: str,
    numeric: Sequence[int] = (),
    row_header: int = 0,
) -> Markup:
    """A table of text and numbers.

    Parameters
    ----------
    head : sequence
        Column headings.
    rows : iterable of sequences
        Cells.
    caption : str
        What the table is, for screen readers.
    numeric : sequence of int
        Columns set flush right.
    row_header : int
        The column that names the row.
    """

    def kind(column: int) -> str | None:
        return "num" if column in numeric else None

    heads = [tag("th", cell, scope="col", class_=kind(k)) for k, cell in enumerate(head)]
    body = [
        tag(
            "tr",
            [
                tag("th", cell, scope="row", class_=kind(k))
                if k == row_header
                else tag("td", cell, class_=kind(k))
                for k, cell in enumerate(row)
            ],
        )
        for row in rows
    ]
    table = tag(
        "table",
        tag("caption", caption, class_="sr"),
        tag("thead", tag("tr", heads)),
        tag("tbody", body),
        class_="plain",
    )
    return tag("div", table, class_="scroll", role="region", tabindex=0, aria_label=caption)


def facts(pairs: Mapping[str, object]) -> Markup:
    """Named values, one a line; those without a value are left out."""
    items = [
        tag("div", tag("dt", name), tag("dd", value))
        for name, value in pairs.items()
        if value not in (None, "", ())
    ]
    return tag("dl", items, class_="facts-list")


def note(*children: object) -> Markup:
    """A remark in small type."""
    return tag("p", children, class_="note")
