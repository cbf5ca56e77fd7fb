"""Medical images in and out: the only package that knows file formats.

Two kinds of files, two kinds of trust: `read_prediction` for what a container wrote, everything
else for what the maintainer owns.
"""

from __future__ import annotations

from segtrial.scans.digest import array_digest, label_map_digest
from segtrial.scans.grid import Grid, corner_shift_mm, same_grid
from segtrial.scans.label_map import LabelMap, to_canonical
from segtrial.scans.pair import LabelMapPair, read_label_maps, read_pair
from segtrial.scans.prediction import read_prediction
from segtrial.scans.prediction_error import PredictionError, PredictionOutcome
from segtrial.scans.staging import StagedScan, scan_digest, stage_scan
from segtrial.scans.trusted import Scan, read_grid, read_label_map, read_scan, series_files
from segtrial.scans.writing import replacing, write_volume

__all__ = [
    "Grid",
    "LabelMap",
    "LabelMapPair",
    "PredictionError",
    "PredictionOutcome",
    "Scan",
    "StagedScan",
    "array_digest",
    "corner_shift_mm",
    "label_map_digest",
    "read_grid",
    "read_label_map",
    "read_label_maps",
    "read_pair",
    "read_prediction",
    "read_scan",
    "replacing",
    "same_grid",
    "scan_digest",
    "series_files",
    "stage_scan",
    "to_canonical",
    "write_volume",
]
