"""Options that let the tests that need a real engine, browser or GPU run."""

from __future__ import annotations

import pytest

_NEEDS = ("docker", "browser", "gpu", "wheel")


def pytest_addoption(parser: pytest.Parser) -> None:
    for need in _NEEDS:
        parser.addoption(f"--run-{need}", action="store_true", help=f"run the tests marked {need}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what was not asked for: deselected, not skipped, so that a skip stays a signal."""
    left_out = [need for need in _NEEDS if not config.getoption(f"--run-{need}")]
    dropped = [item for item in items if any(item.get_closest_marker(n) for n in left_out)]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if item not in set(dropped)]
