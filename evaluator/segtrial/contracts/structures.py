"""The canonical vocabulary of structures, and how native label ids are mapped to it by meaning.

A dataset and a model rarely number their labels alike (AMOS writes the right kidney as 2, WORD as
4), so nothing here compares ids or native names: both sides declare which canonical structure each
of their ids means, and `labels_for` says which ids make up the structure that is scored.

Any name may be written in another case, with spaces, or as a known alias; what is kept is the
canonical name. A structure that the vocabulary has not is written ``x-<name>``: it has no code and
equals only itself. Any other unknown name is refused with the nearest known one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator, Field

from segtrial.contracts.record import ID_PATTERN
from segtrial.contracts.vocabulary import (
    ALIASES,
    INCLUDES,
    PAIRED,
    RIBS,
    SINGLE,
    UNIONS,
    VERTEBRAE,
)

OWN_PREFIX = "x-"
"""Starts the name of a structure that is not in the vocabulary."""


class Structure(NamedTuple):
    """One entry of the vocabulary."""

    name: str
    snomed_code: str | None
    """SNOMED CT concept id, or None where no concept means exactly this."""
    snomed_meaning: str | None
    laterality: str | None
    """``left`` or ``right`` where the code alone does not say it."""


def _vocabulary() -> dict[str, Structure]:
    found: dict[str, Structure] = {}
    for name, concept in {**SINGLE, **RIBS, **VERTEBRAE}.items():
        code, meaning = concept or (None, None)
        side = next((s for s in ("left", "right") if f"_{s}" in name), None)
        found[name] = Structure(name, code, meaning, side)
    for name, concept in PAIRED.items():
        code, meaning = concept or (None, None)
        found[name] = Structure(name, code, meaning, None)
        for side in ("left", "right"):
            found[f"{name}_{side}"] = Structure(f"{name}_{side}", code, meaning, side)
    return dict(sorted(found.items()))


STRUCTURES: Mapping[str, Structure] = _vocabulary()
"""Every canonical structure by name."""


def canonical(name: str) -> str:
    """The canonical name that ``name`` means.

    Parameters
    ----------
    name : str
        A canonical name or alias, in any case, with spaces, hyphens, slashes or underscores.

    Returns
    -------
    str
        A key of `STRUCTURES`, or ``x-...`` unchanged.

    Raises
    ------
    ValueError
        For a name that means nothing here; the message names the nearest known one.

    Examples
    --------
    >>> canonical("Right Kidney"), canonical("postcava"), canonical("vertebrae_L1")
    ('kidney_right', 'inferior_vena_cava', 'vertebrae_l1')
    """
    if name in STRUCTURES:
        return name
    text = name.strip().lower()
    if text.startswith(OWN_PREFIX):
        return text
    key = re.sub(r"[^a-z0-9]+", "_", text).strip("_")
    key = ALIASES.get(key, key)
    if key not in STRUCTURES:
        raise ValueError(_unknown(name))
    return key


def _unknown(name: str) -> str:
    valid = [*STRUCTURES, *ALIASES]
    key = re.sub(r"[^a-z0-9]+", "_", name.strip().lower()).strip("_")
    close = difflib.get_close_matches(key, valid, n=1, cutoff=0.6)
    hint = f"Did you mean {ALIASES.get(close[0], close[0])!r}? " if close else ""
    return (
        f"unknown structure {name[:60]!r}. {hint}"
        "See 'evaluate datasets structures' for all names; "
        f"a structure that is missing there is written {OWN_PREFIX}<name>"
    )


def _as_structure(value: object) -> object:
    return canonical(value) if isinstance(value, str) else value


StructureName = Annotated[str, BeforeValidator(_as_structure), Field(pattern=ID_PATTERN)]
"""A canonical structure; aliases are accepted and replaced."""


@cache
def _ways(structure: str) -> tuple[tuple[str, ...], ...]:
    ways = UNIONS.get(structure, ())
    if structure in PAIRED and structure not in UNIONS:
        ways = ((f"{structure}_left", f"{structure}_right"),)
    return ways


@cache
def parts_of(structure: str) -> frozenset[str]:
    """Every structure that is a part of ``structure``, itself excluded.

    Examples
    --------
    >>> sorted(parts_of("lung_right"))
    ['lung_lower_lobe_right', 'lung_middle_lobe_right', 'lung_upper_lobe_right']
    """
    found: set[str] = set()
    for part in (*INCLUDES.get(structure, ()), *(p for way in _ways(structure) for p in way)):
        found |= {part} | parts_of(part)
    return frozenset(found)


def _complete(structure: str, declared: frozenset[str]) -> bool:
    if structure in declared:
        return True
    return any(all(_complete(part, declared) for part in way) for way in _ways(structure))


def labels_for(structure: str, declared: Mapping[int, str]) -> tuple[int, ...] | None:
    """Native label ids whose union is ``structure``.

    Parameters
    ----------
    structure : str
        The canonical structure that is scored.
    declared : mapping of int to str
        Each native label id and the canonical structure it means: a submission's labels or a
        dataset's.

    Returns
    -------
    tuple of int, or None
        Ascending ids; None when the structure is neither declared nor a union whose needed parts
        are all declared (the outcome is then ``unsupported``).

    Examples
    --------
    >>> labels_for("kidney", {1: "kidney_parenchyma", 2: "kidney_tumor", 3: "kidney_cyst"})
    (1, 2, 3)
    >>> labels_for("kidney", {2: "kidney_right", 3: "kidney_left", 23: "kidney_cyst_left"})
    (2, 3, 23)
    >>> labels_for("kidney", {3: "kidney_left"}) is None
    True
    """
    if not _complete(structure, frozenset(declared.values())):
        return None
    wanted = parts_of(structure) | {structure}
    return tuple(sorted(label for label, meaning in declared.items() if meaning in wanted))
