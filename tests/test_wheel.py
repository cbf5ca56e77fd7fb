"""The commands work from an installed wheel, in an empty folder, with no checkout at hand."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as pip builds it."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT],
        check=True,
    )
    (found,) = folder.glob("segtrial-*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, in an environment that has the wheel and this one's other packages."""
    env = tmp_path_factory.mktemp("env")
    subprocess.run([sys.executable, "-m", "venv", env], check=True)
    python = env / "bin" / "python"
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    # A path from a .pth file brings packages, but not the editable install's own .pth files.
    Path(site, "packages.pth").write_text(sysconfig.get_path("purelib") + "\n")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", wheel], check=True)
    return env / "bin" / "evaluate"


def run(command: Path, *words: str, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [command, *words],
        cwd=cwd,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


def test_the_wheel_holds_code_cards_template_and_space_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()

    tops = {name.split("/")[0] for name in names}
    assert all(top == "segtrial" or top.startswith("segtrial-") for top in tops)
    for part in ("datasets/phantom/card.yaml", "submission_template/predict.py",
                 "model_images/hu_threshold/Dockerfile", "leaderboard_space/app.py"):  # fmt: skip
        assert f"segtrial/_data/{part}" in names
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]


def test_the_wheel_has_the_native_core(installed: Path, tmp_path: Path) -> None:
    python = installed.parent / "python"
    code = (
        "import segtrial, segtrial.metrics.native as n; print(segtrial.__file__, n.is_available())"
    )
    done = run(python, "-c", code, cwd=tmp_path)

    path, available = done.stdout.split()
    assert str(ROOT) not in path
    assert available == "True"


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("datasets", "list"),
        ("datasets", "show", "kits23"),
        ("policy", "hu_threshold", "--dataset", "phantom"),
        ("init", "my-model"),
    ],
    ids=" ".join,
)
def test_a_command_runs_in_an_empty_folder(
    installed: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    assert run(installed, *words, cwd=tmp_path).stdout
