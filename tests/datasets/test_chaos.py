"""CHAOS as downloaded: indexed, verified, staged, scored; and every way its folder goes wrong."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image
from typer.testing import CliRunner

import chaos_files as chaos
from segtrial.cli import app
from segtrial.contracts.dataset_card import DatasetCard
from segtrial.datasets import load_card, open_dataset
from segtrial.datasets.opening import read_folder
from segtrial.datasets.overlap import fingerprints
from segtrial.datasets.stamps import stamp
from segtrial.datasets.verifying import verify
from segtrial.errors import DatasetError
from segtrial.scans import read_grid, read_label_map, read_scan, stage_scan, write_volume

MANIFEST = """\
schema_version: segtrial/1
id: livers
name: Livers
version: "1"
authors: [Test]
licence: CC0-1.0
labels: {1: liver}
training: {sources: []}
"""


@pytest.fixture(scope="module")
def downloaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The CT half of the training set, and one patient of the MR half."""
    folder = tmp_path_factory.mktemp("chaos")
    for case in chaos.CT:
        chaos.write_ct(folder, case)
    chaos.write_mr(folder, chaos.MR[0])
    return folder


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """One case of each kind."""
    chaos.write_ct(tmp_path, "1")
    chaos.write_mr(tmp_path, "1")
    return tmp_path


def card(*cases: str) -> DatasetCard:
    """The card with these cases as its only track."""
    whole = load_card("chaos")
    track = whole.tracks[0].model_copy(update={"cases": cases, "split": None})
    return whole.model_copy(update={"tracks": (track,)})


SMALL = card("1", "mr_1_t1dual", "mr_1_t2spir")


def test_indexed_verified_and_scored_by_its_id_alone(downloaded: Path, tmp_path: Path) -> None:
    run = CliRunner()
    done = run.invoke(app, ["datasets", "index", "chaos", str(downloaded)])
    assert "22 cases of 21 patients, 22 with a reference" in done.output
    done = run.invoke(app, ["datasets", "verify", "chaos", str(downloaded), "--json"])
    problems = json.loads(done.stdout)["problems"]
    lost = {case for case in load_card("chaos").splits["mr_train"] if "mr_1_" not in case}
    assert {problem["case"] for problem in problems} == lost
    assert {problem["kind"] for problem in problems} == {"missing"}

    (tmp_path / "submission.yaml").write_text(MANIFEST)
    for case in chaos.CT:
        there = downloaded / "Train_Sets" / "CT" / case / "DICOM_anon"
        found = chaos.liver(int(case))
        if case == "30":
            found[3, 3, 3] = 0
        write_volume(tmp_path / f"{case}.nii.gz", found, read_grid(there).affine)
    words = ["score", tmp_path, "-s", tmp_path, "-d", "chaos", "--store", tmp_path / "s",
             "-o", tmp_path / "r.json"]  # fmt: skip
    done = run.invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    records = json.loads((tmp_path / "r.json").read_text())["records"]
    dice = sorted(record["metrics"]["dice"] for record in records)
    assert dice == [2 * 26 / 53] + [1.0] * 19


def test_a_picture_lies_where_the_slice_of_its_number_lies(small: Path) -> None:
    """CT is numbered from the head down, MR from the feet up, and in-phase by even numbers."""
    found = read_folder(SMALL, small)
    ct, t1, t2 = found.cases_of("ct-train")
    assert ct.reference is not None
    assert t1.reference is not None
    assert t2.reference is not None
    assert np.array_equal(read_label_map(ct.reference).labels, chaos.liver(1))
    assert np.array_equal(read_label_map(t1.reference).labels, chaos.organs(1))
    assert np.array_equal(read_label_map(t2.reference).labels, chaos.organs(1))
    assert set(np.unique(read_scan(ct.scans[0]).voxels)) == {-1000, 100}
    in_phase, out_of_phase = t1.scans
    assert (in_phase.name, out_of_phase.name) == ("InPhase", "OutPhase")
    assert read_scan(out_of_phase).voxels.min() == 1


def test_scans_are_staged_as_nifti_on_the_grid_of_the_reference(
    small: Path, tmp_path: Path
) -> None:
    (case,) = read_folder(card("mr_1_t1dual"), small).cases_of("ct-train")
    assert case.reference is not None
    for number, scan in enumerate(case.scans):
        stage_scan(scan, tmp_path / f"scan_{number}.nii.gz")
        read_label_map(case.reference, grid=read_grid(tmp_path / f"scan_{number}.nii.gz"))


def test_ct_and_mr_are_other_people_though_their_numbers_are_alike(small: Path) -> None:
    found = {case.id: case.patient for case in read_folder(SMALL, small).cases}
    assert found == {"1": "ct_1", "mr_1_t1dual": "mr_1", "mr_1_t2spir": "mr_1"}


def test_a_track_has_the_modality_of_its_scans() -> None:
    found = load_card("chaos")
    assert [found.modalities(track) for track in found.tracks] == [("ct",), ("mr",)]


def test_it_is_found_in_the_folder_that_the_archive_is_unpacked_into(small: Path) -> None:
    wrapped = small / "CHAOS_Train_Sets"
    wrapped.mkdir()
    (small / "Train_Sets").rename(wrapped / "Train_Sets")
    assert len(read_folder(SMALL, small).cases) == 3


def ground(folder: Path) -> Path:
    return folder / "Train_Sets" / "CT" / "1" / "Ground"


def t1(folder: Path) -> Path:
    return folder / "Train_Sets" / "MR" / "1" / "T1DUAL"


def strange_grey(folder: Path) -> None:
    path = t1(folder) / "Ground" / "IMG-0004-00004.png"
    pixels = np.asarray(Image.open(path)).copy()
    pixels[0, 0] = 90
    Image.fromarray(pixels).save(path)


def small_picture(folder: Path) -> None:
    path = ground(folder) / "liver_GT_002.png"
    Image.open(path).resize((4, 4)).save(path)


def cut_picture(folder: Path) -> None:
    path = t1(folder) / "Ground" / "IMG-0004-00004.png"
    path.write_bytes(path.read_bytes()[:-30])


def one_phase(folder: Path) -> None:
    shutil.rmtree(t1(folder) / "DICOM_anon" / "OutPhase")


def renamed_pictures(folder: Path) -> None:
    """As many pictures as slices, and one of each without its partner."""
    (t1(folder) / "Ground" / "IMG-0004-00010.png").rename(
        t1(folder) / "Ground" / "IMG-0004-00000.png"
    )


def wrong_picture(folder: Path) -> None:
    path = ground(folder) / "liver_GT_002.png"
    path.write_bytes(b"<!doctype html><html>Log in</html>")


@pytest.mark.parametrize(
    ("spoil", "kind", "said"),
    [
        (lambda f: (ground(f) / "liver_GT_002.png").unlink(), "missing", "between liver_GT_001"),
        (lambda f: (ground(f) / "liver_GT_004.png").unlink(), "missing", "4 pictures, but the"),
        (lambda f: shutil.rmtree(ground(f)), "missing", "needs the reference"),
        (strange_grey, "mislabelled", "1 pixels of grey level 90"),
        (small_picture, "misaligned", r"it has \(4, 4\) pixels, but the slices"),
        (cut_picture, "unreadable", "no PNG, or cut off"),
        (wrong_picture, "unreadable", "no PNG, or cut off"),
        (one_phase, "missing", "it belongs to the scan"),
        (renamed_pictures, "missing", "there is no picture of IMG-0004-00002.dcm"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_case_is_named(
    small: Path, spoil: Callable[[Path], object], kind: str, said: str
) -> None:
    spoil(small)
    (problem,) = verify(SMALL, small).problems
    assert problem.kind == kind
    assert re.search(said, problem.why)


def test_a_missing_slice_is_named_with_its_case(small: Path) -> None:
    scan = small / "Train_Sets" / "CT" / "1" / "DICOM_anon"
    (scan / "i0002,0000b.dcm").unlink()
    (problem,) = verify(SMALL, small).problems
    assert (problem.kind, problem.case) == ("unreadable", "1")
    assert "1 slice is missing" in problem.why


def test_an_incomplete_case_is_not_indexed(small: Path) -> None:
    one_phase(small)
    with pytest.raises(DatasetError, match=r"'mr_1_t1dual' lacks .*OutPhase"):
        read_folder(SMALL, small)


def test_a_corrected_picture_makes_its_label_map_anew(small: Path) -> None:
    (case,) = read_folder(card("1"), small).cases_of("ct-train")
    assert case.reference is not None
    picture = ground(small) / "liver_GT_004.png"
    Image.fromarray(np.ones((chaos.SHAPE[1], chaos.SHAPE[0]), dtype=bool)).save(picture)
    read_folder(card("1"), small).cases_of("ct-train")
    assert read_label_map(case.reference).labels[..., 0].all()


def test_a_changed_slice_changes_the_stamp_of_its_scan(small: Path) -> None:
    scan = small / "Train_Sets" / "CT" / "1" / "DICOM_anon"
    before = stamp(scan)
    path = scan / "i0002,0000b.dcm"
    path.write_bytes(path.read_bytes() + b"\0\0")
    assert stamp(scan) != before


def test_a_series_has_a_fingerprint(downloaded: Path, cache: Path) -> None:
    chosen = read_folder(card("1", "2"), downloaded).cases[:2]
    marks = fingerprints(chosen, kept=cache)
    again = fingerprints(chosen, kept=cache)
    assert [m.exact for m in marks.values()] == [m.exact for m in again.values()]


def test_the_folder_with_a_card_of_its_own_is_opened(small: Path) -> None:
    text = yaml.safe_dump(SMALL.model_dump(exclude_defaults=True))
    (small / "card.yaml").write_text(text.replace("!!python/tuple", ""))
    assert len(open_dataset(small).cases) == 3
