"""The figures of one endpoint: the same on the page and in a paper."""

from segtrial.board.plots.axes import Names
from segtrial.board.plots.critical_difference import critical_difference
from segtrial.board.plots.forest import forest
from segtrial.board.plots.frequencies import rank_frequencies
from segtrial.board.plots.matrix import matrix_grid, significance_matrix, verdicts
from segtrial.board.plots.strips import strips

__all__ = [
    "Names",
    "critical_difference",
    "forest",
    "matrix_grid",
    "rank_frequencies",
    "significance_matrix",
    "strips",
    "verdicts",
]
