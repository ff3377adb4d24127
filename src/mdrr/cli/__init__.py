"""The command line: parse, call, print.

A line in `commands.py` is a command: a function, or a Typer app for a group of commands, in a
module of this folder, which also has its example in `EXAMPLES`. To add one, write that function,
and give it a line there and a section in docs/cli.md. `mdrr --help` prints the list and loads no
module. A command imports what it computes with when it runs, so that its help appears at once.
"""

from __future__ import annotations

import signal
import sys
from typing import Any


def make_app() -> Any:
    """The whole command line as a Typer app."""
    import typer

    from mdrr.cli.guard import Guarded, start

    app = typer.Typer(
        name="mdrr",
        cls=Guarded,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # help appears twice as fast without boxes
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="Example: mdrr serve --demo",
    )
    app.callback(invoke_without_command=True)(start)
    return app


def main() -> None:
    """Run `mdrr`."""
    # Told to stop, leave as on Ctrl-C: what was being written is removed, what stood is whole.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        make_app()()
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        print(f"mdrr: {error.name} is not installed. Run: pip install 'mdrr[cli]'", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("mdrr: stopped", file=sys.stderr)
        sys.exit(130)
