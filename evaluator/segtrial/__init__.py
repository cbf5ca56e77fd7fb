"""Sealed trials for medical image segmentation models.

Importing the package connects to nothing and loads no heavy library: each part is imported by
the command that needs it.
"""

from __future__ import annotations

__version__ = "0.1.0"
