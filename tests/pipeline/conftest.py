"""Fixtures of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tiny
from containers import base_image, sandbox
from evaluate_command import Evaluate, evaluate_in
from private_engine import PrivateEngine, can_start, running_engine
from segtrial.container.base_image import BASE_TAG

__all__ = ["base_image", "sandbox"]


@pytest.fixture
def evaluate(base_image: str, tmp_path: Path) -> Evaluate:
    """Run the command as a user does, in a folder of its own, with the base image there."""
    assert base_image
    return evaluate_in(tmp_path)


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Six well-behaved cases of three patients."""
    return tiny.make_dataset(tmp_path / "tiny", [0] * 6)


@pytest.fixture
def threshold(tmp_path: Path) -> Path:
    """A submission that answers every case perfectly."""
    return tiny.make_submission(tmp_path / "threshold", name="threshold", program=tiny.THRESHOLD)


@pytest.fixture(scope="session")
def own_engine(base_image: str) -> Iterator[PrivateEngine]:
    """An engine to be killed and started again; whoever does so leaves it running."""
    if not can_start():
        pytest.skip("only root can start an engine to kill it")
    with running_engine(storage="overlay2") as engine:
        engine.load(base_image, tag=BASE_TAG)
        yield engine
