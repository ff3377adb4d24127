"""What a party refuses because of runs she took part in before."""

import math
from base64 import b64decode
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from mdrr.errors import ProtocolError
from mdrr.securesum.history import History
from mdrr.securesum.keys import Identity
from mdrr.securesum.message import Message, write
from mdrr.securesum.paper import Party
from mdrr.securesum.question import Question, spent_on
from mdrr.securesum.wire import encode64
from mdrr.source import SeededSource
from tests.securesum.group import QUESTION, Group, people, roster_of, run_paper

GROUP = Group(5)


@pytest.mark.parametrize("leaves", [0, 1, 3])
def test_an_attribute_is_answered_exactly_once_however_far_apart_the_groups_are(
    leaves: int,
) -> None:
    group = Group(7, seed=3)
    histories = {one.id: History() for one in group.identities}
    run_paper(group.roster, group.identities, group.vectors, SeededSource(1), histories=histories)
    stay = group.identities[leaves:]
    parties = run_paper(
        roster_of(stay, 50), stay, group.vectors[leaves:], SeededSource(2), histories=histories
    )
    for party in parties.values():
        assert "answered smokes, region, age exactly in run" in str(party.aborted)
        assert "nothing to run again" in str(party.aborted)


def broken_at_reveal(question: Question = QUESTION) -> dict[str, History]:
    """Histories of five people of whom the last did not reveal her sum."""
    histories = {one.id: History() for one in GROUP.identities}
    silent = GROUP.roster.ids[-1]

    def meddle(data: bytes, to: str) -> list[bytes]:
        said = Message.from_json(data)
        return [] if said.kind == "reveal" and said.sender == silent else [data]

    parties = run_paper(
        roster_of(GROUP.identities, 8, question), GROUP.identities, GROUP.vectors, SeededSource(1),
        histories=histories, meddle=meddle,
    )  # fmt: skip
    missing = [parties[name].aborted for name in GROUP.roster.ids[:-1]]
    assert all(one is not None and one.who == (silent,) for one in missing)  # blamed by name
    assert all(history.revealed() for history in histories.values())
    return histories


def test_the_same_group_may_try_again_after_a_run_that_showed_no_total() -> None:
    histories = broken_at_reveal()
    seen = {name: history.revealed()[0].seen for name, history in histories.items()}
    assert [name for name, saw in seen.items() if saw] == [GROUP.roster.ids[-1]]
    histories[GROUP.roster.ids[-1]] = History()  # the silent one saw all others' sums
    parties = run_paper(
        roster_of(GROUP.identities, 9), GROUP.identities, GROUP.vectors, SeededSource(1),
        histories=histories,
    )  # fmt: skip
    assert all(np.array_equal(party.result(), GROUP.truth) for party in parties.values())
    third = roster_of(GROUP.identities, 10)
    refused = run_paper(
        third, GROUP.identities, GROUP.vectors, SeededSource(1), histories=histories
    )
    assert all("nothing to run again" in str(party.aborted) for party in refused.values())


@pytest.mark.parametrize("change", ["fewer", "more", "other"])
def test_another_group_may_not_try_after_a_run_that_showed_no_total(change: str) -> None:
    """Who kept her sum back knows the total; a group that differs by one would tell him of her."""
    histories = broken_at_reveal()
    stranger = people(1, seed=8)[0]
    now = {
        "fewer": GROUP.identities[1:],
        "more": [*GROUP.identities, stranger],
        "other": [*GROUP.identities[1:], stranger],
    }[change]
    vectors = [GROUP.vectors[0]] * len(now)
    parties = run_paper(roster_of(now, 9), now, vectors, SeededSource(1), histories=histories)
    assert all(party.totals is None for party in parties.values())
    assert any("exactly the same people may run it again" in str(p.aborted)
               for p in parties.values())  # fmt: skip


def broken_before_reveal(signs: bool) -> tuple[dict[str, History], str]:
    """One member stops after her commitment; with `signs` she tells the others so."""
    histories = {one.id: History() for one in GROUP.identities}
    quits = GROUP.roster.ids[-1]

    def meddle(data: bytes, to: str) -> list[bytes]:
        said = Message.from_json(data)
        if to == quits and said.kind in ("commit", "abort"):
            return []
        if said.sender == quits and said.kind == "abort" and not signs:
            return []
        return [data]

    source = SeededSource(1)
    parties = {
        one.id: Party(one, GROUP.roster, vector, source=source, history=histories[one.id])
        for one, vector in zip(GROUP.identities, GROUP.vectors, strict=True)
    }
    queue = [message for party in parties.values() for message in party.start()]
    while queue:
        message = queue.pop(0)
        for name, party in parties.items():
            if name != message.sender and message.to in (None, name):
                for data in meddle(message.to_json(), name):
                    queue += party.receive(Message.from_json(data))
    for message in parties[quits].expire():  # she waits for commitments in vain
        for name, party in parties.items():
            if name != quits:
                for data in meddle(message.to_json(), name):
                    party.receive(Message.from_json(data))
    for party in parties.values():
        party.expire()
        assert party.totals is None
    return histories, quits


@pytest.mark.parametrize("signs", [True, False])
def test_who_signed_that_she_left_before_the_reveal_may_be_missing(signs: bool) -> None:
    histories, quits = broken_before_reveal(signs)
    kept = [
        (one, v) for one, v in zip(GROUP.identities, GROUP.vectors, strict=True) if one.id != quits
    ]
    stay, vectors = [one for one, _ in kept], [v for _, v in kept]
    assert all(histories[one.id].revealed()[0].left == ((quits,) * signs) for one in stay)
    parties = run_paper(roster_of(stay, 9), stay, vectors, SeededSource(2), histories=histories)
    opened = [party.totals is not None for party in parties.values()]
    assert opened == [signs] * 4


def signs_falsely(
    group: Sequence[Identity],
    seed: int,
    cheat: Identity,
    change: Callable[[dict[str, Any]], dict[str, Any]],
    histories: dict[str, History],
    *,
    kind: str = "reveal",
    extra: bool = False,
    spared: Sequence[str] = (),
    overheard: dict[str, Any] | None = None,
) -> dict[str, Party]:
    """A run in which a member signs another message than she should, beside it or instead."""

    def meddle(data: bytes, to: str) -> list[bytes]:
        said = Message.from_json(data)
        if said.kind == "reveal" and overheard is not None:  # before it is made false
            overheard[said.sender] = np.frombuffer(b64decode(said.body["sum"]), np.uint8)
        if (said.kind, said.sender) != (kind, cheat.id) or to in spared:
            return [data]
        false = write(cheat, kind, said.run, change(dict(said.body))).to_json()
        return [data, false] if extra else [false]

    vectors = [VECTORS[one.id] for one in group]
    return run_paper(
        roster_of(group, seed), group, vectors, SeededSource(seed),
        histories=histories, meddle=meddle,
    )  # fmt: skip


VECTORS = {one.id: v for one, v in zip(GROUP.identities, GROUP.vectors, strict=True)}
ZEROS = encode64(bytes(QUESTION.cells))


@pytest.mark.parametrize(
    ("change", "extra"),
    [
        (lambda body: {**body, "sum": ZEROS}, False),  # not what she committed to
        (lambda body: {**body, "sum": ZEROS, "commitments": "0" * 64}, False),
        (lambda body: {**body, "sum": "AAAA"}, False),
        (lambda body: {"junk": 1}, False),
        (lambda body: {**body, "nonce": encode64(bytes(32))}, True),  # two different ones
    ],
)
def test_who_signs_a_false_sum_does_not_keep_the_others_from_running_again(
    change: Callable[[dict[str, Any]], dict[str, Any]], extra: bool
) -> None:
    histories = {one.id: History() for one in GROUP.identities}
    cheat, *honest = GROUP.identities
    parties = signs_falsely(GROUP.identities, 8, cheat, change, histories, extra=extra)
    for one in honest:
        if (stopped := parties[one.id].aborted) is not None:
            assert stopped.who == (cheat.id,)
            assert "without her" in stopped.reason
    if extra:  # the last one in line had all sums before the second
        assert any(parties[one.id].aborted for one in honest)
        histories = {k: h for k, h in histories.items() if not h.revealed()[0].seen}
    rest = [VECTORS[one.id] for one in honest]
    assert all(h.revealed()[0].left == (cheat.id,) for k, h in histories.items() if k != cheat.id)
    again = run_paper(roster_of(honest, 9), honest, rest, SeededSource(2), histories=histories)
    truth = np.sum(rest, axis=0)
    assert all(np.array_equal(party.result(), truth) for party in again.values())
    stranger = people(1, seed=8)[0]
    other = roster_of([*honest, stranger], 10)
    history = next(iter(set(histories) - {cheat.id}))
    with pytest.raises(ProtocolError, match="answered smokes"):
        histories[history].check(QUESTION, frozenset(other.ids))


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("reveal", lambda body: {**body, "commitments": "0" * 64}),
        ("commit", lambda body: {"commitment": "0" * 64}),
    ],
)
def test_who_was_shown_other_commitments_must_be_there_again(
    kind: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    """A relay and a member can make an honest person say so: without her she would be singled out.

    Here the first member does it to the second, who alone gets another commitment of hers.
    """
    histories = {one.id: History() for one in GROUP.identities}
    by_id = {one.id: one for one in GROUP.identities}
    first, second, *others = GROUP.roster.ids
    spared = () if kind == "reveal" else others
    parties = signs_falsely(
        GROUP.identities, 8, by_id[first], change, histories, kind=kind, spared=spared
    )
    for name in others:
        assert "different commitments" in str(parties[name].aborted)
        assert not parties[name].aborted.who  # type: ignore[union-attr]
        assert histories[name].revealed()[0].left == ()
    if kind == "commit":  # the sum does not fit what the second was shown, which the first signed
        assert histories[second].revealed()[0].left == (first,)


def test_cheats_who_leave_one_by_one_single_nobody_out() -> None:
    """Two cheats and the relay learn every total; it is always that of the same honest people."""
    histories = {one.id: History() for one in GROUP.identities}
    first, second, *honest = GROUP.identities
    rest = [VECTORS[one.id] for one in honest]
    for seed, cheat, here in ((8, first, GROUP.identities), (9, second, GROUP.identities[1:])):
        sums: dict[str, Any] = {}
        parties = signs_falsely(
            here, seed, cheat, lambda body: {**body, "sum": ZEROS}, histories, overheard=sums
        )
        cheats = [VECTORS[one.id] for one in here if one not in honest]
        total = np.sum([*sums.values()], axis=0) - np.sum(cheats, axis=0)
        assert np.array_equal(total % (len(here) + 1), np.sum(rest, axis=0))
        assert all(parties[one.id].totals is None for one in honest)
        assert all(cheat.id in histories[one.id].revealed()[-1].left for one in honest)
        for gone in honest:  # a group without an honest person
            smaller = frozenset(one.id for one in here if one not in (cheat, gone))
            for one in honest:
                with pytest.raises(ProtocolError, match="answered smokes"):
                    histories[one.id].check(QUESTION, smaller)
    small = Party(
        honest[0], roster_of(honest, 10), rest[0],
        source=SeededSource(1), history=histories[honest[0].id], minimum=4,
    )  # fmt: skip
    small.start()
    assert "at least 4" in str(small.aborted)  # her own limit holds for a rerun too
    last = run_paper(roster_of(honest, 10), honest, rest, SeededSource(3), histories=histories)
    for party in last.values():
        assert np.array_equal(party.result(), np.sum(rest, axis=0))


def test_who_revealed_and_was_started_again_does_not_count_as_having_left() -> None:
    """A relay kept her sum from one party; without her the next total would give her away."""
    histories = {one.id: History() for one in GROUP.identities}
    first, second = GROUP.roster.ids[:2]
    run_paper(
        GROUP.roster, GROUP.identities, GROUP.vectors, SeededSource(1), histories=histories,
        meddle=lambda data, to: [] if b'"kind":"reveal"' in data and to == second else [data],
    )  # fmt: skip
    again = {one.id: one for one in GROUP.identities}[first]
    late = Party(
        again, GROUP.roster, GROUP.vectors[0], source=SeededSource(2), history=histories[first]
    )
    [said] = late.start()
    assert (said.kind, said.body["step"]) == ("abort", "reveal")


def test_randomized_pairs_may_be_drawn_again_and_their_epsilon_adds_up() -> None:
    question = Question.randomized(QUESTION.domain, p=0.5)
    histories = broken_at_reveal(question)
    again = roster_of(GROUP.identities, 9, question)
    parties = run_paper(
        again, GROUP.identities, GROUP.vectors, SeededSource(1), histories=histories
    )
    assert all(party.totals is not None for party in parties.values())
    once = spent_on(question)
    assert once is not None
    assert all(h.spent() == pytest.approx(2 * once, rel=1e-12) for h in histories.values())
    assert broken_at_reveal()[GROUP.roster.ids[0]].spent() == math.inf


def test_a_doubled_vector_stops_one_run_and_not_the_honest_rerun() -> None:
    histories = {one.id: History() for one in GROUP.identities}
    doubled = [2 * GROUP.vectors[0], *GROUP.vectors[1:]]
    parties = run_paper(
        GROUP.roster, GROUP.identities, doubled, SeededSource(1), histories=histories
    )
    assert all("ill-formed" in str(party.aborted) for party in parties.values())
    again = roster_of(GROUP.identities, 9)
    parties = run_paper(
        again, GROUP.identities, GROUP.vectors, SeededSource(1), histories=histories
    )
    assert all(np.array_equal(party.result(), GROUP.truth) for party in parties.values())


def test_a_run_that_breaks_off_before_opening_may_be_repeated() -> None:
    histories = {one.id: History() for one in GROUP.identities}
    run_paper(
        GROUP.roster,
        GROUP.identities,
        GROUP.vectors,
        SeededSource(1),
        histories=histories,
        meddle=lambda data, to: [] if b'"kind":"share"' in data else [data],
    )
    again = roster_of(GROUP.identities, 9)
    parties = run_paper(
        again, GROUP.identities, GROUP.vectors, SeededSource(1), histories=histories
    )
    assert all(np.array_equal(party.result(), GROUP.truth) for party in parties.values())


def test_a_party_killed_after_dealing_and_started_again_ends_in_an_abort() -> None:
    """With a fresh share of her own in place of the one she lost, the sum would be noise."""
    group, history = Group(3, seed=4), History()
    first, *others = group.identities
    parties = [
        Party(one, group.roster, vector, source=SeededSource(one.id), history=past)
        for one, vector, past in zip(
            group.identities, group.vectors, (history, None, None), strict=True
        )
    ]
    accepts = [message for party in parties for message in party.start()]
    dealt = [
        message for party in parties for accept in accepts for message in party.receive(accept)
    ]
    late = Party(
        first, group.roster, group.vectors[0], source=SeededSource("again"), history=history
    )
    late.start()
    said = [message for accept in accepts for message in late.receive(accept)]
    assert [message.kind for message in said] == ["abort"]
    assert "dealt shares in this run before" in str(late.aborted)

    # Without her notes she deals again; who has used her first share stops at the second.
    for party in parties[1:]:
        for message in dealt:
            if message.to == party._identity.id:
                party.receive(message)
    assert {party.step for party in parties[1:]} == {"commit"}
    lost = Party(first, group.roster, group.vectors[0], source=SeededSource("lost"))
    lost.start()
    again = [message for accept in accepts for message in lost.receive(accept)]
    for message in again:
        for party in parties[1:]:
            if message.to == party._identity.id:
                party.receive(message)
    assert len(again) == len(others)
    assert all("two different messages" in str(party.aborted) for party in parties[1:])


def test_the_same_asked_in_another_run_meanwhile_stops_before_the_reveal() -> None:
    group, history = Group(4, seed=6), History()
    mine = group.identities[0].id
    others = roster_of(people(4, seed=7), 60)

    def meddle(data: bytes, to: str) -> list[bytes]:
        if Message.from_json(data).kind == "share" and to == mine and not history.revealed():
            history.remember(others)
        return [data]

    parties = run_paper(
        group.roster, group.identities, group.vectors, SeededSource(2),
        histories={mine: history}, meddle=meddle,
    )  # fmt: skip
    assert all(party.totals is None for party in parties.values())
    assert f"in run {others.digest[:16]}" in str(parties[mine].aborted)
    assert [one.run for one in history.revealed()] == [others.digest]
