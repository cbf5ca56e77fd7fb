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
from segtrial.board.views.parts import figure, note, plain_table
from segtrial.board.words import plural


def slices_view(endpoint: Endpoint, names: Names) -> Markup:
    """One figure for each declared slice, those that the test highlights first."""
    if not endpoint.slices:
        said = "This dataset declares no subgroups, or their values are not public."
        return tag("p", said, class_="finding")
    marked = [one for one in endpoint.slices if one.interaction and one.interaction.highlighted]
    if marked:
        listed = ", ".join(map(_words, marked))
        said = f"The comparison between entries depends on {listed}"
        lead = tag("p", tag("strong", said), " (interaction test, corrected).", class_="finding")
    else:
        lead = tag("p", _unmarked(endpoint), class_="finding")
    drawn = [one for one in endpoint.slices if any(level.estimates for level in one.levels)]
    order = sorted(endpoint.slices, key=lambda one: (one not in marked, one not in drawn, one.name))
    parts = [_slice(endpoint, names, one) for one in order]
    return Markup(lead + tag("div", parts, class_="side-by-side"))


def _unmarked(endpoint: Endpoint) -> str:
    """That no slice stands out, and which of them could not have."""
    tested = [_words(one) for one in endpoint.slices if one.interaction]
    untested = [_words(one) for one in endpoint.slices if not one.interaction]
    if not tested:
        return "No subgroup has enough patients to say whether it changes the comparison."
    said = "No subgroup changes the comparison between entries, as far as these patients show"
    return f"{said}; {', '.join(untested)} could not be tested." if untested else f"{said}."


def _words(one: Slice) -> str:
    return one.name.replace("_", " ")


def _slice(endpoint: Endpoint, names: Names, one: Slice) -> Markup:
    answers = [
        _answer("Does it change the comparison?", one.interaction),
        _answer("Do the patients differ?", one.difficulty),
    ]
    unknown = f"{plural(one.unknown, 'patient')} without a value." if one.unknown else ""
    is_marked = bool(one.interaction and one.interaction.highlighted)
    mark = tag("span", "interaction", class_="badge unknown") if is_marked else ""
    return tag(
        "section",
        tag("h2", _words(one).capitalize(), " ", mark),
        tag("p", [answer for answer in answers if answer], _left_out(one), unknown, class_="muted"),
        _drawn(endpoint, names, one),
        note(missing) if (missing := _missing(one)) else "",
    )


def _left_out(one: Slice) -> str:
    """What the order by scores would be without one level; description, not a verdict."""
    if one.left_out is None:
        return ""
    first, order = one.left_out.changing_first, one.left_out.changing_order
    if first:
        return f"Without {' or without '.join(first)}, another entry would come first. "
    if order:
        return f"Without {' or without '.join(order)}, the order would be another. "
    return "Leaving out one level does not change the order. "


def _missing(one: Slice) -> str:
    """Why levels have no estimate."""
    without = sum(not level.estimates for level in one.levels)
    if not without:
        return ""
    if without == len(one.levels):
        return "Too few patients in every level for an estimate."
    return (
        "A level without an estimate has too few patients; for an average over structures, of any "
        "one of them."
    )


def _drawn(endpoint: Endpoint, names: Names, one: Slice) -> Markup:
    if any(level.estimates for level in one.levels):
        return figure(slice_plot(endpoint, names, one))
    rows = [(level.level, level.n) for level in one.levels]
    return plain_table(("Level", "n"), rows, caption=f"Levels of {_words(one)}", numeric=(1,))


def _answer(question: str, test: Test | None) -> str:
    if test is None:
        return ""
    said = "Yes" if test.highlighted else "Not shown"
    return f"{question} {said} ({p_phrase(test.p)}, corrected {p_phrase(test.p_adjusted)}). "
