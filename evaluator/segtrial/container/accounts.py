"""Which numbers an image's USER means, by the image's own password and group files.

Pure. The number is decided here and handed to the engine, so that ``USER toor`` with user 0
behind it is seen to be root before anything starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

NOBODY = "65534:65534"
"""Runs an image that asks for root without the relaxation, or for a user that cannot be found."""


@dataclass(frozen=True, slots=True)
class Accounts:
    """Text of ``/etc/passwd`` and ``/etc/group``; empty where the image has none."""

    passwd: str
    group: str


def resolve_user(user: str, accounts: Accounts) -> str:
    r"""``uid:gid`` of an image's USER.

    Parameters
    ----------
    user
        ``""``, ``"name"``, ``"uid"`` or either with ``:group``, as an image declares it.
    accounts
        The image's own files.

    Examples
    --------
    >>> files = Accounts("app:x:1000:1000::/:/bin/sh\ntoor:x:0:0::/:/bin/sh", "video:x:44:")
    >>> [resolve_user(user, files) for user in ("app", "app:video", "toor", "", "77", "ghost")]
    ['1000:1000', '1000:44', '0:0', '0:0', '77:0', '65534:65534']
    """
    name, _, group = user.partition(":")
    name = name or "0"
    uid, gid = _user_ids(name, accounts)
    if group:
        gid = int(group) if group.isdecimal() else _group_id(group, accounts)
    return f"{uid}:{gid}"


def _user_ids(name: str, accounts: Accounts) -> tuple[int, int]:
    for row in _rows(accounts.passwd, numbers=(2, 3)):
        if name in (row[0], row[2]):
            return int(row[2]), int(row[3])
    # A number without an account runs in group 0, as the engine itself would do it.
    return (int(name), 0) if name.isdecimal() else (65534, 65534)


def _group_id(name: str, accounts: Accounts) -> int:
    rows = _rows(accounts.group, numbers=(2,))
    return next((int(row[2]) for row in rows if row[0] == name), 65534)


def _rows(text: str, *, numbers: tuple[int, ...]) -> Iterator[list[str]]:
    for line in text.splitlines():
        row = line.split(":")
        if len(row) > max(numbers) and all(row[n].isdecimal() for n in numbers):
            yield row
