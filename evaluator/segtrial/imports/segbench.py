"""``results.json`` of segauge-benchmark (https://github.com/RubenHaisma/segauge-benchmark).

What its numbers mean (its ``run.py`` and segauge 0.2): a model that fails on a case has no row for
it; a number that is not finite was written as null. So a missing row is a case that was not run; a
null distance beside a Dice of 0 is unbounded; a row without any number is not run; any other null
is left out and listed. Its HD95 pools both directions, which is ``hd95_pooled`` here. Its means,
intervals, ranks and fairness flags are computed anew from the cases and not taken over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from segtrial.contracts.reading import load_json
from segtrial.contracts.training import Training, TrainingSource
from segtrial.datasets import load_lineage
from segtrial.datasets.catalogue import find_card
from segtrial.errors import ResultsError
from segtrial.imports.record import (
    Entry,
    Imported,
    Row,
    Source,
    assemble,
    known_structure,
    model_named,
    text_of,
)

_METRICS = {
    "dice": "dice",
    "nsd": "nsd",
    "hd95": "hd95_pooled",
    "assd": "assd",
    "iou": "iou",
}
_DISTANCES = frozenset({"hd95", "assd"})


def import_segbench(path: Path) -> Imported:
    """Results of a file of segauge-benchmark.

    Parameters
    ----------
    path : Path
        Its ``results.json``, whatever it is called.

    Returns
    -------
    Imported

    Raises
    ------
    ResultsError
        The file cannot be read, or is not of this benchmark.
    DatasetError
        Its dataset is not in the catalogue.
    """
    value = load_json(_bytes(path), source=str(path), error=ResultsError)
    if not isinstance(value, dict) or not isinstance(value.get("models"), list):
        raise ResultsError(
            f"{path} is no results file of segauge-benchmark: it has no list 'models'. "
            "Name the JSON file in its folder 'results'."
        )
    reader = _Reader(value, path)
    named = _at(value, "dataset", "name")
    if not isinstance(named, str) or not named:
        raise ResultsError(f"{path} names no dataset (dataset.name), so nothing can be judged.")
    card = find_card(named)
    rows = list(reader.rows())
    return assemble(
        rows,
        card=card,
        entries=[_entry(model) for model in reader.models()],
        source=_source(value),
        notes=reader.notes(),
    )


class _Reader:
    """Rows of the file, and what had no place in them."""

    def __init__(self, value: Mapping[str, Any], path: Path) -> None:
        self._value = value
        self._path = path
        self._skipped: list[str] = []

    def models(self) -> list[Mapping[str, Any]]:
        for number, model in enumerate(self._value["models"]):
            if not isinstance(model, dict) or not isinstance(model.get("name"), str):
                raise ResultsError(f"{self._path}: model {number} has no name.")
        return list(self._value["models"])

    def rows(self) -> Iterator[Row]:
        for model in self.models():
            for organ, found in (model.get("per_organ") or {}).items():
                structure = known_structure(organ)
                if structure is None:
                    self._skipped.append(f"{model['name']}: the structure {organ!r} is not known")
                    continue
                if found.get("suspect"):
                    self._skipped.append(
                        f"{model['name']}, {organ}: its flag 'suspect' (mean Dice below its "
                        "threshold) has no place here; the scores are taken over"
                    )
                for case in found.get("per_case") or []:
                    yield from self._case(model["name"], structure, case)

    def _case(self, model: str, structure: str, case: Mapping[str, Any]) -> Iterator[Row]:
        name = case.get("case_id")
        if not isinstance(name, str):
            raise ResultsError(f"{self._path}: a case of {model} has no case_id.")
        where = f"{self._path}: {model}, {name}, {structure}"
        numbers = {key: number for key, number in case.items() if key != "case_id"}
        if all(number is None for number in numbers.values()):
            self._skipped.append(f"{model}, {name}: all values are empty; it counts as not run")
            return
        for key, number in numbers.items():
            cell = self._cell(key, number, case, where)
            if cell is not None:
                yield (
                    where,
                    {
                        "submission": model,
                        "case": name,
                        "structure": structure,
                        "metric": _METRICS[key],
                        "value": cell,
                    },
                )

    def _cell(self, key: str, number: Any, case: Mapping[str, Any], where: str) -> str | None:  # noqa: ANN401 - JSON
        if key not in _METRICS:
            self._skipped.append(f"{where}: the metric {key!r} is not known here")
            return None
        if number is not None:
            return text_of(number, where)
        if key in _DISTANCES and case.get("dice") == 0:
            return "unbounded"
        self._skipped.append(f"{where}: {key} is empty, and nothing says why; it is left out")
        return None

    def notes(self) -> tuple[str, ...]:
        known = {"benchmark", "segauge_version", "dataset", "metrics", "config", "models"}
        rest = sorted(set(self._value) - known)
        taken = f"not taken over: {', '.join(rest)} (computed anew or a note of its own)"
        means = "not taken over: the mean and interval of each model (computed anew)"
        fair = "not taken over: 'fair' and 'contaminated_on' (answered by the lineage)"
        return tuple(dict.fromkeys([*self._skipped, means, fair, *([taken] if rest else [])]))


def _entry(model: Mapping[str, Any]) -> Entry:
    known = model_named(model["name"])
    return Entry(
        name=model["name"],
        version=str(model.get("version") or "not stated")[:200],
        licence=str(model.get("license") or "not stated")[:200],
        training=None if known else _declared(model),
        known_model=known,
    )


def _declared(model: Mapping[str, Any]) -> Training | None:
    """Its own declaration, for a model that is not known here; unknown names are undisclosed."""
    names = model.get("contaminated_on")
    if not isinstance(names, list):
        return None
    graph = load_lineage()
    found = [graph.find(str(name)) or "undisclosed" for name in names]
    return Training(sources=tuple(TrainingSource(dataset=name) for name in found))


def _source(value: Mapping[str, Any]) -> Source:
    made = f"segauge_{value.get('segauge_version') or 'unknown'}"
    tolerance = _at(value, "config", "nsd_tolerance")
    mm = float(tolerance) if isinstance(tolerance, (int, float)) else None
    extra = {"nsd": f";tolerance_mm={mm}", "hd95_pooled": ";percentile=95;pooled"}
    return Source(
        benchmark="segbench",
        track="segbench",
        title=str(value.get("preview_label") or "Cases of segauge-benchmark")[:200],
        signatures={
            key: f"{key};source={made}{extra.get(key, '')}" for key in sorted(_METRICS.values())
        },
        tolerance_mm=mm,
    )


def _at(value: Mapping[str, Any], *keys: str) -> Any:  # noqa: ANN401 - a value of somebody's JSON
    found: Any = value
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise ResultsError(f"{path} cannot be read: {problem.strerror}.") from None
