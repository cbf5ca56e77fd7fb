"""Slices: how each entry does in the declared subgroups.

A slice stands out only through its interaction test. An interval of one level that lies apart from
another's shows that the patients differ, which every entry may share; it is no finding about one.
"""

from __future__ import annotations

from segtrial.board.endpoint import Endpoint, Slice, Test
from segtrial.board.html import Markup, tag
from segtrial.board.plots import Names
from segtrial.board.plots.slices import slice_plot
from segtrial.board.views.pairwise import p_phrase
from segtrial.board.views.parts import figure, note
from segtrial.board.words import plural


def slices_view(endpoint: Endpoint, names: Names) -> Markup:
    """One figure for each declared slice, those that the test highlights first."""
    if not endpoint.slices:
        said = "This dataset declares no subgroups, or their values are not public."
        return tag("p", said, class_="finding")
    marked = [one for one in endpoint.slices if one.interaction and one.interaction.highlighted]
    if marked:
        listed = ", ".join(one.name for one in marked)
        said = f"The comparison between entries depends on {listed}"
        lead = tag("p", tag("strong", said), " (interaction test, corrected).", class_="finding")
    else:
        said = "No subgroup changes the comparison between entries, as far as these patients show."
        lead = tag("p", said, class_="finding")
    order = sorted(endpoint.slices, key=lambda one: (one not in marked, one.name))
    parts = [_slice(endpoint, names, one) for one in order]
    return Markup(lead + tag("div", parts, class_="side-by-side"))


def _slice(endpoint: Endpoint, names: Names, one: Slice) -> Markup:
    drawn = slice_plot(endpoint, names, one)
    answers = [
        _answer("Does it change the comparison?", one.interaction),
        _answer("Do the patients differ?", one.difficulty),
    ]
    unknown = f"{plural(one.unknown, 'patient')} without a value." if one.unknown else ""
    is_marked = bool(one.interaction and one.interaction.highlighted)
    mark = tag("span", "interaction", class_="badge unknown") if is_marked else ""
    return tag(
        "section",
        tag("h2", one.name.replace("_", " ").capitalize(), " ", mark),
        tag("p", [answer for answer in answers if answer], unknown, class_="muted"),
        figure(drawn),
        note("Levels with fewer patients than the minimum show only their n.")
        if any(not level.estimates for level in one.levels)
        else "",
    )


def _answer(question: str, test: Test | None) -> str:
    if test is None:
        return ""
    said = "Yes" if test.highlighted else "Not shown"
    return f"{question} {said} ({p_phrase(test.p)}, corrected {p_phrase(test.p_adjusted)}). "
