"""Which of two versions of a submission is the higher one."""

from __future__ import annotations

import re

_PART = re.compile(r"\d+|[a-z]+")
_WORD, _END, _NUMBER = range(3)


def version_key(version: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts versions: numbers as numbers, and ``1.0rc1`` before ``1.0``.

    Examples
    --------
    >>> sorted(["1.10", "1.9", "1.0", "1.0rc1", "v2", "1.0.1"], key=version_key)
    ['1.0rc1', '1.0', '1.0.1', '1.9', '1.10', 'v2']
    """
    lowered = version.lower().removeprefix("v")
    parts = [
        (_NUMBER, int(part), "") if part.isdigit() else (_WORD, 0, part)
        for part in _PART.findall(lowered)
    ]
    return (*parts, (_END, 0, ""))
