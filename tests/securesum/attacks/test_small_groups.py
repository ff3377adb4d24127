"""The attacks on small groups of the paper's mode, by their numbers."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from mdrr.errors import AbortedError, ProtocolError
from mdrr.securesum.admission import RELAY, credential
from mdrr.securesum.device import Answered, Device
from mdrr.securesum.history import History
from mdrr.securesum.keys import Identity
from mdrr.securesum.members import Member, join
from mdrr.securesum.message import Message, write
from mdrr.securesum.question import Question
from mdrr.securesum.signed import MOST_PARTIES, Roster
from mdrr.securesum.transport.postbox import Run, quotas
from mdrr.securesum.transport.service import create_service
from mdrr.securesum.wire import encode64
from mdrr.source import SeededSource
from tests.securesum.group import (
    CLOSES,
    QUESTION,
    Gathering,
    Group,
    people,
    roster_of,
    run_paper,
    signed,
    token,
)


def opened(members: Sequence[Member], truth: Any) -> bool:
    """Whether all have the exact totals; nobody has others."""
    for one in members:
        assert one.finished
        if one.party is not None and one.party.totals is not None:
            assert np.array_equal(one.party.totals, truth)
    return all(one.party is not None and one.party.totals is not None for one in members)


# Attack 1: any stranger isolates a person.


def test_nine_strangers_do_not_surround_one_person(tmp_path: Path) -> None:
    there = Gathering(tmp_path, Group(10))
    alone = there.member(0)
    there.drive(alone, there.leader)
    for k, stranger in enumerate(people(9, seed=5)):
        made_up = token(k, seed=5)
        said = join(stranger, there.terms, made_up)
        with pytest.raises(ProtocolError, match="not on the relay's roll"):
            there.post.join(credential(made_up, RELAY), said)
        with pytest.raises(ProtocolError, match="nobody in this run signed"):
            there.post.say(write(stranger, "accept", there.terms.digest, {}))
    there.now = CLOSES
    there.drive(alone, there.leader)
    assert there.leader.joined.keys() == {there.leader._order[0]}
    with pytest.raises(AbortedError, match="1 came of 10 invited"):
        alone.result()


class Inventive:
    """A relay that adds joins of its own to the mail."""

    def __init__(self, post: Run, invented: list[Message]) -> None:
        self._post, self._invented = post, invented

    def __getattr__(self, name: str) -> Any:
        return getattr(self._post, name)

    def mail(self, recipient: str, after: int, /) -> tuple[list[Message], int]:
        found, mark = self._post.mail(recipient, after)
        return ([*self._invented, *found] if found else found), mark


def test_a_relay_cannot_invent_people_nor_take_a_persons_place(tmp_path: Path) -> None:
    """It sees every join, but not the credential that the organiser checks."""
    there = Gathering(tmp_path, Group(4))
    stranger, terms = people(1, seed=5)[0], there.terms
    real = join(there.group.identities[0], terms, there.group.tokens[0])
    copied = {**real.body, "keys": stranger.public.to_dict()}
    invented = [
        join(stranger, terms, token(0, seed=5)),
        write(stranger, "join", terms.digest, copied),
    ]
    leader = there.organiser(Inventive(there.post, invented))
    members = [there.member(k) for k in range(4)]
    there.drive(leader, *members)
    assert opened(members, there.group.truth)
    assert leader.frozen is not None
    assert stranger.id not in leader.frozen.ids
    assert set(leader.refused) == {"a join without an invitation of this group"}


def test_an_invitation_counts_once(tmp_path: Path) -> None:
    there = Gathering(tmp_path, Group(4))
    twice = people(1, seed=5)[0]
    there.member(0).advance()
    there.member(0).advance()  # again, after a lost answer: no harm
    shown = credential(there.group.tokens[0], RELAY)
    with pytest.raises(ProtocolError, match="used already, with other keys"):
        there.post.join(shown, join(twice, there.terms, there.group.tokens[0]))
    other = join(there.group.identities[0], there.terms, there.group.tokens[1])
    with pytest.raises(ProtocolError, match="joined already, with another invitation"):
        there.post.join(credential(there.group.tokens[1], RELAY), other)


# Attack 4: one doubled vector, or one who stops at the end, and the honest cannot try again.


@pytest.mark.parametrize("fault", ["doubled", "silent"])
def test_the_same_people_may_try_again_after_a_run_that_opened_nothing_useful(
    tmp_path: Path, fault: str
) -> None:
    first = Gathering(tmp_path, Group(5))
    cheat: dict[str, Any] = {}
    if fault == "doubled":
        cheat["vector"] = 2 * first.group.vectors[0]
    else:
        cheat["post"] = Silent(first.post)
    members = [first.member(0, **cheat), *(first.member(k) for k in range(1, 5))]
    first.run(*members)
    assert not any(one.party and one.party.totals is not None for one in members[1:])
    said = str(members[1].party and members[1].party.aborted)
    assert "'reveal'" in said
    if fault == "silent":  # blamed by name
        assert first.group.identities[0].id[:12] in said
    else:
        assert "Shares hide whose it was" in said
    group = Group(5)
    group.terms, group.folder = signed(5, seed=9)
    group.tokens = [token(k, 9) for k in range(5)]
    histories = [History(), *first.histories[1:]]
    again = Gathering(tmp_path, group, histories)
    members = [again.member(k) for k in range(5)]
    again.run(*members)
    assert opened(members, group.truth)


class Silent:
    """The post of somebody who keeps her sum to herself."""

    def __init__(self, post: Run) -> None:
        self._post = post

    def __getattr__(self, name: str) -> Any:
        return getattr(self._post, name)

    def say(self, *messages: Message) -> None:
        self._post.say(*(one for one in messages if one.kind not in ("reveal", "abort")))


class Untrue:
    """The post of somebody who signs another sum than she committed to."""

    def __init__(self, post: Run, identity: Identity) -> None:
        self._post, self._identity = post, identity

    def __getattr__(self, name: str) -> Any:
        return getattr(self._post, name)

    def say(self, *messages: Message) -> None:
        self._post.say(*map(self._changed, messages))

    def _changed(self, said: Message) -> Message:
        if said.kind != "reveal":
            return said
        body = {**said.body, "sum": encode64(bytes(QUESTION.cells))}
        return write(self._identity, "reveal", said.run, body)


def test_who_signs_a_false_sum_does_not_keep_the_others_from_a_run_without_her(
    tmp_path: Path,
) -> None:
    first = Gathering(tmp_path, Group(5))
    cheat = first.group.identities[0]
    members = [first.member(0, post=Untrue(first.post, cheat))]
    members += [first.member(k) for k in range(1, 5)]
    first.run(*members)
    for one in members[1:]:
        with pytest.raises(AbortedError, match=f"without her.*{cheat.id[:12]}"):
            one.result()
    group = Group(5)
    group.n, group.identities, group.vectors = 4, group.identities[1:], group.vectors[1:]
    group.terms, group.folder = signed(4, seed=9)
    group.tokens = [token(k, 9) for k in range(4)]
    again = Gathering(tmp_path, group, first.histories[1:])
    members = [again.member(k) for k in range(4)]
    again.run(*members)
    assert opened(members, QUESTION.sums([column[1:] for column in group.codes]))


# Attack 5: the differencing rule falls to a few puppets.


def test_puppets_do_not_hide_that_two_groups_differ_by_one_person() -> None:
    """Eight people and three puppets, then seven of them and three others."""
    honest, truth = Group(8, seed=2), Group(8, seed=2).vectors
    histories = {one.id: History() for one in honest.identities}
    opened = []
    for run, left_out in ((1, 0), (2, 1)):
        puppets = people(3, seed=20 + run)
        here = [*honest.identities[left_out:], *puppets]
        vectors = [*truth[left_out:], *(QUESTION.encode([0, 0, 0]) for _ in puppets)]
        parties = run_paper(
            roster_of(here, 30 + run), here, vectors, SeededSource(run), histories=histories
        )
        opened.append(any(party.totals is not None for party in parties.values()))
    assert opened == [True, False]


def test_what_was_answered_in_a_batch_is_not_answered_in_a_group_nor_the_other_way(
    tmp_path: Path,
) -> None:
    device, group = Device(tmp_path), Group(4)
    device.history.remember(group.roster)
    with pytest.raises(ProtocolError, match="answered smokes, region, age exactly in run"):
        device.history.check(QUESTION)
    other = Device(tmp_path / "other")
    other._write([Answered("0" * 64, "http://127.0.0.1:9", ("region",), None, "", "", "")])

    def gone(url: str) -> Any:
        raise ProtocolError("the relay does not answer")

    with pytest.raises(ProtocolError, match="answered region exactly in batch"):
        other.check(QUESTION, gone)
    other.check(Question.randomized(QUESTION.domain, p=0.5), gone)


# Attack 7: denial of service.


class Chunks:
    """A body that comes in pieces and counts how many were taken."""

    def __init__(self, size: int, count: int) -> None:
        self.size, self.count, self.taken = size, count, 0

    async def __aiter__(self) -> Any:
        for _ in range(self.count):
            self.taken += 1
            yield b" " * self.size


def ask(there: Gathering, method: str, path: str, **options: Any) -> httpx.Response:
    """One request to the relay as an application in this process."""

    async def one() -> httpx.Response:
        transport = httpx.ASGITransport(create_service(there.box))
        async with httpx.AsyncClient(transport=transport, base_url="http://relay") as client:
            return await client.request(method, f"/b/{there.terms.digest}{path}", **options)

    return asyncio.run(one())


def test_a_body_is_refused_before_it_is_read(tmp_path: Path) -> None:
    there = Gathering(tmp_path, Group(4))
    limit = quotas(there.terms)[1]
    for method, path, headers, status in (
        ("POST", "/messages", {"Content-Length": str(limit + 1)}, 413),
        ("POST", "/messages", {}, 413),  # it does not say how long it is
        ("PUT", "/join", {"Content-Length": "10"}, 400),  # without a credential
        ("PUT", "/join", {"Content-Length": "10", "Authorization": f"Bearer {'0' * 64}"}, 400),
    ):
        body = Chunks(1_000_000, 400)
        answer = ask(there, method, path, content=body, headers=headers)
        assert (answer.status_code, body.taken) == (status, 0), path


def test_a_member_cannot_fill_the_disk_and_others_go_on(tmp_path: Path) -> None:
    there = Gathering(tmp_path, Group(4))
    members = [there.member(k) for k in range(4)]
    for one in members:
        one.advance()
    flooding, size = there.group.identities[0], quotas(there.terms)[2]
    rubbish = [
        write(flooding, "share", there.terms.digest, {"x": "y" * 2_000}, f"{k:064x}")
        for k in range(100)
    ]
    fits = int(np.searchsorted(np.cumsum([len(one.to_json()) for one in rubbish]), size))
    assert fits >= 3
    for one in rubbish[:3]:
        there.post.say(one)
    with pytest.raises(ProtocolError, match="exceed what this run needs"):
        there.post.say(*rubbish[3 : fits + 1])  # all of them or none
    assert len(there.post.mail(rubbish[3].to or "", 0)[0]) == 0
    there.run(*members[1:])
    stopped = [one.party.aborted for one in members[1:] if one.party]
    assert all(one is not None and flooding.id in one.who for one in stopped)


def test_a_member_who_signs_a_list_of_her_own_stops_nobody(tmp_path: Path) -> None:
    there = Gathering(tmp_path, Group(4))
    members = [there.member(k) for k in range(4)]
    members[0].advance()
    there.post.say(write(there.group.identities[0], "roster", there.terms.digest, {"members": []}))
    there.run(*members)
    assert opened(members, there.group.truth)


def test_two_with_one_sealing_key_do_not_spoil_the_run(tmp_path: Path) -> None:
    there = Gathering(tmp_path, Group(5))
    first = there.group.identities[0]
    there.group.identities[4] = Identity(people(1, seed=8)[0].signing_secret, first.sealing_secret)
    members = [there.member(k) for k in range(5)]
    there.drive(there.leader, *members)
    assert there.leader.refused == ["a sealing key that is another participant's"]
    there.now = CLOSES
    there.drive(there.leader, *members)
    truth = QUESTION.sums([column[:4] for column in there.group.codes])
    assert opened(members[:4], truth)


class Counting:
    """The post of a member, which counts the messages that she gets."""

    def __init__(self, post: Run) -> None:
        self._post, self.got = post, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._post, name)

    def mail(self, recipient: str, after: int, /) -> tuple[list[Message], int]:
        found, mark = self._post.mail(recipient, after)
        self.got += len(found)
        return found, mark


@pytest.mark.parametrize("n", [4, 8])
def test_a_person_gets_what_the_protocol_needs_and_nothing_twice(tmp_path: Path, n: int) -> None:
    there = Gathering(tmp_path, Group(n, seed=n))
    posts = [Counting(there.post) for _ in range(n)]
    members = [there.member(k, post) for k, post in enumerate(posts)]
    there.run(*members)
    assert opened(members, there.group.truth)
    there.drive(*members)
    for member, post in zip(members, posts, strict=True):
        post.mail(member._identity.id, member._mark)  # what came after she had the total
    assert {post.got for post in posts} == {4 * n}  # roster, accepts, shares, commits, reveals


def test_a_group_the_mode_cannot_serve_is_refused_up_front() -> None:
    with pytest.raises(ProtocolError, match="Use aggregators, to whom everybody sends once"):
        signed(MOST_PARTIES + 1)
    wide = Question(QUESTION.domain)
    terms, _ = signed(MOST_PARTIES, question=wide)
    assert MOST_PARTIES**2 * terms.share_bytes < 250_000_000
    with pytest.raises(ProtocolError, match="6,250 cells"):
        signed(MOST_PARTIES, question=Question(_many(6_250)))


def _many(cells: int) -> Any:
    domain = QUESTION.domain
    first, second, *_ = domain.attributes
    long = replace(second, categories=tuple(f"c{k}" for k in range(cells // 2)))
    return type(domain)((first, long))


# Attack 10: the relay's state is lost in a crash.


def test_a_relay_that_starts_again_goes_on_where_it_was(tmp_path: Path) -> None:
    there = Gathering(tmp_path, Group(4))
    members = [there.member(k) for k in range(4)]
    roles = [there.leader, *members]
    for _ in range(100):
        moved = sum([role.advance() for role in roles])
        there.box.dispose()
        there.restart()
        for role in roles:
            role._post = there.post
        if not moved:
            break
    assert opened(members, there.group.truth)


def test_an_organiser_who_starts_again_signs_the_same_list(tmp_path: Path) -> None:
    there = Gathering(tmp_path, Group(4))
    members = [there.member(k) for k in range(4)]
    there.drive(there.leader, *members[:3])
    leader = there.organiser()
    there.drive(leader, members[3])
    again = there.organiser()
    there.drive(again, *members)
    assert leader.ended == again.ended
    assert opened(members, there.group.truth)


# Attack 11: one no-show stops all.


def test_one_no_show_does_not_stop_the_others(tmp_path: Path) -> None:
    there = Gathering(tmp_path, Group(5))
    members = [there.member(k) for k in range(4)]
    there.drive(there.leader, *members)
    assert there.leader.frozen is None
    there.now = CLOSES
    there.drive(there.leader, *members)
    truth = QUESTION.sums([column[:4] for column in there.group.codes])
    assert opened(members, truth)
    assert there.leader.absent == (5,)
    came = [there.leader.invitation_of(one.id) for one in there.group.identities]
    assert came == [1, 2, 3, 4, None]
    with pytest.raises(ProtocolError, match="nobody can join"):
        there.member(4).advance()


def test_nothing_opens_for_fewer_than_the_minimum(tmp_path: Path) -> None:
    there = Gathering(tmp_path, Group(5, minimum=4))
    members = [there.member(k) for k in range(3)]
    there.now = CLOSES - 1
    there.drive(there.leader, *members)
    there.now = CLOSES
    there.drive(there.leader, *members)
    for one in members:
        with pytest.raises(AbortedError, match="'roster': 3 came of 5 invited"):
            one.result()


def test_a_roster_that_one_person_does_not_confirm_stops_all_before_a_share_leaves(
    tmp_path: Path,
) -> None:
    there, shown = Gathering(tmp_path, Group(4)), list[Roster]()

    def refuse(roster: Roster) -> None:
        shown.append(roster)
        raise ProtocolError("the roster was not confirmed")

    members = [there.member(k, confirm=refuse if k == 0 else shown.append) for k in range(4)]
    there.run(*members)
    assert {one.digest for one in shown} == {there.group.roster.digest}
    assert len(shown) == 4
    for k, one in enumerate(members):
        says = "'accept': the roster was not confirmed"
        who = f"; so says {there.group.identities[0].id[:12]}" if k else "$"
        with pytest.raises(AbortedError, match=f"{says}{who}"):
            one.result()
    mail = [message for one in members for message in there.post.mail(one._identity.id, 0)[0]]
    assert {message.kind for message in mail} == {"roster", "accept", "abort"}
