"""The paper's protocol in one process: exact totals, or an abort that names the step."""

import json
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
import pytest

from mdrr.errors import ProtocolError
from mdrr.securesum.history import History
from mdrr.securesum.keys import Identity
from mdrr.securesum.message import Abort, Message, write
from mdrr.securesum.paper import STEPS, Party
from mdrr.securesum.ring import zero_shares
from mdrr.securesum.signed import Roster
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
    for party in parties.values():
        assert party.aborted is not None
        assert "ill-formed" in party.aborted.reason
        assert party.aborted.reason.endswith(
            ". Shares hide whose it was. The same people may run it again; if it happens again, "
            "use aggregators, who refuse such a vector"
        )


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


def test_the_roster_that_is_confirmed_is_the_one_that_is_signed() -> None:
    group, shown = Group(4), list[Roster]()
    party = Party(group.identities[0], group.roster, group.vectors[0], source=SeededSource(1))
    [accept] = party.start(shown.append)
    assert shown == [group.roster]
    assert (accept.kind, accept.run) == ("accept", group.roster.digest)


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


# One party and what she is told.

THREE = Group(3, seed=4)
IDS = THREE.roster.ids
NAMED = {one.id: one for one in THREE.identities}


def waiting_at(step: str) -> tuple[dict[str, Party], dict[str, History], list[Message]]:
    """Three parties that wait at a step, and the messages of that step, which nobody has got."""
    histories = {name: History() for name in IDS}
    parties = {
        one.id: Party(
            one, THREE.roster, vector, source=SeededSource(one.id), history=histories[one.id]
        )
        for one, vector in zip(THREE.identities, THREE.vectors, strict=True)
    }
    said, held = [message for party in parties.values() for message in party.start()], []
    while said:
        message = said.pop(0)
        if message.kind == step:
            held.append(message)
            continue
        for name, party in parties.items():
            if name != message.sender and message.to in (None, name):
                said += party.receive(message)
    assert {party.step for party in parties.values()} == {step}
    return parties, histories, held


def holds(party: Party) -> tuple[object, bytes, bytes]:
    """What a party must not keep: her own share, her sum, what hides it."""
    return party._own_share, party._sum, party._nonce


def of_another_run() -> Message:
    return write(NAMED[IDS[1]], "accept", "0" * 64, {})


@pytest.mark.parametrize("step", STEPS[:-1])
@pytest.mark.parametrize("theirs", [*STEPS[:-1], "roster"])
def test_an_abort_is_heeded_and_says_who_was_waited_for(step: str, theirs: str) -> None:
    parties, histories, _ = waiting_at(step)
    me, other = parties[IDS[0]], IDS[1]
    me.receive(of_another_run())
    told = Abort(theirs, "she is tired", (IDS[2],))
    assert me.receive(write(NAMED[other], "abort", THREE.roster.digest, told.to_dict())) == []
    assert me.finished
    assert holds(me) == (None, b"", b"")
    further = theirs in STEPS and STEPS.index(theirs) > STEPS.index(step)
    if further:  # the others are further on: what is missing is missing here
        why = "another party stopped while this one was waiting"
        aside = "; set aside: a accept of another run"
        assert me.aborted == Abort(step, why + aside, IDS[1:], other)
    else:
        assert me.aborted == Abort(theirs, "she is tired", (IDS[2],), other)
    left = [one.left for one in histories[IDS[0]].revealed()]
    if step == "reveal":  # only who signs that she left before she revealed may be missing
        assert left == [(other,) if theirs in ("accept", "share", "commit") else ()]
    else:
        assert left == []


def test_who_revealed_her_sum_cannot_say_that_she_left_before() -> None:
    parties, histories, held = waiting_at("reveal")
    me, other = parties[IDS[0]], IDS[1]
    me.receive(next(message for message in held if message.sender == other))
    assert me.missing == (IDS[2],)
    me.receive(write(NAMED[other], "abort", THREE.roster.digest, Abort("share", "no").to_dict()))
    assert me.aborted == Abort("share", "no", (), other)
    assert [one.left for one in histories[IDS[0]].revealed()] == [()]


def test_an_abort_without_a_reason_is_one_all_the_same() -> None:
    parties, _, _ = waiting_at("commit")
    me, other = parties[IDS[0]], IDS[1]
    assert me.receive(write(NAMED[other], "abort", THREE.roster.digest, {"step": 7})) == []
    assert me.aborted == Abort("commit", "it did not say why", (other,), other)


def test_what_does_not_count_is_set_aside_with_the_reason() -> None:
    parties, _, _ = waiting_at("accept")
    me, other, run = parties[IDS[0]], NAMED[IDS[1]], THREE.roster.digest
    stranger = people(1, seed=8)[0]
    for message in (
        of_another_run(),
        write(stranger, "accept", run, {}),
        Message("accept", run, IDS[1], None, {}, bytes(64)),
        write(other, "join", run, {}),
        write(other, "accept", run, {}, IDS[0]),
        write(other, "share", run, {"sealed": ""}, IDS[2]),
        write(other, "share", run, {"sealed": ""}),
    ):
        assert me.receive(message) == []
    aside = [
        "a accept of another run",
        "a accept from a stranger",
        "a accept with a wrong signature",
        "a join of a kind this mode does not use",
        "a accept meant for someone else",
        "a share meant for someone else",
        "a share meant for someone else",
    ]
    assert (me.set_aside, me.missing, me.finished) == (aside, IDS[1:], False)
    [said] = me.expire()
    why = "no message arrived in time; set aside: " + "; ".join(aside[:3])
    assert me.aborted == Abort("accept", why, IDS[1:])
    assert (said.kind, said.run, said.to) == ("abort", run, None)
    assert Abort.from_dict(said.body) == me.aborted
    assert me.expire() == []
    assert me.receive(write(other, "accept", run, {})) == []
    assert me.set_aside == aside  # nothing is heard after the end


@pytest.mark.parametrize("kind", STEPS[:-1])
def test_who_says_two_things_is_named_and_may_be_missing_from_a_rerun(kind: str) -> None:
    parties, histories, held = waiting_at(kind)
    me, other = parties[IDS[0]], IDS[1]
    first = next(m for m in held if m.sender == other and m.to in (None, IDS[0]))
    assert me.receive(first) == []
    assert me.receive(first) == []  # the same again is fine
    [said] = me.receive(write(NAMED[other], kind, first.run, {"x": 1}, first.to))
    why = f"two different messages at step '{kind}'. The others may run again without her"
    assert me.aborted == Abort(kind, why, (other,))
    assert Abort.from_dict(said.body) == me.aborted
    left = [one.left for one in histories[IDS[0]].revealed()]
    assert left == ([(other,)] if kind == "reveal" else [])


@pytest.mark.parametrize(
    ("kind", "body", "reason"),
    [
        ("share", {"sealed": "AAAA"}, "'sealed' of a share must be"),
        ("commit", {"commitment": "x"}, "'commitment' of a commitment must be"),
        ("reveal", {"sum": "AAAA"}, "a revealed sum has no 'commitments'"),
    ],
)
def test_who_breaks_the_rules_is_named(kind: str, body: dict[str, str], reason: str) -> None:
    parties, histories, held = waiting_at(kind)
    me, other = parties[IDS[0]], IDS[1]
    for message in held:
        if message.sender == IDS[2]:
            me.receive(message)
    to = IDS[0] if kind == "share" else None
    me.receive(write(NAMED[other], kind, THREE.roster.digest, body, to))
    assert me.aborted is not None
    assert (me.aborted.step, me.aborted.who) == (kind, (other,))
    assert me.aborted.reason.startswith(reason)
    assert me.aborted.reason.endswith(". The others may run again without her")
    assert holds(me) == (None, b"", b"")
    left = [one.left for one in histories[IDS[0]].revealed()]
    assert left == ([(other,)] if kind == "reveal" else [])


def test_a_sum_that_is_false_is_noted_when_the_run_stops_for_another_reason() -> None:
    parties, histories, held = waiting_at("reveal")
    me, other = parties[IDS[0]], IDS[1]
    true = next(message for message in held if message.sender == other)
    me.receive(write(NAMED[other], "reveal", true.run, {**true.body, "nonce": "AA=="}))
    me.expire()
    assert me.aborted == Abort("reveal", "no message arrived in time", (IDS[2],))
    assert [one.left for one in histories[IDS[0]].revealed()] == [(other,)]


def test_a_party_holds_no_share_before_she_deals_and_nothing_after_the_end() -> None:
    early = waiting_at("accept")[0][IDS[0]]
    assert holds(early) == (None, b"", b"")
    share, _, _ = holds(waiting_at("share")[0][IDS[0]])
    assert share is not None
    parties, histories, held = waiting_at("reveal")
    me = parties[IDS[0]]
    share, own_sum, nonce = holds(me)
    assert (share, len(own_sum), len(nonce)) == (None, THREE.terms.question.cells, 32)
    for message in held:
        if message.sender != IDS[0]:
            assert me.receive(message) == []
    assert np.array_equal(me.result(), THREE.truth)
    assert me.result().dtype == np.int64
    assert (me.step, me.people, holds(me)) == ("done", 3, (None, b"", b""))
    assert not any(me._heard.values())
    assert [one.seen for one in histories[IDS[0]].revealed()] == [True]


def test_what_a_party_does_not_take_part_in() -> None:
    me, vector, source = NAMED[IDS[0]], THREE.vectors[0], SeededSource(1)
    stranger = people(1, seed=8)[0]
    other_key = Identity(me.signing_secret, stranger.sealing_secret)
    for party, why in (
        (Party(other_key, THREE.roster, vector, source=source), "with her own keys"),
        (Party(me, THREE.roster, vector, source=source, minimum=4), "has 3 parties"),
        (Party(me, THREE.roster, vector[:-1], source=source), "do not fit the question"),
        (Party(me, THREE.roster, vector[None], source=source), "do not fit the question"),
    ):
        [said] = party.start()
        assert party.aborted is not None
        assert why in party.aborted.reason
        assert Abort.from_dict(said.body) == party.aborted
        assert (party.aborted.step, party.aborted.who) == ("accept", ())
    for minimum in (2, 3):
        willing = Party(me, THREE.roster, vector, source=source, minimum=minimum)
        assert [said.kind for said in willing.start()] == ["accept"]


def test_different_commitments_blame_nobody() -> None:
    parties, _, held = waiting_at("reveal")
    me, other = parties[IDS[0]], IDS[1]
    for message in held:
        if message.sender == IDS[2]:
            me.receive(message)
        elif message.sender == other:
            shown = {**message.body, "commitments": "0" * 64}
            me.receive(write(NAMED[other], "reveal", message.run, shown))
    why = "some member lies, perhaps with the relay's help, and nobody can tell who"
    assert me.aborted == Abort("reveal", f"the parties were shown different commitments: {why}")


@pytest.mark.parametrize("more", [-1, 1])
def test_a_party_who_dealt_too_many_or_too_few_shares_sends_none(more: int) -> None:
    """The last share would be lost, or the last person get none, and the sum be noise."""
    party = Party(
        NAMED[IDS[0]], THREE.roster, THREE.vectors[0], source=SeededSource(1),
        deal=lambda source, n, cells: zero_shares(source, n + more, cells),
    )  # fmt: skip
    party.start()
    assert party.receive(write(NAMED[IDS[1]], "accept", THREE.roster.digest, {})) == []
    with pytest.raises(ValueError, match="zip"):
        party.receive(write(NAMED[IDS[2]], "accept", THREE.roster.digest, {}))
