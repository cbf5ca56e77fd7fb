"""Path patterns of cards: where a dataset's own folders put the files of a case.

``imagesTr/{case}.nii.gz`` finds every file that fits and names its case. ``{case}`` and ``{any}``
stand for anything within one folder's name, ``{patient}`` for anything without ``_``, ``{n}`` for
digits. Names that begin with a dot are never taken: some archives carry ``._`` leftovers of macOS.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from segtrial.errors import DatasetError

_PLACE = re.compile(r"\{(case|any|patient|n)\}")
_MEANS = {"case": r"[^/]+", "any": r"[^/]+", "patient": r"[^/_]+", "n": r"\d+"}


def find(root: Path, pattern: str) -> Iterator[tuple[Path, dict[str, str]]]:
    """Every path below ``root`` that fits, with what each name in the pattern stood for.

    Parameters
    ----------
    root : Path
    pattern : str
        Relative, with ``/`` between folders.

    Yields
    ------
    tuple of Path and dict
        In the order of the paths.
    """
    regex = _regex(pattern)
    for path in sorted(root.glob(_PLACE.sub("*", pattern))):
        relative = path.relative_to(root).as_posix()
        if any(part.startswith(".") for part in relative.split("/")):
            continue
        found = regex.fullmatch(relative)
        if found:
            yield path, found.groupdict()


def names_in(pattern: str, text: str) -> dict[str, str] | None:
    """What each name in a pattern stands for in a text, or None where it does not fit.

    Examples
    --------
    >>> names_in("mr_{n}_t2spir", "mr_13_t2spir")
    {'n': '13'}
    """
    found = _regex(pattern).fullmatch(text)
    return found.groupdict() if found else None


def fill(pattern: str, names: Mapping[str, str]) -> str:
    """A pattern with its names put in.

    Raises
    ------
    DatasetError
        The pattern uses a name that is not given: the card contradicts itself.

    Examples
    --------
    >>> fill("labelsTr/{case}.nii.gz", {"case": "amos_0001"})
    'labelsTr/amos_0001.nii.gz'
    """
    lost = [name for name in _PLACE.findall(pattern) if name not in names]
    if lost:
        raise DatasetError(
            f"The pattern {pattern!r} of the card uses {{{lost[0]}}}, which the pattern of the "
            "scan does not have. Use the same names in both."
        )
    return _PLACE.sub(lambda place: names[place[1]], pattern)


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    parts = _PLACE.split(pattern)
    text = ""
    seen: set[str] = set()
    for number, part in enumerate(parts):
        if number % 2 == 0:
            text += re.escape(part)
        elif part in seen:
            text += f"(?P={part})"
        else:
            seen.add(part)
            text += f"(?P<{part}>{_MEANS[part]})"
    return re.compile(text)
