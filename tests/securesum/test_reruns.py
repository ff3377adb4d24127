"""What a party refuses because of runs she took part in before."""

from dataclasses import replace

import numpy as np
import pytest

from mdrr.securesum.history import MemoryHistory
from mdrr.securesum.keys import Identity
from mdrr.securesum.message import Message
from mdrr.securesum.paper import Party
from mdrr.securesum.question import Question
from mdrr.securesum.roster import Roster
from mdrr.securesum.simulate import run_paper
from mdrr.source import SeededSource
from tests.securesum.group import QUESTION, Group, terms

GROUP = Group(5)


def test_a_party_asks_for_more_distance_than_the_terms() -> None:
    group, history = Group(7, seed=3), MemoryHistory()
    history.remember(frozenset(one.id for one in group.identities[3:]))
    for minimum, refused in ((3, False), (4, True)):
        party = Party(
            group.identities[0],
            group.roster,
            group.vectors[0],
            source=SeededSource(1),
            history=history,
            minimum=minimum,
        )
        party.start()
        assert (party.aborted is not None) == refused


@pytest.mark.parametrize("leaves", [0, 1, 2, 3])
def test_a_rerun_without_a_few_people_is_refused(leaves: int, tmp_path: object) -> None:
    """Seven people; terms ask that groups differ by at least the minimum of 3."""
    group = Group(7, seed=3)
    histories = {one.id: MemoryHistory() for one in group.identities}
    run_paper(group.roster, group.identities, group.vectors, SeededSource(1), histories=histories)
    stay = group.identities[leaves:]
    again = Roster.of(terms("paper", 7, seed=50), [one.public for one in stay])
    parties = run_paper(again, stay, group.vectors[leaves:], SeededSource(2), histories=histories)
    refused = [party for party in parties.values() if party.aborted]
    assert bool(refused) == (leaves < 3)
    if refused:
        assert f"differs by {leaves}" in str(refused[0].aborted)


def broken_at_reveal(question: Question = QUESTION) -> dict[str, MemoryHistory]:
    """Histories of five people of whom the last did not reveal her sum."""
    histories = {one.id: MemoryHistory() for one in GROUP.identities}
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
    assert all(history.groups() for history in histories.values())
    return histories


def roster_of(identities: list[Identity], seed: int, question: Question = QUESTION) -> Roster:
    agreed = replace(terms("paper", len(identities), seed=seed), question=question)
    return Roster.of(agreed, [one.public for one in identities])


def test_the_same_group_may_try_again_after_a_run_that_showed_no_total() -> None:
    histories = broken_at_reveal()
    waiting = sorted(name for name, history in histories.items() if history.unfinished())
    assert waiting == list(GROUP.roster.ids[:-1])  # the silent one saw all others' sums
    stay = [one for one in GROUP.identities if one.id in waiting]
    histories[GROUP.roster.ids[-1]] = MemoryHistory()
    again = roster_of(GROUP.identities, 9)
    parties = run_paper(
        again, GROUP.identities, GROUP.vectors, SeededSource(1), histories=histories
    )
    assert all(np.array_equal(party.result(), GROUP.truth) for party in parties.values())
    for identities, why in ((GROUP.identities, "differs by 0"), (stay, "differs by 1")):
        kept = [GROUP.vectors[GROUP.identities.index(one)] for one in identities]
        third = roster_of(identities, 10)
        refused = run_paper(third, identities, kept, SeededSource(1), histories=histories)
        assert all(why in str(party.aborted) for party in refused.values())


def test_a_close_group_may_not_try_after_a_run_that_showed_no_total() -> None:
    histories = broken_at_reveal()
    stay = GROUP.identities[1:]
    fewer = roster_of(stay, 9)
    parties = run_paper(fewer, stay, GROUP.vectors[1:], SeededSource(1), histories=histories)
    assert all(party.aborted is not None for party in parties.values())
    assert any("differs by 1" in str(party.aborted) for party in parties.values())


def test_randomized_pairs_may_not_be_drawn_again() -> None:
    question = Question.randomized(QUESTION.domain, p=0.5)
    histories = broken_at_reveal(question)
    again = roster_of(GROUP.identities, 9, question)
    parties = run_paper(
        again, GROUP.identities, GROUP.vectors, SeededSource(1), histories=histories
    )
    assert any("differs by 0" in str(party.aborted) for party in parties.values())
    assert all(party.totals is None for party in parties.values())


def test_a_doubled_vector_stops_one_run_and_not_the_honest_rerun() -> None:
    histories = {one.id: MemoryHistory() for one in GROUP.identities}
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
    histories = {one.id: MemoryHistory() for one in GROUP.identities}
    run_paper(
        GROUP.roster,
        GROUP.identities,
        GROUP.vectors,
        SeededSource(1),
        histories=histories,
        meddle=lambda data, to: [] if b'"kind":"share"' in data else [data],
    )
    again = Roster.of(terms("paper", 5, seed=9), [one.public for one in GROUP.identities])
    parties = run_paper(
        again, GROUP.identities, GROUP.vectors, SeededSource(1), histories=histories
    )
    assert all(np.array_equal(party.result(), GROUP.truth) for party in parties.values())


def test_a_party_killed_after_dealing_and_started_again_ends_in_an_abort() -> None:
    """With a fresh share of her own in place of the one she lost, the sum would be noise."""
    group, history = Group(3, seed=4), MemoryHistory()
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


def test_a_close_group_opened_by_another_run_meanwhile_stops_before_the_reveal() -> None:
    group, history = Group(4, seed=6), MemoryHistory()
    mine = group.identities[0].id

    def meddle(data: bytes, to: str) -> list[bytes]:
        if Message.from_json(data).kind == "share" and to == mine and not history.groups():
            history.remember(frozenset(group.roster.ids[:-1]))
        return [data]

    parties = run_paper(
        group.roster, group.identities, group.vectors, SeededSource(2),
        histories={mine: history}, meddle=meddle,
    )  # fmt: skip
    assert all(party.totals is None for party in parties.values())
    assert "differs by 1" in str(parties[mine].aborted)
