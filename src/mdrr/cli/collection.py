"""`mdrr survey open`, `invite`, `owner`, `status`, `page`: a survey that people answer."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from typer import Argument, Option

from mdrr.cli import options
from mdrr.cli.inputs import load_frozen
from mdrr.cli.screen import counted, note, print_answer, print_json, print_text
from mdrr.errors import MdrrError

if TYPE_CHECKING:
    from mdrr.collector import Link
    from mdrr.server.held import Held
    from mdrr.server.store import Store


@contextmanager
def opened(database: str, *, new: bool = False) -> Iterator[Store]:
    """The database, and its connections given back; with `new` it is made if there is none."""
    from mdrr.server.schema import database_file, masked
    from mdrr.server.store import Store

    file = database_file(database)
    if file is not None and not file.exists() and not new:
        raise MdrrError(
            f"there is no database {masked(database)} here. Name it with --database, or go to the "
            "folder where the survey was opened"
        )
    store = Store(database)
    if file is not None and os.name == "posix" and file.stat().st_mode & 0o077:
        note(f"Others on this machine may read {file}. Prevent that with: chmod 600 {file}*")
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
    database: options.Database = options.LOCAL_DATABASE,
    url: options.Url = options.LOCAL_URL,
    invitations: Annotated[
        int | None, Option(metavar="N", help="Make N invitations: each is good for one answer.")
    ] = None,
    no_invitations: Annotated[
        bool, Option("--no-invitations", help="Let everybody answer who has the link.")
    ] = False,
    blind: Annotated[
        bool, Option("--blind", help="Invitations that not even the server can match with answers.")
    ] = False,
    out: Annotated[
        Path | None,
        Option("--out", "-o", help="File for the invitations. Default: invitations.txt."),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Take answers. Prints the owner's token, once, and writes the invitations to a file."""
    from mdrr.collector import Link, dashboard
    from mdrr.frozen import shortfall
    from mdrr.server.blind import key_hash, new_signing_key, verifying_key
    from mdrr.server.held import new_tokens

    if no_invitations == (invitations is not None):
        raise MdrrError(
            "say how people are invited: --invitations N for one answer each, or --no-invitations, "
            "with which anybody can answer any number of times"
        )
    if no_invitations and (blind or out is not None):
        raise MdrrError("--blind and --out go with --invitations N")
    base, held = check_address(url), load_frozen(frozen)
    file = out or Path("invitations.txt")
    with opened(database, new=True) as store:
        tokens = [] if invitations is None else new_tokens(invitations)
        if store.survey(held.id) is not None:
            raise MdrrError(
                f"survey {held.id} is in {store.name} already. 'mdrr survey status {held.id}' says "
                "how it stands, 'mdrr survey reopen' opens it, 'mdrr survey owner' makes a new "
                "link to its dashboard"
            )
        key = new_signing_key() if blind else None
        promised = None if key is None else key_hash(verifying_key(key))
        link = Link(base, held.id, held.phases[0].fingerprint, key=promised, words=held.words)
        with secret_file(file if tokens else None) as write:
            write([replace(link, invitation=each) for each in tokens])
            token = store.create(
                held,
                invitations="none" if no_invitations else "blind" if blind else "required",
                signing_key=key,
                invited=tokens,
                state="open",
            )
    owner = dashboard(base, held.id, token)
    if as_json:
        fields = {"id": held.id, "token": token, "link": str(link), "dashboard": owner}
        print_json({**fields, "invitations": str(file) if tokens else None, "database": store.name})
        return
    print_text(f"Survey {held.id} is open in {store.name}.")
    print_text(f"Owner's token, shown this once: {token}")
    print_text(f"Dashboard: {owner}")
    if not tokens:
        print_text(f"Link for everybody: {link}")
        note("Anybody with the link can answer any number of times. --invitations N prevents that")
    else:
        links = counted(len(tokens), "link")
        print_text(f"Wrote {links} to {file}, one per person. Only you can read it.")
        if fewer := shortfall(held, held.phases[0], len(tokens)):
            note(f"Invited: {fewer} 'mdrr survey invite' makes more invitations")
    if store.name == database:
        print_text(f"Serve it with: mdrr serve --database {database}{_port(base)}")
    else:
        print_text(f"Serve it with mdrr serve{_port(base)} and the same --database.")


def owner(
    name: options.SurveyName,
    database: options.Database = options.LOCAL_DATABASE,
    url: options.Url = options.LOCAL_URL,
    as_json: options.AsJson = False,
) -> None:
    """Make a new owner's token, if the link to the dashboard is lost; the old one ends."""
    from mdrr.collector import dashboard

    base = check_address(url)
    with opened(database) as store:
        token = store.new_owner(id := survey_id(name))
    link = dashboard(base, id, token)
    text = f"Owner's token, shown this once: {token}\nDashboard: {link}\nThe old token has ended."
    print_answer({"id": id, "token": token, "dashboard": link}, text, as_json=as_json)


def status(
    name: options.SurveyName,
    database: options.Database = options.LOCAL_DATABASE,
    as_json: options.AsJson = False,
) -> None:
    """Say how a survey stands: state, answers, invitations, ε."""
    from mdrr.frozen import shortfall

    with opened(database) as store:
        held = store.need(survey_id(name))
        found = store.status(held.id)
    if as_json:
        print_json(found)
        return
    invited = found["invitations"]
    used = "" if invited["kind"] == "none" else f", {invited['used']:,} of {invited['made']:,} used"
    print_text(f"Survey {found['id']}: {found['state']}, phase {found['phase']}.")
    for phase in found["phases"]:
        print_text(
            f"Phase {phase['number']}: {counted(phase['answers'], 'answer')}, "
            f"ε = {phase['epsilon']:.4f}, fingerprint {phase['fingerprint']}."
        )
    print_text(f"Invitations: {invited['kind']}{used}.")
    answered = found["phases"][held.number - 1]["answers"]
    if fewer := shortfall(held.frozen, held.phase().design, answered):
        print_text(f"So far: {fewer}")


def invite(
    name: options.SurveyName,
    count: Annotated[int, Argument(metavar="N", help="How many.")],
    out: options.Out,
    database: options.Database = options.LOCAL_DATABASE,
    url: options.Url = options.LOCAL_URL,
) -> None:
    """Make more invitations, and write their links to a file that only you can read."""
    base = check_address(url)
    with opened(database) as store, secret_file(out) as write:
        held = store.need(survey_id(name))
        link = link_to(base, held)
        write([replace(link, invitation=each) for each in store.invite(held.id, count)])
    print_text(f"Wrote {counted(count, 'link')} to {out}.")


def page(
    name: options.SurveyName,
    collector: Annotated[str, Option(help="The address of the server that takes the answers.")],
    out: Annotated[Path, Option("--out", "-o", help="A new folder.")],
    database: options.Database = options.LOCAL_DATABASE,
    url: Annotated[str | None, Option(help="The address at which the folder is served.")] = None,
    links: Annotated[
        Path | None, Option(help="With --url: the file of invitations, to lead to that address.")
    ] = None,
    links_out: Annotated[Path | None, Option(help="With --links: file for these links.")] = None,
) -> None:
    """Write the respondent page as files, for somebody else than the collector to serve."""
    from mdrr.server.standalone import write_page

    if (links is None) != (links_out is None) or (links is not None and url is None):
        raise MdrrError("--links FILE, --links-out NEWFILE and --url ADDRESS go together")
    base = None if url is None else check_address(url)
    id, promised = _promised(name, database)
    invited = [] if links is None else read_links(links, id)
    if out.exists():
        raise MdrrError(f"{out} exists. Name a new folder with -o")
    with secret_file(links_out) as write:
        write([f"{base}/index.html#{promised}&invitation={each.invitation}" for each in invited])
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


def read_links(path: Path, id: str, *, invited: bool = True) -> list[Link]:
    """The links to a survey in a file, which are invitations unless nobody is invited."""
    from mdrr.collector import CollectorError, Link

    found = []
    for number, line in enumerate(path.read_text("utf-8").split(), start=1):
        try:
            link = Link.parse(line)
        except CollectorError:
            raise MdrrError(f"{path}, line {number}: this is no link to a survey") from None
        if link.survey != id or (invited and link.invitation is None):
            raise MdrrError(f"{path}, line {number}: this is no invitation to survey {id}")
        found.append(link)
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


def check_address(url: str) -> str:
    """The address under which people reach the server, without a slash at its end."""
    from mdrr.collector import CollectorError, Link

    base = url.rstrip("/")
    with suppress(CollectorError):
        if Link.parse(f"{base}/s/a").base == base:
            return base
    meant = f"https://{base}" if "://" not in base else "https://survey.example.org"
    raise MdrrError(f"--url {url} is no address. Write it as in {meant}")


def _port(base: str) -> str:
    """The option by which a server on this machine listens where the links lead."""
    parts = urlsplit(base)
    here = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost")
    return f" --port {parts.port or 80}" if here and parts.port != 8000 else ""


def link_to(base: str, held: Held) -> Link:
    """The link to a survey, without an invitation."""
    from mdrr.collector import Link

    return Link.parse(f"{base}/{held.link()}")


@contextmanager
def secret_file(path: Path | None) -> Iterator[Any]:
    """A new file, if any, that only its owner can read, removed if what fills it fails."""
    if path is None:
        yield lambda lines: None
        return
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        raise MdrrError(
            f"{path} exists and may hold invitations. Name another file with -o"
        ) from None
    except FileNotFoundError:
        raise MdrrError(f"{path}: there is no folder {str(path.parent)!r}. Make it first") from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:

        def write(lines: Sequence[object]) -> None:
            file.writelines(f"{line}\n" for line in lines)
            file.flush()

        try:
            yield write
        except BaseException:
            path.unlink()
            raise
