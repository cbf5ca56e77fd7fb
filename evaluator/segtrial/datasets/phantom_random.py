"""Random numbers that are the same everywhere: a hash of what they are for, and a counter.

No state, no library's generator: the number for a (seed, purpose, index) can be had in any order,
in any thread, from any version of numpy. The mixer is splitmix64 (Steele, Lea and Flood, 2014,
doi:10.1145/2660193.2660195), in wrapping 64-bit integers.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_HALF = 1 << 15


def words(seed: str, count: int) -> NDArray[np.uint64]:
    """Independent 64-bit words.

    Parameters
    ----------
    seed : str
        What the words are for, for example ``"phantom_001/noise"``.
    count : int
        How many.

    Returns
    -------
    uint64 array, shape (count,)
    """
    start = np.uint64(int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "little"))
    word = np.arange(1, count + 1, dtype=np.uint64)
    word *= _GOLDEN
    word += start
    word ^= word >> _SHIFTS[0]
    word *= _MIX_1
    word ^= word >> _SHIFTS[1]
    word *= _MIX_2
    word ^= word >> _SHIFTS[2]
    return word


def integer(seed: str, low: int, high: int) -> int:
    """One integer from `low` to `high`, both included."""
    return low + int(words(seed, 1)[0]) % (high - low + 1)


def integers(seed: str, low: int, high: int, count: int) -> list[int]:
    """Several integers from `low` to `high`, both included."""
    return [low + int(word) % (high - low + 1) for word in words(seed, count)]


def bell(seed: str, count: int) -> NDArray[np.int32]:
    """Numbers spread like a bell: the sum of four 16-bit uniform ones, less their mean.

    Returns
    -------
    int32 array, shape (count,)
        Mean 0, standard deviation 37837 (65536 / sqrt(3)).
    """
    quarters = words(seed, count).view(np.uint16).reshape(count, 4)
    total: NDArray[np.int32] = quarters.sum(axis=1, dtype=np.int32)
    return total - np.int32(4 * _HALF)
