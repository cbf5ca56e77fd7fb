"""The core, built with the address and undefined behaviour sanitizers, runs over the test masks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "evaluator" / "native"


@pytest.fixture(scope="module")
def sanitized_core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a sanitized build of the core."""
    build = tmp_path_factory.mktemp("sanitized")
    source = build / "native"  # a copy: an editable install has built in the original
    shutil.copytree(
        NATIVE, source, ignore=shutil.ignore_patterns("CMake[CF]*", "*.ninja", ".ninja*")
    )
    cmake = Path(sys.executable).with_name("cmake")  # from the extra `test`
    configure = [cmake, "-S", source, "-B", build, "-D", "SEGTRIAL_SANITIZE=ON"]
    configure += ["-D", f"Python_EXECUTABLE={sys.executable}", "-D", "CMAKE_BUILD_TYPE=None"]
    for command in (configure, [cmake, "--build", build, "--parallel", "2"]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return build


def run_sanitized(build: Path, script: Path) -> subprocess.CompletedProcess[str]:
    runtimes = [
        subprocess.run(
            ["c++", f"-print-file-name=lib{name}.so"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in ("asan", "ubsan")
    ]
    environment = {
        **os.environ,
        "LD_PRELOAD": " ".join(runtimes),
        # The interpreter keeps memory to its end; that is no leak of the core's.
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONPATH": str(HERE.parent),
        "PYTHONMALLOC": "malloc",
    }
    return subprocess.run(
        [sys.executable, script, build],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_no_sanitizer_speaks_up_over_the_test_masks(sanitized_core: Path) -> None:
    done = run_sanitized(sanitized_core, HERE / "sanitized_run.py")
    assert done.returncode == 0, done.stderr[-4000:]
    assert "measured" in done.stdout


def test_the_sanitizers_are_awake(sanitized_core: Path, tmp_path: Path) -> None:
    # Told of memory that is not its own, the same build has to stop.
    script = tmp_path / "beyond.py"
    script.write_text(
        "import sys\n"
        "from metrics.sanitized_run import load, read_beyond\n"
        "read_beyond(load(sys.argv[1]))\n"
    )
    done = run_sanitized(sanitized_core, script)
    assert done.returncode != 0
    assert "AddressSanitizer" in done.stderr
