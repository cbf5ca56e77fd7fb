"""Find and read a submission: a folder, its ``submission.yaml``, or the id of a shipped model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from segtrial.contracts.reading import MAX_YAML_BYTES, nearest
from segtrial.contracts.submission import Submission, parse_submission
from segtrial.errors import SubmissionError
from segtrial.resources import resource_dir

MANIFEST = "submission.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSubmission:
    """A submission and the folder its manifest lies in."""

    manifest: Submission
    folder: Path


def load_submission(where: str | Path) -> LoadedSubmission:
    """Read a submission.

    Parameters
    ----------
    where : str or Path
        A folder with ``submission.yaml``, that file, or the id of a model under ``model_images``.

    Raises
    ------
    SubmissionError
        It is not there, or its manifest has problems; every one is named.
    """
    path = _manifest(where)
    try:
        with path.open("rb") as stream:
            text = stream.read(MAX_YAML_BYTES + 1)
    except OSError as problem:
        raise SubmissionError(
            f"{path} cannot be read: {problem.strerror}. A submission is a folder with a readable "
            f"{MANIFEST}; copy submission_template/ to start one."
        ) from None
    return LoadedSubmission(
        manifest=parse_submission(text, source=str(path)), folder=path.parent.resolve()
    )


def shipped_submissions() -> dict[str, Path]:
    """Folders of the models that come with segtrial, by id."""
    root = resource_dir("model_images")
    return {path.parent.name: path.parent for path in sorted(root.glob(f"*/{MANIFEST}"))}


def _manifest(where: str | Path) -> Path:
    path = Path(where)
    if path.is_dir():
        path = path / MANIFEST
    elif not path.exists() and str(where) in (shipped := shipped_submissions()):
        path = shipped[str(where)] / MANIFEST
    elif not path.exists():
        raise SubmissionError(
            f"There is no submission at {where}: no such file or folder, and no model of that id "
            f"comes with segtrial.{nearest(str(where), shipped)}"
        )
    if not path.is_file():
        raise SubmissionError(
            f"There is no {MANIFEST} in {path.parent}. Every submission has one; copy "
            "submission_template/ to start."
        )
    return path
