"""The README of each repository: what the Hub reads from its front matter, and what people read."""

from __future__ import annotations

import re
from collections.abc import Sequence

import yaml

from segtrial.errors import InputError
from segtrial.hub.remote import Sdk
from segtrial.policy.manifest import results_path
from segtrial.policy.merging import track_key
from segtrial.policy.publication import PublicResults

_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)


def dataset_readme(tracks: Sequence[PublicResults], *, space: str | None) -> bytes:
    """The card of the dataset repository: where each table is, and how to check it."""
    front: dict[str, object] = {
        "pretty_name": f"Results: {tracks[0].dataset.title}" if tracks else "Results",
        "license": "other",
        "license_name": "see-each-dataset",
        "tags": ["leaderboard", "medical-imaging", "image-segmentation", "segtrial"],
        "configs": [
            {
                "config_name": track_key(one),
                "data_files": f"downloads/{track_key(one)}/per_case.parquet",
                **({"default": True} if index == 0 else {}),
            }
            for index, one in enumerate(one for one in tracks if one.records)
        ],
    }
    if not front["configs"]:
        del front["configs"]
    lines = ["# Results of sealed segmentation trials", ""]
    if space:
        lines += [f"Shown at https://huggingface.co/spaces/{space}.", ""]
    lines += [
        "Every number here follows from the per-case records beside it:",
        "`evaluate verify URL_OF_THIS_REPOSITORY` recomputes them and names what differs. That",
        "proves the arithmetic, not the runs.",
        "",
        "| track | dataset | licence of the data | results |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| {key} | {_cell(one.dataset.title)} {_cell(one.dataset.version)} "
        f"| {_cell(one.dataset.licence.name)} | [results.json]({results_path(key)}) |"
        for one in tracks
        if (key := track_key(one))
    ]
    return _document(front, "\n".join(lines) + "\n")


def space_readme(template: str, *, title: str, sdk: Sdk, dataset: str) -> bytes:
    """The Space's README: the template's text, with the front matter of the chosen kind.

    Parameters
    ----------
    template : str
        ``leaderboard_space/README.md``, whose front matter is for the Gradio kind.
    title : str
        Of the board.
    sdk : str
        ``static`` or ``gradio``.
    dataset : str
        ``ORG/NAME`` of the dataset repository.
    """
    found = _FRONT.match(template)
    if found is None:
        raise InputError("leaderboard_space/README.md has no front matter. Restore the file.")
    front = {**yaml.safe_load(found[1]), "title": title[:60], "datasets": [dataset]}
    if sdk == "static":
        for key in ("sdk_version", "python_version", "startup_duration_timeout"):
            front.pop(key, None)
        front |= {"sdk": "static", "app_file": "index.html"}
    return _document(front, template[found.end() :])


def _document(front: dict[str, object], body: str) -> bytes:
    written = yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{written}---\n{body}".encode()


def _cell(value: str) -> str:
    """Text of a stranger inside a Markdown table."""
    return re.sub(r"[|`\[\]<>\n]", " ", value)
