"""Which way in and out is taken is measured, because a wrong guess would be without bounds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from containers import Bench, needs_root
from segtrial.container.exchange import input_bounds
from segtrial.container.failure import classify
from segtrial.container.sandbox import Sandbox, open_sandbox

pytestmark = pytest.mark.docker

KIND = """
from segtrial.container.sandbox import open_sandbox
with open_sandbox() as box:
    print(box.exchanges.kind)
"""


@needs_root
def test_root_beside_the_engine_takes_its_own_mounts(sandbox: Sandbox) -> None:
    assert sandbox.exchanges.kind == "host tmpfs"


@needs_root
def test_root_whose_mounts_the_engine_does_not_see_takes_volumes() -> None:
    """In a mount namespace of its own, a bound folder would be one of the host's disk."""
    command = ["unshare", "--mount", sys.executable, "-c", KIND]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "engine volume"


def test_no_folder_is_left_after_the_measurement() -> None:
    with open_sandbox() as sandbox:
        assert list(sandbox.owner.folder.iterdir()) == []


def test_a_case_of_many_files_and_folders_arrives_whole(exchange_bench: Bench) -> None:
    case = exchange_bench.folder / "input"
    for number in range(40):
        folder = case / f"images-{number}" / "ct"
        folder.mkdir(parents=True)
        (folder / "scan.mha").write_bytes(bytes([number]) * 5000)

    seen = exchange_bench.python(
        "from pathlib import Path",
        "files = sorted(Path('/input').rglob('scan.mha'))",
        "whole = all(p.read_bytes() == bytes([int(p.parts[2][7:])]) * 5000 for p in files)",
        "print(len(files), whole)",
    )

    assert seen.log.head.split() == [b"40", b"True"], classify(seen)


def test_room_for_a_case_is_its_pages(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 5000)
    (tmp_path / "b").write_bytes(b"")

    bounds = input_bounds(tmp_path)

    assert bounds["size"] >= 2 * 4096
    assert bounds["size"] < 8 * 4096
    assert bounds["nr_inodes"] == 4
