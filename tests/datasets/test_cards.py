"""Every card, lineage node and known model that travels with segtrial is valid."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from segtrial.contracts.case_list import compact, expand
from segtrial.contracts.dataset_card import DatasetCard
from segtrial.contracts.lineage import DatasetNode
from segtrial.contracts.reading import parse_yaml
from segtrial.contracts.structures import labels_for
from segtrial.datasets import list_cards, load_lineage, load_models, load_nodes
from segtrial.datasets.catalogue import load_card
from segtrial.datasets.opening import LAYOUTS
from segtrial.datasets.phantom import LABELS, case_table
from segtrial.errors import DatasetError
from segtrial.resources import resource_dir

GOLDEN = Path(__file__).parent / "golden" / "card-error"
CARDS = list_cards()
NEEDED = {
    "kits23", "amos22", "totalsegmentator_v2", "dap_atlas", "msd_task03_liver", "msd_task06_lung",
    "msd_task07_pancreas", "msd_task08_hepaticvessel", "msd_task09_spleen", "msd_task10_colon",
    "btcv", "word", "flare22", "chaos", "abdomenct_1k", "abdomenatlas_1_0_mini",
    "fdg_pet_ct_lesions", "phantom",
}  # fmt: skip


def test_the_catalogue_is_complete_and_its_lineage_holds_together() -> None:
    assert {card.id for card in CARDS} == NEEDED
    assert {"totalsegmentator_v1", "kits19", "lits", "flare23"} <= {n.id for n in load_nodes()}
    assert len(load_lineage().edges) > 120


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.id)
def test_a_card_can_be_read_cited_and_fetched(card: DatasetCard) -> None:
    folder = resource_dir("datasets") / card.id
    assert (folder / "README.md").is_file()
    assert card.layout in LAYOUTS
    assert card.sources
    assert card.layout == "segtrial" or (card.citation and card.homepage)
    assert all(s.instructions for s in card.sources if s.how in {"gated", "manual"})
    assert card.licence.url or card.id == "phantom"


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.id)
def test_a_card_says_where_its_facts_can_be_read(card: DatasetCard) -> None:
    assert card.evidence or card.sources[0].how == "generated"


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.id)
def test_counts_agree_with_the_case_lists(card: DatasetCard) -> None:
    sizes = [*map(len, card.splits.values()), *(n or 0 for n in card.unlisted.values())]
    assert card.count is not None
    if sizes:
        assert sum(sizes) == card.count


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.id)
def test_every_track_is_scored_on_labels_the_dataset_has(card: DatasetCard) -> None:
    for track in card.tracks:
        for structure in track.structures:
            assert card.reference_labels(structure)
            assert card.tolerance_mm(structure) > 0


def test_the_tracks_are_chosen_so_that_many_known_models_are_clean() -> None:
    from segtrial.datasets.eligibility import matrix  # noqa: PLC0415 - takes seconds

    found = matrix()
    clean = {
        track: sum(row[track].ranked for row in found.values())
        for track in ("kits23/clean-400-588", "amos22/val-ct", "word/test")
    }
    assert min(clean.values()) >= 10, clean


@pytest.mark.parametrize("model", load_models().values(), ids=lambda model: model.id)
def test_a_known_model_says_where_its_facts_are_from(model: object) -> None:
    labels, training = model.labels, model.training  # type: ignore[attr-defined] # KnownModel
    assert not labels or model.label_evidence or model.id == "mednext_abdomenatlas"  # type: ignore[attr-defined]
    if training is not None:
        assert all(source.evidence for source in training.sources)


def test_known_models_of_whole_bodies_support_the_tracks_of_abdominal_organs() -> None:
    card = load_card("amos22")
    labels = load_models()["totalsegmentator_v2_total"].labels
    assert all(labels_for(s, labels) for s in card.tracks[0].structures)


def test_the_phantoms_card_is_what_the_phantom_is() -> None:
    card = load_card("phantom")
    assert card.labels == {label: structure for structure, label in LABELS.items()}
    rows = case_table()
    assert card.splits["all"] == tuple(row.case for row in rows)
    assert all(hasattr(rows[0], part.column or part.name) for part in card.slices)


@pytest.mark.parametrize("name", ["AMOS", "amos 2022", "AMOS22"])
def test_a_card_is_found_by_its_aliases(name: str) -> None:
    assert load_card(name).id == "amos22"


def message_of(path: Path) -> str:
    with pytest.raises(DatasetError) as caught:
        parse_yaml(path.read_bytes(), DatasetCard, source="card.yaml", error=DatasetError)
    return str(caught.value) + "\n"


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_bad_card_is_refused_with_the_golden_message(path: Path) -> None:
    assert message_of(path) == path.with_suffix(".txt").read_text()


@given(
    st.lists(st.integers(0, 9999), unique=True).map(sorted),
    st.sampled_from(["s{:04}", "volume-{}"]),
)
def test_a_case_list_survives_being_written_short(numbers: list[int], pattern: str) -> None:
    cases = tuple(pattern.format(n) for n in numbers)
    assert expand(compact(cases)) == cases


def test_ranges_that_mean_nothing_are_refused() -> None:
    for bad in ("a1..b3", "case_5..case_2", "a..b", "case_0..case_999999"):
        with pytest.raises(ValueError, match="range"):
            expand((bad,))


def test_node_files_are_plain_yaml() -> None:
    for path in (resource_dir("datasets") / "lineage").glob("*.yaml"):
        DatasetNode.model_validate(yaml.safe_load(path.read_text()))
