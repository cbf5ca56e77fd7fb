"""Random numbers that are the same on every machine: a counter-based integer hash.

NumPy promises the stream of a generator only for one build on one machine (NEP 19), which is not
enough for results that others recompute. Number i of a stream here is SplitMix64 of a key plus i
steps (Steele, Lea and Flood 2014, doi:10.1145/2660193.2660195): integers only, any part of the
stream can be had without the rest, and the key is SHA-256 of what the numbers may depend on: a
purpose, the seed, the track and its sorted patient pseudonyms. Submissions, metrics, structures and
the order of the input are not in it, so they cannot move a weight.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_CHUNK_DRAWS = 1 << 19
"""Numbers drawn at a time: 4 MiB, so that the passes over them stay in the cache."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One keyed stream of 64-bit numbers.

    Attributes
    ----------
    key : int
        64 bits; `stream_for` makes it from what the numbers may depend on.
    """

    key: int

    def numbers(self, start: int, stop: int) -> NDArray[np.uint64]:
        """Numbers ``start`` to ``stop`` (exclusive), uint64, shape (stop - start,)."""
        # The sum wraps around 2**64 on purpose; array arithmetic does so silently.
        state = np.arange(start + 1, stop + 1, dtype=np.uint64)
        state *= _STEP
        state += np.uint64(self.key)
        state ^= state >> np.uint64(30)
        state *= _MIX_1
        state ^= state >> np.uint64(27)
        state *= _MIX_2
        state ^= state >> np.uint64(31)
        return state


def stream_for(*, purpose: str, seed: int, track: str, patients: Sequence[str]) -> Stream:
    """Stream keyed by purpose, seed, track and patients.

    Parameters
    ----------
    purpose : str
        ``"bootstrap"``, ``"spacings"``, ``"sign-flip"`` or ``"permutation"``: independent streams.
    seed : int
        From the settings.
    track : str
        The track's full name, dataset and version included.
    patients : sequence of str
        Pseudonyms, sorted by the caller.

    Returns
    -------
    Stream
        Its key is the first 64 bits of SHA-256 over all of these, each with its length in front.
    """
    digest = hashlib.sha256()
    for part in (purpose, str(seed), track, *patients):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return Stream(int.from_bytes(digest.digest()[:8], "little"))


def bootstrap_counts(stream: Stream, *, patients: int, resamples: int) -> NDArray[np.uint8]:
    """How often each patient is drawn in each resample.

    Parameters
    ----------
    stream : Stream
        Of the purpose ``"bootstrap"``.
    patients : int
        Number of patients, at least 1.
    resamples : int
        Number of resamples.

    Returns
    -------
    uint8 array, shape (resamples, patients)
        Each row a multinomial sample of size ``patients``. A count above 255 is held at 255: its
        probability is below 1e-500 for more than 255 patients, and it cannot occur for fewer.

    Examples
    --------
    >>> bootstrap_counts(Stream(7), patients=3, resamples=4).sum(axis=1).tolist()
    [3, 3, 3, 3]
    """
    counts = np.empty((resamples, patients), np.uint8)
    rows = max(1, _CHUNK_DRAWS // patients)
    for start in range(0, resamples, rows):
        stop = min(start + rows, resamples)
        drawn = stream.numbers(start * patients, stop * patients)
        # Multiply and shift instead of a remainder; the bias is below patients / 2**32.
        drawn >>= np.uint64(32)
        drawn *= np.uint64(patients)
        drawn >>= np.uint64(32)
        cells = drawn.astype(np.intp).reshape(stop - start, patients)
        cells += np.arange(stop - start, dtype=np.intp)[:, None] * patients
        tally = np.bincount(cells.ravel(), minlength=(stop - start) * patients)
        np.minimum(tally, 255, out=tally)
        counts[start:stop] = tally.reshape(stop - start, patients)
    return counts


def spacings(stream: Stream, *, patients: int, resamples: int) -> NDArray[np.uint16]:
    """Random shares of patients and of one more who was not there.

    Parameters
    ----------
    stream : Stream
        Of the purpose ``"spacings"``.
    patients : int
        Number of patients, at least 1.
    resamples : int
        Number of draws.

    Returns
    -------
    uint16 array, shape (resamples, patients + 1)
        Each row a draw from the uniform distribution on all divisions of a whole into shares: the
        gaps between sorted uniform numbers, in units whose mean is about 2,048. The last column is
        the share of the patient who was not there. A share of more than 32 times the mean is held
        there; it has a probability below 1e-10 per draw.
    """
    gaps = np.empty((resamples, patients + 1), np.uint16)
    rows = max(1, _CHUNK_DRAWS // patients)
    for start in range(0, resamples, rows):
        stop = min(start + rows, resamples)
        numbers = stream.numbers(start * patients, stop * patients) >> np.uint64(32)
        points = np.zeros((stop - start, patients + 2), np.uint32)
        points[:, 1:-1] = np.sort(numbers.astype(np.uint32).reshape(-1, patients), axis=1)
        points[:, -1] = np.iinfo(np.uint32).max
        gap = np.diff(points, axis=1).astype(np.uint64)
        gap *= np.uint64(patients + 1)
        gap >>= np.uint64(21)
        gaps[start:stop] = np.minimum(gap, np.uint64(np.iinfo(np.uint16).max))
    return gaps


def flip_codes(stream: Stream, *, patients: int, bits: int) -> NDArray[np.uint32]:
    """Random bits of each patient: which patterns of `segtrial.statistics.signflip` flip its sign.

    Parameters
    ----------
    stream : Stream
        Of the purpose ``"sign-flip"``.
    patients : int
        Number of patients.
    bits : int
        Bits of each, at most 32.

    Returns
    -------
    uint32 array, shape (patients,)
        Below 2**bits.
    """
    return (stream.numbers(0, patients) >> np.uint64(64 - bits)).astype(np.uint32)


def permutations(stream: Stream, *, patients: int, count: int) -> NDArray[np.uint32]:
    """Random orders of the patients.

    Returns
    -------
    uint32 array, shape (count, patients)
        Each row a permutation: the order of ``patients`` hashed keys.
    """
    orders = np.empty((count, patients), np.uint32)
    rows = max(1, _CHUNK_DRAWS // patients)
    for start in range(0, count, rows):
        stop = min(start + rows, count)
        keys = stream.numbers(start * patients, stop * patients).reshape(-1, patients)
        orders[start:stop] = np.argsort(keys, axis=1, kind="stable")
    return orders
