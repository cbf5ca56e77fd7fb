"""MetaImage and NRRD files as volumes, through SimpleITK, which is imported with this module.

World coordinates are turned from ITK's (+x left, +y back) into those of NIfTI. The header alone is
read until voxels are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import SimpleITK as sitk  # noqa: N813 - the name all its users know
from nibabel.spatialimages import HeaderDataError
from numpy.typing import NDArray

from segtrial.scans.grid import Grid
from segtrial.scans.volume import Volume, unusable
from segtrial.scans.writing import nifti_header

sitk.ProcessObject.GlobalWarningDisplayOff()

_AXES = 3
_TO_RAS = np.diag([-1.0, -1.0, 1.0])
_DTYPES: dict[int, type[np.generic]] = {
    sitk.sitkInt8: np.int8,
    sitk.sitkUInt8: np.uint8,
    sitk.sitkInt16: np.int16,
    sitk.sitkUInt16: np.uint16,
    sitk.sitkInt32: np.int32,
    sitk.sitkUInt32: np.uint32,
    sitk.sitkInt64: np.int64,
    sitk.sitkUInt64: np.uint64,
    sitk.sitkFloat32: np.float32,
    sitk.sitkFloat64: np.float64,
}


def open_volume(path: Path) -> Volume:
    """Read the header of a ``.mha``, ``.mhd``, ``.nrrd`` or ``.nhdr`` file.

    Raises
    ------
    DatasetError
        The file is missing, damaged, or no scalar volume of three axes.
    """
    reader = sitk.ImageFileReader()
    reader.SetFileName(str(path))
    try:
        reader.ReadImageInformation()
    except RuntimeError as error:
        raise unusable(path, f"it is no image that can be read ({_said(error)}).") from None
    dtype = _DTYPES.get(reader.GetPixelIDValue())
    if reader.GetDimension() != _AXES or reader.GetNumberOfComponents() != 1 or dtype is None:
        raise unusable(
            path,
            f"it has {reader.GetDimension()} axes and {reader.GetNumberOfComponents()} values a "
            "voxel. One volume of three axes with one number a voxel is needed.",
        )
    i, j, k = reader.GetSize()
    affine = np.eye(4)
    turned = np.array(reader.GetDirection()).reshape(_AXES, _AXES)
    affine[:3, :3] = _TO_RAS @ turned * np.array(reader.GetSpacing())
    affine[:3, 3] = _TO_RAS @ np.array(reader.GetOrigin())
    try:
        grid = Grid((i, j, k), affine.astype(np.float32).astype(np.float64))
        header = nifti_header(grid.shape, grid.affine, np.dtype(dtype))
    except (ValueError, HeaderDataError) as error:
        raise unusable(path, f"{error}.") from error
    return Volume(
        path=path,
        grid=grid,
        header=lambda: header,
        dtype=np.dtype(dtype),
        slope=1.0,
        intercept=0.0,
        stored=lambda: _stored(path, grid),
    )


def _stored(path: Path, grid: Grid) -> Iterator[NDArray[np.generic]]:
    try:
        voxels: NDArray[Any] = sitk.GetArrayFromImage(sitk.ReadImage(str(path)))
    except RuntimeError as error:
        raise unusable(path, f"it is damaged or cut off ({_said(error)}).") from None
    if voxels.shape != grid.shape[::-1]:
        raise unusable(path, f"it holds {voxels.shape[::-1]} voxels, its header says {grid.shape}.")
    yield voxels.ravel()  # ITK's last axis varies slowest: Fortran order of the first


def _said(error: RuntimeError) -> str:
    """The last thing ITK says; before it comes where in its own code."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1].rpartition("): ")[2][:200] if lines else "no reason given"
