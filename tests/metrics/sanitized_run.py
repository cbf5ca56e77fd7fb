"""Run a sanitized build of the core over the test masks; see test_sanitized.py."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from metrics.masks import SPACINGS_MM, adversarial_pairs, noise
from segtrial.metrics import native
from segtrial.metrics.measurement import StructureRequest


def load(build: str) -> ModuleType:
    """The core of a build folder, in place of the installed one."""
    (library,) = Path(build).glob("_core*.so")
    spec = importlib.util.spec_from_file_location("_core", library)
    assert spec is not None
    assert spec.loader is not None
    core = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)
    native._core = core  # type: ignore[assignment]
    return core


def request(*labels: int, width_mm: float) -> StructureRequest:
    return StructureRequest(
        name="s",
        reference_labels=labels,
        prediction_labels=labels,
        tolerances_mm=(2.0, 0.5),
        boundary_width_mm=width_mm,
    )


def measure(
    core: ModuleType,
    maps: tuple[NDArray[np.integer], NDArray[np.integer]],
    spacing_mm: tuple[float, ...],
    *,
    width_mm: float = 2.0,
) -> int:
    """Measure once with every instruction set, two structures, one ignored label."""
    for instruction_set in core.instruction_sets():
        native.measure_structures(
            *maps,
            [request(1, width_mm=width_mm), request(1, 200, width_mm=width_mm)],
            spacing_mm=spacing_mm,
            percentiles=(95.0, 5e-324, 100.0),
            ignore_labels=(3,),
            threads=2,
            instruction_set=instruction_set,
        )
    for label_map in maps:
        native.labels_found(label_map, "label map", threads=2)
    return len(core.instruction_sets())


def read_beyond(core: ModuleType) -> None:
    """Make the core read where no array is."""
    short = np.lib.stride_tricks.as_strided(np.zeros(64, np.uint8), (4, 4, 4096), (16384, 4096, 1))
    core.find_labels(short, 1)


def main() -> None:
    """Measure everything; a sanitizer ends the process at the first fault."""
    core = load(sys.argv[1])
    measured = 0
    for number, pair in enumerate(adversarial_pairs().values()):
        spacing_mm = SPACINGS_MM[number % len(SPACINGS_MM)]
        maps = pair[0].astype(np.uint8), pair[1].astype(np.uint8)
        measured += measure(core, maps, spacing_mm)
        measured += measure(core, maps, spacing_mm, width_mm=40.0)
        flat = tuple(label_map[label_map.shape[0] // 2] for label_map in maps)
        measured += measure(core, flat, spacing_mm[1:])  # type: ignore[arg-type]
    random = np.random.default_rng(0)
    for dtype in (bool, np.int8, np.uint8, np.uint16, np.int32, np.int64):
        labels = [0, 1] if dtype is bool else [0, 1, 3, 100]
        for order in "CF":
            maps = tuple(
                np.array(random.choice(labels, size=(17, 9, 70)), dtype, order=order)  # type: ignore[call-overload]
                for _ in "rp"
            )
            measured += measure(core, maps, SPACINGS_MM[1])  # type: ignore[arg-type]
    wide = tuple(noise(0.3, (40, 20, 140), seed).astype(np.uint8)[::-1, :, ::2] for seed in (1, 2))
    measured += measure(core, wide, SPACINGS_MM[0])  # type: ignore[arg-type]
    solid = tuple(noise(0.999, (30, 90, 140), seed).astype(np.uint8) for seed in (1, 2))
    measured += measure(core, solid, (2.0, 1.0, 1.0), width_mm=26.0)  # type: ignore[arg-type]
    far = np.zeros((2, 6000, 3, 3), np.uint8)  # over several levels of nodes
    far[0, :3, 1] = far[1, -3:, 1] = far[1, 3000, 2] = 1
    measured += measure(core, (far[0], far[1]), (10.0, 0.1, 0.1))
    empty = np.zeros((5, 6, 7), np.uint8)
    measured += measure(core, (empty, empty), SPACINGS_MM[0])
    print(f"{measured} measured")  # noqa: T201 - what the test waits for


if __name__ == "__main__":
    main()
