"""Method: how to read this board, and every setting its numbers depend on."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import count

from segtrial.board.html import Markup, tag
from segtrial.board.views.parts import plain_table, section
from segtrial.board.words import metric_words, structure_words
from segtrial.contracts.result import Results

_READING = {
    "Rank is an interval": (
        "It holds every rank that the paired tests leave open. Entries whose interval starts at "
        "1 are tied for first: nobody is better than they are by a verdict."
    ),
    "Overlapping intervals are not a tie": (
        "Entries are scored on the same patients, so their difference is known far better than "
        "either score. Ties and verdicts come from the test of that difference."
    ),
    "The faint line behind an interval": (
        "It also allows for failures that nobody has seen: with n patients, a failure rarer than "
        "3/n stays out of sight, and would pull the score down."
    ),
    "A failure is scored": (
        "No output, a crash or a wrong grid counts as the worst value and stays in n. Distances "
        "are reported as median and 90th percentile, with failures unbounded."
    ),
    "An absent structure is its own endpoint": (
        "Where the reference does not hold a structure, the question is whether the prediction "
        "stays empty; that never enters a mean of overlaps."
    ),
    "Not trained on it": (
        "An entry is ranked only where none of its training data, weights or teachers reach the "
        "cases of the track, by its declaration and the known lineage. What was not declared is "
        "unknown, never clean."
    ),
    "Rank frequencies describe": (
        "They say how often each rank came out when the patients were resampled; they are not "
        "the probability that a model is the best."
    ),
}


def method_view(results: Results, methodology: str | None) -> Markup:
    """How to read it, the settings of these results, and the methodology in full.

    Parameters
    ----------
    results : Results
        The track.
    methodology : str or None
        ``docs/methodology.md``, where it travels with the code.
    """
    parts = [
        tag("h2", "How to read this board"),
        tag(
            "dl",
            [tag("div", tag("dt", a), tag("dd", b)) for a, b in _READING.items()],
            class_="reading",
        ),
        section("What each number is", _signatures(results)),
        tag(
            "div",
            section("Settings of these results", _settings(results)),
            section("Limits of a run", _limits(results)) if results.protocol.limits else "",
            class_="side-by-side",
        ),
    ]
    if methodology:
        summary = tag("summary", "The methodology in full")
        parts.append(tag("details", summary, tag("div", _markdown(methodology)), class_="prose"))
    return Markup("".join(parts))


def _settings(results: Results) -> Markup:
    rows = [
        (tag("code", key), _written(value), _SETTINGS.get(key, ""))
        for key, value in sorted(results.settings.items())
    ]
    rows.append((tag("code", "segtrial_version"), results.segtrial_version, "Wrote these results"))
    head = ("Setting", "Value", "Meaning")
    table = plain_table(head, rows, caption="Settings of the analysis")
    return tag("div", table, class_="wrap")


_SETTINGS = {
    "alpha": "Family-wise error of the verdicts; intervals have confidence 1 \u2212 alpha",
    "descriptions_up_to": "With more entries, leave-one-out and other ranking schemes are left out",
    "exact_flips_up_to": "Patients up to which every pattern of signs is tried",
    "flips": "Sign flips of a paired test, at least",
    "interval": "Kind of interval of a mean",
    "low_n": "Fewer patients are flagged, and never called equivalent",
    "margins": "Differences too small to matter, for the verdict 'equivalent'",
    "method": "Version of the methodology",
    "minimum_n": "Fewer patients have no interval",
    "permutations": "Permutations of the test between slices",
    "power": "That a number of patients to tell two entries apart aims at",
    "primary_metrics": "Their verdicts are claims; those of other metrics are exploratory",
    "ranked_verdicts": "Training verdicts that may be ranked",
    "resamples": "Bootstrap resamples of the patients",
    "seed": "Every random number follows from it",
}


def _written(value: object) -> str:
    """A setting without the marks of JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_written(one)}" for key, one in sorted(value.items()))
    if isinstance(value, list | tuple):
        return ", ".join(map(_written, value))
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}".replace(",", "\u202f")
    return json.dumps(value, ensure_ascii=False)


def _signatures(results: Results) -> Markup:
    rows = []
    for key, signature in results.protocol.signatures.items():
        structure, _, metric = key.rpartition(".")
        words = metric_words(metric)
        where = f" ({structure_words(structure)})" if structure else ""
        rows.append((words.label + where, words.meaning, tag("code", signature)))
    table = plain_table(("Metric", "Meaning", "Signature"), rows, caption="Signatures of metrics")
    return tag("div", table, class_="wrap")


def _limits(results: Results) -> Markup:
    limits: Mapping[str, object] = (
        results.protocol.limits.model_dump() if results.protocol.limits else {}
    )
    rows = [
        (words, f"{value:g}\u202f{unit}".strip())
        for key, (words, unit) in _LIMITS.items()
        if isinstance(value := limits.get(key), int | float)
    ]
    return plain_table(("Limit", "Value"), rows, caption="Limits of an attempt", numeric=(1,))


_LIMITS = {
    "time_s": ("Time of a case", "s"),
    "memory_gib": ("Memory, without swap", "GiB"),
    "cpus": ("CPUs", ""),
    "pids": ("Processes and threads", ""),
    "tmp_gib": ("Temporary files, in memory", "GiB"),
    "shm_gib": ("Shared memory", "GiB"),
    "output_mib": ("Output", "MiB"),
    "output_files": ("Output files", ""),
}


def _markdown(text: str) -> Markup:
    """Our own methodology as HTML, one heading level down; raw HTML in it stays text."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - only when there is something to render

    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
    html = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    html = re.sub(r"(</?h)([1-5])>", lambda m: f"{m[1]}{int(m[2]) + 1}>", html)
    # Links to other documents of the project lead nowhere from a board.
    html = re.sub(r'<a href="(?!https://)[^"]*">(.*?)</a>', r"\1", html, flags=re.DOTALL)
    # An empty heading is none; and a wide table scrolls by itself, also by keyboard.
    html = html.replace("<th></th>", "<td></td>")
    number = count(1)
    html = re.sub("<table>", lambda _found: _SCROLLING.format(next(number)), html)
    return Markup(html.replace("</table>", "</table></div>"))


_SCROLLING = '<div class="scroll" role="region" tabindex="0" aria-label="Table {}"><table>'
