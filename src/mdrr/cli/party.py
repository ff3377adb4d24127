"""`mdrr party`: take part in a secure sum with one record."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mdrr.cli.options import AsJson

EXAMPLE = "mdrr party --relay http://127.0.0.1:8765 --organiser ID --record me.json --state me"


def party(
    relay: Annotated[str, typer.Option(help="Address of the relay.")],
    record: Annotated[Path, typer.Option(help="Your answers: a JSON object, attribute to label.")],
    state: Annotated[Path, typer.Option(help="Folder for your keys and earlier groups.")],
    organiser: Annotated[
        str | None,
        typer.Option(help="The organiser's id, learnt by another way than from the relay."),
    ] = None,
    roster: Annotated[
        str | None, typer.Option(help="Accept only the roster (or batch) of this digest.")
    ] = None,
    aggregator: Annotated[
        list[str] | None,
        typer.Option(
            help="Report only to this aggregator, by the id its operator publishes; once for each.",
            metavar="ID",
        ),
    ] = None,
    minimum: Annotated[
        int,
        typer.Option(
            help="Take part among no fewer people; earlier groups must differ by as many."
        ),
    ] = 3,
    patience: Annotated[float, typer.Option(help="Seconds to wait for others at a step.")] = 600.0,
    json: AsJson = False,
) -> None:
    """Contribute your answers to a secure sum; in paper mode, see what it opened."""
    from mdrr.cli.screen import step
    from mdrr.columns import require
    from mdrr.errors import ProtocolError

    require("httpx", "server")
    from mdrr.securesum.ask import read_record, record_codes
    from mdrr.securesum.history import FileHistory
    from mdrr.securesum.roster import read_pins
    from mdrr.securesum.terms import Terms
    from mdrr.securesum.transport.client import RelayClient
    from mdrr.securesum.transport.keyfile import load_or_make
    from mdrr.securesum.transport.roles import run_party, run_person
    from mdrr.source import SystemSource

    pins = read_pins(aggregator) if aggregator else None
    answers = read_record(record)  # before anybody hears of her
    source = SystemSource()
    identity = load_or_make(state / "keys.json", source)
    client = RelayClient(relay, identity.id, patience=patience)
    terms = Terms.read(client.terms(), organiser)
    if terms.minimum < minimum:
        raise ProtocolError(f"the terms open for {terms.minimum} people; you ask for {minimum}")
    if pins is not None and terms.mode != "aggregators":
        raise ProtocolError("a run in paper mode has no aggregators; you named some")
    if organiser is None:
        step("No --organiser given: whoever answers at this address is believed to be the one.")
    step(f"Purpose: {terms.purpose or 'not stated'}.")
    step(f"Asked: {', '.join(terms.question.domain.names)}. {terms.question.promise}")
    codes = record_codes(answers, terms.question.domain, record)

    def answer(question: object) -> object:
        return terms.question.encode(codes, source)

    if terms.mode == "aggregators":
        batch = run_person(
            client, identity, answer, source, terms,  # type: ignore[arg-type]
            batch_digest=roster, pins=pins, say=step,
        )  # fmt: skip
        _say_reported(batch.trust if pins is None else batch.pinned_trust, client.sent, json)
        return
    outcome = run_party(
        client, identity, answer, source, terms,  # type: ignore[arg-type]
        history=FileHistory(state / "history.json"), minimum=minimum, roster_digest=roster,
        say=step,
    )  # fmt: skip
    from mdrr.cli.securesum import show_outcome

    show_outcome(outcome, as_json=json)


def _say_reported(trust: str, sent: int, as_json: bool) -> None:
    from mdrr.cli.screen import print_json, print_text

    if as_json:
        print_json({"reported": True, "bytes_sent": sent, "trust": trust})
    else:
        print_text(f"Reported ({sent:,} bytes sent). {trust}")
