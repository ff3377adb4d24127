"""`mdrr securesum offer`, `batch`, `relay`, `report`, `aggregate`, `result`: with aggregators."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from mdrr.cli.inviting import (
    Closes,
    MinimumOfInvited,
    PairEpsilon,
    Purpose,
    SurveyName,
    begin,
    closing_time,
    hand_out,
    needs,
)
from mdrr.cli.opened import opened_fields, show_opened
from mdrr.cli.options import AsJson
from mdrr.cli.screen import counted, note, print_answer, print_json, print_text, step
from mdrr.errors import AbortedError, ProtocolError

if TYPE_CHECKING:
    from mdrr.securesum.batch import Batch
    from mdrr.securesum.ledger import Ledger
    from mdrr.securesum.opening import Outcome
    from mdrr.securesum.signed import Signed
    from mdrr.securesum.transport.remote import RemotePost

Patience = Annotated[float, Option(help="Seconds to wait for others before giving up.")]
PlainHttp = Annotated[
    bool,
    Option("--plain-http", help="Take http:// to another machine too; others see who takes part."),
]
BatchUrl = Annotated[
    str, Option("--relay", help="Address of the batch, as 'mdrr securesum relay' prints it.")
]
OrganiserId = Annotated[
    str, Option("--organiser", help="The organiser's id, which you got from someone you trust.")
]
Invitation = Annotated[str, Option(help="Your invitation, 43 characters.")]
_OTHER = {
    "terms": "a small group, which has no aggregators: see 'mdrr securesum party' and 'mdrr "
    "securesum organise'",
    "batch": "a batch, which has aggregators: see 'mdrr securesum report' and 'mdrr securesum "
    "result'",
}
AggregatorState = Annotated[
    Path, Option("--state", help="Folder of this aggregator's keys; keep it, and to yourself.")
]


def offer(
    state: AggregatorState,
    operator: Annotated[str, Option(help="The organisation that runs this aggregator.")] = "",
    out: Annotated[Path | None, Option("--out", "-o", help="Where to write the offer.")] = None,
    withdraw: Annotated[
        bool, Option("--withdraw", help="Wipe the keys of all offers that no batch has used.")
    ] = False,
) -> None:
    """Offer to be an aggregator of one batch. Send the file to the organiser."""
    from mdrr.securesum.aggregator import offer as make
    from mdrr.securesum.inputs import load_or_make
    from mdrr.securesum.ledger import Ledger
    from mdrr.securesum.private import refuse_if_others_look
    from mdrr.source import SystemSource

    refuse_if_others_look(state)
    if withdraw:
        _need_keys(state)
        with closing(Ledger(state / "ledger.sqlite")) as ledger:
            gone = ledger.withdraw()
        if gone:
            step(f"{counted(gone, 'unused offer')} withdrawn, the keys wiped.")
        else:
            step(
                f"There is no unused offer in {state}, so nothing was withdrawn. To give up a "
                "batch that has used one, add --abort REASON to your 'mdrr securesum aggregate'."
            )
        return
    if not operator or out is None:
        raise ProtocolError("an offer needs --operator NAME and --out FILE")
    source = SystemSource()
    identity = load_or_make(state / "keys.json", source, operator)
    with closing(Ledger(state / "ledger.sqlite")) as ledger:
        made = make(identity, ledger, source)
    out.write_bytes(made.to_json())
    step(f"This aggregator is {identity.id}: publish it, so that people can tell it from others.")


def batch(
    invite: Annotated[int, Option(help="How many people to invite.")],
    offer: Annotated[list[Path], Option(help="An aggregator's offer, two to five times.")],
    key: Annotated[Path, Option(help="File of the organiser's keys; it is made if there is none.")],
    out: Annotated[Path, Option("--out", "-o", help="Folder to write to; it must not exist.")],
    survey: SurveyName = "adult",
    epsilon: PairEpsilon = None,
    minimum: MinimumOfInvited = None,
    closes: Closes = None,
    purpose: Purpose = "",
) -> None:
    """Sign a batch, without a network: who aggregates, what is asked, who is invited."""
    from mdrr.securesum.batch import make_batch
    from mdrr.securesum.message import Message

    leader, question, tokens, source = begin(survey, epsilon, key, invite, out)
    offers = [Message.from_json(path.read_bytes()) for path in offer]
    made, folder = make_batch(
        leader, question, offers, tokens, source,
        closes=closing_time(closes), minimum=minimum, purpose=purpose,
    )  # fmt: skip
    hand_out(folder, tokens, out, leader.id)
    _show_aggregators(made)
    step(f"Nothing opens for fewer than {made.minimum} of {made.people}. Closes {made.closing}.")
    print_json({"batch": made.digest, "organiser": leader.id})


def _show_aggregators(found: Batch) -> None:
    for one in found.aggregators:
        step(f"Aggregator {one.id}, which calls its operator {one.operator or '(unnamed)'!r}")


def relay(
    batch: Annotated[
        list[Path] | None, Option(help="Folder 'relay' of a batch or group to add; repeatable.")
    ] = None,
    database: Annotated[
        str, Option(help="SQLite file or PostgreSQL URL; it is made ready if it is new.")
    ] = "sqlite:///relay.db",
    host: Annotated[str, Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, Option(help="Port to listen on; 0 takes a free one.")] = 8765,
) -> None:
    """Store sealed reports and signed messages, and hand them out. It cannot read an answer."""
    needs("uvicorn", "fastapi", "sqlalchemy")
    from mdrr.securesum.batch import Batch, Folder
    from mdrr.securesum.keys import name_of
    from mdrr.securesum.transport.postbox import Postbox
    from mdrr.securesum.transport.service import listen, serve

    folders = [Folder.load(path) for path in batch or ()]
    box = Postbox(database)
    for folder in folders:
        box.open(folder)
    bound = listen(host, port)
    held = box.runs()
    for signed in held:
        line = {
            "url": f"http://{host}:{bound.getsockname()[1]}/b/{signed.digest}",
            "organiser": name_of(signed.organiser),
            "kind": "batch" if isinstance(signed, Batch) else "group",
            "purpose": signed.purpose,
            "asked": signed.question.domain.names,
        }
        print(json.dumps(line), flush=True)
    if not held:
        step("There is no batch yet. Add one with --batch FOLDER.")
    serve(box, bound)


def report(
    relay: BatchUrl,
    organiser: OrganiserId,
    invitation: Invitation,
    record: Annotated[Path, Option(help="Your answers: a JSON object, attribute to label.")],
    state: Annotated[Path, Option(help="Folder where this device keeps what it answered before.")],
    minimum: Annotated[int, Option(help="Report only if no total of fewer people opens.")] = 3,
    aggregator: Annotated[
        list[str] | None,
        Option(metavar="ID", help="Report only to these, by the ids their operators publish."),
    ] = None,
    patience: Patience = 60.0,
    plain_http: PlainHttp = False,
    as_json: AsJson = False,
) -> None:
    """Send your answers, split and sealed for the aggregators, once. Nobody waits for anybody."""
    needs("httpx")
    from mdrr.securesum.admission import RELAY, credential
    from mdrr.securesum.batch import Batch
    from mdrr.securesum.device import Device
    from mdrr.securesum.inputs import read_record, record_codes
    from mdrr.securesum.person import make_reports
    from mdrr.securesum.private import refuse_if_others_look
    from mdrr.securesum.transport.remote import RemotePost
    from mdrr.source import SystemSource

    refuse_if_others_look(state)
    answers, source, device = read_record(record), SystemSource(), Device(state)
    credential(invitation, RELAY)  # before anybody hears of her
    with at_relay(Batch, relay, organiser, patience, plain_http) as (post, found):
        if found.minimum < minimum:
            raise ProtocolError(
                f"the batch opens for {found.minimum} people; you ask for {minimum}"
            )
        if aggregator:
            found.check_ids(aggregator)
        if time.time() >= found.closes:
            raise ProtocolError(f"this batch closed on {found.closing}; nothing was reported")
        step(f"Purpose: {' '.join(found.purpose.split()) or 'not stated'}.")
        step(f"Asked: {', '.join(found.question.domain.names)}. {found.question.promise}")
        step(f"A total opens for at least {found.minimum} of {found.people} people invited.")
        _show_aggregators(found)
        step(found.trust)
        codes = record_codes(answers, found.question.domain, record)
        made = device.prepare(
            found,
            relay,
            lambda: make_reports(
                found, [invitation], found.question.positions([[c] for c in codes], source), source
            )[0],
            lambda url: RemotePost(url, patience=5.0, plain=plain_http),
        )
        if made is not None:
            post.upload(made)
            device.arrived(found)
        what = (
            "You had reported already" if made is None else f"Reported ({post.sent:,} bytes sent)"
        )
        spent = device.spent()
        words = (
            f"All you reported from here spends ε = {spent:.2f}." if spent < float("inf") else ""
        )
        number = device.report_in(found)
        print_answer(
            {"reported": made is not None, "report": number.hex() if number else "",
             "trust": found.trust, "epsilon": spent if words else None, "bytes_sent": post.sent},
            f"{what}. {words}".strip(),
            as_json=as_json,
        )  # fmt: skip


def aggregate(
    relay: BatchUrl,
    organiser: OrganiserId,
    state: AggregatorState,
    minimum: Annotated[int, Option(help="Open no total of fewer people, whatever is asked.")] = 3,
    abort: Annotated[
        str | None,
        Option(metavar="REASON", help="Give up: wipe the keys and say so, with the reason."),
    ] = None,
    patience: Patience = 3600.0,
    plain_http: PlainHttp = False,
    as_json: AsJson = False,
) -> None:
    """Serve as an aggregator until the total is open; may be killed and started again."""
    if abort is not None and not abort.strip():
        raise ProtocolError(
            "--abort needs a reason, which the others are told: --abort 'too few people'. Leave it "
            "out to serve on"
        )
    needs("httpx")
    from mdrr.securesum.aggregator import Aggregator, run
    from mdrr.securesum.batch import Batch
    from mdrr.securesum.inputs import load_or_make
    from mdrr.securesum.ledger import Ledger
    from mdrr.securesum.message import Abort
    from mdrr.securesum.opening import read_outcome
    from mdrr.securesum.post import RelayError
    from mdrr.securesum.private import refuse_if_others_look
    from mdrr.source import SystemSource

    source = SystemSource()
    refuse_if_others_look(state)
    _need_keys(state)
    identity = load_or_make(state / "keys.json", source)
    patience = patience if abort is None else min(patience, 10.0)
    with ExitStack() as stack:
        ledger = stack.enter_context(closing(Ledger(state / "ledger.sqlite")))
        there = at_relay(Batch, relay, organiser, min(patience, 60.0), plain_http, ledger)
        post, found = stack.enter_context(there)
        machine = Aggregator(
            identity, found, ledger, post, source, minimum=minimum, giving_up=abort is not None
        )
        if abort is not None:
            machine.stop(Abort("given up", abort, (identity.id,)))
            if machine.ended is not None and machine.ended.kind == "result":
                raise ProtocolError(
                    "this aggregator has signed its share of the total already, so the batch "
                    "cannot be given up. Leave out --abort to see the total"
                )
        step(f"A batch of {found.people} people, which closes {found.closing}.")
        try:
            last = run(machine, patience=patience, say=step)
        except RelayError as error:
            gave_up = machine.ended is not None and machine.ended.kind == "abort"
            raise (AbortedError if gave_up else RelayError)(
                f"the keys of this batch are wiped and its {'abort' if gave_up else 'result'} is "
                "signed and kept, but it could not be told. Give the same command again when the "
                f"relay answers. Now {error}"
            ) from None
        if last.kind == "abort":
            raise Abort.from_dict(last.body).error
        deadline = time.monotonic() + patience
        while (outcome := read_outcome(post, found)) is None:
            if time.monotonic() > deadline:
                raise Abort("result", "the other aggregators' results did not come in time").error
            time.sleep(0.3)
        _show(outcome, found, as_json)


def result(
    relay: BatchUrl,
    organiser: OrganiserId,
    state: Annotated[
        Path | None, Option(help="Your device's folder, to see whether your report counts.")
    ] = None,
    patience: Patience = 10.0,
    plain_http: PlainHttp = False,
    as_json: AsJson = False,
) -> None:
    """Check the aggregators' signed results, add them up, and show what they say."""
    needs("httpx")
    from mdrr.securesum.batch import Batch
    from mdrr.securesum.device import Device
    from mdrr.securesum.opening import heard, read_outcome

    with at_relay(Batch, relay, organiser, patience, plain_http) as (post, found):
        outcome = read_outcome(post, found)
        if outcome is None:
            missing = sorted({*found.ids} - {*heard(post, found, "result")})
            raise ProtocolError(
                f"there is no result yet; missing: {', '.join(one[:16] for one in missing)}. "
                f"The batch closes {found.closing}"
            )
        mine = None if state is None else Device(state).report_in(found)
        if state is not None and mine is None:
            raise ProtocolError(
                f"{state} holds no report to this batch. Leave out --state to see the total alone"
            )
        _show(outcome, found, as_json, None if mine is None else mine in outcome.ids)


def _need_keys(state: Path) -> None:
    if not (state / "keys.json").exists():
        raise ProtocolError(f"{state} has no keys of an aggregator. Use the --state of the offer")


@contextmanager
def at_relay(
    what: type[Signed],
    url: str,
    organiser: str,
    patience: float,
    plain: bool,
    ledger: Ledger | None = None,
) -> Iterator[tuple[RemotePost, Signed]]:
    """The relay of a batch or a group, and what its organiser signed.

    A ledger keeps the batch, so that its aggregator can end it when the relay is gone.
    """
    from mdrr.securesum.message import Message
    from mdrr.securesum.transport.remote import RemotePost

    named = url.rstrip("/").rpartition("/")[2]
    kept = None if ledger is None else ledger.noted(named, "batch")
    with closing(RemotePost(url, patience=patience, plain=plain)) as post:
        document = post.document() if kept is None else Message.from_json(kept)
        if document.kind in _OTHER and document.kind != what.KIND:
            raise ProtocolError(f"{url} is the address of {_OTHER[document.kind]}")
        found = what.read(document, organiser)
        if named != found.digest:
            asked = "batch" if what.KIND == "batch" else "group"
            raise ProtocolError(f"the {asked} at {url} is not the one its address names")
        if ledger is not None and kept is None:
            ledger.note(named, "batch", document.to_json())
        yield post, found


def _show(outcome: Outcome, found: Batch, as_json: bool, mine: bool | None = None) -> None:
    """Print the total, what was refused and why, and whether a person's report is in it."""
    if as_json:
        fields = opened_fields(found.question, outcome.totals, outcome.people)
        own = {} if mine is None else {"counted": mine}
        print_json({**fields, "refused": dict(outcome.refused), "invited": found.people,
                    "note": found.trust, **own})  # fmt: skip
        return
    note(found.trust)
    show_opened(found.question, outcome.totals, outcome.people)
    refused = "; ".join(f"{count} because {why}" for why, count in outcome.refused.items())
    print_text(f"Of {found.people} people invited {outcome.people} count. Refused: {refused or 0}.")
    if mine is not None:
        print_text(f"Your report is {'one of them' if mine else 'NOT among them'}.")
