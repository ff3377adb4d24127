"""`mdrr aggregator`: hold one share of everybody's answers, and open only the total."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mdrr.cli.options import AsJson

EXAMPLE = "mdrr aggregator --relay http://127.0.0.1:8765 --organiser ID --state agg --operator INE"


def aggregator(
    relay: Annotated[str, typer.Option(help="Address of the relay.")],
    state: Annotated[Path, typer.Option(help="Folder for keys and ledger; keep it over restarts.")],
    operator: Annotated[str, typer.Option(help="The organisation that runs this aggregator.")],
    organiser: Annotated[
        str | None,
        typer.Option(help="The organiser's id, learnt by another way than from the relay."),
    ] = None,
    minimum: Annotated[int, typer.Option(help="Open nothing for fewer people.")] = 3,
    patience: Annotated[float, typer.Option(help="Seconds of silence to wait for.")] = 3600.0,
    json: AsJson = False,
) -> None:
    """Serve as one of two or three aggregators; can be killed and started again at any time."""
    from mdrr.columns import require

    require("httpx", "server")
    from mdrr.cli.screen import step
    from mdrr.cli.securesum import show_outcome
    from mdrr.securesum.ledger import SqliteLedger
    from mdrr.securesum.terms import Terms
    from mdrr.securesum.transport.client import RelayClient
    from mdrr.securesum.transport.keyfile import load_or_make
    from mdrr.securesum.transport.roles import run_aggregator
    from mdrr.source import SystemSource

    identity = load_or_make(state / "keys.json", SystemSource(), operator)
    pin = identity.public.pin
    step(f"This aggregator is {pin}: publish it, so that people can tell it from others.")
    client = RelayClient(relay, identity.id, patience=patience)
    terms = Terms.read(client.terms(), organiser)
    if organiser is None:
        step("No --organiser given: whoever answers at this address is believed to be the one.")
    ledger = SqliteLedger(state / "ledger.sqlite")
    outcome = run_aggregator(client, identity, ledger, terms, minimum=minimum)
    show_outcome(outcome, as_json=json)
