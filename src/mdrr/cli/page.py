"""`mdrr survey page`: the respondent page as files, to be served by somebody else."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from mdrr.cli.collection import (
    LOCAL_DATABASE,
    Database,
    SurveyName,
    check_address,
    opened,
    secret_file,
    survey_id,
)
from mdrr.cli.inputs import load_frozen
from mdrr.cli.screen import counted, print_text
from mdrr.errors import MdrrError


def page(
    name: SurveyName,
    collector: Annotated[str, Option(help="The address of the server that takes the answers.")],
    out: Annotated[Path, Option("--out", "-o", help="A new folder.")],
    database: Database = LOCAL_DATABASE,
    url: Annotated[
        str | None, Option("--url", help="The address under which the folder will be served.")
    ] = None,
    links: Annotated[
        Path | None, Option(help="With --url: the file of invitations, to lead to that address.")
    ] = None,
    links_out: Annotated[
        Path | None, Option("--links-out", help="With --links: file for the links there.")
    ] = None,
) -> None:
    """Write the respondent page as files, for somebody else than the collector to serve."""
    from mdrr.server.standalone import write_page

    if (links is None) != (links_out is None) or (links is not None and url is None):
        raise MdrrError("--links FILE, --links-out NEWFILE and --url ADDRESS go together")
    base = None if url is None else check_address(url)
    id, promised = _promised(name, database)
    invited = [] if links is None else _invited(links, id)
    if out.exists():
        raise MdrrError(f"{out} exists. Name a new folder with -o")
    with secret_file(links_out or Path(), wanted=links_out is not None) as write:
        write([f"{base}/index.html#{promised}&invitation={each}" for each in invited])
        write_page(out, id, collector.rstrip("/"))
    print_text(
        f"Wrote {out}. Whoever serves this folder must be somebody people trust not to change it."
    )
    if links_out is not None:
        print_text(f"Wrote {counted(len(invited), 'link')} to {links_out}, one per person.")
    else:
        print_text(
            f"Links end in index.html#{promised}, and in &invitation=… where people are invited. "
            "--url with --links writes them."
        )


def _invited(path: Path, id: str) -> list[str]:
    """The invitations of a file of links."""
    from mdrr.collector import CollectorError, Link

    found = []
    for number, line in enumerate(path.read_text("utf-8").split(), start=1):
        try:
            link = Link.parse(line)
        except CollectorError:
            raise MdrrError(f"{path}, line {number}: this is no link to a survey") from None
        if link.survey != id or link.invitation is None:
            raise MdrrError(f"{path}, line {number}: this is no invitation to survey {id}")
        found.append(link.invitation)
    return found


def _promised(name: str, database: str) -> tuple[str, str]:
    """The survey's id and what its links promise: the phase asked now, as the database says.

    A survey that is in no database yet is as its file says.
    """
    from mdrr.server.schema import database_file, masked

    id = survey_id(name)
    file = database_file(database)
    if file is None or file.exists():
        with opened(database) as store:
            if (held := store.survey(id)) is not None:
                return id, held.link().partition("#")[2]
    if not Path(name).is_file():
        raise MdrrError(f"there is no survey {id} in {masked(database)}. Name it with --database")
    frozen = load_frozen(Path(name))
    return id, f"design={frozen.design.fingerprint}&words={frozen.words}"
