"""Where two JSON values differ, field by field, named so that a reader finds the place."""

from __future__ import annotations

import json
from dataclasses import dataclass

from segtrial.statistics.writing import Json

_NAMES = ("submission", "level", "slice")
"""Keys whose value says more than a position in a list."""
ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that differs.

    Attributes
    ----------
    field : str
        For example ``analysis.kidney.dice.ranking[submission=x].mean``.
    published, recomputed : str
        Both values as JSON text, or ``absent``.
    """

    field: str
    published: str
    recomputed: str

    def as_dict(self) -> dict[str, str]:
        """For JSON."""
        return {
            "field": self.field,
            "published": self.published,
            "recomputed": self.recomputed,
        }


def differing_fields(published: Json, recomputed: Json) -> list[Difference]:
    """Every field whose JSON text differs, in the order of the fields.

    Examples
    --------
    >>> differing_fields({"a": [1, 2]}, {"a": [1, 3]})[0].field
    'a[1]'
    """
    found: list[Difference] = []
    _compare("", published, recomputed, found)
    return found


def _compare(path: str, a: Json, b: Json, found: list[Difference]) -> None:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted({*a, *b}):
            inner = f"{path}.{key}" if path else key
            if key in a and key in b:
                _compare(inner, a[key], b[key], found)
            else:
                found.append(
                    Difference(inner, *(_text(x[key]) if key in x else ABSENT for x in (a, b)))
                )
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for index, (left, right) in enumerate(zip(a, b, strict=True)):
            _compare(f"{path}[{_place(index, left, right)}]", left, right, found)
    elif _text(a) != _text(b):
        found.append(Difference(path, _text(a), _text(b)))


def _place(index: int, a: Json, b: Json) -> str:
    """Position in a list, by name where both have the same one."""
    if not (isinstance(a, dict) and isinstance(b, dict)):
        return str(index)
    for key in _NAMES:
        if key in a and a[key] == b.get(key):
            return f"{key}={a[key]}"
    if "a" in a and "b" in a and (a["a"], a["b"]) == (b.get("a"), b.get("b")):
        return f"{a['a']} - {a['b']}"
    return str(index)


def _text(value: Json) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
