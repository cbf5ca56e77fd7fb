"""The verdicts of the published survey follow from the cards, cell by cell."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from segtrial.contracts.attempt import TrackVerdict
from segtrial.datasets import load_lineage, load_models
from segtrial.policy.contamination import Judgement, TargetCase, judge

HERE = Path(__file__).parent
COLUMNS = {
    "kits23": ("kits23", "train"),
    "kits23_000-209": ("kits23", "kits19_train"),
    "kits23_210-299": ("kits23", "kits19_test"),
    "kits23_400-588": ("kits23", "added"),
    "amos22_imagesTr_ct": ("amos22", "train_ct"),
    "amos22_imagesVa_ct": ("amos22", "val_ct"),
    "amos22_va_mr": ("amos22", "val_mr"),
    "totalsegmentator_v2_train": ("totalsegmentator_v2", "train"),
    "totalsegmentator_v2_test65": ("totalsegmentator_v2", "test_v1"),
    "dap_atlas": ("dap_atlas", None),
    "fdg_pet_ct_lesions": ("fdg_pet_ct_lesions", None),
    "btcv_train": ("btcv", "train"),
    "word_test": ("word", "test"),
    "word_train": ("word", "train"),
    "chaos_ct_train": ("chaos", "ct_train"),
    "lits_train(=msd03)": ("msd_task03_liver", "train"),
    "msd06_lung_tr": ("msd_task06_lung", "train"),
    "msd07_pancreas_tr": ("msd_task07_pancreas", "train"),
    "msd08_hepaticvessel_tr": ("msd_task08_hepaticvessel", "train"),
    "msd09_spleen_tr": ("msd_task09_spleen", "train"),
    "msd10_colon_tr": ("msd_task10_colon", "train"),
    "abdomenct_1k": ("abdomenct_1k", "labelled"),
    "flare22_labeled50": ("flare22", "labelled"),
    "pancreas_ct_nih": ("pancreas_ct_nih", "all"),
    "enhance_pet_1_6k": ("enhance_pet_1_6k", None),
    "jhh_test": ("jhh_test", None),
}
"""Column of the survey to dataset and split (or group of splits) of ours."""
MEANS: dict[str, TrackVerdict] = {
    "E": "contaminated",
    "P": "partial",
    "?": "unknown",
    ".": "clean",
    "U": "unknown",
}


def survey() -> dict[tuple[str, str], str]:
    rows = (HERE / "survey.txt").read_text().splitlines()
    cells = (row.split() for row in rows if not row.startswith("#"))
    return {
        (model, column): letter
        for model, *letters in cells
        for column, letter in zip(COLUMNS, letters, strict=True)
    }


def differences() -> dict[tuple[str, str], TrackVerdict]:
    found = {}
    for group in yaml.safe_load((HERE / "differences.yaml").read_text()):
        assert len(group["reason"]) > 40, "a difference needs a reason"
        for model, columns in group["cells"].items():
            found |= {(model, column): group["verdict"] for column in columns}
    return found


SURVEY = survey()
DIFFERENT = differences()


def cases_of(dataset: str, split: str | None) -> list[TargetCase]:
    """Every case of a split; those without a published id stand for themselves by number."""
    shelf = load_lineage().shelves[dataset]
    found = []
    for name in sorted(shelf.named(split).splits):
        listed = shelf.listed.get(name)
        count = shelf.node.unlisted.get(name) or shelf.node.count or 0
        ids = sorted(listed) if listed else [f"{name} {n}" for n in range(count)]
        found += [TargetCase(case, "", None if listed else name) for case in ids]
    return found


def judged(model: str, column: str) -> Judgement:
    dataset, split = COLUMNS[column]
    return judge(
        load_models()[model].training,
        name=model,
        dataset=dataset,
        cases=cases_of(dataset, split),
        graph=load_lineage(),
        models=load_models(),
    )


@pytest.mark.parametrize("model", sorted({model for model, _ in SURVEY}))
def test_verdicts_follow_from_the_cards(model: str) -> None:
    for column in COLUMNS:
        expected = DIFFERENT.get((model, column), MEANS[SURVEY[model, column]])
        found = judged(model, column)
        assert found.verdict == expected, f"{model} on {column}: {found.evidence}"


def test_every_difference_is_one_and_is_about_partial_cells() -> None:
    """Exact is contaminated and doubtful is unknown, without exception."""
    for cell, verdict in DIFFERENT.items():
        assert SURVEY[cell] == "P", cell
        assert verdict not in {"partial", "clean"}, cell


@pytest.mark.parametrize("model", sorted(load_models()))
def test_no_path_is_printed_for_a_clean_case_and_every_other_one_has_a_path(model: str) -> None:
    for column in ("kits23", "amos22_imagesVa_ct", "totalsegmentator_v2_test65"):
        found = judged(model, column)
        dirty = [case for case, verdict in found.eligibility.items() if verdict != "clean"]
        assert bool(found.paths) == bool(dirty)


def test_case_level_facts() -> None:
    """Found by comparing published case lists with each other."""
    test = judged("vista3d", "totalsegmentator_v2_test65")
    added = [TargetCase(f"s{n}") for n in range(1406, 1430)]
    rest = judge(
        load_models()["vista3d"].training,
        name="vista3d",
        dataset="totalsegmentator_v2",
        cases=added,
        graph=load_lineage(),
        models=load_models(),
    )
    # 73 of the 89 official test cases of TotalSegmentator are in the training list of VISTA3D.
    assert test.counts["contaminated"] + rest.counts["contaminated"] == 73
    # 4 of its own 6 held-out BTCV cases come back through the Gibson collection: 2 stay clean.
    assert judged("vista3d", "btcv_train").counts["clean"] == 2


def test_a_model_pre_trained_on_kits_patients_is_not_fair_on_kits() -> None:
    found = judged("ctfm_whole_body", "kits23_000-209")
    assert not found.ranked
    assert "C4KC-KiTS" in found.evidence[0]
    assert judged("ctfm_whole_body", "kits23_400-588").ranked
