"""``evaluate datasets fetch``: what may be downloaded by a program is, the rest is explained."""

from __future__ import annotations

import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from segtrial.contracts.dataset_card import DatasetCard, Source
from segtrial.datasets.download import Check, Wanted, fetch, public_https
from segtrial.datasets.progress import Progress
from segtrial.errors import DatasetError, PlatformError

_PAUSE_S = 1.0
"""Between two files of one host."""


@dataclass(frozen=True)
class FetchResult:
    """What was done, and what a person has to do."""

    fetched: int
    already_there: int
    by_hand: tuple[str, ...]
    """Instructions, one for each source that no program may fetch."""


def fetch_dataset(
    card: DatasetCard,
    folder: Path,
    *,
    cases: int | None = None,
    check: Check = public_https,
    sleep: Callable[[float], None] = time.sleep,
    progress: Progress | None = None,
) -> FetchResult:
    """Fetch what a card says can be fetched.

    Parameters
    ----------
    card : DatasetCard
    folder : Path
        Where the dataset goes; what is there and complete is not fetched again.
    cases : int, optional
        At most so many cases, in the order of the card's first track; all by default. Only for
        sources that have a file for each case.
    check, sleep : callable
        As for `segtrial.datasets.download.fetch`.
    progress : callable, optional
        Told the number of files done and of all files.

    Raises
    ------
    DatasetError
        A file is not the published one, or ``cases`` is asked of a single archive.
    PlatformError
        The network or the disk failed.
    """
    allowed = [source for source in card.sources if source.how in {"direct", "per_case"}]
    by_hand = tuple(_instructions(source) for source in card.sources if source.how not in
                    {"direct", "per_case", "generated"})  # fmt: skip
    if cases is not None and allowed and all(source.how == "direct" for source in allowed):
        raise DatasetError(
            f"{card.id} comes as one archive ({allowed[0].title}); it cannot be fetched by case. "
            "Leave --cases out."
        )
    wanted = list(_wanted(card, allowed, folder, cases))
    fetched = 0
    for done, one in enumerate(wanted, start=1):
        if fetch(one, check=check, sleep=sleep):
            fetched += 1
            _unpack(one.target)
            sleep(_PAUSE_S)
        if progress:
            progress(done, len(wanted))
    return FetchResult(fetched, len(wanted) - fetched, by_hand)


def _wanted(
    card: DatasetCard, sources: list[Source], folder: Path, cases: int | None
) -> Iterator[Wanted]:
    for source in sources:
        if source.how == "direct":
            yield _one(source, folder, "")
    for case in _case_ids(card)[:cases]:
        for source in sources:
            if source.how == "per_case":
                yield _one(source, folder, case)


def _one(source: Source, folder: Path, case: str) -> Wanted:
    url = (source.url or "").replace("{case}", case)
    name = (source.file or url.rsplit("/", 1)[-1]).replace("{case}", case)
    return Wanted(url, folder / name, source.size_bytes, source.md5, source.sha256)


def _case_ids(card: DatasetCard) -> tuple[str, ...]:
    """Every case of every track, the first track first."""
    listed = (card.listed_cases(track) or () for track in card.tracks)
    return tuple(dict.fromkeys(case for cases in listed for case in cases))


def _instructions(source: Source) -> str:
    steps = source.instructions or "Download it in a browser."
    return f"{source.title}\n  {source.url or ''}\n  {steps}"


def _unpack(path: Path) -> None:
    """Unpack an archive beside itself; nothing in it may leave the folder."""
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                _refuse_escapes(path, archive.namelist())
                archive.extractall(path.parent)  # noqa: S202 - names were checked
        elif path.name.endswith((".tar", ".tar.gz", ".tgz")):
            with tarfile.open(path) as archive:
                archive.extractall(path.parent, filter="data")
    except (zipfile.BadZipFile, tarfile.TarError, EOFError) as problem:
        raise DatasetError(
            f"{path} cannot be unpacked: {problem}. It is cut off or damaged; remove it and fetch "
            "it again."
        ) from None
    except OSError as problem:
        raise PlatformError(f"{path} cannot be unpacked: {problem}. Free space.") from None


def _refuse_escapes(path: Path, names: list[str]) -> None:
    for name in names:
        if name.startswith(("/", "\\")) or ".." in Path(name).parts:
            raise DatasetError(
                f"{path} holds {name!r}, which would be written outside the folder; it is not "
                "unpacked."
            )
