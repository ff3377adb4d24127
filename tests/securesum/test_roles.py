"""The roles' own rules, with a relay in the same thread: what is pinned, what runs out of time."""

import json

import pytest

from mdrr.errors import ProtocolError
from mdrr.securesum.ledger import SqliteLedger
from mdrr.securesum.message import Message
from mdrr.securesum.organiser import Organiser
from mdrr.securesum.transport import roles
from mdrr.securesum.transport.client import RelayClient
from mdrr.securesum.transport.mailbox import Mailbox
from mdrr.source import SeededSource
from tests.securesum.group import Group, organiser

GROUP = Group(4)


class Direct:
    """What a `RelayClient` does, without a network; everybody else has joined already."""

    def __init__(self, group: Group, mode: str, me: str) -> None:
        self.terms = (group.roster if mode == "paper" else group.batch).terms
        self.organiser, self.box = Organiser(organiser(), self.terms), Mailbox()
        self.patience, self._me, self._after = 0.05, me, 0
        self.sent: list[str] = []

    def post(self, *messages: Message) -> None:
        for message in messages:
            self.sent.append(message.kind)
            if message.kind != "join":
                self.box.add(message)
                continue
            for said in self.organiser.receive(message):
                self.box.add(said)

    def fetch(self, wait: float, *, least: int = 1, kinds: tuple[str, ...] = ()) -> list[object]:
        texts, self._after = self.box.fetch(self._me, self._after, kinds)
        return [Message.from_json(text) for text in texts]

    def enrolled(self) -> tuple[str, ...]:
        return self.organiser.enrolled


def party(client: Direct, **options: object) -> roles.Outcome:
    me = GROUP.identities[3]
    for other in GROUP.identities[:3]:
        client.organiser.receive(roles.join(other, client.terms))
    return roles.run_party(
        client, me, lambda q: GROUP.vectors[3], SeededSource(1), client.terms, **options
    )  # type: ignore[arg-type]


def test_a_party_takes_only_the_roster_that_was_agreed_on() -> None:
    client = Direct(GROUP, "paper", GROUP.identities[3].id)
    with pytest.raises(ProtocolError, match="'roster': the roster is not the one that was agreed"):
        party(client, roster_digest="0" * 64)
    assert client.sent == ["join"]


def test_a_party_left_alone_says_so_to_the_others() -> None:
    client = Direct(GROUP, "paper", GROUP.identities[3].id)
    with pytest.raises(ProtocolError, match="'accept': no message arrived in time"):
        party(client, roster_digest=GROUP.roster.digest)
    assert client.sent == ["join", "accept", "abort"]


def test_without_a_list_nothing_is_said() -> None:
    client = Direct(GROUP, "paper", GROUP.identities[3].id)
    client.organiser.receive = lambda message: []  # type: ignore[method-assign]
    with pytest.raises(ProtocolError, match="'roster': no signed roster arrived in time"):
        party(client)
    assert client.sent == ["join"]


def test_an_aggregator_left_alone_stops() -> None:
    client = Direct(GROUP, "aggregators", GROUP.aggregators[1].id)
    terms = client.terms
    client.organiser.receive(roles.join(GROUP.aggregators[0], terms, "aggregator"))
    for one in GROUP.identities:
        client.organiser.receive(roles.join(one, terms))
    ledger = SqliteLedger(":memory:")
    with pytest.raises(ProtocolError, match="'collecting': no list of reports arrived in time"):
        roles.run_aggregator(client, GROUP.aggregators[1], ledger, terms)  # type: ignore[arg-type]
    assert client.sent == ["join", "abort"]
    assert json.loads(client.box.fetch("0" * 64, 1)[0][-1])["body"]["step"] == "collecting"


def test_a_person_reports_only_to_the_batch_that_was_agreed_on_and_is_told_whose_it_is() -> None:
    group = Group(4)
    client = Direct(group, "aggregators", group.identities[3].id)
    for other in group.identities[:3]:
        client.organiser.receive(roles.join(other, client.terms))
    for one in group.aggregators:
        client.organiser.receive(roles.join(one, client.terms, "aggregator"))
    said: list[str] = []
    with pytest.raises(ProtocolError, match="'batch': the batch is not the one that was agreed"):
        roles.run_person(
            client, group.identities[3], lambda q: group.vectors[3], SeededSource(1), client.terms,
            batch_digest="0" * 64, say=said.append,
        )  # type: ignore[arg-type]  # fmt: skip
    assert client.sent == ["join"]
    assert all(any(one.id in text for text in said) for one in group.aggregators)


@pytest.mark.parametrize("url", ["localhost:8765", "127.0.0.1:9", "ftp://relay", "http://", ""])
def test_an_address_no_waiting_makes_right_is_refused_at_once(url: str) -> None:
    with pytest.raises(ProtocolError, match="not the address of a relay"):
        RelayClient(url, "0" * 64)


def test_an_organiser_waits_for_two_or_three_aggregators() -> None:
    with pytest.raises(ProtocolError, match="two or three"):
        Organiser(organiser(), GROUP.batch.terms, aggregators=5)
