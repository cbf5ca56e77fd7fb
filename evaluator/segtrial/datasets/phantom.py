"""The embedded dataset: synthetic abdominal CT that every machine can make for itself.

Nothing is downloaded and no image lies in the repository: a case is computed from its id, in pure
integer arithmetic with counter-based random numbers, so its voxels are the same on every machine
and are checked against the published SHA-256 of ``datasets/phantom/sha256.txt``. The bodies are
invented; the scores made on them say whether software works, not how good a model is on people.
"""

from __future__ import annotations

from segtrial.datasets.phantom_files import ensure_phantom
from segtrial.datasets.phantom_generator import PhantomCase, generate
from segtrial.datasets.phantom_patients import CaseRow, case_table
from segtrial.datasets.phantom_tissues import LABELS

__all__ = [
    "LABELS",
    "CaseRow",
    "PhantomCase",
    "case_table",
    "ensure_phantom",
    "generate",
]
