"""Running a role for real: a party, a person who reports, an aggregator, each over a relay.

Clocks and retries live here. `patience` is how long a role waits for others at one step before it
aborts, naming who is missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from mdrr.errors import ProtocolError
from mdrr.securesum.abort import Abort
from mdrr.securesum.aggregator import Aggregator
from mdrr.securesum.history import History
from mdrr.securesum.keys import Identity
from mdrr.securesum.ledger import SqliteLedger
from mdrr.securesum.message import Message
from mdrr.securesum.opening import read_opening, total
from mdrr.securesum.organiser import join
from mdrr.securesum.paper import Party
from mdrr.securesum.person import make_report
from mdrr.securesum.question import Question
from mdrr.securesum.roster import Batch, Roster
from mdrr.securesum.terms import FLOOR, Terms
from mdrr.securesum.transport.client import RelayClient
from mdrr.source import Source

Answer = Callable[[Question], npt.NDArray[np.uint8]]
"""Given the question of the terms, the one-hot vector to contribute."""
T = TypeVar("T", Roster, Batch)
_POLL = 5.0


@dataclass(frozen=True)
class Outcome:
    """How a run ended well.

    Arguments:
        totals: int64 (cells,).
        people: how many people are in them.
        terms: what was asked.
        note: what a participant should know, in plain words.
    """

    totals: npt.NDArray[np.int64]
    people: int
    terms: Terms
    note: str = ""


def await_list(
    client: RelayClient, terms: Terms, kind: type[T], *, alone: bool = False
) -> tuple[T, list[Message | ProtocolError]]:
    """Wait for the signed roster or batch; returns it with whatever arrived after it.

    Arguments:
        client: the connection to the relay.
        terms: what the list must be signed for.
        kind: `Roster` or `Batch`.
        alone: ask for nothing else, for who reports and leaves.
    """
    name, patience = kind.__name__.lower(), client.patience
    deadline = time.monotonic() + patience
    aside: list[str] = []
    while (left := deadline - time.monotonic()) > 0:
        arrived = client.fetch(min(left, _POLL), kinds=(name,) if alone else ())
        for k, message in enumerate(arrived):
            try:
                if isinstance(message, ProtocolError):
                    raise message
                return kind.read(message, terms), arrived[k + 1 :]
            except ProtocolError as error:
                aside.append(str(error))
    reason = f"no signed {name} arrived in time" + (f"; set aside: {aside[0]}" if aside else "")
    raise Abort(name, reason).error


def run_party(
    client: RelayClient,
    identity: Identity,
    answer: Answer,
    source: Source,
    terms: Terms,
    *,
    history: History | None = None,
    minimum: int = FLOOR,
    roster_digest: str | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Outcome:
    """Take part in a paper-mode run and return its totals.

    Arguments:
        client: the connection to the relay.
        identity: the party's keys.
        answer: makes her vector.
        source: where her shares come from.
        terms: as `Terms.read` returned them.
        history: groups she helped to open before.
        minimum: the fewest parties she accepts.
        roster_digest: when given, the only roster she accepts (agreed among the parties).
        say: told the roster's digest, before anything is signed.
    """
    client.post(join(identity, terms))
    roster, early = await_list(client, terms, Roster)
    say(f"Roster of {len(roster.members)} parties: {roster.digest}")
    if roster_digest is not None and roster.digest != roster_digest:
        raise Abort("roster", "the roster is not the one that was agreed on").error
    if history is not None and frozenset(roster.ids) in set(history.unfinished()):
        say("You took part in this group before and saw no total. Others may have seen one: give "
            "the same answers again, since a change could show.")  # fmt: skip
    vector = answer(terms.question)
    party = Party(identity, roster, vector, source=source, history=history, minimum=minimum)
    client.post(*party.start())
    _drive(client, party, early)
    return Outcome(party.result(), len(roster.members), terms)


def _drive(client: RelayClient, party: Party, early: list[Message | ProtocolError]) -> None:
    arrived, step, since = early, party.step, time.monotonic()
    while True:
        said: list[Message] = []
        for message in arrived:
            if isinstance(message, ProtocolError):
                party.set_aside.append("something that is not a message")
            else:
                said += party.receive(message)
        client.post(*said)
        if party.finished:
            return
        if party.step != step:
            step, since = party.step, time.monotonic()
        left = since + client.patience - time.monotonic()
        if left <= 0:
            client.post(*party.expire())
            return
        arrived = client.fetch(min(left, _POLL), least=len(party.missing))


def run_person(
    client: RelayClient,
    identity: Identity,
    answer: Answer,
    source: Source,
    terms: Terms,
    *,
    batch_digest: str | None = None,
    pins: frozenset[str] | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Batch:
    """Report to the aggregators of a batch; returns the batch, whose `trust` she should read.

    Arguments:
        client: the connection to the relay.
        identity: her keys.
        answer: makes her vector.
        source: where her masks come from.
        terms: as `Terms.read` returned them.
        batch_digest: when given, the only batch she reports to.
        pins: when given, the only aggregators she reports to (`read_pins`).
        say: told the batch's digest and the aggregators' ids, before anything is reported.
    """
    client.post(join(identity, terms))
    batch, _ = await_list(client, terms, Batch, alone=True)
    say(f"Batch of {batch.people} people: {batch.digest}")
    for one in batch.aggregators:
        say(f"Aggregator {one.pin}, which calls its operator {one.operator or '(unnamed)'!r}")
    if batch_digest is not None and batch.digest != batch_digest:
        raise Abort("batch", "the batch is not the one that was agreed on").error
    if pins is not None:
        batch.check_pins(pins)
    client.post(*make_report(identity, batch, answer(terms.question), source))
    return batch


def run_aggregator(
    client: RelayClient,
    identity: Identity,
    ledger: SqliteLedger,
    terms: Terms,
    *,
    minimum: int = FLOOR,
) -> Outcome:
    """Serve as an aggregator until the batch is opened; safe to kill and start again.

    Arguments:
        client: the connection to the relay.
        identity: the aggregator's keys, the same after a restart.
        ledger: its notes, the same file after a restart.
        terms: as `Terms.read` returned them.
        minimum: the fewest people it opens a total for.
    """
    client.post(join(identity, terms, "aggregator"))
    batch, arrived = await_list(client, terms, Batch)
    machine = Aggregator(identity, batch, client.enrolled(), ledger, minimum=minimum)
    openings: dict[str, Message] = {}
    since = time.monotonic()
    while True:
        said: list[Message] = []
        ledger.begin()
        for message in arrived:
            said += _aggregate(machine, message, batch, openings)
        ledger.commit()  # durable before anything is said
        client.post(*said)
        openings |= {message.sender: message for message in said if message.kind == "opening"}
        if machine.aborted is not None:
            raise machine.aborted.error
        if len(openings) == len(batch.ids):
            totals, people = total(openings.values(), batch)
            return Outcome(totals, people, terms, batch.trust)
        if arrived:
            since = time.monotonic()
        left = since + client.patience - time.monotonic()
        if left <= 0:
            client.post(*machine.expire())
            missing = tuple(name for name in batch.ids if name not in openings)
            raise (machine.aborted or Abort("opened", "no opening arrived in time", missing)).error
        wanted = batch.people - machine.people if machine.step == "collecting" else 1
        arrived = client.fetch(min(left, _POLL), least=min(wanted, 500))


def _aggregate(
    machine: Aggregator,
    message: Message | ProtocolError,
    batch: Batch,
    openings: dict[str, Message],
) -> list[Message]:
    """Hand a message to the machine, or keep an opening; what does not count is passed over."""
    try:
        if isinstance(message, ProtocolError):
            raise message
        if message.kind != "opening":
            return machine.receive(message)
        read_opening(message, batch)
        openings.setdefault(message.sender, message)
    except ProtocolError:
        pass  # a person whose report did not count is missing in the aggregators' lists
    return []
