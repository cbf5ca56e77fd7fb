"""One case of the phantom, from its id to voxels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segtrial.datasets.phantom_body import body_of
from segtrial.datasets.phantom_grid import SCANNERS, case_grid
from segtrial.datasets.phantom_painter import paint
from segtrial.datasets.phantom_patients import case_of
from segtrial.datasets.phantom_scanner import scanned

_BEND_MM = 48  # between control points of the displacement that makes outlines organic
_TEXTURE_MM = 18  # and of the texture inside organs


class PhantomCase(NamedTuple):
    """A scan, its reference, and where they lie.

    Attributes
    ----------
    scan : int16 array, shape (I, J, K)
        Hounsfield units in [-1024, 3071].
    label_map : uint8 array, shape (I, J, K)
        Label ids as in `segtrial.datasets.phantom.LABELS`.
    affine : float64 array, shape (4, 4)
        Index to world, mm (RAS+); exact also in float32.
    """

    scan: NDArray[np.int16]
    label_map: NDArray[np.uint8]
    affine: NDArray[np.float64]


def generate(case_id: str) -> PhantomCase:
    """Make one case.

    Parameters
    ----------
    case_id : str
        ``phantom_001`` to ``phantom_024``.

    Returns
    -------
    PhantomCase
        The same voxels on every machine.

    Raises
    ------
    DatasetError
        There is no such case.
    """
    case = case_of(case_id)
    grid = case_grid(case)
    scanner = SCANNERS[case.scanner]
    world = grid.space()
    body = body_of(case, world, grid.steps(_BEND_MM))
    canvas = paint(body, world, edge=scanner.edge, step=grid.steps(_TEXTURE_MM))
    scan = scanned(
        canvas.hu,
        seed=f"{case_id}/noise",
        noise_hu=scanner.noise_hu,
        through=grid.through_plane(),
    )
    return PhantomCase(scan, canvas.labels, grid.affine)
