"""`mdrr survey open`, `invite`, `status`: a survey in a database."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from mdrr.cli import options
from mdrr.cli.inputs import load_frozen
from mdrr.cli.screen import note, print_json, print_text
from mdrr.errors import MdrrError

if TYPE_CHECKING:
    from mdrr.collector import Link
    from mdrr.server.held import Held
    from mdrr.server.store import Store

SurveyName = Annotated[
    str, Argument(metavar="SURVEY", help="The frozen survey (JSON), or the survey's id.")
]
Database = Annotated[
    str,
    Option(
        "--database",
        envvar="MDRR_DATABASE",
        help="Where answers are kept: sqlite:///FILE, or postgresql://USER@HOST/NAME.",
    ),
]
Url = Annotated[str, Option("--url", help="The address under which people reach the server.")]
LOCAL_DATABASE = "sqlite:///mdrr.db"
LOCAL_URL = "http://127.0.0.1:8000"


@contextmanager
def opened(database: str) -> Iterator[Store]:
    """The database, and its connections given back."""
    from mdrr.columns import require

    require("sqlalchemy", "server")
    from mdrr.server.store import Store

    store = Store(database)
    try:
        yield store
    finally:
        store.dispose()


def survey_id(name: str) -> str:
    """The id that a frozen survey file holds, or the id itself."""
    path = Path(name)
    return load_frozen(path).id if path.suffix or path.is_file() else name


def open_(
    frozen: Annotated[Path, Argument(metavar="SURVEY", help="The frozen survey (JSON).")],
    database: Database = LOCAL_DATABASE,
    url: Url = LOCAL_URL,
    invitations: Annotated[
        int | None,
        Option(metavar="N", help="Make N invitations: each is good for one answer."),
    ] = None,
    no_invitations: Annotated[
        bool, Option("--no-invitations", help="Let everybody answer who has the link.")
    ] = False,
    blind: Annotated[
        bool,
        Option("--blind", help="Invitations that not even the server can match with answers."),
    ] = False,
    out: Annotated[
        Path | None,
        Option("--out", "-o", help="File for the invitations. Default: invitations.txt."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Take answers. Prints the owner's token, once, and writes the invitations to a file."""
    from mdrr.collector import dashboard

    if no_invitations == (invitations is not None):
        raise MdrrError(
            "say how people are invited: --invitations N for one answer each, or --no-invitations, "
            "with which anybody can answer any number of times"
        )
    if no_invitations and (blind or out is not None):
        raise MdrrError("--blind and --out go with --invitations N")
    base, held = check_address(url), load_frozen(frozen)
    kind = "none" if no_invitations else "blind" if blind else "required"
    with opened(database) as store:
        if store.survey(held.id) is not None:
            raise MdrrError(
                f"survey {held.id} is in {database} already. 'mdrr survey status {held.id}' says "
                "how it stands; 'mdrr survey reopen' opens it after it was closed"
            )
        key = _signing_key() if blind else None
        file = out or Path("invitations.txt")
        with secret_file(file, wanted=invitations is not None) as write:
            token = store.create(held, invitations=kind, signing_key=key)
            link = link_to(base, store.need(held.id))
            if invitations is not None:
                write(links_of(link, store.invite(held.id, invitations)))
            store.open(held.id)
    owner = dashboard(link.base, held.id, token)
    if as_json:
        fields = {"id": held.id, "token": token, "link": str(link), "dashboard": owner}
        made = None if invitations is None else str(file)
        print_json({**fields, "invitations": made, "database": database})
        return
    print_text(f"Survey {held.id} is open in {database}.")
    print_text(f"Owner's token, shown this once: {token}")
    print_text(f"Dashboard: {owner}")
    if invitations is None:
        print_text(f"Link for everybody: {link}")
        note("Anybody with the link can answer any number of times. --invitations N prevents that")
    else:
        print_text(f"Wrote {invitations:,} links to {file}, one per person. Only you can read it.")
    print_text(f"Serve it with: mdrr serve --database {database}")


def status(
    name: SurveyName, database: Database = LOCAL_DATABASE, as_json: options.AsJson = False
) -> None:
    """Say how a survey stands: state, answers, invitations, ε."""
    with opened(database) as store:
        found = store.status(survey_id(name))
    if as_json:
        print_json(found)
        return
    invited = found["invitations"]
    used = "" if invited["kind"] == "none" else f", {invited['used']:,} of {invited['made']:,} used"
    print_text(f"Survey {found['id']}: {found['state']}, phase {found['phase']}.")
    for phase in found["phases"]:
        print_text(
            f"Phase {phase['number']}: {phase['answers']:,} answers, ε = {phase['epsilon']:.4f}, "
            f"fingerprint {phase['fingerprint']}."
        )
    print_text(f"Invitations: {invited['kind']}{used}.")


def invite(
    name: SurveyName,
    count: Annotated[int, Argument(metavar="N", help="How many.")],
    out: options.Out,
    database: Database = LOCAL_DATABASE,
    url: Url = LOCAL_URL,
) -> None:
    """Make more invitations, and write their links to a file that only you can read."""
    base = check_address(url)
    with opened(database) as store, secret_file(out) as write:
        held = store.need(survey_id(name))
        write(links_of(link_to(base, held), store.invite(held.id, count)))
    print_text(f"Wrote {count:,} links to {out}.")


def _signing_key() -> bytes:
    from mdrr.server.blind import new_signing_key

    return new_signing_key()


def check_address(url: str) -> str:
    """The address under which people reach the server, without a slash at its end."""
    from mdrr.collector import CollectorError, Link

    base = url.rstrip("/")
    try:
        whole = Link.parse(f"{base}/s/a").base == base
    except CollectorError:
        whole = False
    if not whole:
        raise MdrrError(f"--url {url} is no address, as in https://survey.example.org")
    return base


def link_to(base: str, held: Held) -> Link:
    """The link to a survey, without an invitation."""
    from mdrr.collector import Link

    return Link.parse(f"{base}/{held.link()}")


def links_of(link: Link, tokens: Sequence[str]) -> list[str]:
    """One link per invitation."""
    return [str(replace(link, invitation=token)) for token in tokens]


@contextmanager
def secret_file(path: Path, *, wanted: bool = True) -> Iterator[Any]:
    """A new file that only its owner can read, removed if what fills it fails."""
    if not wanted:
        yield lambda lines: None
        return
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        raise MdrrError(
            f"{path} exists and may hold invitations. Name another file with -o"
        ) from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        try:
            yield lambda lines: file.write("".join(f"{line}\n" for line in lines))
        except BaseException:
            path.unlink()
            raise
