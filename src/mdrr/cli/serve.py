"""`mdrr serve`: the collector, the respondent page and the dashboard, until it is stopped."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from typer import Option

from mdrr.cli.collection import link_to, opened
from mdrr.cli.options import LOCAL_DATABASE, Database
from mdrr.cli.screen import step, take_notes
from mdrr.errors import MdrrError

EXAMPLES = {"serve": "mdrr serve --database sqlite:///mdrr.db --port 8000"}


def serve(
    database: Database = LOCAL_DATABASE,
    host: Annotated[
        str, Option(help="Where to listen. Put a proxy with TLS before it for the world.")
    ] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    demo: Annotated[
        bool,
        Option(
            "--demo",
            help="A survey of the people of Adult, already answered, to look around. Its database "
            "is removed at the end.",
        ),
    ] = False,
    n: Annotated[int, Option("--n", "-n", min=1, help="With --demo: how many answer.")] = 3000,
    log: Annotated[
        bool,
        Option(
            "--log",
            help="Write a line for each request but answers, with its hour. By default: trouble.",
        ),
    ] = False,
) -> None:
    """Serve the surveys of a database: collector, respondent page and dashboard."""
    from mdrr.cli.crowd import free_port
    from mdrr.server.app import serve as run

    port = free_port(host, port)
    with ExitStack() as stack:
        if demo:
            if database != LOCAL_DATABASE:
                raise MdrrError("--demo makes a database of its own; leave out --database")
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mdrr-demo-"))
            database = f"sqlite:///{Path(folder, 'demo.db')}"
            _demonstrate(database, f"http://{_address(host)}:{port}", n)
        else:
            _list(database, f"http://{_address(host)}:{port}")
        step("Stop with Ctrl-C.")
        run(database, host=host, port=port, log=log)
        step("Stopped.")


def _address(host: str) -> str:
    """A host as it stands in a link."""
    if host in ("0.0.0.0", "::"):  # all addresses of this machine
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _list(database: str, url: str) -> None:
    """Say what is served, and under which links."""
    with opened(database, new=True) as store:
        states = store.states()
        for id, state in states.items():
            step(f"Survey {id}, {state}: {link_to(url, store.need(id))}")
        if not states:
            where = "" if database == LOCAL_DATABASE else f" --database {store.name}"
            line = f"mdrr survey open survey.json --invitations 100{where}"
            step(f"{store.name} has no surveys yet. Add one with: {line}")
    for line in take_notes():
        step(line)
    step(f"Serving {store.name} at {url}")


def _demonstrate(database: str, url: str, n: int) -> None:
    """Open a survey of Adult, let people answer it, and print the links to look around."""
    from mdrr.cli.crowd import answer_database, drawn
    from mdrr.collector import dashboard
    from mdrr.datasets import adult, adult_survey
    from mdrr.frozen import freeze

    step("Planning a survey of Adult …")
    frozen = freeze(adult_survey())
    with opened(database, new=True) as store:
        token = store.create(frozen)
        store.open(frozen.id)
        link = link_to(url, store.need(frozen.id))
    step(f"{n:,} simulated people answer it over HTTP …")
    answer_database(database, frozen.id, drawn(adult(), frozen.design, n, seed="demo"))
    step(f"Answer yourself:  {link}")
    step(f"Look at results:  {dashboard(url, frozen.id, token)}")
