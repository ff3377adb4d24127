"""The aggregators mode in one process: every report sealed, signed, written, read and opened.

See `simulate` for what is counted and how a test meddles with what is delivered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from mdrr.errors import ProtocolError
from mdrr.securesum import ring
from mdrr.securesum.aggregator import Aggregator
from mdrr.securesum.keys import Identity
from mdrr.securesum.ledger import Ledger, SqliteLedger
from mdrr.securesum.message import Message, write
from mdrr.securesum.opening import total
from mdrr.securesum.person import Expander, make_report
from mdrr.securesum.roster import Batch
from mdrr.securesum.simulate import Meddler, Traffic, honest
from mdrr.source import Source


def run_aggregators(
    batch: Batch,
    organiser: Identity,
    aggregators: Sequence[Identity],
    people: Sequence[Identity],
    vectors: Iterable[npt.NDArray[np.uint8]],
    source: Source,
    *,
    ledgers: Mapping[str, Ledger] | None = None,
    meddle: Meddler = honest,
    expand: Expander = ring.expand,
    traffic: Traffic | None = None,
) -> tuple[npt.NDArray[np.int64], int]:
    """Collect a report from every person, close the batch, and open its total.

    Arguments:
        batch: the signed batch.
        organiser: whose word closes it.
        aggregators: keys, in the order of the batch.
        people: keys of all enrolled people.
        vectors: one-hot vectors, in the order of the people; drawn one at a time.
        source: where masks come from.
        ledgers: the aggregators' notes by id; in memory when not given.
        meddle: what the relay does to messages.
        expand: how seeds become masks.
        traffic: counts the bytes when given.

    Returns:
        The totals, int64 (cells,), and the number of people in them; an error names the step at
        which the run stopped.

    Example:
        See `tests/securesum/test_aggregators.py`.
    """
    notes = dict(ledgers or {})
    enrolled = [person.id for person in people]
    machines = {
        one.id: Aggregator(one, batch, enrolled, notes.get(one.id) or SqliteLedger(":memory:"))
        for one in aggregators
    }
    count = traffic if traffic is not None else Traffic()
    openings: list[Message] = []

    def deliver(message: Message, names: Iterable[str]) -> list[Message]:
        data = message.to_json()
        count.upload(message.kind, len(data))
        said: list[Message] = []
        for name in names:
            count.download(message.kind, len(data))
            for arrived in meddle(data, name):
                try:
                    said += machines[name].receive(Message.from_json(arrived))
                except ProtocolError:
                    count.refused += 1
        return said

    for person, vector in zip(people, vectors, strict=True):
        for message in make_report(person, batch, vector, source, expand):
            deliver(message, [str(message.to)])
    queue = deliver(write(organiser, "close", batch.digest, {}), batch.ids)
    while queue:
        message = queue.pop(0)
        if message.kind == "opening":
            openings.append(message)
        elif message.kind == "accepted":
            queue += deliver(message, [name for name in batch.ids if name != message.sender])
    for machine in machines.values():
        machine.expire()
        if machine.aborted is not None:
            raise machine.aborted.error
    return total(openings, batch)
