"""Progress of work on a dataset's files: a bar on a terminal, a line for each tenth elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from segtrial.cli.console import stderr


@contextmanager
def bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show how far something is; yields a callable of what is done and what there is to do."""
    console = stderr()
    if not console.is_terminal:
        yield _lines(what)
        return
    from rich.progress import (  # noqa: PLC0415 - drawn on a terminal only
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (TextColumn(what), BarColumn(28), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


def _lines(what: str) -> Callable[[int, int], None]:
    said = 0

    def say(done: int, total: int) -> None:
        nonlocal said
        tenth = 10 * done // max(total, 1)
        if tenth > said:
            said = tenth
            stderr().print(f"{what}: {done}/{total}", markup=False)

    return say
