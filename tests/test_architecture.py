"""Arrows point one way, the core does not know the world, and importing connects to nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "evaluator" / "segtrial"
CORE = ("contracts", "metrics", "statistics", "policy", "errors")
SHELL = ("container", "scans", "store", "hub", "board")
# Joiners know the shell rooms they join and nothing of each other's; cli and pipeline stand above.
JOINERS = {
    "datasets": {"scans", "resources"},  # a dataset's folder is made of scans
    "imports": {"datasets", "tables"},  # another benchmark's scores become results of ours
    "tables": set(),
    "resources": set(),
}
ONLY_IMPORTER = {
    "docker": "container",
    "nibabel": "scans",
    "pydicom": "scans",
    "SimpleITK": "scans",
    "huggingface_hub": "hub",
    "sqlite3": "store",
    "gradio": None,  # lives in leaderboard_space, which imports nothing of ours
    "torch": None,
}
WORLD = {
    "docker", "gradio", "http", "huggingface_hub", "nibabel", "os", "pathlib", "random", "requests",
    "rich", "shutil", "socket", "sqlite3", "subprocess", "tempfile", "time", "torch", "typer",
    "urllib",
}  # fmt: skip


def modules(room: str) -> list[Path]:
    single = PACKAGE / f"{room}.py"
    return [single] if single.exists() else sorted((PACKAGE / room).rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Top-level names a module imports; for our own, ``segtrial.<room>``."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports out from segtrial"
            names = [node.module or ""]
            if node.module == "segtrial":
                names = [f"segtrial.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            found.add(".".join(parts[:2]) if parts[0] == "segtrial" else parts[0])
    return found


def rooms_of(path: Path) -> set[str]:
    return {n.removeprefix("segtrial.") for n in imports(path) if n.startswith("segtrial.")}


def paths(rooms: tuple[str, ...]) -> list[Path]:
    return [path for room in rooms for path in modules(room)]


def name(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", paths(CORE), ids=name)
def test_the_core_looks_at_nothing_but_itself(path: Path) -> None:
    assert not imports(path) & WORLD
    assert rooms_of(path) <= set(CORE)


@pytest.mark.parametrize("room", SHELL)
def test_shell_rooms_do_not_know_each_other(room: str) -> None:
    for path in modules(room):
        assert rooms_of(path) <= {*CORE, room, "resources", "__version__"}, name(path)


@pytest.mark.parametrize("room", JOINERS)
def test_joiners_know_only_what_they_join(room: str) -> None:
    for path in modules(room):
        assert rooms_of(path) <= {*CORE, room, *JOINERS[room], "__version__"}, name(path)


@pytest.mark.parametrize("library", ONLY_IMPORTER)
def test_each_outside_library_has_one_importer(library: str) -> None:
    importers = {
        path.relative_to(PACKAGE).parts[0]
        for path in PACKAGE.rglob("*.py")
        if library in imports(path)
    }
    assert importers <= {ONLY_IMPORTER[library]}


def test_every_module_is_in_a_known_room() -> None:
    known = {*CORE, *SHELL, *JOINERS, "pipeline", "cli"}
    rooms = {
        path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in PACKAGE.rglob("*.py")
    }
    assert rooms - known == {"__init__", "__main__"}


def test_datasets_folder_is_not_a_package() -> None:
    """``import datasets`` must keep meaning Hugging Face datasets."""
    assert not list((ROOT / "datasets").rglob("__init__.py"))


@pytest.mark.parametrize("folder", ["leaderboard_space", "submission_template", "model_images"])
def test_what_strangers_copy_imports_nothing_of_ours(folder: str) -> None:
    found = {n for path in (ROOT / folder).rglob("*.py") for n in imports(path)}
    assert not {n for n in found if n.split(".")[0] == "segtrial"}


@pytest.mark.parametrize("module", ["segtrial", "segtrial.cli", "segtrial.pipeline"])
def test_importing_loads_no_heavy_library(module: str) -> None:
    """Nothing connects to Docker, the network or a GPU at import, and the start stays quick."""
    heavy = {
        "docker",
        "nibabel",
        "scipy",
        "skimage",
        "torch",
        "huggingface_hub",
        "gradio",
        "SimpleITK",
    }
    code = f"import sys, {module}; print(*sorted(m for m in sys.modules if '.' not in m))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not heavy & set(done.stdout.split())
