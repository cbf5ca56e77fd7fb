"""Owners are alive while they hold their lock, and leave nothing when they are not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from segtrial.container import owner as owner_module
from segtrial.container.lockfile import create_held, is_held, try_hold
from segtrial.container.owner import claim_owner, is_alive, private_runtime_dir
from segtrial.errors import PlatformError


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime folder of our own."""
    folder = tmp_path / "segtrial"
    monkeypatch.setattr(owner_module, "runtime_dir", lambda: folder)
    return folder


def test_a_held_lock_is_held_and_a_released_one_is_not(tmp_path: Path) -> None:
    lock = create_held(tmp_path / "a.lock")

    assert is_held(lock.path)
    assert try_hold(lock.path, create=False) is None
    lock.release()
    assert not is_held(lock.path)
    assert lock.path.exists()


def test_no_lock_file_means_nobody_holds_it(tmp_path: Path) -> None:
    assert not is_held(tmp_path / "none.lock")


def test_release_can_remove_and_be_repeated(tmp_path: Path) -> None:
    lock = create_held(tmp_path / "a.lock")

    lock.release(remove=True)
    lock.release(remove=True)

    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds a lock, with a forked child that outlives it."""
    program = f"""
        import os, pathlib, time
        from segtrial.container.lockfile import create_held
        lock = create_held(pathlib.Path({str(tmp_path)!r}) / "a.lock")
        child = os.fork()
        if child == 0:
            print(os.getpid(), flush=True)  # by the child: it has let go when it can print
            time.sleep(30)
            os._exit(0)
        time.sleep(30)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_a_killed_owner_is_dead_although_its_forked_child_lives(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    assert holder.stdout is not None
    child = int(holder.stdout.readline())
    assert is_held(tmp_path / "a.lock")

    holder.kill()
    holder.wait()

    assert not is_held(tmp_path / "a.lock")
    os.kill(child, signal.SIGKILL)


def test_an_owner_lives_until_its_block_ends(runtime: Path) -> None:
    with claim_owner() as owner:
        assert is_alive(owner.name)
        assert owner.folder.stat().st_mode & 0o777 == 0o700
    assert not is_alive(owner.name)
    assert list(runtime.iterdir()) == []


def test_two_owners_do_not_see_each_other_as_dead(runtime: Path) -> None:
    with claim_owner() as first, claim_owner() as second:
        assert first.name != second.name
        assert is_alive(first.name)
        assert is_alive(second.name)
    assert list(runtime.iterdir()) == []


@pytest.mark.parametrize("trap", ["link", "open", "file"])
def test_a_runtime_folder_that_others_could_use_is_refused(runtime: Path, trap: str) -> None:
    if trap == "link":
        elsewhere = runtime.with_name("elsewhere")
        elsewhere.mkdir(mode=0o700)
        runtime.symlink_to(elsewhere)
    elif trap == "open":
        runtime.mkdir()
        runtime.chmod(0o755)
    else:
        runtime.write_text("")

    with pytest.raises(PlatformError, match="can enter"):
        private_runtime_dir()
