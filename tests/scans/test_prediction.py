"""A prediction ends as a label map on the grid of the scan, or in a named failure."""

from __future__ import annotations

import gzip
import os
import pickle
import socket
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from segtrial.scans import Grid, LabelMap, PredictionError, corner_shift_mm, read_prediction

from .conftest import AFFINE, SHAPE, NiftiBytes, Written, label_values, rotation

GOLDEN = Path(__file__).parents[1] / "golden" / "prediction-error"
DECLARED = frozenset({1, 2, 5})
MAX_BYTES = 10_000


def read(path: Path, grid: Grid) -> LabelMap:
    return read_prediction(path, grid=grid, allowed_labels=DECLARED, max_bytes=MAX_BYTES)


@pytest.mark.parametrize(
    "dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"], ids=lambda code: str(np.dtype(code))
)
@pytest.mark.parametrize("endianness", ["<", ">"])
@pytest.mark.parametrize("version", [1, 2])
def test_integers_of_any_type_become_the_narrowest(
    nifti: Written, grid: Grid, dtype: str, endianness: str, version: int
) -> None:
    path = nifti(values=label_values(dtype), endianness=endianness, version=version)
    prediction = read(path, grid)
    assert prediction.labels.dtype == np.uint8
    assert np.array_equal(prediction.labels, label_values())
    assert prediction.grid is grid


@pytest.mark.parametrize(
    ("largest", "dtype"), [(255, np.uint8), (256, np.uint16), (65536, np.int32)]
)
def test_the_type_follows_from_what_was_declared(
    nifti: Written, grid: Grid, largest: int, dtype: type
) -> None:
    prediction = read_prediction(
        nifti(), grid=grid, allowed_labels=DECLARED | {largest}, max_bytes=MAX_BYTES
    )
    assert prediction.labels.dtype == dtype


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param({"values": label_values()[..., None]}, id="a fourth axis of one"),
        pytest.param({"extension": b"\x20\0\0\0\x06\0\0\0" + b"x" * 24}, id="an extension"),
        pytest.param({"fields": {"scl_slope": 0}}, id="a slope of 0, which is none"),
        pytest.param({"fields": {"scl_slope": np.nan, "scl_inter": np.nan}}, id="a slope of NaN"),
        pytest.param({"fields": {"descrip": b"\xff" * 80}}, id="free text that is no text"),
        pytest.param({"fields": {"bitpix": 64}}, id="a bitpix that readers ignore"),
        pytest.param({"affine": AFFINE + 0.01 * np.eye(4, k=3)}, id="a hair off"),
    ],
)
def test_what_changes_no_voxel_is_taken(nifti: Written, grid: Grid, parts: dict[str, Any]) -> None:
    assert np.array_equal(read(nifti(**parts), grid).labels, label_values())


def test_an_affine_given_as_quaternion_counts(tmp_path: Path, grid: Grid) -> None:
    image = nibabel.Nifti1Image(label_values(), None)
    image.set_qform(AFFINE, code=1)
    path = tmp_path / "segmentation.nii.gz"
    nibabel.save(image, path)
    assert np.array_equal(read(path, grid).labels, label_values())


def test_a_quaternion_close_to_a_half_turn_is_as_good_as_it_can_be(tmp_path: Path) -> None:
    """An oblique volume in LPS order, from a writer that leaves the sform out."""
    affine = np.eye(4)
    affine[:3, :3] = rotation(0.02, 0.01, 0) @ np.diag([-0.7, -0.7, 1.0])
    grid = Grid((400, 400, 2), affine)
    image = nibabel.Nifti1Image(np.zeros(grid.shape, np.uint8), None)
    image.set_qform(affine, code=1)
    path = tmp_path / "segmentation.nii.gz"
    nibabel.save(image, path)
    assert corner_shift_mm(grid, Grid(grid.shape, image.affine)) > 0.007
    read(path, grid)

    affine[1, 3] += 0.02
    with pytest.raises(PredictionError) as caught:
        read(path, Grid(grid.shape, affine))
    assert caught.value.outcome == "wrong_grid"


def test_members_and_padding_are_one_stream(tmp_path: Path, grid: Grid) -> None:
    plain = NiftiBytes().plain()
    path = tmp_path / "segmentation.nii.gz"
    parts = [gzip.compress(plain[:100]), b"\0" * 300_000, gzip.compress(plain[100:]), b"\0" * 512]
    path.write_bytes(b"".join(parts))
    prediction = read_prediction(path, grid=grid, allowed_labels=DECLARED, max_bytes=1_000_000)
    assert np.array_equal(prediction.labels, label_values())


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def _wrong_checksum(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[-8] ^= 1
    path.write_bytes(whole)


def _wrong_length(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[-1] ^= 1
    path.write_bytes(whole)


def _damaged(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    whole[30:50] = b"\xff" * 20
    path.write_bytes(whole)


def _behind(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"and more")


def _uncompressed(path: Path) -> None:
    path.write_bytes(gzip.decompress(path.read_bytes()))


def _replaced(content: bytes) -> Callable[[Path], None]:
    return lambda path: (path.write_bytes(content), None)[1]


def _header(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - any header value
    return {"fields": fields}


def _dims(*dims: int) -> dict[str, Any]:
    return _header(dim=[len(dims), *dims, *[1] * (7 - len(dims))])


def _moved(row: int, column: int, by: float) -> dict[str, Any]:
    affine = AFFINE.copy()
    affine[row, column] += by
    return {"affine": affine}


def _with_label(value: int, dtype: str = "i8") -> dict[str, Any]:
    values = label_values(dtype)
    values[2, 2, 2:] = value
    return {"values": values}


LARGE = label_values("i2")
LARGE[0] = np.arange(100, 120).reshape(5, 4)

REFUSED: dict[str, tuple[str, dict[str, Any], Callable[[Path], None] | None]] = {
    "empty-file": ("unreadable_output", {}, _replaced(b"")),
    "text": ("unreadable_output", {}, _replaced(b"Traceback (most recent call last):")),
    "gzip-of-text": ("unreadable_output", {}, _replaced(gzip.compress(b"done" * 200, mtime=0))),
    "gzip-of-nothing": ("unreadable_output", {}, _replaced(gzip.compress(b"", mtime=0))),
    "uncompressed": ("unreadable_output", {}, _uncompressed),
    "cut-off": ("unreadable_output", {}, _cut),
    "wrong-checksum": ("unreadable_output", {}, _wrong_checksum),
    "wrong-length": ("unreadable_output", {}, _wrong_length),
    "damaged": ("unreadable_output", {}, _damaged),
    "not-gzip-behind": ("unreadable_output", {}, _behind),
    "voxels-missing": ("unreadable_output", {"drop_bytes": 50}, None),
    "voxels-beyond": ("unreadable_output", {"behind": b"\0"}, None),
    "header-only": ("unreadable_output", {"drop_bytes": 120}, None),
    "extensions-cut-off": ("unreadable_output", _header(vox_offset=2000), None),
    "two-files": ("unreadable_output", _header(magic=b"ni1"), None),
    "analyze": ("unreadable_output", _header(magic=b""), None),
    "no-axes": ("unreadable_output", _header(dim=[0] * 8), None),
    "nine-axes": ("unreadable_output", _header(dim=[9, 6, 5, 4, 1, 1, 1, 1]), None),
    "negative-axis": ("unreadable_output", _dims(6, -5, 4), None),
    "unknown-type": ("unreadable_output", _header(datatype=77), None),
    "offset-nan": ("unreadable_output", _header(vox_offset=np.nan), None),
    "offset-inside-header": ("unreadable_output", _header(vox_offset=10), None),
    "offset-huge": ("unreadable_output", _header(vox_offset=1e12), None),
    "other-shape": ("wrong_grid", {"values": np.zeros((3, 5, 4), np.uint8)}, None),
    "transposed": ("wrong_grid", {"values": label_values().T}, None),
    "two-volumes": ("wrong_grid", {"values": np.stack([label_values()] * 2, -1)}, None),
    "slices-missing": ("wrong_grid", {"values": label_values()[..., :3]}, None),
    "shape-huge": ("wrong_grid", _dims(32767, 32767, 32767), None),
    "moved": ("wrong_grid", _moved(0, 3, 1.0), None),
    "moved-by-two-percent": ("wrong_grid", _moved(2, 3, 0.03), None),
    "identity-affine": ("wrong_grid", {"affine": np.eye(4)}, None),
    "no-affine": ("wrong_grid", {"affine": None}, None),
    "flipped": ("wrong_grid", {"affine": AFFINE * [[-1], [1], [1], [1]]}, None),
    "affine-nan": ("wrong_grid", _moved(1, 1, np.nan), None),
    "affine-infinite": ("wrong_grid", _moved(1, 3, np.inf), None),
    "affine-flat": ("wrong_grid", _moved(2, 2, -4.0), None),
    "quaternion-impossible": (
        "wrong_grid",
        {"affine": None, "fields": {"qform_code": 1, "quatern_b": 2, "quatern_c": 2}},
        None,
    ),
    "probabilities": ("bad_labels", {"values": label_values("f4") * 0.3}, None),
    "whole-numbers-as-float": ("bad_labels", {"values": label_values("f8")}, None),
    "not-a-number": ("bad_labels", {"values": label_values("f4") * np.nan}, None),
    "complex": ("bad_labels", {"values": label_values("c8")}, None),
    "colours": ("bad_labels", _header(datatype=128), None),
    "bits": ("bad_labels", _header(datatype=1), None),
    "scaled": ("bad_labels", _header(scl_slope=0.5), None),
    "shifted": ("bad_labels", _header(scl_inter=1), None),
    "intercept-nan": ("bad_labels", _header(scl_inter=np.nan), None),
    "slope-infinite": ("bad_labels", _header(scl_slope=np.inf), None),
    "undeclared": ("bad_labels", _with_label(3), None),
    "negative": ("bad_labels", _with_label(-1), None),
    "wraps-to-declared": ("bad_labels", _with_label(2**32 + 1), None),
    "beyond-int64": ("bad_labels", _with_label(2**63 + 1, "u8"), None),
    "many-undeclared": ("bad_labels", {"values": LARGE}, None),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_is_named_and_says_what_to_do(nifti: Written, grid: Grid, case: str) -> None:
    outcome, parts, change = REFUSED[case]
    path = nifti(**parts)
    if change:
        change(path)
    with pytest.raises(PredictionError) as caught:
        read(path, grid)
    assert caught.value.outcome == outcome
    assert f"{caught.value}\n" == (GOLDEN / f"{case}.txt").read_text(encoding="utf-8")


def test_every_golden_message_has_its_case() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == set(REFUSED)


def test_a_missing_file_is_no_output(tmp_path: Path, grid: Grid) -> None:
    with pytest.raises(PredictionError, match=r"Write the label map to /output") as caught:
        read(tmp_path / "segmentation.nii.gz", grid)
    assert caught.value.outcome == "no_output"


def _link(path: Path, good: Path) -> None:
    path.symlink_to(good)


def _second_name(path: Path, good: Path) -> None:
    path.hardlink_to(good)


def _pipe(path: Path, _: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path, _: Path) -> None:
    path.mkdir()


def _socket(path: Path, _: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def _endless(path: Path, _: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("plant", [_link, _second_name, _pipe, _folder, _socket, _endless])
def test_only_a_file_of_its_own_is_opened(
    nifti: Written, grid: Grid, tmp_path: Path, plant: Callable[[Path, Path], None]
) -> None:
    path = tmp_path / "planted.nii.gz"
    plant(path, nifti())
    with pytest.raises(PredictionError, match="not a plain file of its own") as caught:
        read(path, grid)
    assert caught.value.outcome == "unreadable_output"


@pytest.mark.parametrize("plant", [_link, _second_name])
def test_links_are_followed_where_the_operator_made_them(
    nifti: Written, grid: Grid, tmp_path: Path, plant: Callable[[Path, Path], None]
) -> None:
    path = tmp_path / "planted.nii.gz"
    plant(path, nifti())
    prediction = read_prediction(
        path, grid=grid, allowed_labels=DECLARED, max_bytes=MAX_BYTES, allow_links=True
    )
    assert np.array_equal(prediction.labels, label_values())


def test_a_pipe_is_refused_also_where_links_are_taken(tmp_path: Path, grid: Grid) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PredictionError, match="plain file"):
        read_prediction(
            tmp_path / "pipe", grid=grid, allowed_labels=DECLARED, max_bytes=9, allow_links=True
        )


def test_a_sparse_terabyte_is_too_large(tmp_path: Path, grid: Grid) -> None:
    path = tmp_path / "segmentation.nii.gz"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(PredictionError, match="1099511627776 bytes, at most 10000") as caught:
        read(path, grid)
    assert caught.value.outcome == "output_too_large"


@pytest.mark.parametrize(
    "parts",
    [
        {"behind": bytes(200 << 20)},
        {"fields": {"dim": [3, 32767, 32767, 32767, 1, 1, 1, 1]}, "behind": bytes(200 << 20)},
        {"extension": bytes(200 << 20)},
    ],
    ids=["trail", "promise", "extension"],
)
def test_a_gzip_bomb_is_not_inflated(nifti: Written, grid: Grid, parts: dict[str, Any]) -> None:
    path = nifti(**parts)
    tracemalloc.start()
    try:
        with pytest.raises(PredictionError):
            read_prediction(path, grid=grid, allowed_labels=DECLARED, max_bytes=1 << 20)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_a_flood_of_empty_members_ends(nifti: Written, grid: Grid) -> None:
    path = nifti()
    path.write_bytes(path.read_bytes() + gzip.compress(b"", mtime=0) * 70_000)
    with pytest.raises(PredictionError, match="more than 65536 parts"):
        read_prediction(path, grid=grid, allowed_labels=DECLARED, max_bytes=1 << 24)


def test_wide_types_cost_no_more_memory_than_narrow_ones(nifti: Written) -> None:
    shape = (128, 128, 64)
    path = nifti(values=np.zeros(shape, np.int64))
    grid = Grid(shape, AFFINE)
    tracemalloc.start()
    try:
        read(path, grid)
        assert tracemalloc.get_traced_memory()[1] < 128 * 128 * 64 + (6 << 20)
    finally:
        tracemalloc.stop()


def test_a_failure_crosses_the_border_of_a_process() -> None:
    error = PredictionError("wrong_grid", "why")
    error.add_note("case 7")
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert (copy.outcome, str(copy), copy.__notes__) == ("wrong_grid", "why", ["case 7"])


def test_labels_that_cannot_exist_are_the_callers_mistake(nifti: Written, grid: Grid) -> None:
    for impossible in (-1, 2**31):
        with pytest.raises(ValueError, match="labels reach from 0"):
            read_prediction(
                nifti(), grid=grid, allowed_labels=frozenset({impossible}), max_bytes=MAX_BYTES
            )


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_no_bytes_end_in_anything_else(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    plain = bytearray(NiftiBytes(version=data.draw(st.sampled_from([1, 2]))).plain())
    for _ in range(data.draw(st.integers(0, 6))):
        place = data.draw(st.integers(0, 560))
        plain[place : place + 1] = data.draw(st.binary(min_size=0, max_size=4))
    packed = bytearray(gzip.compress(bytes(plain), mtime=0))
    for _ in range(data.draw(st.integers(0, 2))):
        place = data.draw(st.integers(0, len(packed)))
        packed[place : place + 1] = data.draw(st.binary(min_size=0, max_size=3))
    path = tmp_path_factory.mktemp("fuzz") / "segmentation.nii.gz"
    path.write_bytes(packed)
    try:
        prediction = read(path, Grid(SHAPE, AFFINE))
    except PredictionError as error:
        assert error.outcome in PredictionError.outcomes  # noqa: PT017 - either end is right
    else:
        assert set(np.unique(prediction.labels)) <= DECLARED | {0}
