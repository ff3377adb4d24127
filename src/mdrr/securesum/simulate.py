"""The protocols between parties in one process: what the network would carry, without a network.

Every message is written to bytes and read back, and the bytes are counted, so a simulation sends
what real parties send. A `Meddler` may drop, change, repeat or reorder what is delivered: it is
the relay of the tests.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mdrr.errors import ProtocolError
from mdrr.securesum.history import History
from mdrr.securesum.keys import Identity
from mdrr.securesum.message import Message
from mdrr.securesum.paper import Dealer, Party
from mdrr.securesum.ring import zero_shares
from mdrr.securesum.roster import Roster
from mdrr.source import Source

Meddler = Callable[[bytes, str], Iterable[bytes]]
"""Given a message's bytes and its recipient, the bytes that reach her (none, one or several)."""


@dataclass
class Traffic:
    """Bytes and messages, by kind.

    Arguments:
        sent: bytes uploaded, by kind of message; a broadcast is uploaded once.
        received: bytes downloaded, by kind; a broadcast is downloaded by every other member.
        messages: how many were uploaded, by kind.
        refused: how many deliveries a recipient refused.
    """

    sent: dict[str, int] = field(default_factory=dict)
    received: dict[str, int] = field(default_factory=dict)
    messages: dict[str, int] = field(default_factory=dict)
    refused: int = 0

    def upload(self, kind: str, size: int) -> None:
        """Count one message sent."""
        self.sent[kind] = self.sent.get(kind, 0) + size
        self.messages[kind] = self.messages.get(kind, 0) + 1

    def download(self, kind: str, size: int) -> None:
        """Count one message delivered."""
        self.received[kind] = self.received.get(kind, 0) + size

    @property
    def bytes(self) -> int:
        """All bytes uploaded and downloaded."""
        return sum(self.sent.values()) + sum(self.received.values())


def honest(data: bytes, recipient: str) -> Iterable[bytes]:
    """A relay that delivers every message once."""
    return (data,)


def run_paper(
    roster: Roster,
    identities: Sequence[Identity],
    vectors: Sequence[object],
    source: Source,
    *,
    histories: Mapping[str, History] | None = None,
    meddle: Meddler = honest,
    deal: Dealer = zero_shares,
    traffic: Traffic | None = None,
) -> dict[str, Party]:
    """Run paper mode among parties until nobody has anything to say; who still waits, expires.

    Arguments:
        roster: the signed list.
        identities: the parties' keys; a listed party without one never speaks.
        vectors: their one-hot vectors, in the same order.
        source: where all shares come from.
        histories: earlier groups, by id.
        meddle: what the relay does to messages.
        deal: how shares are drawn.
        traffic: counts the bytes when given.

    Returns:
        The parties by id; each has `totals` or `aborted`.

    Example:
        See `tests/securesum/test_paper.py`.
    """
    past = dict(histories or {})
    parties = {
        one.id: Party(one, roster, vector, source=source, history=past.get(one.id), deal=deal)  # type: ignore[arg-type]
        for one, vector in zip(identities, vectors, strict=True)
    }
    count = traffic if traffic is not None else Traffic()
    queue: deque[tuple[str, bytes]] = deque()

    def post(messages: list[Message]) -> None:
        for message in messages:
            data = message.to_json()
            count.upload(message.kind, len(data))
            for name in parties:
                if name != message.sender and message.to in (None, name):
                    queue.extend((name, out) for out in meddle(data, name))
                    count.download(message.kind, len(data))

    for party in parties.values():
        post(party.start())
    while True:
        while queue:
            name, data = queue.popleft()
            try:
                post(parties[name].receive(Message.from_json(data)))
            except ProtocolError:
                parties[name].set_aside.append("something that is not a message")
        waiting = [party for party in parties.values() if not party.finished]
        if not waiting:
            return parties
        post(waiting[0].expire())
