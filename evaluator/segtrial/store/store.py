"""Open a store and hold it: the journal, the files, the secret, and who owns what."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from segtrial.errors import StoreError
from segtrial.store.blobs import Blobs
from segtrial.store.identity import load_secret
from segtrial.store.journal import Journal
from segtrial.store.owner import Owner, bury_dead, is_alive

_NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "gpfs", "fuse.sshfs"}
)
_PARTS = frozenset({"blobs", "images", "owners", "tmp", "secret", "journal"})


class Store:
    """One maintainer's store; use it as a context manager.

    Attributes
    ----------
    journal : Journal
    blobs : Blobs
    owner : Owner
        This process.
    secret : bytes
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.secret = load_secret(root / "secret")
        self.blobs = Blobs(root / "blobs")
        self.journal = Journal(root / "journal.sqlite")
        try:
            self.owner = Owner(root)
            self.recover()
        except BaseException:
            self.journal.close()
            raise

    def recover(self) -> list[str]:
        """Take back what dead processes held; returns the ids of the dead owners."""
        dead = set(bury_dead(self.root))
        dead |= {o for o in self.journal.claim_owners() if not is_alive(self.root, o)}
        for owner in dead:
            self.journal.release_owner(owner)
        return sorted(dead)

    def close(self) -> None:
        """Release everything this process holds."""
        self.journal.release_owner(self.owner.id)
        self.journal.close()
        self.owner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()


def open_store(root: Path, *, create: bool = True) -> Store:
    """Open the store in a folder, making it where there is none.

    Raises
    ------
    StoreError
        The folder is on a network file system (SQLite's locks do not hold there), cannot be
        written, belongs to something else, or, with ``create=False``, holds no store.
    """
    if not (root / "journal.sqlite").exists():
        if not create:
            raise StoreError(
                f"There is no store in {root}. Give the folder that `evaluate run --store` used."
            )
        if root.exists() and not _may_become_store(root):
            raise StoreError(
                f"{root} exists and is no store. Choose an empty or a new folder for --store."
            )
    try:
        for part in (root, root / "blobs", root / "owners", root / "tmp"):
            part.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as problem:
        raise StoreError(
            f"The store {root} cannot be made: {problem.strerror}. Choose a folder you can write."
        ) from None
    if not os.access(root, os.W_OK):
        raise StoreError(
            f"The store {root} cannot be written: the folder is another user's, or its file system "
            "is mounted read-only. Correct that, then run the same command again; what is final "
            "is kept."
        )
    kind = file_system_type(root, _mounts())
    if kind in _NETWORK_FILE_SYSTEMS:
        raise StoreError(
            f"The store {root} is on a network file system ({kind}), where SQLite's locks do not "
            "hold. Put the store on a local disk; results can be copied anywhere."
        )
    try:
        return Store(root)
    except OSError as problem:
        raise StoreError(
            f"The store {root} cannot be opened: {problem.strerror}. Check its owner and mode, "
            "and that the disk is not full."
        ) from None


def _may_become_store(root: Path) -> bool:
    """Whether a folder is empty, or holds what another process has just begun to make."""
    return root.is_dir() and all(path.name.split(".")[0] in _PARTS for path in root.iterdir())


def file_system_type(path: Path, mounts: str) -> str:
    r"""Type of the file system a path is on; empty where the table does not say.

    Parameters
    ----------
    path
        Any path; links are followed.
    mounts
        A mount table in the format of ``/proc/self/mounts``.

    Examples
    --------
    >>> table = "/dev/sda1 / ext4 rw 0 0\nhost:/export /data/my\\040store nfs4 rw 0 0\n"
    >>> file_system_type(Path("/data/my store/s"), table)
    'nfs4'
    """
    target = os.path.realpath(path)
    best, kind = "", ""
    for line in mounts.splitlines():
        _, mount, found, *_ = line.split(" ")
        mount = mount.replace("\\040", " ")
        inside = target == mount or target.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):
            best, kind = mount, found
    return kind


def _mounts() -> str:
    """The mount table; empty where there is none."""
    try:
        return Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
