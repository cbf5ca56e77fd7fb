"""The same bytes whatever the BLAS kernel, the number of threads and the order of the input.

x86-64 is what can be tested here; nothing in the method depends on it (integers and correctly
rounded operations), and a test on another architecture would compare with the same hash.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from segtrial.statistics import analyse_results
from trial_scores import trial

PROGRAM = """
import hashlib, json, sys
sys.path.insert(0, {tests!r})
from segtrial.statistics import analyse_results
from trial_scores import shuffled, trial
results = trial(submissions=5, patients=61, seed=4)
text = json.dumps(analyse_results(shuffled(results, {order})).analysis, sort_keys=True)
print(hashlib.sha256(text.encode()).hexdigest())
"""
KERNELS = ("Haswell", "SkylakeX", "Nehalem")
pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="OpenBLAS's kernels are named by x86-64 processors"
)


@pytest.fixture(scope="module")
def expected() -> str:
    results = trial(submissions=5, patients=61, seed=4)
    text = json.dumps(analyse_results(results).analysis, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("kernel", "threads", "order"),
    [*((kernel, 2, 1) for kernel in KERNELS), ("Haswell", 1, 2), ("Nehalem", 1, 3)],
)
def test_the_bytes_are_the_same(expected: str, kernel: str, threads: int, order: int) -> None:
    if kernel == "SkylakeX" and "avx512f" not in _cpu_flags():
        pytest.skip("this processor has no AVX-512, which OpenBLAS's SkylakeX kernels need")
    tests = str(Path(__file__).parents[1])
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(tests=tests, order=order)],
        env={
            **os.environ,
            "OPENBLAS_CORETYPE": kernel,
            "OPENBLAS_NUM_THREADS": str(threads),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == expected


def test_the_kernels_really_differ() -> None:
    """Without quantisation the products differ, so the test above could fail."""
    program = (
        "import numpy as np, hashlib;"
        "r = np.random.default_rng(0); a = r.random((300, 500)); b = r.random((500, 300));"
        "print(hashlib.sha256((a @ b).tobytes()).hexdigest())"
    )
    hashes = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "OPENBLAS_CORETYPE": kernel},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for kernel in ("Haswell", "Nehalem")
    }
    assert len(hashes) == 2


def _cpu_flags() -> str:
    info = Path("/proc/cpuinfo")
    return info.read_text() if info.exists() else ""
