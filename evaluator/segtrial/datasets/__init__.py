"""Datasets: their cards, where their files are, and what their cases hold.

Importing this loads no heavy library; what reads scans is imported where it is used.
"""

from __future__ import annotations

from segtrial.datasets.cache import default_cache_dir
from segtrial.datasets.catalogue import (
    find_node,
    list_cards,
    load_card,
    load_lineage,
    load_model,
    load_models,
    load_nodes,
)
from segtrial.datasets.opening import open_dataset
from segtrial.datasets.progress import Progress
from segtrial.datasets.records import Case, Dataset

__all__ = [
    "Case",
    "Dataset",
    "Progress",
    "default_cache_dir",
    "find_node",
    "list_cards",
    "load_card",
    "load_lineage",
    "load_model",
    "load_models",
    "load_nodes",
    "open_dataset",
]
