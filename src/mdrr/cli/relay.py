"""`mdrr relay`: the meeting point of a secure sum, which passes on what it cannot read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLE = "mdrr relay --domain adult --mode paper --parties 30 --key organiser.key"


def relay(
    parties: Annotated[int, typer.Option(help="How many people to wait for.")],
    key: Annotated[Path, typer.Option(help="The organiser's keys; made when there are none.")],
    domain: Annotated[
        str, typer.Option(help="A survey file, a JSON file of attributes, or 'adult'.")
    ] = "adult",
    mode: Annotated[str, typer.Option(help="'paper' or 'aggregators'.")] = "aggregators",
    epsilon: Annotated[
        float | None,
        typer.Option(help="Randomize every pair, spending this in all; exact tables without."),
    ] = None,
    minimum: Annotated[int, typer.Option(help="Open nothing for fewer people.")] = 10,
    apart: Annotated[
        int | None,
        typer.Option(help="People by which opened groups must differ; the minimum by default."),
    ] = None,
    aggregators: Annotated[
        int | None,
        typer.Option(help="How many aggregators to wait for; 2, or as many as are named."),
    ] = None,
    aggregator: Annotated[
        list[str] | None,
        typer.Option(
            help="Take only this aggregator, by the id it prints; once for each. "
            "Without, the first who come.",
            metavar="ID",
        ),
    ] = None,
    purpose: Annotated[str, typer.Option(help="What for, told to everybody asked.")] = "",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 8765,
    patience: Annotated[
        float, typer.Option(help="Seconds after which a batch closes with what arrived.")
    ] = 3600.0,
) -> None:
    """Organise a secure sum and relay its messages; prints its address and the organiser's id."""
    import json

    from mdrr.cli.screen import step
    from mdrr.columns import require
    from mdrr.securesum.ask import read_domain
    from mdrr.securesum.organiser import Organiser
    from mdrr.securesum.question import Question, randomized_in_all
    from mdrr.securesum.terms import make_terms
    from mdrr.securesum.transport.keyfile import load_or_make
    from mdrr.source import SystemSource

    require("uvicorn", "server")
    require("fastapi", "server")
    from mdrr.securesum.transport.relay import Relay
    from mdrr.securesum.transport.serve import listen, serve

    asked = read_domain(domain)
    question = Question(asked) if epsilon is None else randomized_in_all(asked, epsilon)
    source = SystemSource()
    leader = load_or_make(key, source)
    terms = make_terms(
        mode, question, leader, source,
        wanted=parties, minimum=minimum, apart=apart, purpose=purpose,
    )  # fmt: skip
    organiser = Organiser(leader, terms, aggregators=aggregators, pins=aggregator or None)
    bound = listen(host, port)
    url = f"http://{host}:{bound.getsockname()[1]}"
    print(json.dumps({"url": url, "organiser": leader.id, "terms": terms.digest}), flush=True)
    relayed = Relay(organiser, patience=patience)
    if mode == "aggregators":
        step(
            "To close the batch before everybody has reported (keep this to yourself): "
            f"curl -X POST -H 'Authorization: Bearer {relayed.token}' {url}/v1/close"
        )
    serve(relayed, bound)
