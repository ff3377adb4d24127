"""`mdrr securesum`: dependences without trust, by secure sums between real processes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Option

from mdrr.cli.guard import Listed
from mdrr.cli.options import AsJson
from mdrr.cli.screen import note, print_answer, print_json, print_table, print_text, step
from mdrr.errors import ProtocolError

if TYPE_CHECKING:
    from mdrr.securesum.terms import Terms
    from mdrr.securesum.transport.client import RelayClient
    from mdrr.securesum.transport.roles import Outcome
    from mdrr.securesum.ways import Assessment

EXAMPLE = "mdrr securesum demo --n 30 --mode paper"
EXAMPLES = {
    "demo": EXAMPLE,
    "relay": "mdrr securesum relay --survey adult --mode paper --n 30 --key organiser.key",
    "party": "mdrr securesum party --relay http://127.0.0.1:8765 --organiser ID --record me.json "
    "--state me",
    "aggregator": "mdrr securesum aggregator --relay http://127.0.0.1:8765 --organiser ID "
    "--state agg --operator INE",
}

Mode = Annotated[
    Literal["paper", "aggregators"],
    Option(help="paper: people send shares to each other; aggregators: to two or three servers."),
]
PairEpsilon = Annotated[
    float | None,
    Option(
        "--epsilon", "-e", help="Randomize every pair, spending this in all. Default: exact tables."
    ),
]
Minimum = Annotated[int, Option(help="Reveal no total of fewer people.")]
RelayUrl = Annotated[str, Option("--relay", help="Address of the relay.")]
OrganiserId = Annotated[
    str | None,
    Option("--organiser", help="The organiser's id, which you got from someone you trust."),
]
Patience = Annotated[float, Option(help="Seconds to wait for others before giving up.")]
PlainHttp = Annotated[
    bool,
    Option("--plain-http", help="Take http:// to another machine too; others see who takes part."),
]
Aggregators = Annotated[
    list[str] | None,
    Option(
        "--aggregator",
        metavar="ID",
        help="Only this aggregator, by the id its operator publishes; repeatable. Default: any.",
    ),
]

securesum = typer.Typer(
    cls=Listed, help="Measure dependences by secure sums: nobody sees another's answers."
)


@securesum.command(epilog=f"\b\nExample: {EXAMPLES['demo']}")
def demo(
    n: Annotated[int, Option("--n", "-n", help="How many people, one process each.")] = 30,
    mode: Mode = "paper",
    epsilon: PairEpsilon = None,
    minimum: Minimum = 3,
    max_cells: Annotated[int, Option(help="T_v: most combinations a cluster may have.")] = 100,
    min_dependence: Annotated[
        float, Option(help="T_d: least dependence of attributes to merge.")
    ] = 0.1,
    patience: Patience = 120.0,
    as_json: AsJson = False,
) -> None:
    """Run a whole secure sum here: a relay and one process per person, on rows of Adult."""
    import tempfile

    import numpy as np

    _require("uvicorn", "fastapi", "httpx")
    from mdrr.datasets import adult, adult_domain
    from mdrr.frames import encode
    from mdrr.securesum.question import Question
    from mdrr.securesum.transport.processes import run_demo
    from mdrr.securesum.ways import assess

    domain = adult_domain()
    codes = [np.asarray(column)[:n] for column in encode(adult(), domain)]
    with tempfile.TemporaryDirectory(prefix="mdrr-securesum-") as folder:
        answer = run_demo(
            domain, codes, Path(folder),
            mode=mode, minimum=minimum, epsilon=epsilon, patience=patience, say=note,
        )  # fmt: skip
    question = Question.from_dict(answer["question"])
    totals = np.asarray(answer["totals"], np.int64)
    if not question.matrices and not np.array_equal(totals, question.sums(codes)):
        raise AssertionError("the opened totals are not those of the records")
    note(answer["note"])
    found = assess(question, totals, answer["n"])
    clusters = found.cluster(max_cells=max_cells, min_dependence=min_dependence)
    if not as_json:
        _show_assessment(found, clusters)
        return
    print_json(
        {
            "n": found.people,
            **found.dependences.to_dict(),
            "clusters": [list(names) for names in clusters],
            "privacy": found.privacy.to_dict(),
        }
    )


@securesum.command(epilog=f"\b\nExample: {EXAMPLES['relay']}")
def relay(
    n: Annotated[int, Option("--n", "-n", help="How many people to wait for.")],
    key: Annotated[Path, Option(help="File of the organiser's keys; it is made if there is none.")],
    survey: Annotated[
        str, Option("--survey", "-s", help="What is asked: a survey file, a design or adult.")
    ] = "adult",
    mode: Mode = "aggregators",
    epsilon: PairEpsilon = None,
    minimum: Minimum = 10,
    apart: Annotated[
        int | None,
        Option(help="Two revealed groups must differ by this many people. Default: the minimum."),
    ] = None,
    aggregators: Annotated[
        int | None, Option(help="How many aggregators to wait for. Default: those named, else 2.")
    ] = None,
    aggregator: Aggregators = None,
    purpose: Annotated[str, Option(help="What the answers are for; everyone sees it.")] = "",
    host: Annotated[str, Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(help="Port to listen on; 0 takes a free one.")] = 8765,
    patience: Annotated[
        float, Option(help="Seconds after which a batch closes with what has arrived.")
    ] = 3600.0,
) -> None:
    """Organise a secure sum and relay its messages. Prints the address and the organiser's id."""
    from mdrr.securesum.ask import read_domain
    from mdrr.securesum.organiser import Organiser
    from mdrr.securesum.question import Question, randomized_in_all
    from mdrr.securesum.terms import make_terms
    from mdrr.securesum.transport.keyfile import load_or_make
    from mdrr.source import SystemSource

    _require("uvicorn", "fastapi")
    from mdrr.securesum.transport.listening import listen, serve
    from mdrr.securesum.transport.relay import Relay

    asked = read_domain(survey)
    question = Question(asked) if epsilon is None else randomized_in_all(asked, epsilon)
    source = SystemSource()
    leader = load_or_make(key, source)
    terms = make_terms(
        mode, question, leader, source,
        wanted=n, minimum=minimum, apart=apart, purpose=purpose,
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


@securesum.command(epilog=f"\b\nExample: {EXAMPLES['party']}")
def party(
    relay: RelayUrl,
    record: Annotated[Path, Option(help="Your answers: a JSON object, attribute to label.")],
    state: Annotated[Path, Option(help="Folder for your keys and the groups you were in.")],
    organiser: OrganiserId = None,
    roster: Annotated[
        str | None, Option(help="Accept only the roster (or batch) with this digest.")
    ] = None,
    aggregator: Aggregators = None,
    minimum: Annotated[
        int,
        Option(
            help="Take part only among this many people or more; groups you were in must differ "
            "by as many."
        ),
    ] = 3,
    patience: Patience = 600.0,
    plain_http: PlainHttp = False,
    as_json: AsJson = False,
) -> None:
    """Contribute your answers to a secure sum; in paper mode, see the total."""
    _require("httpx")
    from mdrr.securesum.ask import read_record, record_codes
    from mdrr.securesum.history import FileHistory
    from mdrr.securesum.roster import read_pins
    from mdrr.securesum.transport.keyfile import load_or_make
    from mdrr.securesum.transport.roles import run_party, run_person
    from mdrr.source import SystemSource

    pins = read_pins(aggregator) if aggregator else None
    answers = read_record(record)  # before anybody hears of her
    source = SystemSource()
    identity = load_or_make(state / "keys.json", source)
    client, terms = _join(relay, identity.id, organiser, patience, plain_http)
    if terms.minimum < minimum:
        raise ProtocolError(f"the terms open for {terms.minimum} people; you ask for {minimum}")
    if pins is not None and terms.mode != "aggregators":
        raise ProtocolError("a run in paper mode has no aggregators; you named some")
    step(f"Purpose: {terms.purpose or 'not stated'}.")
    step(f"Asked: {', '.join(terms.question.domain.names)}. {terms.question.promise}")
    codes = record_codes(answers, terms.question.domain, record)
    part = (client, identity, lambda question: question.encode(codes, source), source, terms)
    if terms.mode == "paper":
        history = FileHistory(state / "history.json")
        outcome = run_party(*part, history=history, minimum=minimum, roster_digest=roster, say=step)
        _show_outcome(outcome, as_json)
        return
    batch = run_person(*part, batch_digest=roster, pins=pins, say=step)
    trust = batch.trust if pins is None else batch.pinned_trust
    print_answer(
        {"reported": True, "bytes_sent": client.sent, "trust": trust},
        f"Reported ({client.sent:,} bytes sent). {trust}",
        as_json=as_json,
    )


@securesum.command(epilog=f"\b\nExample: {EXAMPLES['aggregator']}")
def aggregator(
    relay: RelayUrl,
    state: Annotated[Path, Option(help="Folder for keys and ledger; keep it over restarts.")],
    operator: Annotated[str, Option(help="The organisation that runs this aggregator.")],
    organiser: OrganiserId = None,
    minimum: Minimum = 3,
    patience: Patience = 3600.0,
    plain_http: PlainHttp = False,
    as_json: AsJson = False,
) -> None:
    """Serve as one of two or three aggregators; may be killed and started again at any time."""
    _require("httpx")
    from mdrr.securesum.ledger import SqliteLedger
    from mdrr.securesum.transport.keyfile import load_or_make
    from mdrr.securesum.transport.roles import run_aggregator
    from mdrr.source import SystemSource

    identity = load_or_make(state / "keys.json", SystemSource(), operator)
    pin = identity.public.pin
    step(f"This aggregator is {pin}: publish it, so that people can tell it from others.")
    client, terms = _join(relay, identity.id, organiser, patience, plain_http)
    ledger = SqliteLedger(state / "ledger.sqlite")
    _show_outcome(run_aggregator(client, identity, ledger, terms, minimum=minimum), as_json)


def _require(*modules: str) -> None:
    from mdrr.columns import require

    for module in modules:
        require(module, "server")


def _join(
    relay: str, who: str, organiser: str | None, patience: float, plain: bool
) -> tuple[RelayClient, Terms]:
    """A connection to the relay, and what the organiser asks."""
    from mdrr.securesum.terms import Terms
    from mdrr.securesum.transport.client import RelayClient

    client = RelayClient(relay, who, patience=patience, plain=plain)
    terms = Terms.read(client.terms(), organiser)
    if organiser is None:
        step("No --organiser given: whoever answers at this address is believed to be the one.")
    return client, terms


def _show_outcome(outcome: Outcome, as_json: bool) -> None:
    """Print what a run opened: JSON for machines, dependences for people."""
    question = outcome.terms.question
    if as_json:
        fields = {"question": question.to_dict(), "totals": outcome.totals.tolist()}
        print_json({"n": outcome.people, **fields, "note": outcome.note})
        return
    from mdrr.securesum.ways import assess  # late: SciPy stands behind it

    note(outcome.note)
    found = assess(question, outcome.totals, outcome.people)
    _show_assessment(found, found.cluster(max_cells=100, min_dependence=0.1))
    print_text("For other thresholds, save the output of --json and give it to 'mdrr cluster'.")


def _show_assessment(found: Assessment, clusters: Sequence[Sequence[str]]) -> None:
    """Print the dependence matrix, the clusters of Algorithm 1, and the privacy statement."""
    names, values = found.domain.names, found.dependences.values.tolist()
    rows = [[name, *row] for name, row in zip(names, values, strict=True)]
    print_table(["", *names], rows, f"Dependences of {found.people} people")
    print_text("Clusters: " + "; ".join(" + ".join(one) for one in clusters))
    print_text(str(found.privacy))
