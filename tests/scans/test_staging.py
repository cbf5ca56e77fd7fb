"""Inputs are staged once into neutral files: the voxels, where they lie, and nothing else."""

from __future__ import annotations

import gzip
import shutil
import time
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest

from segtrial.errors import DatasetError, StoreError
from segtrial.scans import (
    LabelMap,
    array_digest,
    label_map_digest,
    read_label_map,
    read_scan,
    scan_digest,
    stage_scan,
    write_volume,
)

from .conftest import AFFINE, SHAPE, Written, label_values, load

SECRET = b"patient_0815"
CT = (np.arange(120).reshape(SHAPE) * 17 - 1000).astype(np.int16)
EXTENSION = b"\x20\0\0\0\x06\0\0\0" + SECRET.ljust(24)
TELLING: dict[str, Any] = {
    "descrip": SECRET, "aux_file": SECRET, "intent_name": SECRET, "db_name": SECRET,
    "data_type": b"case_0815", "cal_max": 815, "cal_min": 815, "toffset": 815,
    "slice_duration": 815, "intent_p1": 815, "glmax": 815, "extents": 815, "session_error": 815,
}  # fmt: skip


def test_nothing_but_voxels_and_place_gets_through(nifti: Written, tmp_path: Path) -> None:
    source = nifti("patient_0815.nii.gz", values=CT, fields=TELLING, extension=EXTENSION)
    with gzip.GzipFile(source, "wb", mtime=815) as file:  # a member with name and time
        file.write(gzip.decompress(nifti("x.nii.gz", values=CT, fields=TELLING).read_bytes()))
    staged = tmp_path / "staged.nii.gz"
    stage_scan(source, staged)
    whole = staged.read_bytes()
    plain = gzip.decompress(whole)
    assert whole[3:8] == bytes(5)  # no flags, no name, time 0
    assert SECRET not in whole + plain
    telling = load(staged).header
    fresh = nibabel.Nifti1Header()
    for name in TELLING:
        if name in telling:
            assert telling[name] == fresh[name]
    assert len(plain) == 352 + CT.nbytes


def test_a_scan_and_its_twin_under_another_name_are_staged_alike(
    nifti: Written, tmp_path: Path
) -> None:
    one = nifti("one.nii.gz", values=CT, fields={"descrip": b"one"})
    other = nifti("other.nii", values=CT, fields={"descrip": b"the other"})
    staged = [tmp_path / "a.nii.gz", tmp_path / "b.nii.gz"]
    first = stage_scan(one, staged[0])
    time.sleep(0.01)
    assert stage_scan(other, staged[1]).digest == first.digest
    assert staged[0].read_bytes() == staged[1].read_bytes()


@pytest.mark.parametrize("endianness", ["<", ">"])
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("fields", [{}, {"scl_slope": 0.25, "scl_inter": -1024}])
def test_voxels_and_affine_are_unchanged(
    nifti: Written, tmp_path: Path, endianness: str, version: int, fields: dict[str, Any]
) -> None:
    source = nifti("s.nii.gz", values=CT, endianness=endianness, version=version, fields=fields)
    staged = tmp_path / "staged.nii.gz"
    result = stage_scan(source, staged)
    before, after = load(source), load(staged)
    assert np.array_equal(np.asarray(before.dataobj), np.asarray(after.dataobj))
    assert np.array_equal(before.affine, after.affine)
    assert np.array_equal(result.grid.affine, after.affine)
    assert result.digest == scan_digest(source) == scan_digest(staged)


def test_a_place_given_by_quaternion_stays_one(tmp_path: Path) -> None:
    image = nibabel.Nifti1Image(CT, None)
    image.set_qform(AFFINE, code=1)
    nibabel.save(image, tmp_path / "source.nii.gz")
    stage_scan(tmp_path / "source.nii.gz", tmp_path / "staged.nii.gz")
    after = load(tmp_path / "staged.nii.gz")
    assert after.header["qform_code"] == 1
    assert after.header["sform_code"] == 0
    assert np.array_equal(after.affine, load(tmp_path / "source.nii.gz").affine)


def test_other_formats_are_staged_as_nifti(tmp_path: Path) -> None:
    source = tmp_path / "scan.mgz"
    nibabel.save(nibabel.MGHImage(CT.astype(np.int32), AFFINE), source)
    result = stage_scan(source, tmp_path / "staged.nii.gz")
    assert np.array_equal(read_scan(tmp_path / "staged.nii.gz").voxels, CT)
    assert result.digest == scan_digest(tmp_path / "staged.nii.gz")


def test_times_and_mode_say_nothing(nifti: Written, tmp_path: Path) -> None:
    staged = tmp_path / "staged.nii.gz"
    stage_scan(nifti("s.nii.gz", values=CT), staged)
    status = staged.stat()
    assert (status.st_mtime_ns, status.st_atime_ns) == (0, 0)
    assert status.st_mode & 0o7777 == 0o444


def test_a_damaged_scan_leaves_nothing_staged(nifti: Written, tmp_path: Path) -> None:
    source = nifti("s.nii.gz", values=CT, drop_bytes=10)
    folder = tmp_path / "staged"
    folder.mkdir()
    with pytest.raises(DatasetError, match="too early"):
        stage_scan(source, folder / "scan_0.nii.gz")
    assert not list(folder.iterdir())


def test_a_folder_that_is_not_there_is_the_platforms_trouble(
    nifti: Written, tmp_path: Path
) -> None:
    with pytest.raises(StoreError, match="could not be staged"):
        stage_scan(nifti("s.nii.gz", values=CT), tmp_path / "nowhere" / "scan_0.nii.gz")


def test_a_digest_is_of_voxels_and_affine(nifti: Written, tmp_path: Path) -> None:
    """Not of gzip bytes, of names, or of the byte order on disk."""
    digest = scan_digest(nifti("a.nii.gz", values=CT))
    assert scan_digest(nifti("b.nii", values=CT)) == digest
    assert scan_digest(nifti("c.nii.gz", values=CT, endianness=">", version=2)) == digest
    assert scan_digest(nifti("d.nii.gz", values=CT, fields={"descrip": b"x"})) == digest
    assert array_digest(np.ascontiguousarray(CT), AFFINE) == digest
    shutil.copy(tmp_path / "a.nii.gz", tmp_path / "e.nii.gz")
    assert scan_digest(tmp_path / "e.nii.gz") == digest

    brighter = CT.copy()
    brighter[5, 4, 3] += 1
    others = [
        nifti("f.nii.gz", values=brighter),
        nifti("g.nii.gz", values=CT.astype(np.int32)),
        nifti("h.nii.gz", values=CT, affine=AFFINE + np.eye(4, k=3)),
        nifti("i.nii.gz", values=CT, fields={"scl_slope": 2}),
        nifti("j.nii.gz", values=CT.reshape(5, 6, 4)),
    ]
    assert len({digest, *map(scan_digest, others)}) == 6


def test_zero_has_one_sign(nifti: Written) -> None:
    negative = AFFINE.copy()
    negative[negative == 0] = -0.0
    assert scan_digest(nifti("a.nii.gz", values=CT)) == scan_digest(
        nifti("b.nii.gz", values=CT, affine=negative)
    )


def test_a_label_maps_digest_does_not_depend_on_its_type(nifti: Written) -> None:
    narrow, wide = nifti("a.nii.gz"), nifti("b.nii.gz", values=label_values("f8"))
    digest = label_map_digest(read_label_map(narrow))
    assert digest == label_map_digest(read_label_map(wide))
    label_map = read_label_map(narrow)
    as_int32 = LabelMap(np.ascontiguousarray(label_map.labels.astype(np.int32)), label_map.grid)
    assert label_map_digest(as_int32) == digest
    assert digest != scan_digest(narrow)


def test_the_digest_of_a_known_image_never_changes() -> None:
    """Run keys hold digests; changing how they are computed would orphan every stored score."""
    assert (
        array_digest(CT, AFFINE)
        == "39d59e1e4fc3ff25b076769d1527eb162a18123949217f1c2cebcb2fd8613191"
    )


def test_writing_replaces_whole_files_only(tmp_path: Path) -> None:
    path = tmp_path / "scan.nii.gz"
    write_volume(path, CT, AFFINE)
    before = path.read_bytes()
    with pytest.raises(Exception, match=r"data dtype"):
        write_volume(path, np.array([[["text"]]]), AFFINE)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["scan.nii.gz"]
