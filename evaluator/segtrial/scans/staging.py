"""Stage a scan: a copy that a container may see, and that names nobody.

Voxels and affine are the patient's; everything else of the file is left behind: free text,
extensions, the name and time inside the gzip, the times and mode of the file. The voxels pass
through as stored, without being converted, and their digest is taken on the way.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from segtrial.errors import StoreError
from segtrial.scans.digest import ScanHash
from segtrial.scans.grid import Grid
from segtrial.scans.volume import Volume, open_volume
from segtrial.scans.writing import neutral_header, replacing, write_gzip

_READ_ONLY = 0o444
_EPOCH_NS = (0, 0)


@dataclass(frozen=True, eq=False)
class StagedScan:
    """What was staged.

    Attributes
    ----------
    grid : Grid
        Grid of the scan, the one a prediction has to be on.
    digest : str
        SHA-256 of voxels and affine; it does not depend on how the source was compressed.
    """

    grid: Grid
    digest: str


def stage_scan(source: str | os.PathLike[str], destination: str | os.PathLike[str]) -> StagedScan:
    """Write a neutral copy of a scan.

    Parameters
    ----------
    source : path
        The maintainer's file, any volume nibabel can read.
    destination : path
        ``.nii.gz`` file to write, under a name that says nothing; replaced if it exists. Its
        mode is 0444 and its times are 1 January 1970.

    Returns
    -------
    StagedScan

    Raises
    ------
    DatasetError
        The source is missing, damaged, or no 3D volume.
    StoreError
        The copy could not be written.
    """
    volume = open_volume(source)
    digest = _hash_of(volume)
    try:
        with replacing(Path(destination)) as file:
            write_gzip(file, _pieces(volume, digest))
            os.fchmod(file.fileno(), _READ_ONLY)
        os.utime(destination, ns=_EPOCH_NS)
    except OSError as error:
        raise StoreError(
            f"A scan could not be staged: {error}. Free space, or choose another store."
        ) from error
    return StagedScan(volume.grid, digest.hexdigest())


def scan_digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a scan's voxels and affine, the one `stage_scan` would return.

    Parameters
    ----------
    path : path
        Any volume nibabel can read.

    Returns
    -------
    str
        64 hexadecimal digits, the same on every machine and for every compression.

    Raises
    ------
    DatasetError
        The file is missing, damaged, or no 3D volume.
    """
    volume = open_volume(path)
    digest = _hash_of(volume)
    for piece in volume.pieces():
        digest.update(piece)
    return digest.hexdigest()


def _hash_of(volume: Volume) -> ScanHash:
    scaling = (volume.slope, volume.intercept)
    return ScanHash(volume.dtype, volume.grid.shape, volume.grid.affine, scaling=scaling)


def _pieces(volume: Volume, digest: ScanHash) -> Iterator[bytes | memoryview]:
    yield neutral_header(volume.header(), slope=volume.slope, intercept=volume.intercept)
    for piece in volume.pieces():
        digest.update(piece)
        yield piece.data
