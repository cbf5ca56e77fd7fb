"""Where the files that travel beside the code are: cards, docs, model images, template, Space.

In a wheel they lie under ``segtrial/_data``; in a checkout they are the folders at top level.
One of the two exists, never both, so there is no order to remember.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

Resource = Literal["datasets", "docs", "model_images", "submission_template", "leaderboard_space"]

_PACKAGE = Path(__file__).resolve().parent


def resource_dir(name: Resource) -> Path:
    """Folder of one kind of resource.

    Parameters
    ----------
    name : str
        Which folder: ``datasets``, ``docs``, ``model_images``, ``submission_template`` or
        ``leaderboard_space``.

    Returns
    -------
    Path
        An existing folder; read-only as far as segtrial is concerned.

    Examples
    --------
    >>> resource_dir("datasets").name
    'datasets'
    """
    packaged = _PACKAGE / "_data" / name
    return packaged if packaged.is_dir() else _PACKAGE.parents[1] / name
