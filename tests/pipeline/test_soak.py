"""A hundred attempts through random kills of the evaluator and of the engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from private_engine import PrivateEngine
from soak import soak

pytestmark = pytest.mark.docker


def test_a_hundred_attempts_through_random_kills(own_engine: PrivateEngine, tmp_path: Path) -> None:
    seen = soak(tmp_path, attempts=100, seed=7, engine=own_engine, between_kills=30, say=print)

    assert seen.attempts == 100
    assert seen.evaluator_kills + seen.engine_kills >= 3
    assert (seen.lost, seen.wrong, seen.left_behind) == (0, 0, [])
