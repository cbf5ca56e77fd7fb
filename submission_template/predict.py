"""Segment one case. Edit `segment`; the rest is the contract segtrial/1."""

import json
from pathlib import Path

import nibabel
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

INPUT = Path("/input")
OUTPUT = Path("/output")
AIR_HU = -400
SMALLEST_LUNG_ML = 50


def segment(scan: NDArray[np.float32], spacing_mm: tuple[float, float, float]) -> NDArray[np.uint8]:
    """Replace this with your model.

    Parameters
    ----------
    scan : float32 array, shape (I, J, K)
        The scan as it is stored, in Hounsfield units for CT.
    spacing_mm : tuple of float
        Size of a voxel along each axis.

    Returns
    -------
    uint8 array, shape (I, J, K)
        Label ids as `submission.yaml` declares them; 0 is background.
    """
    # An example that works on CT: air that the body encloses, in large pieces.
    air, _ = ndimage.label(scan < AIR_HU)
    size_ml = np.bincount(air.ravel()) * np.prod(spacing_mm) / 1000
    outside = np.unique([air[0, 0], air[0, -1], air[-1, 0], air[-1, -1]])
    size_ml[[0, *outside]] = 0
    return (size_ml[air] >= SMALLEST_LUNG_ML).astype(np.uint8)


def main() -> None:
    """Read the request and the first scan, segment it, write the label map on the same grid."""
    request = json.loads((INPUT / "request.json").read_text())
    image = nibabel.load(INPUT / request["scans"][0]["file"])
    spacing_mm = tuple(float(size) for size in image.header.get_zooms()[:3])
    labels = segment(image.get_fdata(dtype=np.float32), spacing_mm)
    print(f"wrote {np.count_nonzero(labels)} voxels")
    # The scan's affine keeps the answer on the scan's grid.
    nibabel.save(nibabel.Nifti1Image(labels, image.affine), OUTPUT / request["output"])


if __name__ == "__main__":
    main()
