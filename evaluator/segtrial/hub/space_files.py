"""What a Space holds beside the page: its README, and for the Gradio kind the app."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from segtrial.hub.front_matter import space_readme
from segtrial.hub.remote import Sdk
from segtrial.policy.publication import PublicResults
from segtrial.resources import resource_dir

_APP = ("app.py", "requirements.txt")


def space_files(
    sdk: Sdk, *, dataset: str
) -> Callable[[Sequence[PublicResults]], Mapping[str, bytes]]:
    """Makes the files of a Space of one kind, from ``leaderboard_space``.

    Parameters
    ----------
    sdk : str
        ``static`` or ``gradio``.
    dataset : str
        ``ORG/NAME`` of the dataset repository.
    """
    folder = resource_dir("leaderboard_space")
    template = (folder / "README.md").read_text(encoding="utf-8")

    def files(results: Sequence[PublicResults]) -> Mapping[str, bytes]:
        title = results[0].dataset.title if results else "Segmentation leaderboard"
        readme = space_readme(template, title=title, sdk=sdk, dataset=dataset)
        app = _APP if sdk == "gradio" else ()
        return {"README.md": readme, **{name: (folder / name).read_bytes() for name in app}}

    return files
