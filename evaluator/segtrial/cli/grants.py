"""``--grant root --grant shm_gib=4``: relaxations a maintainer allows."""

from __future__ import annotations

from collections.abc import Sequence

from segtrial.contracts.limits import Relaxations
from segtrial.contracts.reading import nearest
from segtrial.errors import UsageError


def parse_grants(words: Sequence[str]) -> Relaxations:
    """Relaxations from the words of the command line.

    Raises
    ------
    UsageError
        For an unknown name, a missing or superfluous value, or one out of range.

    Examples
    --------
    >>> parse_grants(["root", "shm_gib=4"]).asked()
    ('root', 'shm_gib')
    """
    values: dict[str, object] = {}
    for word in words:
        name, has_value, value = word.partition("=")
        field = Relaxations.model_fields.get(name)
        if field is None:
            raise UsageError(
                f"--grant {word}: there is no relaxation {name!r}."
                f"{nearest(name, Relaxations.model_fields)} "
                f"Known: {', '.join(Relaxations.model_fields)}."
            )
        takes_value = field.annotation is not bool
        if takes_value != bool(has_value):
            form = f"{name}=NUMBER" if takes_value else name
            raise UsageError(f"--grant {word}: write it as --grant {form}.")
        values[name] = value if takes_value else True
    try:
        return Relaxations.model_validate(values)
    except ValueError:
        given = " ".join(f"--grant {word}" for word in words)
        raise UsageError(f"{given}: sizes are positive numbers of GiB, at most 1024.") from None
