"""Stability: how firm the order is, as description; verdicts are on the pairwise view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from segtrial.board.endpoint import Endpoint
from segtrial.board.html import Markup, tag
from segtrial.board.plots import Names, critical_difference, rank_frequencies
from segtrial.board.views.parts import figure, note, plain_table, section
from segtrial.board.words import percent, plural, rank_words

_FEWEST, _LINE = 3, 30
"""A line of names is of use to so many entries."""
_SCHEMES = {
    "rank_then_mean": "rank in each patient, then average",
    "median_then_rank": "rank by the median",
    "by_mean": "rank by the mean",
    "by_verdicts": "rank by the number of wins in paired tests",
}


def stability_view(endpoint: Endpoint, names: Names) -> Markup:
    """Rank frequencies, and what else the analysis says about the order."""
    counted = [row for row in endpoint.ranking if row.rank_frequency]
    if not counted:
        return tag("p", "No rank frequencies were computed here.", class_="finding")
    best = max(counted, key=lambda row: row.rank_frequency[0])
    lead = tag(
        "p",
        tag("strong", names[best.submission]),
        f" came first most often, in {percent(best.rank_frequency[0])} of the resamples.",
        class_="finding",
    )
    caption = (
        "Percent of bootstrap resamples of the patients in which each entry took each rank. "
        "It describes this set of patients; it is not the probability that a model is the best."
    )
    frequencies = section(
        "Rank frequencies", figure(rank_frequencies(endpoint, names), caption=caption)
    )
    others = tag(
        "div",
        _mean_ranks(endpoint, names, len(counted)),
        _schemes(endpoint),
        _leave_one_out(endpoint, names),
        _duplicates(endpoint, names),
    )
    return Markup(lead + tag("div", frequencies, others, class_="side-by-side"))


def _mean_ranks(endpoint: Endpoint, names: Names, count: int) -> Markup:
    if not _FEWEST <= count <= _LINE:
        return Markup("")
    drawn = figure(critical_difference(endpoint, names))
    said = "A bar joins neighbours of which no pair is told apart by its verdict."
    return section("Mean ranks", drawn, lead=said)


def _leave_one_out(endpoint: Endpoint, names: Names) -> Markup:
    found = (endpoint.raw.get("stability") or {}).get("leave_one_out")
    if not isinstance(found, Mapping):
        return Markup("")
    patients, order = int(found["patients"]), int(found["changing_order"])
    first = int(found["changing_first"])
    said = (
        f"Without one patient at a time, {plural(first, 'patient')} of {patients} would change who "
        f"is first, and {order} would change the order somewhere."
    )
    if not first and not order:
        said = f"Leaving out any one of the {patients} patients does not change the order."
    rows = [
        (names.get(row["submission"], row["submission"]), rank_words(row["low"], row["high"]))
        for row in found.get("ranks") or ()
    ]
    table = plain_table(("Entry", "Ranks taken"), rows, caption="Leave-one-out", numeric=(1,))
    return section(
        "Leaving one patient out", tag("details", tag("summary", "Ranks"), table), lead=said
    )


def _schemes(endpoint: Endpoint) -> Markup:
    schemes = endpoint.raw.get("schemes")
    if not isinstance(schemes, Mapping) or not schemes:
        return Markup("")
    rows = []
    for name, found in sorted(schemes.items()):
        tau = found.get("kendall_tau")
        agreement = f"{tau:.2f}" if isinstance(tau, int | float) else "\u2013"
        same = "yes" if found.get("same_first") else "no"
        rows.append((_SCHEMES.get(name, name.replace("_", " ")), agreement, same))
    head = ("Another way to rank", "Agreement (Kendall's tau)", "Same entry first")
    table = plain_table(head, rows, caption="Other ranking schemes", numeric=(1,))
    return section("Ranked in other ways", table, _wilcoxon(endpoint))


def _wilcoxon(endpoint: Endpoint) -> Markup:
    found: Sequence[Any] = endpoint.raw.get("wilcoxon_disagreements") or ()
    if not found:
        return note("Wilcoxon's signed-rank test gives the same verdict on every pair.")
    opposite = sum(bool(row.get("opposite")) for row in found)
    return note(
        f"Wilcoxon's signed-rank test decides {plural(len(found), 'pair')} differently"
        + (f", {opposite} of them the other way round" if opposite else "")
        + "; it asks about the ranks of the differences, not about their mean."
    )


def _duplicates(endpoint: Endpoint, names: Names) -> Markup:
    found = (endpoint.raw.get("stability") or {}).get("near_duplicates") or ()
    if not found:
        return Markup("")
    pairs = "; ".join(
        f"{names.get(row['a'], row['a'])} and {names.get(row['b'], row['b'])}" for row in found
    )
    return section(
        "Nearly the same entry twice",
        tag("p", f"{pairs}: their scores agree patient by patient."),
        lead="Entries that are almost copies share ranks between them.",
    )
