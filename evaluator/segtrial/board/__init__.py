"""Results to one folder with the page and its data; see `render`."""

from segtrial.board.figures import write_figures
from segtrial.board.reading import parse_results, read_results
from segtrial.board.render import board_files, render

__all__ = ["board_files", "parse_results", "read_results", "render", "write_figures"]
