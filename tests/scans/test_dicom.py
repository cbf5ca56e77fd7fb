"""A folder of DICOM slices is one volume, or an error that says why it is none."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
from pydicom import dcmread
from pydicom.encaps import encapsulate
from pydicom.uid import JPEGLSLossless, RLELossless

from dicom_files import Dicom
from segtrial.errors import DatasetError
from segtrial.scans import read_grid, read_scan, scan_digest, series_files, stage_scan

SHAPE = (6, 5, 4)
STORED = (np.arange(120).reshape(SHAPE) * 17).astype(np.uint16)
OBLIQUE = (0.96, 0.28, 0.0, -0.28 * 0.8, 0.96 * 0.8, -0.6)


@pytest.fixture
def series() -> Dicom:
    return Dicom(STORED)


def test_voxels_lie_where_the_slices_say(tmp_path: Path, series: Dicom) -> None:
    series.write(tmp_path)
    scan = read_scan(tmp_path)
    assert np.array_equal(scan.voxels, STORED)
    assert scan.voxels.dtype == np.uint16
    expected = [[-0.75, 0, 0, 120], [0, -0.8, 0, 100], [0, 0, 3, 40], [0, 0, 0, 1]]
    assert np.allclose(scan.grid.affine, expected)


def test_an_oblique_series_is_placed_by_its_cosines(tmp_path: Path, series: Dicom) -> None:
    turned = series.with_(orientation=OBLIQUE)
    turned.write(tmp_path)
    grid = read_grid(tmp_path)
    last = grid.affine @ [5, 4, 3, 1]
    row, column = np.array(OBLIQUE[:3]), np.array(OBLIQUE[3:])
    there = turned.position_mm(3) + 5 * 0.75 * row + 4 * 0.8 * column
    assert np.allclose(last[:3], there * [-1, -1, 1], atol=1e-4)
    assert np.allclose(grid.spacing_mm, (0.75, 0.8, 3.0), atol=1e-5)


def test_the_order_of_the_files_does_not_matter(tmp_path: Path, series: Dicom) -> None:
    """CHAOS numbers its CT from the head down."""
    series.write(tmp_path / "up")
    files = series.with_(head_first=True).write(tmp_path / "down")
    assert scan_digest(tmp_path / "up") == scan_digest(tmp_path / "down")
    assert series_files(tmp_path / "down") == tuple(files)
    assert files[0].name == "i0003,0000b.dcm"


@pytest.mark.parametrize(
    ("values", "slope", "intercept", "dtype"),
    [
        (STORED, 1, 0, np.uint16),
        (STORED.astype(np.int16) - 1000, 1, 0, np.int16),
        (STORED.astype(np.int16), 1, -1024, np.int32),
        (STORED % 250, 0.5, -3, np.float32),
    ],
)
def test_values_are_what_rescaling_makes_of_stored_pixels(
    tmp_path: Path,
    values: Any,  # noqa: ANN401 - any numpy type
    slope: float,
    intercept: float,
    dtype: Any,  # noqa: ANN401 - as above
) -> None:
    Dicom(values, slope=slope, intercept=intercept).write(tmp_path)
    scan = read_scan(tmp_path)
    assert scan.voxels.dtype == dtype
    assert np.allclose(scan.voxels, values * float(slope) + intercept)


def test_hounsfield_units_of_a_scanner_of_twelve_bits_fit_in_sixteen(tmp_path: Path) -> None:
    Dicom(STORED, intercept=-1024, fields={"BitsStored": 12, "HighBit": 11}).write(tmp_path)
    scan = read_scan(tmp_path)
    assert scan.voxels.dtype == np.int16
    assert scan.voxels.min() == -1024


def test_a_staged_series_is_the_same_scan_and_names_nobody(tmp_path: Path, series: Dicom) -> None:
    series.with_(intercept=-1024).write(tmp_path / "in")
    staged = stage_scan(tmp_path / "in", tmp_path / "scan_0.nii.gz")
    assert staged.digest == scan_digest(tmp_path / "in") == scan_digest(tmp_path / "scan_0.nii.gz")
    image: Any = nibabel.load(tmp_path / "scan_0.nii.gz")
    assert np.array_equal(np.asarray(image.dataobj), STORED.astype(int) - 1024)
    assert np.allclose(image.affine, staged.grid.affine, atol=1e-4)
    assert b"Somebody" not in image.header.binaryblock


def test_slices_that_each_have_a_uid_of_their_own_are_one_series(
    tmp_path: Path, series: Dicom
) -> None:
    for k in range(4):
        series.with_(series=f"slice {k}").write(tmp_path, only=[k])
    assert read_grid(tmp_path).shape == SHAPE


def test_what_is_no_dicom_is_passed_over(tmp_path: Path, series: Dicom) -> None:
    series.with_(names="IM{n}").write(tmp_path)
    (tmp_path / "Thumbs.db").write_bytes(b"\0" * 300)
    (tmp_path / ".DS_Store").write_bytes(b"x")
    (tmp_path / "more").mkdir()
    assert read_grid(tmp_path).shape == SHAPE


def mixed(folder: Path, series: Dicom) -> None:
    series.write(folder)
    series.with_(series="two", names="b{n}.dcm").write(folder)


def echoes(folder: Path, series: Dicom) -> None:
    series.with_(echo_time_ms=2.3, names="IMG-0004-{n:05}.dcm").write(folder)
    series.with_(echo_time_ms=4.6, names="IMG-0005-{n:05}.dcm").write(folder)


def localizer(folder: Path, series: Dicom) -> None:
    series.write(folder)
    coronal = series.with_(orientation=(1, 0, 0, 0, 0, -1), names="scout{n}.dcm")
    coronal.write(folder, only=[0])


def twice(folder: Path, series: Dicom) -> None:
    first, *_ = series.write(folder)
    shutil.copy(first, folder / "copy.dcm")


def uneven(folder: Path, series: Dicom) -> None:
    series.write(folder, only=[0, 1, 3])
    series.with_(origin_mm=(-120, -100, 41.4)).write(folder, only=[2])


def cut_off(folder: Path, series: Dicom) -> None:
    path = series.write(folder)[2]
    path.write_bytes(path.read_bytes()[:-30])


def html(folder: Path, series: Dicom) -> None:
    series.write(folder)[2].write_bytes(b"<!doctype html>")


Wrong = Callable[[Path, Dicom], object]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (mixed, r"it holds 2 series: 4 slices of '.* Put each into a folder"),
        (echoes, r"4 of 2.3 ms, 4 of 4.6 ms. In-phase and out-of-phase images are mixed"),
        (localizer, r"scout0.dcm have other directions in the patient"),
        (twice, r"copy.dcm.* lie at the same place: a slice is there twice"),
        (uneven, r"not evenly spaced: i0002,0000b.dcm is 1.40 mm from its place"),
        (cut_off, r"damaged or cut off"),
        (html, r"it is no DICOM file"),
        (
            lambda folder, one: one.write(folder, only=[0, 1, 3]),
            r"1 slice is missing: 6.00 mm lie between i0001,0000b.dcm and i0003,0000b.dcm",
        ),
        (lambda folder, one: one.write(folder, only=[0]), r"one slice, i0000,0000b.dcm"),
        (lambda folder, _: folder.mkdir(), r"holds no DICOM file. Is the download complete"),
        (lambda folder, one: one.with_(tilt_degrees=12).write(folder), r"sheared by 12.0 degrees"),
        (
            lambda folder, one: one.with_(fields={"ImagePositionPatient": None}).write(folder),
            r"has no ImagePositionPatient, so its place",
        ),
        (
            lambda folder, one: one.with_(fields={"NumberOfFrames": 4}).write(folder),
            r"holds 4 frames",
        ),
        (
            lambda folder, one: one.with_(fields={"SamplesPerPixel": 3}).write(folder),
            r"colour picture",
        ),
        (
            lambda folder, one: one.with_(orientation=(1, 0, 0, 0.5, 0.5, 0)).write(folder),
            r"no right angle",
        ),
        (
            lambda folder, one: one.with_(spacing_mm=(0.0, 0.8, 3.0)).write(folder),
            r"are no places",
        ),
        (
            lambda folder, one: one.with_(fields={"BitsStored": 700}).write(folder),
            r"pixels of 700 bits in 16",
        ),
        (
            lambda folder, one: one.with_(slope=0).write(folder),
            r"rescaled by 0 and 0",
        ),
        (
            lambda folder, one: one.with_(fields={"BitsAllocated": 12}).write(folder),
            r"pixels of 16 bits in 12",
        ),
    ],
)  # fmt: skip
def test_what_is_no_series_says_why(tmp_path: Path, series: Dicom, make: Wrong, said: str) -> None:
    make(tmp_path / "in", series)
    with pytest.raises(DatasetError, match=said) as caught:
        read_scan(tmp_path / "in")
    assert str(tmp_path / "in") in "".join(caught.value.__notes__)


def test_compressed_slices_are_inflated_where_that_is_possible(
    tmp_path: Path, series: Dicom
) -> None:
    for path in series.write(tmp_path):
        slice_ = dcmread(path)
        slice_.compress(RLELossless)
        slice_.save_as(path)
    assert np.array_equal(read_scan(tmp_path).voxels, STORED)


def test_a_compression_that_needs_more_names_what_to_install(tmp_path: Path, series: Dicom) -> None:
    path = series.write(tmp_path)[1]
    slice_ = dcmread(path)
    slice_.file_meta.TransferSyntaxUID = JPEGLSLossless
    slice_.PixelData = encapsulate([b"\xff\xd8\xff\xd9"])
    slice_["PixelData"].VR = "OB"
    slice_.save_as(path)
    with pytest.raises(DatasetError, match=r"compressed \(JPEG-LS .*\). Install pylibjpeg"):
        read_scan(tmp_path)


def test_two_phases_of_one_acquisition_in_two_folders_are_two_scans(tmp_path: Path) -> None:
    """CHAOS gives both the same Series Instance UID."""
    series = Dicom(STORED, echo_time_ms=4.6)
    series.write(tmp_path / "InPhase")
    series.with_(values=STORED + 1, echo_time_ms=2.3).write(tmp_path / "OutPhase")
    assert scan_digest(tmp_path / "InPhase") != scan_digest(tmp_path / "OutPhase")


def test_the_readers_of_rare_formats_are_loaded_when_they_are_needed() -> None:
    code = "import sys, segtrial.scans; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"segtrial.scans.dicom_series", "SimpleITK"} & set(done.stdout.split())


def test_without_the_library_it_says_what_to_install(
    tmp_path: Path, series: Dicom, monkeypatch: pytest.MonkeyPatch
) -> None:
    series.write(tmp_path)
    for name in [name for name in sys.modules if name.startswith("segtrial.scans.dicom")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pydicom", None)
    with pytest.raises(DatasetError, match=r"needs pydicom. Install it: pip install 'segtrial"):
        read_grid(tmp_path)
