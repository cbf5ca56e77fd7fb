"""Where what can be fetched or made again is kept."""

from __future__ import annotations

import os
from pathlib import Path


def default_cache_dir() -> Path:
    """``$SEGTRIAL_CACHE``, else ``segtrial`` in the user's cache folder."""
    if chosen := os.environ.get("SEGTRIAL_CACHE"):
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "segtrial"
