"""A dataset's card as text for people."""

from __future__ import annotations

from collections.abc import Iterator

from segtrial.contracts.dataset_card import DEFAULT_TOLERANCE_MM, DatasetCard, Source
from segtrial.contracts.lineage import DatasetNode, Relation


def page(card: DatasetCard) -> Iterator[str]:
    """Lines of the page."""
    yield f"{card.id}: {card.title}, version {card.version}"
    yield from _indented(card.summary)
    yield f"licence: {card.licence.name}"
    yield from (f"  conflict: {text}" for text in card.licence.conflicts)
    yield f"references: {card.references}"
    if card.reference_origin is not None:
        yield f"  {card.reference_origin.how}"
        yield from _indented(card.reference_origin.effect)
    yield from _publication(card)
    yield from (f"former version {name}: {what}" for name, what in card.former_versions.items())
    if card.citation:
        yield f"cite: {card.citation}"
    yield "sources:"
    for source in card.sources:
        yield from _source(source)
    yield f"labels ({len(card.labels)}):"
    yield "  " + ", ".join(f"{label} {structure}" for label, structure in card.labels.items())
    yield from (f"  note: {text}" for text in card.quirks)
    yield from (f"  read at: {link}" for link in card.evidence)
    yield "tracks:"
    for track in card.tracks:
        cases = card.listed_cases(track)
        count = f"{len(cases)} cases" if cases is not None else "cases as found"
        yield f"  {card.id}/{track.id}: {track.title}; {count}, {len(track.structures)} structures"
    others = "others" if card.tolerances else "every structure"
    yield f"tolerances ({others}: {DEFAULT_TOLERANCE_MM:g} mm, the default of segtrial):"
    for structure, tolerance in card.tolerances.items():
        yield f"  {structure}: {tolerance.mm:g} mm, {tolerance.source}"
    if card.lineage:
        yield "its images are also in, or come from:"
    for relation in card.lineage:
        yield from _relation(relation)


def node_page(node: DatasetNode) -> Iterator[str]:
    """Lines about a dataset that only occurs in the lineage of others."""
    yield f"{node.id}: {node.title}" + (f", {node.count} cases" if node.count else "")
    yield "known as a source of other datasets; it has no card and no tracks"
    yield from (f"{name}: {text}" for name, text in (
        ("licence", node.licence), ("home", node.homepage), ("note", node.note),
        ("also called", ", ".join(node.aliases)),
    ) if text)  # fmt: skip
    for split, cases in node.splits.items():
        yield f"split {split}: {len(cases)} cases, {cases[0]} to {cases[-1]}"
    if node.lineage:
        yield "its images are also in, or come from:"
    for relation in node.lineage:
        yield from _relation(relation)


def _indented(text: str | None) -> Iterator[str]:
    yield from (f"  {line}" for line in (text or "").splitlines())


def _publication(card: DatasetCard) -> Iterator[str]:
    allowed = [name.replace("_", " ") for name, yes in card.publication if yes]
    yield f"may be published: {', '.join(allowed) or 'nothing but aggregates'}"


def _source(source: Source) -> Iterator[str]:
    sums = [
        f"{name} {getattr(source, name)}" for name in ("md5", "sha256") if getattr(source, name)
    ]
    size = f", {source.size_bytes} bytes" if source.size_bytes else ""
    yield f"  {source.title} ({source.how}{size})"
    yield from (f"    {text}" for text in (source.url, *sums) if text)
    yield from (f"    {line}" for line in (source.instructions or "").splitlines())


def _relation(relation: Relation) -> Iterator[str]:
    some = "some of " if relation.overlap == "partial" else ""
    split = f" split {relation.split}" if relation.split else ""
    count = f" ({relation.count} cases)" if relation.count else ""
    words = relation.relation.replace("_", " ")
    yield f"  {words} {some}{relation.dataset}{split}{count}, {relation.confidence} confidence"
    yield from (f"    {link}" for link in relation.evidence)
