"""Members and the organiser of a small group, message by message and second by second."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mdrr.errors import AbortedError, ProtocolError
from mdrr.securesum import members
from mdrr.securesum.admission import RELAY, credential, hashed
from mdrr.securesum.history import History
from mdrr.securesum.keys import Identity
from mdrr.securesum.members import Member, Organiser, attend, join, read_join
from mdrr.securesum.message import Abort, Message, write
from mdrr.securesum.post import topic_of
from mdrr.securesum.signed import Roster
from mdrr.source import SeededSource
from tests.securesum.group import CLOSES, Group, organiser, people, signed, token

GROUP = Group(4)
TERMS, LEADER = GROUP.terms, organiser()
ROSTER = GROUP.roster
LISTED = ROSTER.message(LEADER)


class Table:
    """A relay: where messages are laid down and picked up, every call noted."""

    def __init__(self, *said: Message) -> None:
        self.said = list(said)
        self.asked: list[tuple[str, int]] = []
        self.shown: list[bytes] = []

    def join(self, shown: bytes, message: Message, /) -> None:
        self.shown.append(shown)
        self.said.append(message)

    def say(self, *messages: Message) -> None:
        self.said += messages

    def mail(self, recipient: str, after: int, /) -> tuple[Sequence[Message], int]:
        self.asked.append((recipient, after))
        new = self.said[after:]
        return [one for one in new if one.to in (None, recipient)], len(self.said)


def somebody(table: Table, k: int = 0, **options: Any) -> Member:
    return Member(
        GROUP.identities[k], TERMS, GROUP.tokens[k], GROUP.vectors[k], table,
        source=SeededSource(k), **options,
    )  # fmt: skip


def joins(*which: int) -> list[Message]:
    return [join(GROUP.identities[k], TERMS, GROUP.tokens[k]) for k in which]


def leading(table: Table, now: float = CLOSES - 1) -> Organiser:
    return Organiser(LEADER, TERMS, GROUP.tokens, table, clock=lambda: now)


# A member.


def test_a_member_joins_once_then_reads_from_the_first_message_on() -> None:
    table = Table(LISTED)
    one, me = somebody(table), GROUP.identities[0]
    assert (one.step, one.finished, one.advance()) == ("roster", False, True)
    assert table.shown == [credential(GROUP.tokens[0], RELAY)]
    assert table.said[1:] == joins(0)
    assert (one.advance(), table.asked) == (True, [(me.id, 0)])
    assert (one.advance(), table.asked[1:]) == (True, [(me.id, 2)])  # her own accept
    assert (one.advance(), table.asked[2:]) == (False, [(me.id, 3)])
    assert len(table.shown) == 1
    assert [said.kind for said in table.said] == ["roster", "join", "accept"]
    assert one.step == "accept"


def test_a_member_confirms_the_roster_before_she_signs_it() -> None:
    table, shown = Table(LISTED), []
    one = somebody(table, confirm=lambda roster: shown.append((roster, len(table.said))))
    one.advance()
    one.advance()
    assert shown == [(ROSTER, 2)]
    assert table.said[-1].kind == "accept"
    with pytest.raises(ProtocolError, match="still at step 'accept'"):
        one.result()


def test_a_member_who_does_not_confirm_the_roster_says_only_that() -> None:
    def refuse(roster: Roster) -> None:
        raise ProtocolError("another roster was read to her")

    table = Table(LISTED)
    one = somebody(table, confirm=refuse)
    one.advance()
    one.advance()
    assert one.finished
    assert [said.kind for said in table.said] == ["roster", "join", "abort"]
    with pytest.raises(AbortedError) as stopped:
        one.result()
    assert str(stopped.value) == "stopped at step 'accept': another roster was read to her"
    assert (one.advance(), len(table.asked)) == (False, 1)


def test_a_member_hands_her_limit_and_her_history_to_the_run() -> None:
    table = Table(LISTED)
    small = somebody(table, minimum=5)
    small.advance()
    small.advance()
    assert "at least 5" in str(small.party and small.party.aborted)
    history = History()
    history.remember(ROSTER)
    history.finish(ROSTER.digest)
    again = somebody(Table(LISTED), history=history)
    again.advance()
    again.advance()
    assert again.history is history
    assert "nothing to run again" in str(again.party and again.party.aborted)
    three = Group(3)
    few = Member(
        three.identities[0], three.terms, three.tokens[0], three.vectors[0],
        Table(three.roster.message(LEADER)), source=SeededSource(1),
    )  # fmt: skip
    few.advance()
    few.advance()
    assert few.step == "accept"  # three suffice unless she says otherwise
    assert few.history.revealed() == ()


def test_before_the_roster_there_is_no_result() -> None:
    with pytest.raises(ProtocolError, match="the run is still at step 'roster'"):
        somebody(Table()).result()


def test_what_others_say_before_the_roster_arrives_is_heard_after_it() -> None:
    accepts = [write(one, "accept", ROSTER.digest, {}) for one in GROUP.identities[1:]]
    table = Table(*accepts[:2], LISTED, accepts[2])
    one = somebody(table)
    one.advance()
    one.advance()
    assert one.step == "share"
    dealt = [said.to for said in table.said if said.kind == "share"]
    assert sorted(map(str, dealt)) == sorted(each.id for each in GROUP.identities[1:])


def test_only_the_organisers_signed_abort_of_these_terms_ends_the_waiting() -> None:
    said = Abort("roster", "nobody came").to_dict()
    other, _ = signed(4, seed=5)
    stranger, real = people(1, seed=5)[0], write(LEADER, "abort", TERMS.digest, said)
    forged = Message("abort", TERMS.digest, LEADER.id, None, said, bytes(64))
    table = Table(
        write(stranger, "abort", TERMS.digest, said),
        write(LEADER, "abort", other.digest, said),
        forged,
    )
    one = somebody(table)
    one.advance()
    assert one.advance()
    assert not one.finished
    table.say(real, LISTED)
    assert one.advance()
    assert one.finished
    with pytest.raises(AbortedError, match=r"^stopped at step 'roster': nobody came$"):
        one.result()


def test_who_waited_in_vain_for_the_roster_says_what_she_set_aside() -> None:
    table = Table()
    one = somebody(table)
    one.advance()
    one.expire()
    with pytest.raises(AbortedError) as stopped:
        one.result()
    assert str(stopped.value) == "stopped at step 'roster': no signed roster arrived in time"
    other, _ = signed(4, seed=5)
    unsigned = Message("roster", TERMS.digest, LEADER.id, None, LISTED.body, bytes(64))
    table = Table(write(LEADER, "roster", other.digest, LISTED.body), unsigned)
    one = somebody(table)
    one.advance()
    one.advance()
    assert (one.step, one.finished) == ("roster", False)
    one.expire()
    with pytest.raises(AbortedError, match="in time; set aside: a 'roster' of other terms"):
        one.result()


def test_who_waits_in_a_run_tells_the_others_that_she_stops_once() -> None:
    table = Table(LISTED)
    one = somebody(table)
    one.advance()
    one.advance()
    one.expire()
    one.expire()
    assert [said.kind for said in table.said] == ["roster", "join", "accept", "abort"]
    assert table.said[-1].body["step"] == "accept"
    assert sorted(table.said[-1].body["who"]) == sorted(o.id for o in GROUP.identities[1:])
    with pytest.raises(AbortedError, match="'accept': no message arrived in time"):
        one.result()


# The organiser.


def test_a_join_shows_the_invitation_without_giving_it_away() -> None:
    me = GROUP.identities[0]
    [said] = joins(0)
    assert (said.kind, said.run, said.sender, said.to) == ("join", TERMS.digest, me.id, LEADER.id)
    shown = credential(GROUP.tokens[0], LEADER.id)
    assert said.body["invitation"] == hashed(shown).hex()
    assert shown.hex() not in said.to_json().decode()
    found = read_join(said, TERMS)
    assert (found.public, found.invitation) == (me.public, hashed(shown).hex())
    assert found.proof == said.body["proof"]


def test_what_is_no_join_of_these_terms_is_refused() -> None:
    me, other = GROUP.identities[0], signed(4, seed=5)[0]
    body = joins(0)[0].body
    for bad, why in (
        (write(me, "accept", TERMS.digest, body), "a 'accept' of other terms"),
        (write(me, "join", other.digest, body), "a 'join' of other terms"),
        (write(me, "join", TERMS.digest, {**body, "more": 1}), "a join has an unknown field"),
        (write(me, "join", TERMS.digest, {**body, "proof": "x"}), "'proof' of a join must be"),
        (write(GROUP.identities[1], "join", TERMS.digest, body), "not signed by the keys"),
    ):
        with pytest.raises(ProtocolError, match=why):
            read_join(bad, TERMS)


def test_the_organiser_reads_from_the_first_message_on_and_signs_when_all_are_there() -> None:
    table = Table(*joins(2, 0, 1))
    leader = leading(table)
    assert leader.absent == (1, 2, 3, 4)
    assert (leader.advance(), table.asked) == (True, [(LEADER.id, 0)])
    assert leader.absent == (4,)
    assert [leader.invitation_of(one.id) for one in GROUP.identities] == [1, 2, 3, None]
    assert (leader.advance(), table.asked[1:]) == (False, [(LEADER.id, 3)])
    table.say(*joins(3))
    assert leader.advance()
    assert (leader.finished, leader.frozen, leader.aborted) == (False, None, None)
    assert leader.advance()
    assert (leader.finished, leader.frozen, leader.aborted) == (True, ROSTER, None)
    assert table.said[4:] == [LISTED]
    assert (leader.advance(), len(table.asked)) == (False, 4)
    assert (leader.absent, leader.refused) == ((), [])


def test_the_organiser_signs_at_the_closing_time_not_before() -> None:
    for now, ends in ((CLOSES - 1, False), (CLOSES, True)):
        leader = leading(table := Table(*joins(0, 1, 3)), now)
        assert leader.advance()
        assert (leader.advance(), leader.finished) == (ends, ends)
        assert [said.kind for said in table.said[3:]] == ["roster"] * ends


def test_too_few_end_in_an_abort_that_everybody_can_read() -> None:
    table = Table(*joins(0, 1))
    leader = leading(table, CLOSES)
    leader.advance()
    assert leader.advance()
    said = table.said[-1]
    assert (said.kind, said.run, said.sender, said.to) == ("abort", TERMS.digest, LEADER.id, None)
    assert said.signed_by(LEADER.public.signing)
    abort = Abort("roster", "2 came of 4 invited; the terms ask for at least 3")
    assert (Abort.from_dict(said.body), leader.aborted, leader.frozen) == (abort, abort, None)


def test_an_organiser_started_again_goes_by_what_she_signed_and_nothing_else() -> None:
    other, _ = signed(4, seed=5)
    body = Abort("roster", "nobody came").to_dict()
    ended = write(LEADER, "abort", TERMS.digest, body)
    forged = Message("roster", TERMS.digest, LEADER.id, None, LISTED.body, bytes(64))
    for nothing in (
        write(LEADER, "roster", other.digest, LISTED.body),
        forged,
        write(GROUP.identities[0], "abort", TERMS.digest, body),
        write(LEADER, "accept", TERMS.digest, {}),
    ):
        leader = leading(Table(nothing))
        assert leader.advance()
        assert (leader.ended, leader.refused) == (None, [])
    for before in (LISTED, ended):
        leader = leading(table := Table(before))
        assert leader.advance()
        assert (leader.ended, table.said) == (before, [before])


def test_an_organiser_may_take_part_herself() -> None:
    table = Table(join(LEADER, TERMS, GROUP.tokens[0]))
    leader = leading(table)
    leader.advance()
    assert (leader.finished, leader.absent) == (False, (2, 3, 4))
    assert leader.invitation_of(LEADER.id) == 1


def test_whom_the_organiser_refuses_and_why() -> None:
    first, second = GROUP.identities[:2]
    shares_key = Identity(people(1, seed=8)[0].signing_secret, first.sealing_secret)
    proof = joins(1)[0].body["proof"]
    for bad, why in (
        (join(first, TERMS, token(0, seed=5)), "without an invitation of this group"),
        (
            write(first, "join", TERMS.digest, {**joins(0)[0].body, "proof": proof}),
            "without an invitation of this group",
        ),
        (join(second, TERMS, GROUP.tokens[0]), "used already, with other keys"),
        (join(first, TERMS, GROUP.tokens[1]), "came with another invitation already"),
        (join(shares_key, TERMS, GROUP.tokens[1]), "a sealing key that is another"),
    ):
        leader = leading(Table(*joins(0), bad, *joins(2), *joins(0)))  # once more: no harm
        leader.advance()
        assert len(leader.refused) == 1
        assert why in leader.refused[0]
        assert leader.absent == (2, 4)


def test_an_organiser_needs_terms_of_her_own_and_all_their_invitations() -> None:
    with pytest.raises(ProtocolError, match="another organiser"):
        Organiser(organiser(1), TERMS, GROUP.tokens, Table())
    for tokens in (GROUP.tokens[:3], [*GROUP.tokens, token(9)], [GROUP.tokens[0]] * 4):
        with pytest.raises(ProtocolError, match="for 4 invitations"):
            Organiser(LEADER, TERMS, tokens, Table())


@pytest.mark.parametrize(
    ("body", "topic"),
    [({"number": 3}, "job 3"), ({"number": 0}, "job 0"), ({}, "job"),
     ({"number": True}, "job"), ({"number": "3"}, "job")],
)  # fmt: skip
def test_the_topic_is_the_kind_and_the_number(body: dict[str, Any], topic: str) -> None:
    assert topic_of(write(LEADER, "job", TERMS.digest, body)) == topic


# The clock.


class Slow:
    """Somebody whose every step takes one second; `script` says what each of them does.

    A letter moves her to that step; `-` does nothing, `+` moves within a step, `!` fails, `.` ends.
    """

    def __init__(self, script: str, step: str, closes: float = 0.0) -> None:
        self.terms: Any = SimpleNamespace(closes=closes)
        self.step, self.finished = step, False
        self.now, self.expired = 0.0, 0.0
        self.pauses: list[float] = []
        self._script = iter(script)

    def advance(self) -> bool:
        self.now += 1
        what = next(self._script, "-")
        if what == "!":
            raise ProtocolError("the relay does not answer")
        if what == ".":
            self.finished = True
        if what.isalpha():
            self.step = what
        return what == "+"

    def expire(self) -> None:
        self.finished, self.expired = True, self.now


def attended(monkeypatch: pytest.MonkeyPatch, role: Slow, patience: float = 3.0) -> Slow:
    monkeypatch.setattr(members, "time", SimpleNamespace(monotonic=lambda: 50 + role.now))
    attend(role, patience=patience, pause=role.pauses.append, clock=lambda: 100 + role.now)
    return role


@pytest.mark.parametrize(
    ("script", "step", "closes", "expired"),
    [
        ("", "accept", 0, 4),  # after more than 3 seconds
        ("-+-+", "accept", 0, 4),  # others' messages at one step do not make her wait longer
        ("-x", "accept", 0, 6),  # another step does
        ("-x", "accept", 1000, 6),  # the closing time is for the roster alone
        ("", "roster", 110, 13),  # patience begins at the closing time
        ("", "roster", 0, 4),
    ],
)
def test_patience_is_for_one_step(
    monkeypatch: pytest.MonkeyPatch, script: str, step: str, closes: float, expired: float
) -> None:
    assert attended(monkeypatch, Slow(script, step, closes)).expired == expired


def test_who_waits_looks_less_and_less_often_until_something_happens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    role = attended(monkeypatch, Slow("-" * 9 + "+--x-.", "accept"), patience=100)
    doubled = [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.0, 2.0]
    np.testing.assert_allclose(role.pauses, [*doubled, 0.02, 0.04, 0.02, 0.04], rtol=1e-12)
    assert role.expired == 0


def test_an_error_at_the_roster_is_raised_and_later_it_ends_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ProtocolError, match=r"^the relay does not answer$"):
        attended(monkeypatch, Slow("-!", "roster"))
    with pytest.raises(AbortedError, match=r"^stopped at step 'x': the relay does not answer$"):
        attended(monkeypatch, Slow("x!", "roster"))
    over = Slow("!", "accept")
    over.finished = True  # only the others were not told
    attended(monkeypatch, over)
    assert over.pauses == []
