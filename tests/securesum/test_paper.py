"""The paper's protocol in one process: exact totals, or an abort that names the step."""

import json
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
import pytest

from mdrr.errors import ProtocolError
from mdrr.securesum.message import Message, write
from mdrr.securesum.paper import STEPS, Party
from mdrr.securesum.ring import zero_shares
from mdrr.securesum.roster import Roster
from mdrr.source import SeededSource
from tests.securesum.group import Group, organiser, people, roster_of, run_paper

GROUP = Group(5)
FIRST, SECOND = GROUP.roster.ids[:2]


def run(
    meddle: Callable[[bytes, str], Iterable[bytes]] = lambda data, to: (data,),
) -> dict[str, Party]:
    return run_paper(GROUP.roster, GROUP.identities, GROUP.vectors, SeededSource(1), meddle=meddle)


def never_wrong(parties: dict[str, Party]) -> list[str]:
    """Every party has the exact totals or a clean abort; the steps of the aborts."""
    for party in parties.values():
        assert party.finished
        assert (party.totals is None) != (party.aborted is None)
        if party.totals is not None:
            assert np.array_equal(party.totals, GROUP.truth)
    return [party.aborted.step for party in parties.values() if party.aborted]


@pytest.mark.parametrize("n", [3, 4, 5, 9])
def test_totals_are_exact_for_everybody(n: int) -> None:
    group = Group(n, seed=n)
    parties = run_paper(group.roster, group.identities, group.vectors, SeededSource(n))
    for party in parties.values():
        assert np.array_equal(party.result(), group.truth)


def test_a_modulus_beyond_one_byte() -> None:
    roster = GROUP.roster
    shares = zero_shares(SeededSource(1), 300, roster.terms.question.cells)
    assert shares.dtype == np.uint16


def test_a_count_of_everybody_does_not_wrap() -> None:
    group = Group(5)
    same = [group.vectors[0]] * 5
    parties = run_paper(group.roster, group.identities, same, SeededSource(1))
    assert parties[FIRST].result().max() == 5


def test_every_commitment_has_32_fresh_bytes_of_its_partys_source() -> None:
    """Without them a sum of few cells could be guessed from its commitment."""
    read: list[bytes] = []

    class Noted:
        def read(self, count: int, /) -> bytes:
            read.append(seeded.read(count))
            return read[-1]

    nonces = []

    def listen(data: bytes, to: str) -> tuple[bytes]:
        message = Message.from_json(data)
        if message.kind == "reveal" and to == (SECOND if message.sender == FIRST else FIRST):
            nonces.append(b64decode(message.body["nonce"]))
        return (data,)

    seeded = SeededSource(1)
    never_wrong(run_paper(GROUP.roster, GROUP.identities, GROUP.vectors, Noted(), meddle=listen))
    assert len(set(nonces)) == len(nonces) == 5
    assert {len(nonce) for nonce in nonces} == {32}
    assert set(nonces) <= set(read)


@pytest.mark.parametrize("kind", STEPS[:-1])
def test_a_message_that_is_dropped_stops_everybody_at_its_step(kind: str) -> None:
    def meddle(data: bytes, to: str) -> list[bytes]:
        message = Message.from_json(data)
        return [] if message.kind == kind and message.sender == FIRST else [data]

    parties = run(meddle)
    never_wrong(parties)
    stopped = [party for name, party in parties.items() if name != FIRST]
    assert {party.aborted.step for party in stopped if party.aborted} == {kind}
    assert all(FIRST in party.aborted.who for party in stopped if party.aborted)


@pytest.mark.parametrize("kind", STEPS[:-1])
def test_a_party_that_vanishes_stops_everybody(kind: str) -> None:
    gone: set[str] = set()

    def meddle(data: bytes, to: str) -> list[bytes]:
        message = Message.from_json(data)
        if message.sender == FIRST and message.kind == kind:
            gone.add(FIRST)
        return [] if FIRST in gone and FIRST in (message.sender, to) else [data]

    parties = run(meddle)
    never_wrong(parties)
    assert all(parties[name].aborted for name in GROUP.roster.ids if name != FIRST)


def test_an_absent_party_is_named() -> None:
    rest = [one for one in GROUP.identities if one.id != FIRST]
    parties = run_paper(GROUP.roster, rest, GROUP.vectors[:4], SeededSource(1))
    for party in parties.values():
        with pytest.raises(ProtocolError, match=f"'accept': no message arrived.*{FIRST[:12]}"):
            party.result()


def flip(value: str) -> str:
    return ("A" if value[0] != "A" else "B") + value[1:]


@pytest.mark.parametrize("kind", STEPS[:-1])
@pytest.mark.parametrize("field", ["signature", "run", "from", "to", "kind", "body", "garbage"])
def test_a_message_changed_on_its_way_never_counts(kind: str, field: str) -> None:
    def meddle(data: bytes, to: str) -> list[bytes]:
        fields = json.loads(data)
        if fields["kind"] != kind or fields["from"] != FIRST or to != SECOND:
            return [data]
        if field == "garbage":
            return [data[:-20]]
        if field == "body":
            name = next(iter(fields["body"]), None)
            fields["body"] = {name: flip(fields["body"][name])} if name else {"extra": 1}
        elif field == "kind":
            fields["kind"] = "commit" if kind != "commit" else "reveal"
        elif field == "to":
            fields["to"] = None if fields["to"] else to
        elif field == "from":
            fields["from"] = SECOND
        else:
            fields[field] = flip(fields[field]) if field == "signature" else "0" * 64
        return [json.dumps(fields).encode()]

    parties = run(meddle)
    never_wrong(parties)
    assert parties[SECOND].aborted is not None
    assert parties[SECOND].aborted.step == kind


@pytest.mark.parametrize("kind", STEPS[:-1])
def test_repeated_messages_change_nothing(kind: str) -> None:
    parties = run(lambda data, to: [data, data] if Message.from_json(data).kind == kind else [data])
    assert never_wrong(parties) == []


def test_messages_of_an_earlier_run_are_set_aside() -> None:
    old: list[bytes] = []

    def record(data: bytes, to: str) -> list[bytes]:
        old.append(data)
        return [data]

    earlier = roster_of(GROUP.identities, 99)
    run_paper(earlier, GROUP.identities, GROUP.vectors, SeededSource(8), meddle=record)
    assert never_wrong(run(lambda data, to: [*old[:50], data])) == []

    # Power: when only the old messages arrive, nothing counts and all stop.
    parties = run(lambda data, to: [one for one in old if b'"share"' not in one][:20])
    assert set(never_wrong(parties)) == {"accept"}


@pytest.mark.parametrize("seed", range(5))
def test_order_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    held: list[tuple[bytes, str]] = []

    def meddle(data: bytes, to: str) -> list[bytes]:
        # Each recipient gets a random one of what is held back for her, so messages overtake.
        mine = [item for item in held if item[1] == to]
        if len(mine) < 3 and rng.random() < 0.4:
            held.append((data, to))
            return []
        out = [data, *(item[0] for item in mine)]
        held[:] = [item for item in held if item[1] != to]
        return [out[k] for k in rng.permutation(len(out))]

    assert set(never_wrong(run(meddle))) <= set(STEPS)


def test_a_later_step_may_overtake_an_earlier_one() -> None:
    slow: list[bytes] = []

    def meddle(data: bytes, to: str) -> list[bytes]:
        message = Message.from_json(data)
        if to == SECOND and message.kind == "accept" and message.sender == FIRST and not slow:
            slow.append(data)
            return []
        if to == SECOND and message.kind == "share" and message.sender == FIRST:
            return [data, *slow]
        return [data]

    assert never_wrong(run(meddle)) == []
    assert slow


def equivocate(
    kind: str, change: Callable[[dict[str, object]], dict[str, object]]
) -> dict[str, Party]:
    """FIRST signs another body of that kind for SECOND, with the relay's help."""
    me = next(one for one in GROUP.identities if one.id == FIRST)

    def meddle(data: bytes, to: str) -> list[bytes]:
        message = Message.from_json(data)
        if message.kind != kind or message.sender != FIRST or to != SECOND:
            return [data]
        return [write(me, kind, message.run, change(dict(message.body)), message.to).to_json()]

    return run(meddle)


@pytest.mark.parametrize(
    ("kind", "change", "step", "reason"),
    [
        ("share", lambda body: {"sealed": "AAAA"}, "share", "bytes in base64"),
        ("share", lambda body: {"sealed": flip(str(body["sealed"]))}, "share", "does not open"),
        ("share", lambda body: {**body, "x": 1}, "share", "unknown field"),
        ("commit", lambda body: {"commitment": "0" * 64}, "reveal", "different commitments"),
        ("commit", lambda body: {"commitment": "xyz"}, "commit", "64 lower-case"),
        ("reveal", lambda body: {**body, "sum": "BQUF" * 10}, "reveal", "takes 26 bytes"),
        ("reveal", lambda body: {**body, "sum": "/" * 34 + "8="}, "reveal", "not reduced"),
        ("reveal", lambda body: {**body, "sum": "A" * 35 + "="}, "reveal", "committed to"),
        ("reveal", lambda body: {**body, "commitments": "0" * 64}, "reveal", "different commit"),
    ],
)
def test_a_member_who_lies_is_named(
    kind: str, change: Callable[[dict[str, object]], dict[str, object]], step: str, reason: str
) -> None:
    parties = equivocate(kind, change)
    never_wrong(parties)
    aborted = parties[SECOND].aborted
    assert aborted is not None
    assert (aborted.step, reason in aborted.reason) == (step, True), aborted


def test_two_different_messages_of_one_step_stop_the_run() -> None:
    me = next(one for one in GROUP.identities if one.id == FIRST)

    def meddle(data: bytes, to: str) -> list[bytes]:
        message = Message.from_json(data)
        if message.kind != "commit" or message.sender != FIRST:
            return [data]
        return [data, write(me, "commit", message.run, {"commitment": "0" * 64}).to_json()]

    parties = run(meddle)
    assert len(never_wrong(parties)) >= 4
    assert any("two different" in str(party.aborted) for party in parties.values())


def test_an_ill_formed_vector_ends_in_an_abort_not_in_a_number() -> None:
    bad = [*GROUP.vectors[:4], np.zeros_like(GROUP.vectors[0])]
    parties = run_paper(GROUP.roster, GROUP.identities, bad, SeededSource(1))
    assert all("ill-formed" in str(party.aborted) for party in parties.values())


def test_a_party_shown_another_roster_stops_all() -> None:
    """The relay shows SECOND a roster with a puppet in FIRST's place."""
    puppet = people(1, seed=77)[0]
    others = [one.public for one in GROUP.identities if one.id != FIRST]
    swapped = Roster.of(GROUP.roster.terms, [*others, puppet.public])
    victim = next(one for one in GROUP.identities if one.id == SECOND)
    party = Party(victim, swapped, GROUP.vectors[0], source=SeededSource(1))
    for message in party.start():
        assert message.run != GROUP.roster.digest
    honest = Party(GROUP.identities[0], GROUP.roster, GROUP.vectors[0], source=SeededSource(1))
    honest.start()
    honest.receive(party.start()[0])
    assert honest.set_aside == ["a accept of another run"]
    assert honest.expire()[0].kind == "abort"


def test_a_roster_without_me_or_with_another_key_is_refused() -> None:
    stranger = people(1, seed=5)[0]
    party = Party(stranger, GROUP.roster, GROUP.vectors[0], source=SeededSource(1))
    assert party.start()[0].kind == "abort"
    assert "does not list" in str(party.aborted)


def test_too_small_a_group_is_refused_by_the_party_herself() -> None:
    party = Party(
        GROUP.identities[0], GROUP.roster, GROUP.vectors[0], source=SeededSource(1), minimum=6
    )
    party.start()
    assert "at least 6" in str(party.aborted)


def test_shares_grow_with_the_square_of_the_group_and_nothing_else_does() -> None:
    for n in (4, 8):
        group, said = Group(n, seed=n), Counter[str]()

        def count(data: bytes, to: str, said: Counter[str] = said) -> list[bytes]:
            said[Message.from_json(data).kind] += 1
            return [data]

        run_paper(group.roster, group.identities, group.vectors, SeededSource(1), meddle=count)
        each = n * (n - 1)  # one share for every other, and a broadcast reaches every other
        assert said == {"accept": each, "share": each, "commit": each, "reveal": each}


def test_results_before_the_end_are_refused() -> None:
    party = Party(GROUP.identities[0], GROUP.roster, GROUP.vectors[0], source=SeededSource(1))
    with pytest.raises(ProtocolError, match="still at step"):
        party.result()
    assert organiser().id not in GROUP.roster.ids
