"""The phantom on disk: made once into a cache, checked, and gone on with where it was stopped.

A case is made in a folder with a temporary name, which is renamed when both files are whole; a run
that is killed at any moment leaves nothing that looks finished and is not, and the next one makes
what is missing. The folder's name carries the fingerprint of the published digests, so
another version of the phantom never mixes with this one.
"""

from __future__ import annotations

import csv
import fcntl
import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path

from segtrial.datasets.phantom_generator import generate
from segtrial.datasets.phantom_patients import CASES, CaseRow, case_table
from segtrial.datasets.progress import Progress
from segtrial.errors import PlatformError, StoreError
from segtrial.resources import resource_dir
from segtrial.scans import array_digest, replacing, write_volume

_MAKING = ".making-"
_OPEN_FOLDER = 0o755


def ensure_phantom(cache_dir: Path, *, progress: Progress | None = None) -> Path:
    """Folder of the phantom in the generic layout; what is missing in it is made first.

    Parameters
    ----------
    cache_dir : Path
        Where datasets are kept; a folder ``phantom-<version>`` is made in it.
    progress : callable, optional
        Told of each case that was made.

    Returns
    -------
    Path
        Folder with ``cases.csv`` and, for each case, ``cases/<case>/scan.nii.gz`` and
        ``cases/<case>/reference.nii.gz``.

    Raises
    ------
    PlatformError
        This machine computes other voxels than the published ones.
    StoreError
        The cache cannot be written.
    """
    published = published_digests()
    version = hashlib.sha256("".join(sorted(published.values())).encode()).hexdigest()[:12]
    folder = cache_dir / f"phantom-{version}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            _make_missing(folder, published, progress)
            _write_table(folder)
    except OSError as error:
        raise StoreError(
            f"The phantom cannot be kept in {folder}: {error}. "
            "Free space, or choose another folder with SEGTRIAL_CACHE."
        ) from error
    return folder


def published_digests() -> dict[str, str]:
    """SHA-256 of voxels and affine of each file, by ``<case>/scan`` and ``<case>/reference``."""
    path = resource_dir("datasets") / "phantom" / "sha256.txt"
    lines = path.read_text(encoding="ascii").splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def digests(case_id: str) -> dict[str, str]:
    """The same for a case as this machine computes it."""
    made = generate(case_id)
    return {
        f"{case_id}/scan": array_digest(made.scan, made.affine),
        f"{case_id}/reference": array_digest(made.label_map, made.affine),
    }


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder against other processes that would make the same files; freed by any end."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make_missing(folder: Path, published: dict[str, str], progress: Progress | None) -> None:
    cases = folder / "cases"
    cases.mkdir(exist_ok=True)
    for leftover in folder.glob(f"{_MAKING}*"):
        shutil.rmtree(leftover)
    missing = [case.case for case in CASES if not (cases / case.case).is_dir()]
    done = len(CASES) - len(missing)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        making = [pool.submit(_make_case, folder, case_id, published) for case_id in missing]
        for future in as_completed(making):
            future.result()
            done += 1
            if progress:
                progress(done, len(CASES))


def _make_case(folder: Path, case_id: str, published: dict[str, str]) -> None:
    """Make a case beside its place and move it there whole."""
    made = generate(case_id)
    here = Path(tempfile.mkdtemp(prefix=_MAKING, dir=folder))
    here.chmod(_OPEN_FOLDER)
    for name, voxels in (("scan", made.scan), ("reference", made.label_map)):
        _demand_published(f"{case_id}/{name}", array_digest(voxels, made.affine), published)
        write_volume(here / f"{name}.nii.gz", voxels, made.affine)
    here.rename(folder / "cases" / case_id)


def _demand_published(name: str, digest: str, published: dict[str, str]) -> None:
    if digest != published.get(name):
        raise PlatformError(
            f"This machine computes other voxels for {name} than the published ones (SHA-256 "
            f"{digest}, expected {published.get(name)}), so scores made here could not be "
            "compared with others. Reinstall numpy; if that does not help, report the processor "
            "and numpy's version."
        )


def _write_table(folder: Path) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(CaseRow)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in case_table())
    with replacing(folder / "cases.csv") as file:
        file.write(text.getvalue().encode())
