"""`mdrr securesum offer`, `aggregate`, `result`: who adds up shares, and what comes of it."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from mdrr.cli.options import AsJson, OrganiserId, Patience, PlainHttp, RunUrl
from mdrr.cli.organising import at_relay, opened_fields, show_opened
from mdrr.cli.screen import counted, note, print_json, print_text, step
from mdrr.errors import AbortedError, ProtocolError
from mdrr.securesum.private import refuse_if_others_look

if TYPE_CHECKING:
    from mdrr.securesum.batch import Batch
    from mdrr.securesum.opening import Outcome

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
    from mdrr.securesum.belongings import load_or_make
    from mdrr.securesum.ledger import Ledger
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


def aggregate(
    relay: RunUrl,
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
    from mdrr.securesum.aggregator import Aggregator, run
    from mdrr.securesum.batch import Batch
    from mdrr.securesum.belongings import load_or_make
    from mdrr.securesum.ledger import Ledger
    from mdrr.securesum.message import Abort
    from mdrr.securesum.opening import read_outcome
    from mdrr.securesum.post import RelayError
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
    relay: RunUrl,
    organiser: OrganiserId,
    state: Annotated[
        Path | None, Option(help="Your device's folder, to see whether your report counts.")
    ] = None,
    patience: Patience = 10.0,
    plain_http: PlainHttp = False,
    as_json: AsJson = False,
) -> None:
    """Check the aggregators' signed results, add them up, and show what they say."""
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
