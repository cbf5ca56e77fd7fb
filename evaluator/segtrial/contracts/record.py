"""The base of every record, and the bounded types that strangers' text must fit.

Everything here may have been written by a stranger and may end up on a public page, so text is
bounded in length, holds no control or bidirectional-override characters, and links are https
only. Escaping is the page's work; refusing what no honest author writes is done here, once.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

ID_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,62}$"
_HTTPS = re.compile(
    r"^https://[A-Za-z0-9][A-Za-z0-9.-]*\.[A-Za-z]{2,}(?::\d{1,5})?(?:[/?#][^\s<>\"'`\\]*)?$"
)
# Bidirectional controls can make a name read as another name (Unicode TR 36).
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Record(BaseModel):
    """A frozen record that refuses keys it does not know."""

    read_more: ClassVar[str] = ""
    """Where a person reads what the keys mean; closes an error about this record."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False, allow_inf_nan=False)

    def replace(self, **changes: object) -> Self:
        """Copy with some fields changed; the copy is validated, unlike ``model_copy``."""
        return type(self).model_validate({**self.model_dump(), **changes})


def _printable(text: str) -> str:
    for character in text:
        if character in _BIDI or unicodedata.category(character) in {"Cc", "Cs", "Co", "Cn"}:
            raise ValueError(
                f"it holds the character U+{ord(character):04X}, which cannot be shown safely; "
                "remove control and direction-override characters"
            )
    return text


def _one_line(text: str) -> str:
    text = text.strip()
    if not text:
        raise ValueError("it is empty; write at least one visible character")
    return _printable(text)


def _paragraph(text: str) -> str:
    return "\n".join(_printable(line.rstrip()) for line in text.strip().splitlines())


def _https(url: str) -> str:
    if not _HTTPS.match(_printable(url.strip())):
        raise ValueError(
            f"{url[:80]!r} is not an https link; only links like https://host/path are shown"
        )
    return url.strip()


Id = Annotated[
    str,
    Field(
        pattern=ID_PATTERN,
        description="Lower-case letters, digits, - and _; at most 63; no leading - or _.",
    ),
]
Line = Annotated[str, Field(max_length=200), AfterValidator(_one_line)]
"""One visible line of at most 200 characters."""
Paragraph = Annotated[str, Field(max_length=4000), AfterValidator(_paragraph)]
"""Plain text of several lines, at most 4,000 characters."""
HttpsUrl = Annotated[str, Field(max_length=500), AfterValidator(_https)]
"""An https link of at most 500 characters."""
LabelId = Annotated[int, Field(ge=1, le=65535, strict=True)]
"""A label of an integer label map; 0 is background and needs no name."""
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
