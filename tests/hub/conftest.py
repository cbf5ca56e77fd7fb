"""A Hub on this machine, and results small enough to publish many times."""

from __future__ import annotations

import os

# Before the client is imported: no bars on a test's terminal, and the plain LFS protocol, since
# the fake Hub has no Xet storage.
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
os.environ.setdefault("HF_HUB_DISABLE_XET", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

from collections.abc import Iterator

import pytest

from hub.fakehub import FakeHub


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with FakeHub() as running:
        yield running
