"""``evaluate datasets fetch | verify | index | overlap | diff``: the commands that touch files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segtrial.cli.console import print_json, stderr, stdout
from segtrial.cli.dataset_bar import bar
from segtrial.errors import AnswerIsNoError, DatasetError

if TYPE_CHECKING:
    from segtrial.datasets import Dataset

DatasetName = Annotated[str, typer.Argument(help="Id or alias, or a folder with card.yaml.")]
AsJson = Annotated[bool, typer.Option("--json", help="For a program.")]


def add_to(group: typer.Typer) -> None:
    """Add the commands to ``evaluate datasets``."""
    for name, command in (
        ("fetch", fetch),
        ("verify", verify),
        ("index", index),
        ("overlap", overlap),
        ("diff", diff),
    ):
        group.command(name)(command)


def fetch(
    dataset: DatasetName,
    *,
    cases: Annotated[
        int | None, typer.Option(min=1, help="At most so many cases, of the first track first.")
    ] = None,
    into: Annotated[
        Path | None, typer.Option("--into", help="Folder; by default in the user's cache.")
    ] = None,
) -> None:
    """Download what may be downloaded, and say what has to be done by hand."""
    from segtrial.datasets import default_cache_dir, load_card  # noqa: PLC0415 - read when asked for
    from segtrial.datasets.fetching import fetch_dataset  # noqa: PLC0415 - as above
    from segtrial.datasets.opening import remember  # noqa: PLC0415 - as above

    card = load_card(dataset)
    if card.layout == "segtrial":
        raise DatasetError(f"{card.id} is made on this machine; there is nothing to fetch.")
    folder = into or default_cache_dir() / card.id
    with bar("files") as progress:
        done = fetch_dataset(card, folder, cases=cases, progress=progress)
    if done.fetched or done.already_there:
        remember(card, folder, default_cache_dir())
        stderr().print(f"{folder}: {done.fetched} files fetched, {done.already_there} were there.")
    if done.by_hand:
        raise AnswerIsNoError(
            f"{card.id}: this has to be done by hand.\n"
            + "\n".join(done.by_hand)
            + f"\nThen: evaluate datasets verify {card.id} DIR && "
            f"evaluate datasets index {card.id} DIR"
        )


def verify(
    dataset: DatasetName,
    folder: Annotated[Path, typer.Argument(help="The dataset's folder, as downloaded.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Name every file that is missing, cut off, mislabelled or misaligned."""
    from segtrial.datasets import load_card  # noqa: PLC0415 - read when asked for
    from segtrial.datasets.verifying import verify as check  # noqa: PLC0415 - as above

    card = load_card(dataset)
    with bar("cases") as progress:
        found = check(card, folder, progress=progress)
    if as_json:
        print_json(
            {
                "dataset": card.id,
                "cases": found.cases,
                "problems": [
                    {"kind": p.kind, "case": p.case, "path": str(p.path), "why": p.why}
                    for p in found.problems
                ],
            }
        )
    else:
        for line in found.lines():
            stdout().print(line, markup=False, soft_wrap=True)
    if found.problems:
        raise AnswerIsNoError(
            f"{card.id}: problems in {folder}: {len(found.problems)}; cases: {found.cases}."
        )
    stderr().print(f"{card.id}: all files of {found.cases} cases are as they should be.")


def index(
    dataset: DatasetName,
    folder: Annotated[Path, typer.Argument(help="The dataset's folder, as downloaded.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Read a dataset's folder and remember where it is, so that its id is enough from now on."""
    from segtrial.datasets import default_cache_dir, load_card  # noqa: PLC0415 - read when asked for
    from segtrial.datasets.opening import read_folder, remember  # noqa: PLC0415 - as above

    card = load_card(dataset)
    found = read_folder(card, folder)
    remember(card, folder, default_cache_dir())
    if as_json:
        print_json(
            [
                {"case": case.id, "patient": case.patient, "split": case.split,
                 "scans": [str(path) for path in case.scans],
                 "reference": str(case.reference) if case.reference else None,
                 "slices": dict(case.slices)}
                for case in found.cases
            ]
        )  # fmt: skip
        return
    patients = len({case.patient for case in found.cases})
    labelled = sum(case.reference is not None for case in found.cases)
    stdout().print(
        f"{card.id}: {len(found.cases)} cases of {patients} patients, {labelled} with a reference, "
        f"in {found.folder}.",
        markup=False,
        soft_wrap=True,
    )


def overlap(one: DatasetName, other: DatasetName, *, as_json: AsJson = False) -> None:
    """Find scans that two datasets share under different names."""
    from segtrial.datasets import default_cache_dir, open_dataset  # noqa: PLC0415 - read when asked for
    from segtrial.datasets.overlap import fingerprints  # noqa: PLC0415 - as above
    from segtrial.datasets.overlap import overlap as compare  # noqa: PLC0415 - as above

    marks = []
    for name in (one, other):
        found = open_dataset(name)
        kept = default_cache_dir() / "fingerprints" / found.card.id
        with bar(f"scans of {found.card.id}") as progress:
            marks.append(fingerprints(found.cases, kept=kept, progress=progress))
    same = compare(*marks)
    if as_json:
        print_json(
            [
                {"one": s.one, "other": s.other, "how": s.how, "slices": s.slices,
                 "distance": s.distance}
                for s in same
            ]
        )  # fmt: skip
        return
    for pair in same:
        stdout().print(
            f"{pair.one} = {pair.other}  ({pair.how}, {pair.slices} slices, "
            f"{pair.distance:.1%} of the bits differ)",
            markup=False,
            soft_wrap=True,
        )
    stderr().print(
        f"{len(same)} shared scans among {len(marks[0])} and {len(marks[1])}. Copies on another "
        "grid or with a cropped field of view are not found."
    )


def diff(
    old: DatasetName,
    new: DatasetName,
    *,
    results: Annotated[
        list[Path] | None, typer.Option("--results", help="results.json; once for each file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say what changed between two versions of a dataset, and which results it touches."""
    from segtrial.contracts.reading import parse_json  # noqa: PLC0415 - read when asked for
    from segtrial.contracts.result import Results  # noqa: PLC0415 - as above
    from segtrial.datasets import load_card  # noqa: PLC0415 - as above
    from segtrial.datasets.comparing import compare, reasons, touched  # noqa: PLC0415 - as above

    before, after = load_card(old), load_card(new)
    change = compare(before, after, old_files=_files(old), new_files=_files(new))
    read = {
        path: parse_json(_bytes(path), Results, source=str(path), error=DatasetError)
        for path in results or ()
    }
    hit = {str(path): list(touched(change, before, found)) for path, found in read.items()}
    if as_json:
        print_json(
            {
                "old": change.old,
                "new": change.new,
                "tracks": {track.track: list(reasons(track)) for track in change.tracks},
                "tracks_added": list(change.tracks_added),
                "tracks_gone": list(change.tracks_gone),
                "results": hit,
            }
        )
        return
    out = stdout()
    out.print(f"{change.old} -> {change.new}", markup=False)
    for track in change.tracks:
        said = reasons(track)
        out.print(f"  {track.track}: {'; '.join(said) or 'unchanged'}", markup=False)
    for name, tracks in (("new", change.tracks_added), ("gone", change.tracks_gone)):
        if tracks:
            out.print(f"  {name} tracks: {', '.join(tracks)}", markup=False)
    for name, why in hit.items():
        verdict = f"touched ({'; '.join(why)})" if why else "not touched"
        out.print(f"{name}: {verdict}", markup=False, soft_wrap=True)


def _files(name: str) -> Dataset | None:
    """The dataset's files where a folder was named; a bare card has none."""
    from segtrial.datasets import open_dataset  # noqa: PLC0415 - read when asked for

    return open_dataset(name) if (Path(name) / "cases").is_dir() else None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise DatasetError(f"{path} cannot be read: {problem.strerror}.") from None
