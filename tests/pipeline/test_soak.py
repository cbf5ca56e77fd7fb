"""A hundred attempts through random kills of the evaluator and of the engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from private_engine import can_start, running_engine
from segtrial.container.base_image import BASE_TAG
from soak import soak

pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(not can_start(), reason="only root can start an engine to kill it"),
]


def test_a_hundred_attempts_through_random_kills(base_image: str, tmp_path: Path) -> None:
    with running_engine(storage="overlay2") as engine:
        engine.load(base_image, tag=BASE_TAG)
        seen = soak(tmp_path, attempts=100, seed=7, engine=engine, longest_s=10, say=print)

    assert seen.attempts == 100
    assert seen.evaluator_kills + seen.engine_kills >= 3
    assert (seen.lost, seen.wrong, seen.left_behind) == (0, 0, [])
