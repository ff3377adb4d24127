"""`mdrr survey page`: the respondent page as files, to be served by somebody else."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from mdrr.cli.inputs import load_frozen
from mdrr.cli.screen import print_text
from mdrr.errors import MdrrError


def page(
    frozen: Annotated[Path, Argument(metavar="SURVEY", help="The frozen survey (JSON).")],
    collector: Annotated[str, Option(help="The address of the server that takes the answers.")],
    out: Annotated[Path, Option("--out", "-o", help="A new folder.")],
) -> None:
    """Write the respondent page as files, for somebody else than the collector to serve."""
    from mdrr.server.standalone import write_page

    held = load_frozen(frozen)
    if out.exists():
        raise MdrrError(f"{out} exists. Name a new folder with -o")
    write_page(out, held.id, collector.rstrip("/"))
    print_text(
        f"Wrote {out}. Links end in index.html#design={held.design.fingerprint}, and in "
        "&invitation=… where there are invitations. Whoever serves this folder must be somebody "
        "people trust not to change it."
    )
