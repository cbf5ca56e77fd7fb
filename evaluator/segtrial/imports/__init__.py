"""Published per-case scores of earlier benchmarks, as results of ours.

What another benchmark wrote is judged by our rules: structures by their canonical names, a missing
score is a case that was not run, training data by the lineage. Nothing is left out in silence:
`Imported.notes` names everything that has no place in our results.
"""

from __future__ import annotations

from segtrial.imports.record import Imported
from segtrial.imports.segbench import import_segbench
from segtrial.imports.touchstone import import_touchstone

__all__ = ["Imported", "import_segbench", "import_touchstone"]
