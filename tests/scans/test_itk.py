"""MetaImage and NRRD are read as the volumes they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813 - the name all its users know

from segtrial.errors import DatasetError
from segtrial.scans import (
    Grid,
    read_grid,
    read_label_map,
    read_label_maps,
    read_scan,
    same_grid,
    scan_digest,
    stage_scan,
    write_volume,
)

from .conftest import AFFINE, SHAPE, label_values, rotation

CT = (np.arange(120).reshape(SHAPE) * 17 - 1000).astype(np.int16)


def write(path: Path, values: Any, affine: Any = AFFINE, *, compress: bool = True) -> Path:  # noqa: ANN401 - numpy's
    image = sitk.GetImageFromArray(np.ascontiguousarray(values.T))
    spacing = np.linalg.norm(affine[:3, :3], axis=0)
    flipped = np.diag([-1.0, -1.0, 1.0])
    image.SetSpacing(spacing.tolist())
    image.SetDirection((flipped @ affine[:3, :3] / spacing).ravel().tolist())
    image.SetOrigin((flipped @ affine[:3, 3]).tolist())
    sitk.WriteImage(image, str(path), useCompression=compress)
    return path


@pytest.mark.parametrize("suffix", [".mha", ".mhd", ".nrrd", ".nhdr"])
@pytest.mark.parametrize("compress", [True, False])
def test_voxels_and_place_are_those_of_the_nifti_file(
    tmp_path: Path, suffix: str, *, compress: bool
) -> None:
    scan = read_scan(write(tmp_path / f"ct{suffix}", CT, compress=compress))
    assert np.array_equal(scan.voxels, CT)
    assert scan.voxels.dtype == np.int16
    assert same_grid(Grid(SHAPE, AFFINE), scan.grid)


def test_an_oblique_volume_stays_oblique(tmp_path: Path) -> None:
    affine = AFFINE.copy()
    affine[:3, :3] = rotation(0.2, -0.1, 0.3) @ affine[:3, :3]
    grid = read_grid(write(tmp_path / "ct.mha", CT, affine))
    assert np.allclose(grid.affine, affine, atol=1e-4)


def test_a_reference_fits_the_scan_in_another_format(tmp_path: Path) -> None:
    path = write(tmp_path / "reference.nrrd", label_values())
    write_volume(tmp_path / "scan.nii.gz", CT, AFFINE)
    labels = read_label_map(path, grid=read_grid(tmp_path / "scan.nii.gz")).labels
    assert np.array_equal(labels, label_values())
    write_volume(tmp_path / "other.nii.gz", label_values(), AFFINE)
    pair = read_label_maps(path, tmp_path / "other.nii.gz")
    assert np.array_equal(pair.reference.labels, pair.prediction.labels)


def test_staging_makes_nifti_of_it(tmp_path: Path) -> None:
    path = write(tmp_path / "ct.mha", CT)
    staged = stage_scan(path, tmp_path / "scan_0.nii.gz")
    assert staged.digest == scan_digest(path) == scan_digest(tmp_path / "scan_0.nii.gz")


def cut_off(path: Path) -> None:
    write(path, CT, compress=False)
    path.write_bytes(path.read_bytes()[:-100])


def colours(path: Path) -> None:
    sitk.WriteImage(
        sitk.GetImageFromArray(np.zeros((4, 5, 6, 3), np.uint8), isVector=True), str(path)
    )


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (cut_off, "damaged or cut off"),
        (colours, "3 values a voxel"),
        (lambda path: path.write_bytes(b"<!doctype html>"), "no image that can be read"),
        (lambda path: path.write_bytes(b""), "no image that can be read"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("suffix", [".mha", ".nrrd"])
def test_what_is_no_volume_says_why(tmp_path: Path, suffix: str, spoil: Any, said: str) -> None:  # noqa: ANN401 - callables
    path = tmp_path / f"ct{suffix}"
    spoil(path)
    with pytest.raises(DatasetError, match=said):
        read_scan(path)


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="does not exist"):
        read_scan(tmp_path / "ct.mha")
