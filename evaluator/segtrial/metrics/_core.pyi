# Types of the native core (evaluator/native).

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

_Directed: TypeAlias = tuple[float, float, float, tuple[float, ...], tuple[float, ...]]
_Surface: TypeAlias = tuple[_Directed, _Directed, tuple[float, ...]]

class NegativeLabelError(ValueError): ...
class TooLargeError(ValueError): ...

def measure(
    *,
    reference: NDArray[np.generic],
    prediction: NDArray[np.generic],
    dimensions: int,
    spacing_mm: Sequence[float],
    logical_axis: tuple[int, int, int],
    backwards: tuple[bool, bool, bool],
    reference_labels: Sequence[Sequence[int]],
    prediction_labels: Sequence[Sequence[int]],
    tolerances_mm: Sequence[Sequence[float]],
    band_widths_mm: Sequence[float],
    percentiles: Sequence[float],
    ignored: Sequence[int],
    threads: int,
    instruction_set: str = "",
) -> list[tuple[int, int, int, int, int, _Surface | None]]: ...
def find_labels(array: NDArray[Any], threads: int) -> list[int]: ...
def element_corners(dimensions: int, configuration: int) -> list[list[int]]: ...
def instruction_sets() -> list[str]: ...
