"""Keep a fingerprint, with what its scan's file was like when it was made."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from segtrial.datasets.fingerprint import SIDE, Fingerprint
from segtrial.datasets.stamps import stamp
from segtrial.errors import StoreError

_FORMAT = "segtrial fingerprint 1"


def save(path: Path, mark: Fingerprint, scan: Path) -> None:
    """Write a fingerprint; `StoreError` where that cannot be done."""
    new = path.with_suffix(".new.npz")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(
            new,
            of=np.array([_FORMAT, mark.exact, stamp(scan)]),
            slices=np.packbits(mark.slices, axis=1),
            shown=mark.shown,
        )
        new.replace(path)
    except OSError as problem:
        raise StoreError(f"{path} cannot be written: {problem.strerror}.") from None


def load(path: Path, scan: Path) -> Fingerprint | None:
    """A fingerprint that was kept, or None where there is none or the scan's file has changed."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            kind, exact, seen = kept["of"].tolist()
            if kind != _FORMAT or seen != stamp(scan):
                return None
            bits = np.unpackbits(kept["slices"], axis=1, count=SIDE * SIDE).astype(bool)
            return Fingerprint(exact, bits, kept["shown"])
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return None
