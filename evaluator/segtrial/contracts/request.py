"""``/input/request.json``: all that a container is told about its case (contract segtrial/1)."""

from __future__ import annotations

from typing import Literal

from segtrial.contracts.record import Line, Record
from segtrial.contracts.submission import Modality

OUTPUT_NAME = "segmentation.nii.gz"
"""The one file a container is to write into ``/output``."""


class RequestedScan(Record):
    """One scan of the case, as a file beside ``request.json``."""

    file: Line
    modality: Modality


class Request(Record):
    """One case: the first scan's grid is the grid of the answer."""

    schema_version: Literal["segtrial/1"] = "segtrial/1"
    case_id: Line
    """Opaque, different for every submission; it appears in no result."""
    scans: tuple[RequestedScan, ...]
    structures: tuple[Line, ...]
    """Canonical structures that will be scored and that the submission declares."""
    output: Literal["segmentation.nii.gz"] = "segmentation.nii.gz"
