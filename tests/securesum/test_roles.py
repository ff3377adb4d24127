"""The roles' own rules, with a relay in the same thread: what is pinned, what runs out of time."""

import json

import pytest

from mdrr.errors import ProtocolError
from mdrr.securesum.ledger import SqliteLedger
from mdrr.securesum.message import Message
from mdrr.securesum.organiser import Organiser
from mdrr.securesum.roster import read_pins
from mdrr.securesum.transport import roles
from mdrr.securesum.transport.client import RelayClient
from mdrr.securesum.transport.mailbox import Mailbox
from mdrr.source import SeededSource
from tests.securesum.group import Group, organiser, people

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
    assert all(any(one.public.pin in text for text in said) for one in group.aggregators)


@pytest.mark.parametrize("url", ["localhost:8765", "127.0.0.1:9", "ftp://relay", "http://", ""])
def test_an_address_no_waiting_makes_right_is_refused_at_once(url: str) -> None:
    with pytest.raises(ProtocolError, match="not the address of a relay"):
        RelayClient(url, "0" * 64)


@pytest.mark.parametrize("url", ["http://relay.example.org", "http://192.0.2.7:8765"])
def test_another_machine_without_tls_is_refused_unless_it_is_asked_for(url: str) -> None:
    with pytest.raises(ProtocolError, match="https:// address, or say --plain-http"):
        RelayClient(url, "0" * 64)
    RelayClient(url, "0" * 64, plain=True).close()


@pytest.mark.parametrize(
    "url",
    ["http://localhost:1", "http://127.0.0.1:1", "http://127.3.2.1", "http://[::1]:1",
     "https://relay.example.org"],
)  # fmt: skip
def test_this_machine_and_tls_need_no_asking(url: str) -> None:
    client = RelayClient(url, "0" * 64)
    assert client.sent == 0
    client.close()


def test_an_organiser_waits_for_two_or_three_aggregators() -> None:
    with pytest.raises(ProtocolError, match="two or three"):
        Organiser(organiser(), GROUP.batch.terms, aggregators=5)


def test_an_organiser_takes_only_the_aggregators_it_named() -> None:
    group = Group(4, operators=("Office A", "Office B", "Office A"))
    terms, (one, two, stranger) = group.batch.terms, group.aggregators
    machine = Organiser(organiser(), terms, pins=[one.public.pin, two.public.pin])
    named = f"aggregator {stranger.public.pin}, which calls its operator 'Office A', is not one"
    with pytest.raises(ProtocolError, match=named):
        machine.receive(roles.join(stranger, terms, "aggregator"))
    for person in group.identities:
        machine.receive(roles.join(person, terms))
    for late in (two, two, one):  # twice, after a lost answer: no harm
        assert machine.frozen is None
        machine.receive(roles.join(late, terms, "aggregator"))
    assert machine.frozen is not None
    assert machine.frozen.ids == (two.id, one.id)


def test_as_many_aggregators_are_waited_for_as_are_named() -> None:
    terms, pins = GROUP.batch.terms, [one.public.pin for one in people(3, seed=6)]
    machine = Organiser(organiser(), terms, pins=pins)
    for person in GROUP.identities:
        machine.receive(roles.join(person, terms))
    for k, one in enumerate(people(3, seed=6)):
        assert (machine.frozen is None) == (k < 3)
        machine.receive(roles.join(one, terms, "aggregator"))
    assert machine.frozen is not None
    with pytest.raises(ProtocolError, match="3 aggregators are named, 2 are asked for"):
        Organiser(organiser(), terms, aggregators=2, pins=pins)
    with pytest.raises(ProtocolError, match="a run in paper mode has no aggregators to name"):
        Organiser(organiser(), GROUP.roster.terms, pins=pins)


@pytest.mark.parametrize("right", [True, False])
def test_a_person_reports_only_to_the_aggregators_she_named(right: bool) -> None:
    client = Direct(GROUP, "aggregators", GROUP.identities[3].id)
    for other in GROUP.identities[:3]:
        client.organiser.receive(roles.join(other, client.terms))
    for one in GROUP.aggregators:
        client.organiser.receive(roles.join(one, client.terms, "aggregator"))
    others = GROUP.aggregators if right else [GROUP.aggregators[0], people(1, seed=6)[0]]
    answered: list[object] = []

    def answer(question: object) -> object:
        answered.append(question)
        return GROUP.vectors[3]

    def run() -> None:
        roles.run_person(
            client, GROUP.identities[3], answer, SeededSource(1), client.terms,
            pins=read_pins(one.public.pin for one in others),
        )  # type: ignore[arg-type]  # fmt: skip

    if right:
        run()
        assert client.sent == ["join", "report", "report"]
        return
    with pytest.raises(ProtocolError, match="aggregators are not the ones you named"):
        run()
    assert client.sent == ["join"]
    assert answered == []
