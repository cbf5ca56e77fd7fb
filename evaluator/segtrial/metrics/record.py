"""The record that `evaluate_label_maps` gives for each structure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from segtrial.metrics.formulas import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureMetrics:
    """Every metric of one structure in one pair of label maps.

    Parameters
    ----------
    structure : str
        Name the structure was asked for by.
    reference_empty, prediction_empty : bool
        Whether the structure has no voxel on that side. What a metric is worth then is stated in
        `segtrial.metrics`; a case score for an absent structure is the caller's decision.
    values : mapping of str to float or None
        Every metric by key: a finite number, `math.inf` (unbounded: the other surface does not
        exist) or None (undefined). Never NaN.
    signatures : mapping of str to str
        What decided each value, by the same keys (see `segtrial.metrics.signature`).
    """

    structure: str
    reference_empty: bool
    prediction_empty: bool
    values: Mapping[str, Value]
    signatures: Mapping[str, str]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", MappingProxyType(dict(self.values)))
        object.__setattr__(self, "signatures", MappingProxyType(dict(self.signatures)))

    def __getitem__(self, key: str) -> Value:
        return self.values[key]

    def __reduce__(self) -> tuple[object, ...]:
        # A mapping proxy does not pickle, and records come back from scoring processes.
        parts = (self.structure, self.reference_empty, self.prediction_empty)
        return (_restore, (*parts, dict(self.values), dict(self.signatures)))

    def as_dict(self) -> dict[str, float | bool | dict[str, str]]:
        """All values for JSON: numbers, or ``{"state": "unbounded" | "undefined"}``.

        Examples
        --------
        >>> record = StructureMetrics(
        ...     structure="spleen", reference_empty=False, prediction_empty=True,
        ...     values={"dice": 0.0, "hd": math.inf}, signatures={},
        ... )
        >>> record.as_dict()["hd"]
        {'state': 'unbounded'}
        """
        numbers = {key: written(value) for key, value in self.values.items()}
        return numbers | {
            "reference_empty": self.reference_empty,
            "prediction_empty": self.prediction_empty,
        }


def written(value: Value) -> float | dict[str, str]:
    """A value as JSON has it."""
    if value is None:
        return {"state": "undefined"}
    return {"state": "unbounded"} if math.isinf(value) else value


def _restore(
    structure: str,
    reference_empty: bool,  # noqa: FBT001 - called by pickle, by position
    prediction_empty: bool,  # noqa: FBT001
    values: dict[str, Value],
    signatures: dict[str, str],
) -> StructureMetrics:
    return StructureMetrics(
        structure=structure,
        reference_empty=reference_empty,
        prediction_empty=prediction_empty,
        values=values,
        signatures=signatures,
    )
