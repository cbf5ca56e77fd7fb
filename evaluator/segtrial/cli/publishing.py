"""Commands that make a board public, and that check one which is."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segtrial import __version__
from segtrial.cli.console import PANEL_PUBLISH, print_json, stderr, stdout
from segtrial.errors import AnswerIsNoError, ResultsError, UsageError

if TYPE_CHECKING:
    from segtrial.contracts.lineage import DatasetNode
    from segtrial.contracts.release import Retraction
    from segtrial.contracts.result import Results
    from segtrial.hub import Published, Tools, Verification

_Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


class SpaceKind(StrEnum):
    """Kinds of Space that a board can be shown in."""

    STATIC = "static"
    GRADIO = "gradio"


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command(rich_help_panel=PANEL_PUBLISH)(publish)
    app.command(rich_help_panel=PANEL_PUBLISH)(verify)


def publish(
    results: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[RESULTS...]", help="results.json, one for each track."),
    ] = None,
    *,
    dataset_repo: Annotated[
        str, typer.Option("--dataset-repo", help="ORG/NAME that holds the results.")
    ],
    space: Annotated[
        str | None, typer.Option("--space", help="ORG/NAME of a Space that shows them.")
    ] = None,
    sdk: Annotated[
        SpaceKind,
        typer.Option(help="Kind of Space. Static is free; gradio adds an API and needs PRO."),
    ] = SpaceKind.STATIC,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what the public would see; write nothing.")
    ] = False,
    note: Annotated[str | None, typer.Option(help="A line for the changelog.")] = None,
    correct: Annotated[
        list[str] | None,
        typer.Option(help="Replace this entry although its version is the same; repeatable."),
    ] = None,
    retract: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TRACK/ENTRY@VERSION",
            help="Withdraw this entry up to that version, with --reason; repeatable.",
        ),
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Why an entry is withdrawn.")] = None,
    sign_key: Annotated[
        Path | None, typer.Option(help="Ed25519 private key (PEM) to sign board.json with.")
    ] = None,
    as_json: _Json = False,
) -> None:
    """Publish results: joined with what is there, in one commit, with nothing lost.

    Needs a Hugging Face token with write access ('hf auth login', or HF_TOKEN).
    """
    from segtrial import hub  # noqa: PLC0415 - only when the command runs
    from segtrial.board import read_results  # noqa: PLC0415

    today = datetime.now(tz=UTC).date().isoformat()
    read = [read_results(path) for path in results or ()]
    for path, one in zip(results or (), read, strict=True):
        _require_own_analysis(path, one)
    wish = hub.Wish(
        date=today,
        results=read,
        retractions=[_retraction(text, reason, today) for text in retract or ()],
        corrected=frozenset(correct or ()),
        note=note,
    )
    dataset = hub.Remote(dataset_repo, "dataset")
    shown = hub.Remote(space, "space") if space else None
    tools = _tools(dataset_repo, space, sdk, sign_key)
    if dry_run:
        done = hub.preview(wish, dataset=dataset, space=shown, tools=tools)
    else:
        done = hub.publish(wish, dataset=dataset, space=shown, sdk=sdk.value, tools=tools)
    if as_json:
        print_json(_published_json(done, dry_run=dry_run))
    else:
        _show_published(done, dry_run=dry_run)


def verify(
    where: Annotated[
        str, typer.Argument(metavar="URL_OR_DIR", help="A published board: its address or folder.")
    ],
    *,
    public_key: Annotated[
        str | None, typer.Option(help="Ed25519 key (base 64) that must have signed it.")
    ] = None,
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Also ask hosts on private networks.")
    ] = False,
    as_json: _Json = False,
) -> None:
    """Check a published board: hashes, signature, and every number recomputed from the records.

    It proves the arithmetic, not the runs.
    """
    from segtrial import hub  # noqa: PLC0415 - only when the command runs
    from segtrial.board import board_files  # noqa: PLC0415

    said = stderr()
    source = hub.source_of(where, allow_private=allow_private)
    with said.status("reading", spinner="line") as status:
        found, manifest, read = hub.verify(
            source,
            check_signature=lambda board, signature: hub.check_signature(
                board, signature, public_key=public_key
            ),
            require_signature=public_key is not None,
            say=status.update,
        )
        found = hub.check_page(
            found,
            manifest,
            read,
            page=partial(board_files, lineage=lineage()),
            segtrial_version=__version__,
        )
    if as_json:
        print_json(_verification_json(found))
    else:
        _show_verification(found)
    if not found.holds:
        raise AnswerIsNoError(f"{where} is not what its records give; see above.")


def lineage() -> tuple[DatasetNode, ...]:
    """Every dataset of the catalogue, as the lineage knows it."""
    from segtrial.datasets.catalogue import list_cards, load_nodes  # noqa: PLC0415 - reads files

    return (*(card.node for card in list_cards()), *load_nodes())


def _tools(dataset: str, space: str | None, sdk: SpaceKind, key: Path | None) -> Tools:
    from segtrial import hub  # noqa: PLC0415
    from segtrial.board import board_files  # noqa: PLC0415

    return hub.Tools(
        page=partial(board_files, lineage=lineage()),
        dataset_files=lambda tracks: {"README.md": hub.dataset_readme(tracks, space=space)},
        space_files=hub.space_files(sdk.value, dataset=dataset),
        signer=hub.signer_from(key) if key else None,
        say=lambda line: stderr().print(line, soft_wrap=True, markup=False),
    )


def _require_own_analysis(path: Path, results: Results) -> None:
    """What is published must follow from its records; where they are, look first."""
    from segtrial.statistics import analyse_results  # noqa: PLC0415 - loads NumPy
    from segtrial.statistics.difference import differing_fields  # noqa: PLC0415

    if not results.records:
        return
    found = differing_fields(results.analysis, analyse_results(results).analysis)
    if found:
        raise ResultsError(
            f"{path}: {len(found)} numbers do not follow from the records, the first is "
            f"analysis.{found[0].field}. Run 'evaluate reanalyze {path} --write' and look at what "
            "changes before publishing."
        )


def _retraction(text: str, reason: str | None, today: str) -> Retraction:
    from pydantic import ValidationError  # noqa: PLC0415

    from segtrial.contracts.reading import explain  # noqa: PLC0415
    from segtrial.contracts.release import Retraction  # noqa: PLC0415

    track, _, entry = text.rpartition("/")
    submission, _, version = entry.partition("@")
    if not (track and submission and version):
        raise UsageError(
            f"--retract {text!r} does not name an entry. Write TRACK/ENTRY@VERSION, such as "
            "kits23--clean-400-588/my_model@1.0."
        )
    if not reason:
        raise UsageError("--retract needs --reason: the changelog says why an entry is gone.")
    body = {
        "track": track, "submission": submission, "version": version,
        "reason": reason, "date": today,
    }  # fmt: skip
    try:
        return Retraction.model_validate(body)
    except ValidationError as problem:
        raise UsageError(explain(problem, Retraction, source=f"--retract {text}")) from None


def _show_published(done: Published, *, dry_run: bool) -> None:
    out = stdout()
    if not done.dataset_files and not done.space_files:
        out.print(f"Nothing to do: release {done.release} is what is public.")
        return
    verb = "would be" if dry_run else "is"
    out.print(f"Release {done.release} {verb} public.")
    for change in done.changes:
        out.print(f"  {change.track}: {change.text}", soft_wrap=True, markup=False)
    for name, files in (("dataset", done.dataset_files), ("Space", done.space_files)):
        counts = Counter(files.values())
        if counts:
            listed = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
            out.print(f"  files of the {name}: {listed}")


def _published_json(done: Published, *, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "release": done.release,
        "changes": [change.model_dump() for change in done.changes],
        "dataset_files": dict(done.dataset_files),
        "space_files": dict(done.space_files),
    }


def _show_verification(found: Verification) -> None:
    out = stdout()
    for one in found.findings:
        out.print(f"differs: {one.where}: {one.said}", soft_wrap=True, markup=False)
    for note in found.notes:
        out.print(f"note: {note}", soft_wrap=True, markup=False)
    out.print(f"{found.files} files have the hash that board.json lists.")
    for track in found.numbers:
        out.print(f"{track}: every number was recomputed from the records.", soft_wrap=True)
    if found.signed_by:
        out.print(f"board.json is signed by {found.signed_by}.", soft_wrap=True)
    if found.holds:
        out.print("Nothing differs. This proves the arithmetic, not the runs.")


def _verification_json(found: Verification) -> dict[str, object]:
    return {
        "holds": found.holds,
        "findings": [{"where": one.where, "said": one.said} for one in found.findings],
        "notes": list(found.notes),
        "files": found.files,
        "recomputed": list(found.numbers),
        "signed_by": found.signed_by,
    }
