"""The `evaluate` command: parse, call the pipeline, print, exit code.

One file per group of commands, each with ``register(app)``. Nothing heavy is imported before a
command runs, so that ``evaluate --help`` answers at once.

Exit codes: 0 what was asked is done; 1 the answer is no; 2 usage; 3 bad input; 4 platform trouble
or incomplete; 130 interrupted.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from segtrial import __version__
from segtrial.cli.console import report
from segtrial.errors import EXIT_INTERRUPTED, SegtrialError

_GROUPS = ("run", "doctor", "scoring", "analysis", "board", "datasets", "policy", "imports")


class _Commands(TyperGroup):
    """Turn our own errors and Ctrl-C into a message and an exit code, never a traceback."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - click's own signature
        try:
            return super().invoke(ctx)
        except SegtrialError as error:
            report(error)
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt:
            raise typer.Exit(EXIT_INTERRUPTED) from None


app = typer.Typer(
    name="evaluate",
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Sealed trials for medical image segmentation models.",
)


def _show_version(asked: bool) -> None:  # noqa: FBT001 - typer's callback signature
    if asked:
        typer.echo(f"segtrial {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """Sealed trials for medical image segmentation models."""


for _group in _GROUPS:
    import_module(f"segtrial.cli.{_group}").register(app)


def main() -> None:
    """Entry point of the console script."""
    app()
