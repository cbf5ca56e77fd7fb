"""The head of a track: what it is, in one line of facts."""

from __future__ import annotations

from segtrial.board.html import Markup, tag
from segtrial.board.track import Track
from segtrial.board.words import plural

_DOT = Markup('<span class="sep" aria-hidden="true">\u00b7</span>')


def title_block(track: Track) -> Markup:
    """Name of dataset and track, and the facts a reader checks first."""
    results = track.results
    entries = [row for row in results.submissions if not row.baseline]
    facts = [
        plural(patients, "patient") if (patients := _patients(track)) else None,
        plural(len(results.track.structures), "structure"),
        plural(len(entries), "entry", "entries"),
        f"reference labels {results.dataset.references}",
        f"data {results.dataset.licence.name}",
    ]
    shown = [fact for fact in facts if fact]
    line = [[_DOT if index else "", tag("span", fact)] for index, fact in enumerate(shown)]
    name = tag("span", f" \u00b7 {results.track.title}", class_="track")
    return Markup(tag("h1", results.dataset.title, name) + tag("p", line, class_="facts"))


def _patients(track: Track) -> int:
    """Patients of the track; from the analysis where single cases are not public."""
    named = {case.patient for case in track.results.cases}
    return len(named) or max((e.n or 0 for e in track.endpoints.values()), default=0)
