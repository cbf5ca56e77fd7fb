"""Dataset: what was scored on, under which terms, and who was trained on it."""

from __future__ import annotations

from collections.abc import Sequence

from segtrial.board.entry import bullets
from segtrial.board.html import Markup, join, link, linked, tag
from segtrial.board.views.parts import facts, note, plain_table, section
from segtrial.board.words import MACRO, VERDICT_WORDS, plural, structure_words
from segtrial.contracts.lineage import DatasetNode, Relation
from segtrial.contracts.result import Results

_REFERENCES = {
    "public": "Public. Anybody can have the reference labels, so they could be baked into an "
    "image; no policy can see that.",
    "gated": "Gated. The reference labels are given to those who sign for them.",
    "private": "Private. Nobody outside has the reference labels.",
}


def dataset_view(results: Results, lineage: Sequence[DatasetNode]) -> Markup:
    """The card as published, the track, the lineage, and who was trained on it.

    Parameters
    ----------
    results : Results
        The track.
    lineage : sequence of DatasetNode
        Datasets as the lineage knows them; only what touches this one is shown.
    """
    return Markup(
        tag("h2", results.dataset.title, tag("span", f" {results.dataset.version}", class_="muted"))
        + _about(results)
        + section("Track", _track(results))
        + _relations(results.dataset.id, lineage)
        + section(
            "Who was trained on it",
            _entries(results),
            lead="As declared by the authors, followed through the lineage of datasets and models.",
        )
    )


def _about(results: Results) -> Markup:
    row = results.dataset
    return Markup(
        facts(
            {
                "Modality": row.modality.upper(),
                "Licence": link(row.licence.url, row.licence.name),
                "Reference labels": _REFERENCES[row.references],
                "Home page": link(row.homepage, row.homepage) if row.homepage else None,
                "Scores of single cases": "public" if row.publication.per_case_scores else "kept",
                "Citation": row.citation,
            }
        )
        + (
            section("Where the licence contradicts itself", bullets(row.licence.conflicts))
            if row.licence.conflicts
            else ""
        )
    )


def _track(results: Results) -> Markup:
    track = results.track
    present = {
        structure: len({c.patient for c in results.cases if c.reference_ml.get(structure, 0) > 0})
        for structure in track.structures
    }
    rows = [
        (
            structure_words(structure),
            present[structure] or _patients(results, structure),
            _tolerance(track.tolerances_mm.get(structure)),
        )
        for structure in track.structures
    ]
    total = len({case.patient for case in results.cases})
    size = f"{plural(total, 'patient')}, {plural(len(results.cases), 'case')}." if total else ""
    about = tag("p", tag("strong", track.title), f" ({track.id}). {size}")
    head = ("Structure", "Patients who have it", "NSD tolerance")
    return Markup(
        about
        + plain_table(head, rows, caption="Structures of the track", numeric=(1, 2))
        + note("The cases and structures were fixed before anyone was run; no entry changes them.")
    )


def _tolerance(mm: float | None) -> str:
    return "\u2013" if mm is None else f"{mm:g} mm"


def _patients(results: Results, structure: str) -> object:
    """From the analysis, where single cases are not public."""
    block = results.analysis.get(structure) or results.analysis.get(MACRO) or {}
    return next((body.get("n") for body in block.values() if body.get("n")), "\u2013")


_WORDS = {
    "contains": ("contains", "is contained in"),
    "derived_from": ("was derived from", "is the source of"),
    "overlaps": ("overlaps with", "overlaps with"),
}


def _relations(dataset: str, lineage: Sequence[DatasetNode]) -> Markup:
    """Which other datasets share images with this one, who says so and how sure that is."""
    titles = {node.id: node.title for node in lineage}
    rows = [
        _relation(_WORDS[one.relation][0], titles.get(one.dataset, one.dataset), one)
        for node in lineage
        if node.id == dataset
        for one in node.lineage
    ]
    rows += [
        _relation(_WORDS[one.relation][1], node.title, one)
        for node in lineage
        for one in node.lineage
        if one.dataset == dataset
    ]
    if not rows:
        return Markup("")
    head = ("This dataset", "Other dataset", "Images", "Confidence", "Evidence")
    table = plain_table(head, rows, caption="Lineage of the dataset", row_header=1)
    return section("Lineage", tag("div", table, class_="wrap"))


def _relation(words: str, other: str, one: Relation) -> tuple[object, ...]:
    part = f", {one.split}" if one.split else ""
    images = "all" if one.overlap == "full" else "some"
    count = f" ({one.count})" if one.count else ""
    links = join([link(url, str(k)) for k, url in enumerate(one.evidence, 1)], ", ")
    return (words, f"{other}{part}", images + count, one.confidence, links)


def _entries(results: Results) -> Markup:
    rows = [
        (
            row.name,
            VERDICT_WORDS[row.verdict][0],
            _evidence(row.evidence),
        )
        for row in sorted(results.submissions, key=lambda row: (row.verdict, row.name))
    ]
    head = ("Entry", "Verdict", "How it was reached")
    return tag(
        "div", plain_table(head, rows, caption="Training verdict of every entry"), class_="wrap"
    )


def _evidence(paths: tuple[str, ...]) -> object:
    if len(paths) > 1:
        return bullets(linked(path) for path in paths)
    return linked(paths[0]) if paths else "\u2013"
