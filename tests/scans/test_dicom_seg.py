"""A DICOM segmentation is a label map in the grid of its scan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.pixels import pack_bits
from pydicom.sequence import Sequence
from pydicom.uid import ExplicitVRLittleEndian, SegmentationStorage

from dicom_files import Dicom, uid
from segtrial.errors import DatasetError
from segtrial.scans import read_grid, read_label_map, read_label_maps, write_volume

SHAPE = (6, 5, 7)
OBLIQUE = (0.96, 0.28, 0.0, -0.28, 0.96, 0.0)


def labels_of(shape: tuple[int, int, int] = SHAPE) -> Any:  # noqa: ANN401 - numpy's
    labels = np.zeros(shape, np.uint8)
    labels[1:4, 1:3, 2:5] = 1
    labels[4:, 2:, 3] = 2
    return labels


def item(**attributes: object) -> Dataset:
    made = Dataset()
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def write_seg(
    path: Path,
    labels: Any,  # noqa: ANN401 - any numpy type
    scan: Dicom,
    *,
    overlap: bool = False,
    **fields: object,
) -> Path:
    """One frame for each segment and slice that hold something, as converters write them."""
    masks, frames = [], []
    for number in (1, 2):
        for k in range(labels.shape[2]):
            mask = labels[:, :, k] == number if not overlap else labels[:, :, k] > 0
            if not mask.any():
                continue
            masks.append(mask.T.astype(np.uint8))
            position = [float(f"{part:.5f}") for part in scan.position_mm(k)]
            frames.append(
                item(
                    PlanePositionSequence=Sequence([item(ImagePositionPatient=position)]),
                    SegmentIdentificationSequence=Sequence([item(ReferencedSegmentNumber=number)]),
                )
            )
    meta = FileMetaDataset()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    meta.MediaStorageSOPClassUID = SegmentationStorage
    meta.MediaStorageSOPInstanceUID = uid(path)
    made = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    made.SOPClassUID = SegmentationStorage
    made.SOPInstanceUID = uid(path)
    made.SegmentationType = "BINARY"
    made.Columns, made.Rows = labels.shape[:2]
    made.NumberOfFrames = len(frames)
    made.SamplesPerPixel, made.PhotometricInterpretation = 1, "MONOCHROME2"
    made.BitsAllocated, made.BitsStored, made.HighBit, made.PixelRepresentation = 1, 1, 0, 0
    made.SharedFunctionalGroupsSequence = Sequence(
        [
            item(
                PlaneOrientationSequence=Sequence(
                    [item(ImageOrientationPatient=list(scan.orientation))]
                ),
                PixelMeasuresSequence=Sequence(
                    [
                        item(
                            PixelSpacing=[scan.spacing_mm[1], scan.spacing_mm[0]],
                            SliceThickness=scan.spacing_mm[2],
                        )
                    ]
                ),
            )
        ]
    )
    made.PerFrameFunctionalGroupsSequence = Sequence(frames)
    made.PixelData = pack_bits(np.stack(masks))
    for name, value in fields.items():
        setattr(made, name, value)
    made.save_as(path, enforce_file_format=True)
    return path


@pytest.fixture
def scan() -> Dicom:
    return Dicom(np.zeros(SHAPE, np.int16))


@pytest.mark.parametrize("orientation", [(1, 0, 0, 0, 1, 0), OBLIQUE])
def test_segments_lie_in_the_grid_of_the_series(
    tmp_path: Path, scan: Dicom, orientation: tuple[float, ...]
) -> None:
    turned = scan.with_(orientation=orientation)
    turned.write(tmp_path / "series")
    path = write_seg(tmp_path / "seg.dcm", labels_of(), turned)
    found = read_label_map(path, grid=read_grid(tmp_path / "series"))
    assert np.array_equal(found.labels, labels_of())


def test_its_own_grid_is_what_its_frames_cover(tmp_path: Path, scan: Dicom) -> None:
    path = write_seg(tmp_path / "seg.dcm", labels_of(), scan)
    assert np.array_equal(read_label_map(path).labels, labels_of()[..., 2:5])


@pytest.mark.parametrize("seg_first", [True, False])
def test_it_is_compared_with_a_nifti_file_on_any_axes(
    tmp_path: Path, scan: Dicom, *, seg_first: bool
) -> None:
    scan.write(tmp_path / "series")
    affine = read_grid(tmp_path / "series").affine.copy()
    flipped = labels_of()[:, ::-1]
    affine[:3, 3] += affine[:3, 1] * (SHAPE[1] - 1)
    affine[:3, 1] *= -1
    write_volume(tmp_path / "other.nii.gz", flipped, affine)
    paths = [write_seg(tmp_path / "seg.dcm", labels_of(), scan), tmp_path / "other.nii.gz"]
    pair = read_label_maps(*(paths if seg_first else paths[::-1]))
    assert pair.reference.labels.sum() == labels_of().sum()
    assert np.array_equal(pair.reference.labels, pair.prediction.labels)


def test_frames_of_another_scan_are_refused(tmp_path: Path, scan: Dicom) -> None:
    scan.write(tmp_path / "series")
    moved = scan.with_(origin_mm=(-119.5, -100, 40))
    path = write_seg(tmp_path / "seg.dcm", labels_of(), moved)
    with pytest.raises(DatasetError, match="frames are not slices of the scan"):
        read_label_map(path, grid=read_grid(tmp_path / "series"))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"overlap": True}, "segments 1 and 2 overlap"),
        ({"SegmentationType": "FRACTIONAL"}, "FRACTIONAL, not BINARY"),
        ({"PerFrameFunctionalGroupsSequence": Sequence([])}, "damaged or cut off"),
        ({"PixelData": b"\0\0"}, "damaged or cut off"),
    ],
)
def test_what_makes_no_label_map_says_why(
    tmp_path: Path, scan: Dicom, fields: dict[str, Any], said: str
) -> None:
    path = write_seg(tmp_path / "seg.dcm", labels_of(), scan, **fields)
    with pytest.raises(DatasetError, match=said):
        read_label_map(path)


def test_a_slice_is_no_segmentation(tmp_path: Path, scan: Dicom) -> None:
    path = scan.write(tmp_path)[0]
    with pytest.raises(DatasetError, match=r"CT Image Storage.*named by the folder"):
        read_label_map(path)


def test_no_dicom_at_all(tmp_path: Path) -> None:
    (tmp_path / "seg.dcm").write_bytes(b"<html>")
    with pytest.raises(DatasetError, match="no DICOM file"):
        read_label_map(tmp_path / "seg.dcm")
