"""What a scanner makes of a body: blur through the slice, grainy noise, whole numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from segtrial.datasets.phantom_fields import Field
from segtrial.datasets.phantom_random import bell

_LOWEST_HU, _HIGHEST_HU = -1024, 3071  # 12 bits, as CT stores it
_BELL_DEVIATION = 37837


def scanned(hu: Field, *, seed: str, noise_hu: int, through: int) -> NDArray[np.int16]:
    """Image of a body.

    Parameters
    ----------
    hu : int32 array, shape (I, J, K)
        Hounsfield units without noise.
    seed : str
        What the noise is for.
    noise_hu : int
        Its standard deviation.
    through : int
        Axis along which slices are thick.

    Returns
    -------
    int16 array, shape (I, J, K)
        Hounsfield units in [-1024, 3071].
    """
    noise = bell(seed, hu.size).reshape(hu.shape)
    for axis in range(3):
        if axis != through:
            noise = _smoothed(noise, axis, 2)  # neighbours in a slice share their noise
    # 1:2:1 along two axes leaves 6/16 of the deviation
    grain = noise * (noise_hu * 16) // (_BELL_DEVIATION * 6)
    image = _smoothed(hu, through, 6) + grain
    clipped: NDArray[np.int16] = np.clip(image, _LOWEST_HU, _HIGHEST_HU).astype(np.int16)
    return clipped


def _smoothed(field: Field, axis: int, middle: int) -> Field:
    """Average with both neighbours, weights 1 : middle : 1; the ends repeat themselves."""
    moved = np.moveaxis(field, axis, 0)
    out = moved * middle
    out[1:] += moved[:-1]
    out[:-1] += moved[1:]
    out[0] += moved[0]
    out[-1] += moved[-1]
    out //= middle + 2
    return np.moveaxis(out, 0, axis)
