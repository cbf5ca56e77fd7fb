"""What a person sees of a run: live bars on a terminal, one line per case elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from segtrial.pipeline.events import CaseDone


class RunProgress:
    """Watches a run and prints it to standard error."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._failed: dict[str, int] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def step(self, text: str) -> None:
        """Print the step's name."""
        self._progress.console.print(f"[dim]·[/] {escape(text)}", soft_wrap=True)

    def work(self, what: str, *, done: int, total: int) -> None:
        """Move the bar of a step that is no case."""
        self._move(what, done=done, total=total, note="")

    def case(self, event: CaseDone) -> None:
        """Move the submission's bar, or print one line."""
        name = event.submission
        if event.outcome != "ok":
            self._failed[name] = self._failed.get(name, 0) + 1
        failed = self._failed.get(name, 0)
        note = f"[red]{failed} not ok[/]" if failed else ""
        if self._console.is_terminal:
            self._move(name, done=event.number, total=event.total, note=note)
        elif not event.kept:
            time = f"{event.time_s:7.2f} s" if event.time_s is not None else " " * 9
            self._console.print(
                f"{name} {event.number}/{event.total} {time}  {event.outcome}",
                soft_wrap=True,
                markup=False,
            )

    def _move(self, name: str, *, done: int, total: int, note: str) -> None:
        task = self._tasks.get(name)
        if task is None:
            task = self._tasks[name] = self._progress.add_task(escape(name), total=total, note="")
        self._progress.update(task, completed=done, total=total, note=note)
