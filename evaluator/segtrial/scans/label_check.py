"""Hold a prediction's labels against those its submission declared."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from segtrial.scans.label_map import label_dtype
from segtrial.scans.prediction_error import PredictionError

_SHOWN_LABELS = 5


class LabelCheck:
    """Counts voxels whose label was not declared, and remembers which labels those are.

    Parameters
    ----------
    allowed_labels : frozenset of int
        Declared ids, from 0 to 2147483647; 0 is always one.

    Attributes
    ----------
    dtype : numpy.dtype
        The narrowest type that holds every declared label.
    """

    def __init__(self, allowed_labels: frozenset[int]) -> None:
        self._allowed = np.array(sorted(allowed_labels | {0}))
        label_dtype(int(self._allowed[0]))  # refuses a negative one
        self.dtype = label_dtype(int(self._allowed[-1]))
        self._no_gaps = int(self._allowed[-1]) == self._allowed.size - 1
        self._bad: set[int] = set()
        self._bad_voxels = 0

    def __call__(self, part: NDArray[np.generic]) -> None:
        """Look at the next voxels, a 1D integer array that is not empty."""
        low, high = int(part.min()), int(part.max())
        if self._no_gaps and low >= 0 and high <= self._allowed[-1]:
            return
        if np.isin(_present(part), self._allowed).all():
            return
        bad = part[~np.isin(part, self._allowed)]
        self._bad_voxels += bad.size
        self._bad.update(int(value) for value in np.unique(bad)[:_SHOWN_LABELS])

    def demand_none_bad(self) -> None:
        """Raise `PredictionError` where a label was not declared."""
        if not self._bad_voxels:
            return
        shown = ", ".join(str(value) for value in sorted(self._bad)[:_SHOWN_LABELS])
        raise PredictionError(
            "bad_labels",
            f"The prediction holds labels that submission.yaml does not declare: {shown} "
            f"({self._bad_voxels} voxels). Declare them, list them under `ignore`, or write 0.",
        )


def _present(part: NDArray[np.generic]) -> NDArray[np.generic]:
    """Values that occur. Labels come in runs, so only the end of each run needs a look."""
    ends = np.flatnonzero(part[1:] != part[:-1])
    return np.unique(np.append(part[ends], part[-1]))
