"""What is fetched when a view is opened: one file for each kind of view and structure.

Each file is a script that hands its content over, because a script element loads from a disk as
well as from a server, and a fetch does not. Files are cut so that a switch of metric needs none and
a switch of structure needs one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segtrial.board.cost import Cost
from segtrial.board.downloads import download_links
from segtrial.board.html import Markup, json_for_file, tag
from segtrial.board.table import ranking_table
from segtrial.board.title import title_block
from segtrial.board.track import Track
from segtrial.board.unranked import unranked
from segtrial.board.views.changelog import changelog_view
from segtrial.board.views.compare import compare_data, compare_shell
from segtrial.board.views.cost import cost_view
from segtrial.board.views.dataset import dataset_view
from segtrial.board.views.method import method_view
from segtrial.board.views.model import model_view
from segtrial.board.views.pairwise import pairwise_view
from segtrial.board.views.slices import slices_view
from segtrial.board.views.stability import stability_view
from segtrial.contracts.lineage import DatasetNode
from segtrial.contracts.release import Release


def chunks(
    track: Track,
    *,
    releases: Sequence[Release],
    methodology: str | None,
    downloads: Sequence[str],
    dataset: str | None,
    lineage: Sequence[DatasetNode],
) -> Iterator[tuple[str, str]]:
    """Every file of a track, as (path in the folder, text).

    Parameters
    ----------
    track : Track
        The track.
    releases : sequence of Release
        Published history.
    methodology : str or None
        Markdown of the methodology.
    downloads : sequence of str
        Paths of what people can take away.
    dataset : str or None
        ``ORG/NAME`` of the dataset repository, where the large downloads are.
    lineage : sequence of DatasetNode
        Datasets that may share images.
    """
    for structure in track.structures:
        yield _chunk(track, f"table-{structure}", _tables(track, structure))
        yield _chunk(track, f"more-{structure}", _more(track, structure))
        yield _chunk(track, f"pairs-{structure}", _pairs(track, structure))
        found = {metric: track.endpoints[structure, metric] for metric in track.metrics(structure)}
        yield _chunk(track, f"cases-{structure}", compare_data(track.results, structure, found))
    for entry in track.results.submissions:
        yield _chunk(track, f"model-{entry.id}", {"html": _model(track, entry.id, releases)})
    names = [path.rsplit("/", 1)[1] for path in downloads]
    about = {
        "title": title_block(track),
        "downloads": download_links(track, names, dataset=dataset),
        "compare": compare_shell(),
        "dataset": dataset_view(track.results, lineage),
        "method": method_view(track.results, methodology),
        "changelog": changelog_view(releases, track=track.key),
    }
    yield _chunk(track, "about", about)


def default_table(track: Track) -> Markup:
    """What the page shows before any script runs."""
    if track.default is None:
        return tag("p", "No entry is ranked on this track yet.", class_="finding")
    return table(track, *track.default)


def table(track: Track, structure: str, metric: str) -> Markup:
    """The ranking of one structure and metric."""
    endpoint = track.endpoints[structure, metric]
    return ranking_table(
        endpoint,
        entries=track.entries,
        costs=track.costs,
        unranked=unranked(track, endpoint),
        track=track.key,
    )


def _chunk(track: Track, name: str, content: object) -> tuple[str, str]:
    key = f"{track.key}/{name}"
    text = f"segtrialChunk({json_for_file(key)},{json_for_file(content)});\n"
    return f"data/{key}.js", text


def _tables(track: Track, structure: str) -> dict[str, str]:
    return {metric: table(track, structure, metric) for metric in track.metrics(structure)}


def _more(track: Track, structure: str) -> dict[str, dict[str, Markup]]:
    found = {}
    for metric in track.metrics(structure):
        endpoint = track.endpoints[structure, metric]
        models = endpoint.without(track.baselines)
        found[metric] = {
            "stability": stability_view(endpoint, track.names),
            "slices": slices_view(models, track.names),
            "cost": cost_view(models, track.names, track.costs),
        }
    return found


def _pairs(track: Track, structure: str) -> dict[str, str]:
    return {
        metric: pairwise_view(track.endpoints[structure, metric], track.names, track=track.key)
        for metric in track.metrics(structure)
    }


def _model(track: Track, key: str, releases: Sequence[Release]) -> Markup:
    return model_view(
        track.entries[key],
        endpoints=track.endpoints,
        records=track.records[key],
        cost=track.costs.get(key, Cost()),
        releases=releases,
        track=track.key,
    )
