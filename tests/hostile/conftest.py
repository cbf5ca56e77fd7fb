"""Fixtures of the hostile suite: every program here is run as a stranger's, in a real container."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from containers import (
    Bench,
    base_image,
    bench,
    exchange_bench,
    exchange_sandbox,
    left_behind,
    make_image,
    sandbox,
)

__all__ = ["base_image", "bench", "exchange_bench", "exchange_sandbox", "make_image", "sandbox"]


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test of this folder leaves no container, volume, mount or control group."""
    names = {"bench", "exchange_bench"} & set(request.fixturenames)
    used: list[Bench] = [request.getfixturevalue(name) for name in names]
    yield
    for one in used:
        assert left_behind(one.sandbox) == []
