"""Where no compiler was at hand: the same numbers from the reference implementation, and a word."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from metrics.masks import noise
from segtrial.errors import MetricInputError
from segtrial.metrics import SlowMetricsWarning, evaluate_label_maps, native

ROOT = Path(__file__).parents[2]


@pytest.fixture
def without_core(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    native.is_available.cache_clear()
    monkeypatch.setattr(native, "_core", None)
    yield
    native.is_available.cache_clear()


def pair() -> list[np.ndarray]:
    return [noise(0.4, (7, 8, 9), seed).astype(np.int16) for seed in (1, 2)]


@pytest.mark.usefixtures("without_core")
def test_one_warning_says_what_it_costs() -> None:
    with pytest.warns(SlowMetricsWarning, match="hundred times slower.*C[+][+]17 compiler"):
        evaluate_label_maps(*pair(), spacing_mm=(1, 1, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate_label_maps(*pair(), spacing_mm=(1, 1, 1))


@pytest.mark.filterwarnings("ignore::segtrial.metrics.SlowMetricsWarning")
@pytest.mark.parametrize("dimensions", [2, 3])
def test_the_numbers_are_the_same(dimensions: int, request: pytest.FixtureRequest) -> None:
    maps = pair() if dimensions == 3 else [label_map[3] for label_map in pair()]
    how = {"spacing_mm": (0.7, 1.1, 2.0)[:dimensions], "directed": True, "percentiles": (95, 50)}
    by_core = evaluate_label_maps(*maps, **how)["1"]
    request.getfixturevalue("without_core")
    plain = evaluate_label_maps(*maps, **how)["1"]
    assert dict(plain.values) == pytest.approx(dict(by_core.values), rel=1e-9)
    assert plain.signatures == by_core.signatures


@pytest.mark.filterwarnings("ignore::segtrial.metrics.SlowMetricsWarning")
@pytest.mark.usefixtures("without_core")
def test_negative_labels_are_refused_as_well() -> None:
    maps = pair()
    maps[1][0, 0, 0] = -3
    for structures in (None, {"s": 1}):
        with pytest.raises(MetricInputError, match="prediction has voxels of label -3"):
            evaluate_label_maps(*maps, spacing_mm=(1, 1, 1), structures=structures)


@pytest.mark.filterwarnings("ignore::segtrial.metrics.SlowMetricsWarning")
@pytest.mark.usefixtures("without_core")
@pytest.mark.parametrize("structures", [None, {"s": 1}])
def test_a_volume_larger_than_memory_is_refused_as_well(structures: dict[str, int] | None) -> None:
    huge = np.broadcast_to(np.uint8(1), (10**6, 10**6, 1000))
    with pytest.raises(MetricInputError, match=r"memory .* shape \(1000000, 1000000, 1000\)"):
        evaluate_label_maps(huge, huge, spacing_mm=(1, 1, 1), structures=structures)


@pytest.mark.filterwarnings("ignore::segtrial.metrics.SlowMetricsWarning")
@pytest.mark.usefixtures("without_core")
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.uint16])
def test_a_label_that_no_array_can_hold_is_an_empty_structure_as_well(
    dtype: type[np.generic],
) -> None:
    full = np.ones((4, 5, 6), dtype)
    found = evaluate_label_maps(full, full, spacing_mm=(1, 1, 1), structures={"s": 2**16 + 1})
    assert (found["s"].reference_empty, found["s"].prediction_empty) == (True, True)


def test_a_wheel_is_built_without_a_compiler(tmp_path: Path) -> None:
    broken = {**os.environ, "CXX": "/bin/false", "CC": "/bin/false"}
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q"]
    subprocess.run(
        [*command, "-C", f"build-dir={tmp_path / 'build'}", "-w", tmp_path, ROOT],
        env=broken,
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "segtrial/metrics/reference.py" in names
    assert not [name for name in names if name.endswith((".so", ".pyd"))]
