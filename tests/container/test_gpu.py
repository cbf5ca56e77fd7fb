"""NVML through NVIDIA's own Python binding, with a stand-in for the driver's library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from segtrial.container.gpu_meter import GpuUsage, summary

SOURCE = Path(__file__).with_name("stub_nvml.c")


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the stand-in library."""
    folder = tmp_path_factory.mktemp("driver")
    library = folder / "libnvidia-ml.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), str(SOURCE)], check=True)
    return folder


def ask(driver: Path, program: str) -> Any:  # noqa: ANN401 - whatever the program printed
    """Run lines with `reader` open on the stand-in; returns the JSON they print."""
    lines = ["import json, time", "from segtrial.container.gpu import GpuReader"]
    lines += ["reader = GpuReader.open()", textwrap.dedent(program)]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        env={**os.environ, "LD_LIBRARY_PATH": str(driver)},
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


def test_a_split_gpu_appears_as_its_slices(driver: Path) -> None:
    gpus = ask(
        driver,
        "print(json.dumps([[g.uuid, g.model, g.driver, g.memory_mib, g.index] "
        "for g in reader.gpus()]))",
    )

    assert gpus == [
        ["GPU-aaaa", "NVIDIA Stand-in 8GB", "999.1", 8192, 0],
        ["MIG-cccc", "NVIDIA Stand-in MIG 1g", "999.1", 4096, 1],
        ["MIG-dddd", "NVIDIA Stand-in MIG 1g", "999.1", 4096, 1],
    ]


METER = """
    from segtrial.container.gpu_meter import GpuMeter
    meter = GpuMeter(reader, {uuid!r})
    meter.begin()
    time.sleep(0.35)
    used = meter.end()
    again = meter.end()
    print(json.dumps([used == again, used.memory_mib, used.utilisation, used.energy_j]))
"""


def test_an_attempt_is_metered(driver: Path) -> None:
    same, memory_mib, utilisation, energy_j = ask(driver, METER.format(uuid="GPU-aaaa"))

    assert same
    # The stand-in grows by 10 MiB and 5 J at each look; how many there are is the host's affair.
    assert memory_mib >= 20
    assert energy_j == memory_mib / 2
    assert utilisation == 0.75


def test_what_a_slice_does_not_tell_stays_unknown(driver: Path) -> None:
    _, memory_mib, utilisation, energy_j = ask(driver, METER.format(uuid="MIG-cccc"))

    assert memory_mib > 0
    assert utilisation is None
    assert energy_j is None


def test_an_unknown_gpu_has_no_numbers(driver: Path) -> None:
    assert ask(driver, METER.format(uuid="GPU-none"))[1:] == [None, None, None]


def test_a_gpu_complains_when_it_is_lost_busy_or_unknown(driver: Path) -> None:
    well, lost, busy, unknown = ask(
        driver,
        "names = ('GPU-aaaa', 'GPU-lost', 'GPU-busy', 'GPU-none')\n"
        "print(json.dumps([reader.complaint(name) for name in names]))",
    )

    assert well is None
    assert lost == "the driver does not reach it: GPU is lost"
    assert busy == "other processes compute on it: 4242"
    assert unknown == "the driver does not reach it: Not Found"


def test_a_host_without_a_driver_has_no_reader(tmp_path: Path) -> None:
    # Found before the driver's own, where there is one, and no library.
    (tmp_path / "libnvidia-ml.so.1").write_text("")

    assert ask(tmp_path, "print(json.dumps(reader is None))")


def test_no_samples_are_no_usage() -> None:
    assert summary([]) == GpuUsage()
