"""A header read without nibabel says what nibabel says, and says nothing of any other file."""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813 - the name all its users know
from hypothesis import given, settings
from hypothesis import strategies as st

from segtrial.scans import read_grid, read_label_map
from segtrial.scans.plain_nifti import plain_header

from .conftest import AFFINE, NiftiBytes, Written, label_values, load
from .test_grid import affines

DTYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "qform_code": st.integers(-1, 7),
    "sform_code": st.integers(-1, 7),
    "xyzt_units": st.integers(0, 20),
    "bitpix": st.sampled_from([8, 16, 32, 64]),
    "scl_slope": st.sampled_from([0, 1, 2.5, -1, np.nan, np.inf]),
    "scl_inter": st.sampled_from([0, -1024, 0.1, np.nan, np.inf]),
    "vox_offset": st.sampled_from([0, 348, 351, 352, 353, 368, 544, 560]),
    "intent_code": st.sampled_from([0, 1, 1005, 2999, 3000, 3006, 3099, 3100]),
    "dim": st.sampled_from(
        [[n, 6, 5, 4, more, 1, 1, 1] for n in (-1, 2, 3, 4, 5, 8) for more in (0, 1, 2)]
        + [[n, 27307, 1, 6, 1, 1, 1, 1] for n in (3, 4)]
    ),
    "pixdim": st.tuples(
        st.sampled_from([1, -1, 0, 2]), *[st.sampled_from([1, 0.78, 0, -2, np.nan, np.inf])] * 3
    ).map(lambda steps: [*steps, 1, 1, 1, 1]),
}
fields = st.lists(st.sampled_from([*FIELDS]), max_size=2, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: FIELDS[name] for name in names})
)
files = st.builds(
    NiftiBytes,
    values=st.sampled_from(DTYPES).map(label_values),
    affine=affines(),
    fields=fields,
    version=st.sampled_from([1, 2]),
    endianness=st.sampled_from(["<", ">"]),
    extension=st.sampled_from([b"", b"", b"", b"\x10\0\0\0\x06\0\0\0words..."]),
)


def assert_as_nibabel(path: Path) -> None:
    """Where an answer is given, it is nibabel's."""
    header = plain_header(path)
    if header is None:
        return
    image = load(path)
    assert header.shape == image.shape[:3]
    assert header.dtype == image.dataobj.dtype
    assert np.array_equal(header.affine, image.affine, equal_nan=True)
    assert (header.slope, header.intercept) == (image.dataobj.slope, image.dataobj.inter)
    assert header.voxel_offset == image.dataobj.offset
    assert int(image.header["xyzt_units"]) & 7 in {0, 2}, "not in mm"


@settings(deadline=None)  # the first file loads nibabel
@given(files)
def test_an_answer_is_that_of_nibabel(made: NiftiBytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "volume.nii")
        path.write_bytes(made.plain())
        assert_as_nibabel(path)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 543), st.integers(0, 255)), max_size=3),
    st.sampled_from([1, 2]),
)
def test_an_answer_on_damaged_bytes_is_that_of_nibabel(
    damage: list[tuple[int, int]], version: int
) -> None:
    whole = bytearray(NiftiBytes(version=version).plain())
    for place, value in damage:
        whole[place % len(whole)] = value
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "volume.nii")
        path.write_bytes(whole)
        assert_as_nibabel(path)


@pytest.mark.parametrize("endianness", ["<", ">"])
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_tools_write_is_plain(
    nifti: Written, dtype: str, version: int, endianness: str
) -> None:
    path = nifti(values=label_values(dtype), version=version, endianness=endianness)
    assert plain_header(path) is not None
    assert_as_nibabel(path)


@pytest.mark.parametrize("name", ["volume.nii", "volume.nii.gz"])
def test_what_nibabel_and_itk_write_is_plain(tmp_path: Path, name: str) -> None:
    by_nibabel, by_itk = tmp_path / f"nibabel_{name}", tmp_path / f"itk_{name}"
    nibabel.save(nibabel.Nifti1Image(label_values(), AFFINE), by_nibabel)
    sitk.WriteImage(sitk.ReadImage(str(by_nibabel)), str(by_itk))
    for path in (by_nibabel, by_itk):
        assert plain_header(path) is not None
        assert_as_nibabel(path)


NOT_PLAIN: dict[str, dict[str, Any]] = {
    "only a quaternion": {"affine": None, "fields": {"qform_code": 1}},
    "no affine": {"affine": None},
    "a wrong size of voxels": {"fields": {"bitpix": 16}},
    "micrometres": {"fields": {"xyzt_units": 3}},
    "an extension": {"extension": b"\x10\0\0\0\x06\0\0\0words..."},
    "no step": {"fields": {"pixdim": [1, 0, 1, 1, 1, 1, 1, 1]}},
    "no handedness": {"fields": {"pixdim": [0, 1, 1, 1, 1, 1, 1, 1]}},
    "an unknown space": {"fields": {"qform_code": 9}},
    "a series": {"values": np.zeros((6, 5, 4, 2), np.uint8)},
    "complex voxels": {"values": np.zeros((6, 5, 4), np.complex64)},
    "a surface of FreeSurfer": {"fields": {"dim": [3, 27307, 1, 6, 1, 1, 1, 1]}},
    "the same in four axes": {"fields": {"dim": [4, 27307, 1, 6, 1, 1, 1, 1]}},
    "CIFTI-2": {"fields": {"intent_code": 3000}, "version": 2},
    "an intent of CIFTI-2": {"fields": {"intent_code": 3099}},
    "half a scaling": {"fields": {"scl_inter": np.nan}},
}


@pytest.mark.parametrize("case", NOT_PLAIN)
def test_of_what_is_not_plain_nothing_is_said(nifti: Written, case: str) -> None:
    assert plain_header(nifti(**NOT_PLAIN[case])) is None


def test_a_name_and_its_bytes_have_to_agree(tmp_path: Path) -> None:
    packed, plain = tmp_path / "packed.nii", tmp_path / "plain.nii.gz"
    packed.write_bytes(NiftiBytes().packed())
    plain.write_bytes(NiftiBytes().plain())
    other = tmp_path / "volume.img"
    other.write_bytes(NiftiBytes().plain())
    cut = tmp_path / "cut.nii.gz"
    cut.write_bytes(gzip.compress(NiftiBytes().plain()[:200]))
    for path in (packed, plain, other, cut, tmp_path / "missing.nii", tmp_path):
        assert plain_header(path) is None


def test_a_plain_label_map_is_the_same_by_either_way(nifti: Written) -> None:
    plain, extended = nifti("a.nii.gz"), nifti("b.nii.gz", **NOT_PLAIN["an extension"])
    ours, theirs = read_label_map(plain), read_label_map(extended)
    assert np.array_equal(ours.labels, theirs.labels)
    assert np.array_equal(read_grid(plain).affine, read_grid(extended).affine)


def test_a_pair_of_plain_label_maps_is_read_without_nibabel(nifti: Written) -> None:
    reference, prediction = nifti("reference.nii.gz"), nifti("prediction.nii.gz")
    program = (
        "import sys; from segtrial.scans import read_pair, to_canonical; "
        "pair = read_pair(*sys.argv[1:], allowed_labels=frozenset({1, 2, 5}), max_bytes=9999); "
        "print(to_canonical(pair.prediction).labels.sum(), 'nibabel' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, reference, prediction],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout.split() == [str(label_values().sum()), "False"]
