"""The header of a plain NIfTI file, without loading nibabel.

Nearly every label map is plain: written by nibabel, SimpleITK or a converter of DICOM, whole, in
one file, with a matrix. For such a file nibabel has nothing to correct, and what it would say is
what stands there. Whatever is not plain in any way gets no answer here: nibabel is the authority
on that, also on what is wrong with it.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from segtrial.scans.header import Header, header_of
from segtrial.scans.inflate import DamagedStreamError, reader_for
from segtrial.scans.nifti_fields import BadHeaderError, NiftiFields, length_unit, read_fields

_PLACES = range(5)  # codes of the standard: 0 is none, 4 is MNI space
_MM_OR_UNSAID = (0, 2)
_NUMBERS = "iuf"
_CIFTI = range(3000, 3100)  # intents of matrices that are no volumes; nibabel has a reader for them
_SURFACE = (27307, 1, 6)  # what FreeSurfer writes for its 163842 vertices, which NIfTI-1 cannot say
_AXES = 3


def plain_header(path: Path) -> Header | None:
    """What the header of a NIfTI file says, or None where nibabel has to be asked.

    Parameters
    ----------
    path : Path
        Any file, also one that is missing.

    Returns
    -------
    Header or None
        Type, shape, affine, scaling and offset as nibabel gives them.
    """
    name = path.name
    if not name.endswith((".nii", ".nii.gz")):
        return None
    try:
        with path.open("rb") as file:
            reader = reader_for(file, name)
            fields = read_fields(reader.read)
            extensions = reader.read(fields.first_voxel_offset - fields.length)
        header = header_of(fields)
    except (OSError, DamagedStreamError, BadHeaderError):
        return None
    return header if _is_plain(fields, header) and not any(extensions) else None


def _is_plain(fields: NiftiFields, header: Header) -> bool:
    """Whether nibabel finds nothing to correct, to refuse or to interpret."""
    values = fields.values
    handedness, *steps = values["pixdim"][: _AXES + 1].tolist()
    scaling = np.array([values["scl_slope"], values["scl_inter"]])
    return bool(
        fields.exact_magic
        and values["dim"][0] >= _AXES
        and len(header.shape) == _AXES
        and header.shape != _SURFACE
        and values["intent_code"] not in _CIFTI
        and header.dtype.kind in _NUMBERS
        and values["bitpix"] == header.dtype.itemsize * 8
        and header.voxel_offset == fields.first_voxel_offset
        and values["sform_code"] in _PLACES[1:]
        and values["qform_code"] in _PLACES
        and length_unit(values["xyzt_units"]) in _MM_OR_UNSAID
        and abs(handedness) == 1
        and all(0 < step < math.inf for step in steps)
        and (np.isfinite(scaling).all() or np.isnan(scaling).all())
    )
