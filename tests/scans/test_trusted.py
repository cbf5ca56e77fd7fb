"""References and scans: what is read is what nibabel reads; what is unsuitable is named."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from segtrial.errors import DatasetError
from segtrial.scans import (
    Grid,
    PredictionError,
    read_grid,
    read_label_map,
    read_label_maps,
    read_pair,
    read_scan,
    same_grid,
    scan_digest,
    stage_scan,
    to_canonical,
    write_volume,
)

from .conftest import AFFINE, SHAPE, NiftiBytes, Written, label_values, load, rotation

CT = (np.arange(120).reshape(SHAPE) * 17 - 1000).astype(np.int16)


@pytest.mark.parametrize("name", ["scan.nii", "scan.nii.gz"])
@pytest.mark.parametrize("endianness", ["<", ">"])
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "fields", [{}, {"scl_slope": 0.5, "scl_inter": -3}], ids=["plain", "scaled"]
)
def test_a_scan_is_what_nibabel_reads(
    nifti: Written, name: str, endianness: str, version: int, fields: dict[str, Any]
) -> None:
    path = nifti(name, values=CT, endianness=endianness, version=version, fields=fields)
    scan = read_scan(path)
    image = load(path)
    assert np.allclose(scan.voxels, np.asarray(image.dataobj))
    assert scan.voxels.dtype == (np.float32 if fields else np.int16)
    assert scan.voxels.dtype.isnative
    assert np.array_equal(scan.grid.affine, image.affine)
    assert same_grid(read_grid(path), scan.grid)


@pytest.mark.parametrize("suffix", [".mgz", ".img"])
def test_other_formats_are_read_through_nibabel(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"reference{suffix}"
    if suffix == ".mgz":
        nibabel.save(nibabel.MGHImage(label_values(np.int32), AFFINE), path)
    else:
        nibabel.save(nibabel.Nifti1Pair(label_values(), AFFINE), path)
    assert np.array_equal(read_label_map(path).labels, label_values())
    assert same_grid(Grid(SHAPE, AFFINE), read_grid(path))


@pytest.mark.parametrize("endianness", ["<", ">"])
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("fields", [{}, {"scl_slope": 0.5, "scl_inter": -3}])
def test_bzip2_is_one_more_compression(
    nifti: Written, fields: dict[str, Any], version: int, endianness: str
) -> None:
    parts = {"values": CT, "fields": fields, "version": version, "endianness": endianness}
    known = nifti("scan.nii.gz", **parts)
    other = known.with_name("scan.nii.bz2")
    other.write_bytes(bz2.compress(NiftiBytes(**parts).plain()))
    scan = read_scan(other)
    assert np.array_equal(scan.voxels, read_scan(known).voxels)
    assert np.allclose(scan.voxels, np.asarray(load(other).dataobj))
    assert scan.voxels.dtype == (np.float32 if fields else np.int16)
    assert scan_digest(other) == scan_digest(known)


@pytest.mark.parametrize("fields", [{}, {"scl_slope": 0.5}])
def test_labels_in_bzip2_are_those_of_the_file(tmp_path: Path, fields: dict[str, Any]) -> None:
    path = tmp_path / "reference.nii.bz2"
    values = label_values("i2") * (2 if fields else 1)
    path.write_bytes(bz2.compress(NiftiBytes(values=values, fields=fields).plain()))
    assert np.array_equal(read_label_map(path).labels, label_values())


def test_other_compressions_that_are_damaged_are_named(tmp_path: Path) -> None:
    cut, unknown = tmp_path / "cut.nii.bz2", tmp_path / "unknown.nii.zst"
    noise = np.random.default_rng(0).integers(0, 99, (99, 99, 99)).astype(np.uint8)
    cut.write_bytes(bz2.compress(NiftiBytes(values=noise).plain())[:-90])
    unknown.write_bytes(b"what")
    assert read_grid(cut).shape == (99, 99, 99)
    with pytest.raises(DatasetError, match="its voxels cannot be read"):
        read_label_map(cut)
    with pytest.raises(DatasetError, match="no image that can be read"):
        read_label_map(unknown)


@pytest.mark.parametrize("name", ["scan.NII", "SCAN.NII.GZ", "scan.nii.GZ", "scan.NII.gz"])
def test_large_letters_in_a_suffix_change_nothing(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    made = NiftiBytes(values=CT)
    path.write_bytes(made.packed() if path.suffix.lower() == ".gz" else made.plain())
    assert np.array_equal(read_scan(path).voxels, CT)


def test_a_file_that_is_not_the_named_one_is_never_read(tmp_path: Path) -> None:
    """From a suffix in large and small letters, nibabel goes on to the one in small letters."""
    named, other = tmp_path / "scan.Nii", tmp_path / "scan.nii"
    named.write_bytes(NiftiBytes(values=CT).plain())
    with pytest.raises(DatasetError, match="no image that can be read"):
        read_scan(named)
    other.write_bytes(NiftiBytes(values=CT + 1).plain())
    with pytest.raises(DatasetError, match="Write its suffix in small letters"):
        read_scan(named)


def test_a_matrix_of_cifti_is_no_reference(nifti: Written) -> None:
    path = nifti("reference.nii", version=2, fields={"intent_code": 3000})
    with pytest.raises(DatasetError, match="no image that can be read"):
        read_label_map(path)


def test_a_pair_of_files_that_is_not_whole_is_named(tmp_path: Path) -> None:
    path = tmp_path / "reference.img"
    nibabel.save(nibabel.Nifti1Pair(label_values(), AFFINE), path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DatasetError, match="its voxels cannot be read"):
        read_label_map(path)


@pytest.mark.parametrize("dtype", ["u8", "i8", ">i8", ">f4"])
def test_a_pair_of_files_may_hold_any_type(tmp_path: Path, dtype: str) -> None:
    path, values = tmp_path / "reference.hdr", label_values(dtype)
    nibabel.save(nibabel.Nifti1Pair(values, AFFINE, dtype=values.dtype), path)
    assert np.array_equal(read_label_map(path).labels, label_values())
    stage_scan(path, tmp_path / "staged.nii.gz")
    assert np.array_equal(read_scan(tmp_path / "staged.nii.gz").voxels, label_values())


def test_a_pair_of_files_longer_than_nifti_1_can_say_is_read_but_not_staged(
    tmp_path: Path,
) -> None:
    path, values = tmp_path / "reference.img", np.ones((40_000, 2, 1), np.uint8)
    nibabel.save(nibabel.Nifti2Pair(values, AFFINE), path)
    assert np.array_equal(read_label_map(path).labels, values)
    with pytest.raises(DatasetError, match="cannot be written as NIfTI"):
        stage_scan(path, tmp_path / "staged.nii.gz")
    assert not (tmp_path / "staged.nii.gz").exists()


@pytest.mark.parametrize("name", ["tiny.mnc", "scaled+tlrc.BRIK", "scaled+tlrc.HEAD"])
def test_an_example_that_comes_with_nibabel_is_read(name: str, tmp_path: Path) -> None:
    path = Path(nibabel.__file__).parent / "tests" / "data" / name
    image, scan = load(path), read_scan(path)
    assert np.array_equal(scan.voxels.ravel(), np.asarray(image.dataobj).ravel())
    assert np.array_equal(scan.grid.affine, image.affine)
    stage_scan(path, tmp_path / "staged.nii.gz")
    assert np.array_equal(read_scan(tmp_path / "staged.nii.gz").voxels, scan.voxels)


def test_a_series_in_another_format_is_named_with_its_shape(tmp_path: Path) -> None:
    path = tmp_path / "scan.mgz"
    nibabel.save(nibabel.MGHImage(np.zeros((*SHAPE, 2), np.uint8), AFFINE), path)
    with pytest.raises(DatasetError, match=r"it has shape \(6, 5, 4, 2\); one volume"):
        read_scan(path)


@pytest.mark.parametrize(
    ("values", "fields"),
    [
        (label_values("f8"), {}),
        (label_values("f4"), {}),
        (label_values("i2") * 2, {"scl_slope": 0.5}),
        ((label_values("u1") * 51), {"scl_slope": 1 / 51}),
        (label_values("i8") - 1, {"scl_inter": 1}),
    ],
    ids=["float64", "float32", "halves", "a slope that float cannot hold", "shifted"],
)
def test_whole_numbers_are_labels_however_stored(
    nifti: Written, values: NDArray[Any], fields: dict[str, Any]
) -> None:
    labels = read_label_map(nifti(values=values, fields=fields)).labels
    assert labels.dtype == np.uint8
    assert np.array_equal(labels, label_values())


@pytest.mark.parametrize(("largest", "dtype"), [(255, "u1"), (256, "u2"), (70_000, "i4")])
def test_a_large_label_late_in_the_file_widens_the_type(
    tmp_path: Path, largest: int, dtype: str
) -> None:
    values = np.zeros((64, 64, 80), np.int32)  # more than one piece
    values[0, 0, 0], values[-1, -1, -1] = 7, largest
    write_volume(tmp_path / "reference.nii.gz", values, AFFINE)
    labels = read_label_map(tmp_path / "reference.nii.gz").labels
    assert labels.dtype == np.dtype(dtype)
    assert np.array_equal(labels, values)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "fractions": ({"values": label_values("f4") * 0.5}, "no whole numbers"),
    "not a number": ({"values": label_values("f4") * np.nan}, "no whole numbers"),
    "infinite": ({"values": np.full(SHAPE, np.inf, "f4")}, "no whole numbers|labels from"),
    "negative": ({"values": label_values("i2") - 1}, "labels from -1 to 4"),
    "too large": (
        {"values": label_values("i8") * 2**30},
        "labels from 0 to 5368709120; 0 to 2147483647 are",
    ),
    "too large by one": (
        {"values": np.full(SHAPE, 2.0**31)},
        "labels from 2147483648 to 2147483648; 0 to 2147483647 are",
    ),
    "too large to be read": ({"values": np.full(SHAPE, 1e300)}, r"labels from 1e\+300 to"),
    "complex": ({"values": label_values("c8")}, "holds complex64 voxels"),
    "complex and scaled": (
        {"values": label_values("c8"), "fields": {"scl_slope": 2}},
        "holds complex64 voxels",
    ),
    "two volumes": ({"values": np.zeros((6, 5, 4, 2), "u1")}, "one volume of three axes"),
    "in metres": ({"fields": {"xyzt_units": 1}}, "lengths in metres"),
    "in micrometres": ({"fields": {"xyzt_units": 3}}, "lengths in micrometres"),
    "flat": ({"affine": np.diag([1.0, 1.0, 0.0, 1.0])}, "plane or a line"),
    "nowhere": ({"affine": AFFINE * np.nan}, "finite affine"),
    "cut off": ({"drop_bytes": 30}, "it ends too early, after 90 of its 120 voxels"),
    "cut off within a voxel": (
        {"values": label_values("i2"), "drop_bytes": 31},
        "it ends too early, after 104 of its 120 voxels",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_an_unsuitable_reference_is_named_with_its_file(nifti: Written, case: str) -> None:
    parts, message = BAD[case]
    path = nifti("reference.nii.gz", **parts)
    with pytest.raises(DatasetError, match=message) as caught:
        read_label_map(path)
    assert caught.value.__notes__ == [f"file {path}"]


def test_damage_is_found_by_the_checksum(nifti: Written) -> None:
    path = nifti("reference.nii.gz", values=np.zeros((32, 32, 32), np.uint8))
    whole = bytearray(path.read_bytes())
    whole[-6] ^= 1
    path.write_bytes(whole)
    with pytest.raises(DatasetError, match="damaged"):
        read_label_map(path)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_sheared_reference_is_refused(nifti: Written, axis: int) -> None:
    """A tilted gantry: by the spacing along each axis, distances would be wrong by a tenth."""
    for degrees, refused in ((0.05, False), (0.2, True), (12.0, True)):
        affine = np.diag([0.8, 0.9, 3.0, 1.0])
        affine[axis, 2] = 3.0 * np.tan(np.radians(degrees))
        path = nifti("reference.nii.gz", values=label_values(), affine=affine)
        assert read_grid(path).shear_degrees == pytest.approx(degrees, rel=1e-4)
        if refused:
            with pytest.raises(DatasetError, match=f"sheared by {degrees:.2g} degrees"):
                read_label_map(path)
        else:
            read_label_map(path)


def test_an_oblique_grid_is_not_sheared() -> None:
    turned = nibabel.eulerangles.euler2mat(0.3, -0.4, 1.1) @ np.diag([0.8, 0.9, 3.0])
    grid = Grid(SHAPE, nibabel.affines.from_matvec(turned, [5.0, -3.0, 12.0]))
    assert grid.shear_degrees < 1e-5


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist"),
        (b"", "no image"),
        (b"what", "no image"),
        (b"\x1f\x8b0", "no image"),
    ],
)
def test_what_is_no_image_is_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "reference.nii.gz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DatasetError, match=message):
        read_grid(path)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"values": np.zeros((6, 5, 3), "u1")}, r"shape \(6, 5, 3\), the scan has \(6, 5, 4\)"),
        ({"affine": AFFINE + np.eye(4, k=3)}, "1 mm off"),
    ],
)
def test_a_reference_off_the_scans_grid_is_named(
    nifti: Written, grid: Grid, parts: dict[str, Any], message: str
) -> None:
    with pytest.raises(DatasetError, match=message):
        read_label_map(nifti(**parts), grid=grid)


def test_a_pair_is_both_on_the_scans_grid(nifti: Written, grid: Grid) -> None:
    pair = read_pair(
        nifti(
            "reference.nii.gz", values=label_values("f8"), affine=AFFINE + 0.001 * np.eye(4, k=3)
        ),
        nifti(),
        allowed_labels=frozenset({1, 2, 5}),
        max_bytes=10_000,
        grid=grid,
    )
    assert pair.reference.grid is pair.prediction.grid is grid
    assert np.array_equal(pair.reference.labels, pair.prediction.labels)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("off", [-1e-4, 1e-4])
def test_files_halfway_between_two_axes_are_compared_as_stored(
    nifti: Written, axis: int, off: float
) -> None:
    turns = np.radians(np.array([45 + off, 45 - off])[:, None] * np.eye(3)[axis])
    files = [
        nifti(f"{i}.nii.gz", affine=nibabel.affines.from_matvec(rotation(*turn) * 1.5, [9, 8, 7]))
        for i, turn in enumerate(turns)
    ]
    pair = read_label_maps(*files)
    assert np.array_equal(pair.reference.labels, pair.prediction.labels)
    assert pair.prediction.grid is pair.reference.grid
    assert np.array_equal(pair.reference.labels, to_canonical(read_label_map(files[0])).labels)


def test_in_a_pair_the_references_fault_comes_first(nifti: Written, tmp_path: Path) -> None:
    good = nifti("reference.nii.gz")
    lost = tmp_path / "lost.nii.gz"
    read = {"allowed_labels": frozenset({1}), "max_bytes": 10_000}
    with pytest.raises(DatasetError):
        read_pair(lost, lost, **read)  # type: ignore[arg-type]
    with pytest.raises(PredictionError):
        read_pair(good, lost, **read)  # type: ignore[arg-type]


def test_an_uncompressed_file_under_a_compressed_name_is_no_image(tmp_path: Path) -> None:
    path = tmp_path / "scan.nii.gz"
    path.write_bytes(NiftiBytes().plain())
    with pytest.raises(DatasetError, match="no image"):
        read_scan(path)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "scan.nii.gz"
    write_volume(path, CT, AFFINE)
    assert np.array_equal(read_scan(path).voxels, CT)
    assert np.array_equal(np.asarray(load(path).dataobj), CT)
    assert gzip.decompress(path.read_bytes())[344:348] == b"n+1\0"
    assert [entry.name for entry in tmp_path.iterdir()] == ["scan.nii.gz"]


@pytest.mark.filterwarnings("ignore:Extension size:UserWarning")  # nibabel's, and no end
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_broken_file_of_the_datasets_is_named_whatever_broke(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    plain = bytearray(NiftiBytes(version=data.draw(st.sampled_from([1, 2]))).plain())
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, 560))
        plain[place : place + 1] = data.draw(st.binary(min_size=0, max_size=4))
    path = tmp_path_factory.mktemp("fuzz") / data.draw(st.sampled_from(["r.nii", "r.nii.gz"]))
    path.write_bytes(gzip.compress(plain) if path.suffix == ".gz" else plain)
    try:
        labels = read_label_map(path).labels
    except DatasetError as error:
        assert error.__notes__ == [f"file {path}"]  # noqa: PT017 - either end is right
    else:
        assert labels.dtype in (np.uint8, np.uint16, np.int32)
