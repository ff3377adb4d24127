"""`mdrr survey page`: the respondent page as files, to be served by somebody else."""

from __future__ import annotations

import re
import shutil
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
    from mdrr.collector import Link

    held = load_frozen(frozen)
    link = Link(collector.rstrip("/"), held.id, held.design.fingerprint)
    if link.travels_open:
        raise MdrrError(f"{collector} is not encrypted: give an https:// address")
    _write(out, link.base, held.id)
    print_text(
        f"Wrote {out}. Links end in index.html#design={held.design.fingerprint}, and in "
        "&invitation=… where there are invitations. Whoever serves this folder must be somebody "
        "people trust not to change it."
    )


def _write(folder: Path, collector: str, survey: str) -> None:
    """Copy the page, and name the collector in it and in what browsers let it contact."""
    from mdrr.server.app import STATIC

    if folder.exists():
        raise MdrrError(f"{folder} exists. Name a new folder with -o")
    if not re.fullmatch(r"https?://[\w.:\-\[\]/]+", collector):
        raise MdrrError(f"{collector} is no address, as in https://collector.example.org")
    text = (STATIC / "form.html").read_text(encoding="utf-8").replace("../static/", "static/")
    rules = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        f"connect-src {collector}/; form-action 'none'; base-uri 'none'"
    )
    for name, content in (("collector", collector), ("survey", survey)):
        text = text.replace(
            f'<meta name="mdrr-{name}" content="">',
            f'<meta name="mdrr-{name}" content="{content}">',
        )
    text = text.replace(
        '<meta charset="utf-8">',
        f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{rules}">',
    )
    shutil.copytree(
        STATIC, folder / "static", ignore=shutil.ignore_patterns("*.html", "dashboard*")
    )
    (folder / "index.html").write_text(text, encoding="utf-8")
