"""Small volumes on disk, and a cache that is thrown away."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from segtrial.scans import write_volume

Writer = Callable[..., Path]
SPACING = np.diag([1.5, 1.5, 3.0, 1.0])


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing a test does reaches the user's cache."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("SEGTRIAL_CACHE", str(folder))
    return folder


@pytest.fixture
def write() -> Writer:
    """Write a scan or a label map, of a few voxels unless given."""

    def write_(
        path: Path,
        voxels: NDArray[np.generic] | None = None,
        *,
        labels: tuple[int, ...] | None = None,
        affine: NDArray[np.float64] = SPACING,
    ) -> Path:
        if labels is not None:
            found = np.zeros((6, 5, 4), dtype=np.uint8)
            found.reshape(-1)[: len(labels)] = labels
        elif voxels is None:
            seed = abs(hash(path.name)) % 1000
            found = np.random.default_rng(seed).integers(-1000, 1000, (6, 5, 4), dtype=np.int16)
        else:
            found = voxels
        path.parent.mkdir(parents=True, exist_ok=True)
        write_volume(path, found, affine)
        return path

    return write_
