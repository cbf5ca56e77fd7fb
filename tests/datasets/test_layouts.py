"""Each dataset's own folders, as downloaded, become cases with patients, slices and references."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813 - the name all its users know
import yaml

from dicom_files import Dicom
from segtrial.contracts.dataset_card import DatasetCard
from segtrial.datasets import Dataset, load_card, open_dataset
from segtrial.datasets.opening import read_folder, remember
from segtrial.datasets.verifying import verify
from segtrial.errors import DatasetError
from segtrial.scans import read_grid, read_label_map, write_volume

Writer = Callable[..., Path]


def with_track(card_id: str, *cases: str) -> DatasetCard:
    """A catalogue card with one track of a few cases, to be opened in a small folder."""
    card = load_card(card_id)
    track = card.tracks[0].model_copy(update={"cases": cases or None, "split": None})
    return card.model_copy(update={"tracks": (track,)})


def by_id(dataset: Dataset) -> dict[str, object]:
    return {case.id: case for case in dataset.cases}


@pytest.mark.parametrize("wrapped", ["", "dataset"])
def test_kits23_as_cloned_or_fetched(tmp_path: Path, write: Writer, wrapped: str) -> None:
    root = tmp_path / wrapped
    for case in ("case_00400", "case_00401"):
        write(root / case / "imaging.nii.gz")
        write(root / case / "segmentation.nii.gz", labels=(1, 2, 3))
        write(root / case / "instances" / "kidney_instance-1_annotation-1.nii.gz", labels=(1,))
    rows = [
        {"case_id": "case_00400", "gender": "female", "age_at_nephrectomy": 49, "malignant": True}
    ]
    (root / "kits23.json").write_text(json.dumps(rows))
    found = read_folder(with_track("kits23", "case_00400", "case_00401"), tmp_path)
    first, second = found.cases_of("clean-400-588")
    assert first.slices == {"sex": "female", "age": "<50", "malignant": "True"}
    assert second.slices["sex"] == "unknown"
    assert first.reference == root / "case_00400" / "segmentation.nii.gz"


def test_amos22_with_its_table_beside_the_archive(tmp_path: Path, write: Writer) -> None:
    write(tmp_path / "amos22" / "imagesVa" / "amos_0008.nii.gz")
    write(tmp_path / "amos22" / "labelsVa" / "amos_0008.nii.gz", labels=(2, 3))
    write(tmp_path / "amos22" / "imagesTs" / "amos_0301.nii.gz")
    (tmp_path / "labeled_data_meta_0000_0599.csv").write_text(
        "amos_id,Patient's Sex,Patient's Age,Manufacturer's Model Name,Site\n8,F,057Y,Aquilion,1\n"
    )
    found = by_id(read_folder(load_card("amos22"), tmp_path))
    assert set(found) == {"amos_0008", "amos_0301"}
    assert found["amos_0008"].slices == {  # type: ignore[attr-defined]
        "sex": "female",
        "age": "45-65",
        "scanner": "Aquilion",
        "site": "1",
    }
    assert found["amos_0301"].reference is None  # type: ignore[attr-defined]


def test_totalsegmentator_masks_become_one_label_map(tmp_path: Path, write: Writer) -> None:
    card = with_track("totalsegmentator_v2", "s0013")
    folder = tmp_path / "s0013"
    write(folder / "ct.nii.gz")
    for label, structure in card.labels.items():
        place = (0,) * (label - 1) + (1,)
        name = card.native_names.get(label, structure)
        write(folder / "segmentations" / f"{name}.nii.gz", labels=place)
    (tmp_path / "meta.csv").write_text(
        "image_id;age;gender;institute;split;manufacturer;pathology\ns0013;63.00;m;I;test;siemens;x\n"
    )
    (case,) = read_folder(card, tmp_path).cases_of("test-organs")
    assert case.reference is not None
    merged = read_label_map(case.reference).labels
    assert merged.reshape(-1)[:117].tolist() == list(range(1, 118))
    assert case.slices["sex"] == "male"
    assert case.slices["age"] == "50-65"
    stamp = case.reference.stat().st_mtime_ns
    read_folder(card, tmp_path).cases_of("test-organs")
    assert case.reference.stat().st_mtime_ns == stamp, "it is made once"


def test_a_missing_mask_is_named_with_its_case(tmp_path: Path, write: Writer) -> None:
    write(tmp_path / "s0013" / "ct.nii.gz")
    write(tmp_path / "s0013" / "segmentations" / "spleen.nii.gz", labels=(1,))
    with pytest.raises(DatasetError, match="kidney_right") as caught:
        read_folder(with_track("totalsegmentator_v2", "s0013"), tmp_path).cases_of("test-organs")
    assert "case s0013" in caught.value.__notes__


def test_msd_without_the_leftovers_of_macos(tmp_path: Path, write: Writer) -> None:
    root = tmp_path / "Task09_Spleen"
    for name in ("spleen_2", "._spleen_2", "spleen_10"):
        write(root / "imagesTr" / f"{name}.nii.gz")
        write(root / "labelsTr" / f"{name}.nii.gz", labels=(1,))
    write(root / "imagesTs" / "spleen_1.nii.gz")
    found = by_id(read_folder(load_card("msd_task09_spleen"), tmp_path))
    assert {case: one.split for case, one in found.items()} == {  # type: ignore[attr-defined]
        "spleen_2": "train",
        "spleen_10": "train",
        "spleen_1": "test",
    }


def test_btcv_pairs_img_with_label(tmp_path: Path, write: Writer) -> None:
    root = tmp_path / "Abdomen" / "RawData" / "Training"
    write(root / "img" / "img0001.nii.gz")
    write(root / "label" / "label0001.nii.gz", labels=(1,))
    (case,) = read_folder(load_card("btcv"), tmp_path).cases
    assert (case.id, case.reference) == ("img0001", root / "label" / "label0001.nii.gz")


def test_autopet_has_two_scans_and_patients_with_several_studies(
    tmp_path: Path, write: Writer
) -> None:
    studies = ("03-23-2003-NA-PET-CT Ganzkoerper-10445", "08-01-2004-NA-PET-CT Teil-20445")
    for study in studies:
        for channel in ("_0000", "_0001"):
            write(tmp_path / "imagesTr" / f"fdg_0011f3deaf_{study}{channel}.nii.gz")
        write(tmp_path / "labelsTr" / f"fdg_0011f3deaf_{study}.nii.gz", labels=(1,))
    (tmp_path / "Clinical Metadata FDG PET_CT Lesions.csv").write_text(
        "Subject ID,Modality,diagnosis,age,sex\n"
        "PETCT_0011f3deaf,CT,MELANOMA,063Y,F\nPETCT_0011f3deaf,PT,MELANOMA,063Y,F\n"
        "PETCT_0011f3deaf,CT,MELANOMA,067Y,F\n"
    )
    found = read_folder(load_card("fdg_pet_ct_lesions"), tmp_path).cases
    assert {case.patient for case in found} == {"0011f3deaf"}
    assert all(len(case.scans) == 2 for case in found)
    # Two ages in one patient's rows: which study is which is not said, so the age is unknown.
    assert found[0].slices == {"sex": "female", "age": "unknown", "diagnosis": "MELANOMA"}


def test_a_missing_channel_is_named(tmp_path: Path, write: Writer) -> None:
    write(tmp_path / "imagesTr" / "fdg_0011f3deaf_study-10445_0000.nii.gz")
    with pytest.raises(DatasetError, match=r"_0001\.nii\.gz"):
        read_folder(load_card("fdg_pet_ct_lesions"), tmp_path)


def test_dap_atlas_masks_find_their_images(tmp_path: Path, write: Writer) -> None:
    image = write(tmp_path / "imagesTr" / "fdg_0011f3deaf_03-23-2003-NA-PET-CT x-10445_0000.nii.gz")
    write(tmp_path / "imagesTr" / "fdg_ffff_03-23-2003-NA-PET-CT x-99999_0000.nii.gz")
    write(tmp_path / "labels" / "AutoPET_0011f3deaf_10445.nii.gz", labels=(13, 15))
    (case,) = read_folder(load_card("dap_atlas"), tmp_path).cases
    assert (case.id, case.patient, case.scans) == (
        "AutoPET_0011f3deaf_10445",
        "0011f3deaf",
        (image,),
    )


def test_dap_atlas_without_images_says_what_is_missing(tmp_path: Path, write: Writer) -> None:
    write(tmp_path / "labels" / "AutoPET_0011f3deaf_10445.nii.gz", labels=(13,))
    with pytest.raises(DatasetError, match="Put the folder imagesTr"):
        read_folder(load_card("dap_atlas"), tmp_path)


def test_an_id_is_enough_once_the_folder_is_remembered(
    tmp_path: Path, write: Writer, cache: Path
) -> None:
    card = load_card("btcv")
    with pytest.raises(DatasetError, match="evaluate datasets fetch btcv"):
        open_dataset("btcv")
    write(tmp_path / "RawData" / "Training" / "img" / "img0001.nii.gz")
    remember(card, tmp_path, cache)
    assert [case.id for case in open_dataset("btcv").cases] == ["img0001"]


def test_an_incomplete_track_names_what_is_missing(tmp_path: Path, write: Writer) -> None:
    write(tmp_path / "case_00400" / "imaging.nii.gz")
    write(tmp_path / "case_00400" / "segmentation.nii.gz", labels=(1,))
    found = read_folder(load_card("kits23"), tmp_path)
    with pytest.raises(DatasetError, match=r"lacks 188 of the 189 cases.*'case_00401' first"):
        found.cases_of("clean-400-588")
    with pytest.raises(DatasetError, match=r"no track 'clean-400'.*Did you mean 'clean-400-588'"):
        found.track("clean-400")


def test_a_scan_that_two_folders_claim_is_refused(tmp_path: Path, write: Writer) -> None:
    write(tmp_path / "imagesTr" / "amos_0008.nii.gz")
    write(tmp_path / "imagesVa" / "amos_0008.nii.gz")
    with pytest.raises(DatasetError, match="Two files are the scan of case 'amos_0008'"):
        read_folder(load_card("amos22"), tmp_path)


@pytest.mark.parametrize("make", ["nothing", "file", "empty"])
def test_a_folder_that_is_not_the_dataset_is_refused(tmp_path: Path, make: str) -> None:
    folder = tmp_path / make
    if make == "file":
        folder.write_text("x")
    if make == "empty":
        folder.mkdir()
    with pytest.raises(DatasetError, match=r"holds no case of kits23|is no folder"):
        read_folder(load_card("kits23"), folder)


def test_the_grid_of_the_fixture_is_what_it_says(tmp_path: Path, write: Writer) -> None:
    assert read_grid(write(tmp_path / "a.nii.gz")).spacing_mm == (1.5, 1.5, 3.0)


@pytest.mark.parametrize("suffix", [".nrrd", ".mha", ".nii.gz"])
def test_a_card_may_name_dicom_folders_and_references_in_any_format(
    tmp_path: Path, suffix: str
) -> None:
    series = Dicom(np.arange(120, dtype=np.int16).reshape(6, 5, 4))
    labels = (series.values % 3 == 1).astype(np.uint8)
    for case in ("a", "b"):
        series.write(tmp_path / case / "ct")
        affine = read_grid(tmp_path / case / "ct").affine
        if suffix == ".nii.gz":
            write_volume(tmp_path / case / f"liver{suffix}", labels, affine)
            continue
        image = sitk.GetImageFromArray(np.ascontiguousarray(labels.T))
        image.SetSpacing(series.spacing_mm)
        image.SetOrigin(series.origin_mm)
        sitk.WriteImage(image, str(tmp_path / case / f"liver{suffix}"))
    card = {
        "schema_version": "segtrial-card/1", "id": "mine", "title": "Mine", "version": "1",
        "licence": {"name": "CC0"}, "references": "private", "modality": "ct", "layout": "paired",
        "files": [{"scan": "{case}/ct", "reference": f"{{case}}/liver{suffix}"}],
        "labels": {1: "liver"},
        "tracks": [{"id": "all", "title": "All", "structures": ["liver"]}],
    }  # fmt: skip
    (tmp_path / "card.yaml").write_text(yaml.safe_dump(card))
    found = open_dataset(tmp_path)
    assert verify(found.card, tmp_path).problems == ()
    for case in found.cases_of("all"):
        assert case.reference is not None
        on_scan = read_label_map(case.reference, grid=read_grid(case.scans[0]))
        assert np.array_equal(on_scan.labels, labels)
