"""Opaque ids and pseudonyms: what a container and the public see in place of true ids.

The opaque id of a case and the order of cases are HMACs of the store's secret over submission and
case: stable, so that a run can be resumed, and useless anywhere else.

A pseudonym is fixed per dataset version. Its key is the store's secret, except where the dataset's
references are public: there the key follows from the dataset's id and version, because there is
nothing to hide behind a secret, and results of two maintainers can then be merged and compared.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import tempfile
from pathlib import Path

from segtrial.errors import StoreError

_SECRET_BYTES = 32


def load_secret(path: Path) -> bytes:
    """The store's secret; made at first use, readable by its owner only."""
    if not path.exists():
        # Linked into place in one piece: a second process sees no secret or a whole one.
        fd, part = tempfile.mkstemp(prefix="secret.", dir=path.parent)
        with os.fdopen(fd, "wb") as stream:
            stream.write(secrets.token_bytes(_SECRET_BYTES))
            stream.flush()
            os.fsync(stream.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(part, path)
        os.unlink(part)  # noqa: PTH108 - a name from mkstemp
    secret = path.read_bytes()
    if len(secret) != _SECRET_BYTES:
        raise StoreError(
            f"The store's secret {path} has {len(secret)} bytes, expected {_SECRET_BYTES}. "
            "Restore it from a backup; without it, resumed runs and pseudonyms do not match."
        )
    return secret


def opaque_case_id(secret: bytes, *, submission: str, case: str) -> str:
    """What one submission's containers are told the case is called.

    Examples
    --------
    >>> opaque_case_id(b"k", submission="a", case="case_1")[:2]
    'c-'
    """
    return "c-" + _mac(secret, "opaque case", submission, case)[:24]


def pseudonym(key: bytes, *, kind: str, dataset: str, version: str, name: str) -> str:
    """Public name of a case or patient; ``kind`` is ``case`` or ``patient``."""
    return kind[0] + _mac(key, "pseudonym", kind, dataset, version, name)[:16]


def public_key(*, dataset: str, version: str) -> bytes:
    """The pseudonym key of a dataset whose references everyone can see."""
    return hashlib.sha256(f"segtrial public pseudonyms\n{dataset}\n{version}".encode()).digest()


def _mac(key: bytes, *parts: str) -> str:
    # Lengths are part of the message, so ("ab", "c") and ("a", "bc") differ.
    message = b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in parts)
    return hmac.new(key, message, hashlib.sha256).hexdigest()
