"""`mdrr survey page`: the respondent page as files, to be served by somebody else."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from mdrr.cli.collection import LOCAL_DATABASE, Database, SurveyName, opened, survey_id
from mdrr.cli.inputs import load_frozen
from mdrr.cli.screen import print_text
from mdrr.errors import MdrrError

_FILE = "sqlite:///"


def page(
    name: SurveyName,
    collector: Annotated[str, Option(help="The address of the server that takes the answers.")],
    out: Annotated[Path, Option("--out", "-o", help="A new folder.")],
    database: Database = LOCAL_DATABASE,
) -> None:
    """Write the respondent page as files, for somebody else than the collector to serve."""
    from mdrr.server.standalone import write_page

    id, promised = _promised(name, database)
    if out.exists():
        raise MdrrError(f"{out} exists. Name a new folder with -o")
    write_page(out, id, collector.rstrip("/"))
    print_text(
        f"Wrote {out}. Links end in index.html#{promised}, and in &invitation=… where there are "
        "invitations. Whoever serves this folder must be somebody people trust not to change it."
    )


def _promised(name: str, database: str) -> tuple[str, str]:
    """The survey's id and what its links promise: the phase asked now, as the database says.

    A survey that is in no database yet is as its file says.
    """
    id = survey_id(name)
    if not database.startswith(_FILE) or Path(database.removeprefix(_FILE)).exists():
        with opened(database) as store:
            if (held := store.survey(id)) is not None:
                return id, held.link().partition("#")[2]
    if not Path(name).is_file():
        from mdrr.server.schema import masked

        raise MdrrError(f"there is no survey {id} in {masked(database)}. Name it with --database")
    frozen = load_frozen(Path(name))
    return id, f"design={frozen.design.fingerprint}&words={frozen.words}"
