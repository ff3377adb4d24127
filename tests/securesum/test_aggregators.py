"""Aggregators in one process: the right total, cheats refused and counted, restarts, aborts."""

import sqlite3
import time
from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdrr.errors import AbortedError, ProtocolError
from mdrr.securesum.aggregator import Aggregator, run
from mdrr.securesum.batch import make_batch
from mdrr.securesum.message import Abort, Message, write
from mdrr.securesum.opening import DIGEST, JOB, REFUSALS, STRANGER, Job, heard, read_outcome
from mdrr.securesum.person import seal_report
from mdrr.securesum.post import Post, RelayError
from mdrr.securesum.prio3 import vdaf
from mdrr.securesum.prio3.xof import SEED
from mdrr.securesum.question import Question, randomized_in_all
from mdrr.securesum.wire import encode64
from tests.securesum.group import DOMAIN, QUESTION, organiser
from tests.securesum.scene import CLOSES, Scene, forged, shares_of, slip_in, spoilt

INVALID = vdaf.REASONS[vdaf.INVALID]


@pytest.mark.parametrize("aggregators", [2, 3])
@pytest.mark.parametrize("question", [QUESTION, randomized_in_all(DOMAIN, 3.0)])
def test_the_total_is_that_of_all_who_reported(
    tmp_path: Path, aggregators: int, question: Question
) -> None:
    scene = Scene(tmp_path, aggregators=aggregators, question=question, minimum=5)
    scene.report(*range(10))
    outcome = scene.finish()
    assert (outcome.people, outcome.refused) == (10, {})
    question.check(outcome.totals, 10)
    if not question.matrices:
        assert np.array_equal(outcome.totals, scene.truth(*range(10)))


def test_when_everybody_reported_nobody_waits_for_the_closing_time(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    made = scene.report(*range(12))
    scene.drive()
    outcome = read_outcome(scene.post, scene.batch)
    assert outcome is not None
    assert np.array_equal(outcome.totals, scene.truth(*range(12)))
    assert outcome.ids == {one.id for one in made}


def test_more_reports_than_fit_into_a_job(tmp_path: Path) -> None:
    scene = Scene(tmp_path, 2 * JOB)
    scene.report(*range(2 * JOB))
    outcome = scene.finish()
    assert outcome.people == 2 * JOB
    assert np.array_equal(outcome.totals, scene.truth(*range(2 * JOB)))
    assert len(heard(scene.post, scene.batch, "job 2")) == 1  # the last one, without reports


def cheating(name: str, honest: list[int]) -> list[int]:
    """The vector of a cheat: 26 cells, tables of 6, 8 and 12."""
    vector = list(honest)
    if name == "two ones in a table":
        vector[vector.index(0, 0, 6)] = 1
    elif name == "tables that disagree":
        first = vector.index(1, 0, 3) if 1 in vector[:3] else vector.index(1, 3, 6)
        vector[first], vector[(first + 3) % 6] = 0, 1
    elif name == "a large coefficient":
        one = vector.index(1, 0, 6)
        other = vector.index(0, 0, 6)
        vector[one], vector[other] = 101, -100
    elif name == "doubled":
        vector = [2 * cell for cell in vector]
    else:
        vector = [0] * len(vector)
    return vector


@pytest.mark.parametrize("aggregators", [2, 3])
def test_planted_cheats_are_refused_and_counted_by_reason(tmp_path: Path, aggregators: int) -> None:
    scene = Scene(tmp_path, 24, minimum=10, aggregators=aggregators)
    scene.report(*range(10))
    names = ("two ones in a table", "tables that disagree", "a large coefficient", "doubled", "no")
    for k, name in enumerate(names, 10):
        honest = scene.question.encode([int(column[k]) for column in scene.codes]).tolist()
        vector = cheating(name, honest)
        assert vector != honest
        scene.post.upload(forged(scene.batch, scene.tokens[k], vector, name))
    honest = scene.question.encode([int(column[15]) for column in scene.codes]).tolist()
    report, public, shares = shares_of(scene.batch, honest, "outside")
    outside = b"\xff" * 8 + shares[0][8:]  # a number that is not in the field
    scene.post.upload(
        seal_report(scene.batch, scene.tokens[15], report, public, [outside, *shares[1:]])
    )
    report, public, shares = shares_of(scene.batch, honest, "promise")
    other = bytes([public[0] ^ 1]) + public[1:]  # joint randomness that was not used
    scene.post.upload(seal_report(scene.batch, scene.tokens[16], report, other, shares))
    outcome = scene.finish()
    assert np.array_equal(outcome.totals, scene.truth(*range(10)))
    assert outcome.refused == {
        INVALID: 6,
        vdaf.REASONS[vdaf.MALFORMED]: 1,
    }


class Meddling:
    """A relay that lies to one aggregator; everything else is honest."""

    def __init__(self, post: Post) -> None:
        self._post = post

    def __getattr__(self, name: str) -> object:
        return getattr(self._post, name)


class Parts(Meddling):
    """Hands out other parts than were left."""

    def __init__(self, post: Post, change: Mapping[bytes, bytes | None]) -> None:
        super().__init__(post)
        self.change = change

    def parts(self, request: Message) -> dict[bytes, bytes]:
        found = dict(self._post.parts(request))
        for one, data in self.change.items():
            found.pop(one, None)
            if data is not None:
                found[one] = data
        return found


def test_what_one_aggregator_cannot_read_is_refused_by_all_with_its_reason(tmp_path: Path) -> None:
    scene = Scene(tmp_path, minimum=8)
    made = scene.report(*range(11))
    twice = scene.reports([10])[0]  # a second report of the same person
    stranger = forged(scene.batch, "s" * 43, scene.question.encode([0, 0, 0]).tolist(), "stranger")
    for one in (twice, stranger):
        slip_in(scene, one)
    sizes = scene.batch.prio3.sizes
    other = made[1].data[: sizes.public_share] + made[1].data[-scene.batch.part_bytes[1] :]
    meddled = Parts(scene.post, {made[0].id: None, made[2].id: other})
    scene.machines[1] = scene.aggregator(1, meddled)  # type: ignore[arg-type]
    scene.drive()
    outcome = read_outcome(scene.post, scene.batch)
    assert outcome is not None
    assert np.array_equal(outcome.totals, scene.truth(1, *range(3, 11)))
    assert set(outcome.refused) == {REFUSALS[code] for code in (16, 17, 18, 19)}
    assert set(outcome.refused.values()) == {1}


@pytest.mark.parametrize("aggregators", [2, 3])
@pytest.mark.parametrize("right", [0, 1])
def test_a_report_with_two_public_shares_is_refused_by_all_and_nobody_is_blamed(
    tmp_path: Path, aggregators: int, right: int
) -> None:
    """A person seals one part beside another public share; the relay hands out both."""
    scene = Scene(tmp_path, minimum=8, aggregators=aggregators)
    scene.report(*range(10))
    honest = scene.question.encode([int(column[10]) for column in scene.codes]).tolist()
    report, public, shares = shares_of(scene.batch, honest)
    scene.post.upload(seal_report(scene.batch, scene.tokens[10], report, public, shares))
    for k in range(aggregators):
        if k != right:
            at = SEED * k  # what the aggregator computes itself: it alone can tell
            other = public[:at] + bytes([public[at] ^ 1]) + public[at + 1 :]
            sealed = seal_report(scene.batch, scene.tokens[10], report, other, shares)
            start = len(other) + sum(scene.batch.part_bytes[:k])
            part = sealed.data[start : start + scene.batch.part_bytes[k]]
            meddled = Parts(scene.post, {report: other + part})
            scene.machines[k] = scene.aggregator(k, meddled)  # type: ignore[arg-type]
    outcome = scene.finish()
    assert np.array_equal(outcome.totals, scene.truth(*range(10)))
    assert outcome.refused == {"the aggregators were given different versions of it": 1}


def test_too_few_people_open_nothing_and_the_keys_are_gone(tmp_path: Path) -> None:
    scene = Scene(tmp_path, minimum=8)
    scene.report(*range(7))
    with pytest.raises(AbortedError, match=r"'ready'.*7 reports count, which is fewer than .* 8"):
        scene.finish()
    assert scene.ends() == ["abort", "abort"]
    assert all(
        scene.batch.digest not in repr(ledger.progress(scene.batch.digest))
        for ledger in scene.ledgers
    )
    for identity, ledger in zip(scene.batch.aggregators, scene.ledgers, strict=True):
        assert ledger.secret(identity.sealing, scene.batch.digest) is None


def test_an_aggregators_own_minimum_counts_too(tmp_path: Path) -> None:
    scene = Scene(tmp_path, minimum=3)
    scene.machines[1]._minimum = 11
    scene.report(*range(10))
    with pytest.raises(AbortedError, match="fewer than the minimum of 11"):
        scene.finish()
    assert heard(scene.post, scene.batch, "result") == {}


def test_restarted_before_every_step_it_says_the_same_and_ends_with_the_total(
    tmp_path: Path,
) -> None:
    """Each aggregator is made again from its ledger after every single step."""
    scene = Scene(tmp_path, JOB + 20, minimum=10)
    scene.report(*range(JOB + 10))
    for step in range(200):
        scene.now = CLOSES + 10.0 if step > 20 else scene.now
        k = step % 2
        scene.machines[k] = scene.aggregator(k)
        scene.machines[k].advance()
    outcome = read_outcome(scene.post, scene.batch)
    assert outcome is not None
    assert np.array_equal(outcome.totals, scene.truth(*range(JOB + 10)))


class Dies(Meddling):
    """The process is killed in the middle of saying something: before it, or after it."""

    def __init__(self, post: Post, kind: str, after: bool) -> None:
        super().__init__(post)
        self.kind, self.after = kind, after

    def say(self, message: Message) -> None:
        if message.kind == self.kind:
            if self.after:
                self._post.say(message)
            raise SystemExit
        self._post.say(message)


@pytest.mark.parametrize("kind", ["key", "job", "verify", "ready", "result"])
@pytest.mark.parametrize("after", [False, True])
def test_killed_while_it_speaks_it_goes_on_and_the_total_is_right(
    tmp_path: Path, kind: str, after: bool
) -> None:
    scene = Scene(tmp_path)
    scene.report(*range(12))
    scene.machines[0] = scene.aggregator(0, Dies(scene.post, kind, after))  # type: ignore[arg-type]
    with pytest.raises(SystemExit):
        scene.drive()
    scene.machines[0] = scene.aggregator(0)
    scene.drive()
    outcome = read_outcome(scene.post, scene.batch)
    assert outcome is not None
    assert np.array_equal(outcome.totals, scene.truth(*range(12)))


def test_who_is_waited_for_is_named(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.report(*range(12))
    lone = scene.machines[1]
    assert not lone.advance()
    assert (lone.step, lone.missing) == ("key", scene.batch.ids[:1])
    while scene.machines[0].advance():
        pass
    assert scene.machines[0].step == "verify"
    assert scene.machines[0].missing == scene.batch.ids[1:]
    scene.machines[0].expire()
    scene.drive()
    assert scene.ends() == ["abort", "abort"]
    assert "verify: nothing came in time" in scene.why()[0]
    assert "stopped: nothing came in time" in scene.why()[1]


def says(scene: Scene, k: int, kind: str, body: dict[str, object]) -> None:
    """A cheating aggregator signs something of its own."""
    scene.post.say(write(scene.identities[k], kind, scene.batch.digest, body))


def test_a_leader_that_gives_different_jobs_to_others_is_caught(tmp_path: Path) -> None:
    scene = Scene(tmp_path, minimum=3)
    made = scene.report(*range(6))

    class Other(Meddling):
        """Shows the helper another job of the leader's."""

        def hear(self, topic: str) -> Sequence[Message]:
            if topic != "job 0":
                return self._post.hear(topic)
            job = Job(0, scene.batch.digest, tuple(one.id for one in made[1:]), last=True)
            return [write(scene.identities[0], "job", scene.batch.digest, job.body())]

    scene.now = CLOSES + 10.0
    scene.machines[1] = scene.aggregator(1, Other(scene.post))  # type: ignore[arg-type]
    scene.drive()
    assert scene.ends() == ["abort", "abort"]
    assert "a verification of another job" in scene.why()[0] + scene.why()[1]


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda ids: [ids[0], ids[0]], "with one of them twice"),
        (lambda ids: ids * 100, "more than 256 reports"),
    ],
)
def test_a_leader_whose_jobs_are_not_in_order_is_named(
    tmp_path: Path, spoil: object, reason: str
) -> None:
    scene = Scene(tmp_path)
    made = scene.report(*range(6))
    scene.machines[0].advance()
    scene.machines[0].advance()
    ids = spoil([one.id for one in made])  # type: ignore[operator]
    body = {"number": 0, "before": scene.batch.digest, "ids": encode64(b"".join(ids)), "last": 1}
    says(scene, 0, "job", body)
    while scene.machines[1].advance():
        pass
    assert f"{reason}" in scene.why()[1]
    assert scene.machines[1].ended is not None
    assert scene.machines[1].ended.body["who"] == [scene.batch.ids[0]]


def test_an_aggregator_that_counts_others_stops_all_before_anything_opens(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.report(*range(12))
    body = {"people": 11, "counted": "0" * 64, "refused": {}, "chain": "0" * 64}
    says(scene, 1, "ready", body)
    for _ in range(20):
        scene.machines[0].advance()
        with suppress(ProtocolError):  # the honest one of the same keys may not say it again
            scene.machines[1].advance()
    assert "ready: the aggregators do not agree on who counts" in scene.why()[0]
    assert heard(scene.post, scene.batch, "result") == {}


class Shows(Meddling):
    """Shows one aggregator what another signed for it alone."""

    def __init__(self, post: Post, sender: str, instead: Callable[[Message], Message]) -> None:
        super().__init__(post)
        self.sender, self.instead = sender, instead

    def hear(self, topic: str) -> Sequence[Message]:
        found = self._post.hear(topic)
        return [self.instead(one) if one.sender == self.sender else one for one in found]


def test_two_honest_aggregators_do_not_blame_each_other_for_what_a_third_told_them(
    tmp_path: Path,
) -> None:
    """The third signs another verdict for one of them, and agrees with both in the end."""
    scene = Scene(tmp_path, aggregators=3)
    scene.report(*range(12))
    liar, size = scene.identities[2], scene.batch.prio3.sizes.verifier_share

    def other(message: Message) -> Message:
        body = dict(message.body)
        if message.kind == "verify":
            body["codes"] = encode64(bytes([STRANGER]) + bytes(11))
            body["shares"] = encode64(b64decode(body["shares"])[-11 * size :])
            body["public"] = encode64(b64decode(body["public"])[DIGEST:])
        elif message.kind == "ready":
            [victim] = [one for one in scene.post.hear("ready") if one.sender == scene.batch.ids[1]]
            body = victim.body
        return write(liar, message.kind, scene.batch.digest, body)

    scene.machines[1] = scene.aggregator(1, Shows(scene.post, liar.id, other))  # type: ignore[arg-type]
    scene.drive()
    assert heard(scene.post, scene.batch, "result") == {}
    assert "ready: the aggregators do not agree on who counts" in scene.why()
    for machine in scene.machines[:2]:
        assert machine.ended is not None
        if "do not agree" in machine.ended.body["reason"].split("stopped")[0]:
            assert machine.ended.body["who"] == []


def test_a_signed_abort_stops_the_others(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.report(*range(12))
    scene.machines[1].stop(Abort("given up", "the disk is full"))
    scene.drive()
    assert scene.ends() == ["abort", "abort"]
    assert "given up: aggregator" in scene.why()[0]
    with pytest.raises(AbortedError, match="the disk is full"):
        read_outcome(scene.post, scene.batch)


def test_what_was_changed_on_the_relays_disk_is_refused(tmp_path: Path) -> None:
    scene = Scene(tmp_path, minimum=8)
    made = scene.reports(range(12))
    public = scene.batch.prio3.sizes.public_share
    for k, one in enumerate(made):
        at = {0: 0, 1: public + 100, 2: len(one.data) - 1}.get(k)
        scene.post.upload(one if at is None else spoilt(one, at))
    outcome = scene.finish()
    assert outcome.refused == {REFUSALS[17]: 3}
    assert np.array_equal(outcome.totals, scene.truth(*range(3, 12)))


def test_an_offer_serves_one_batch(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    other, _ = make_batch(
        organiser(), QUESTION, scene.offers, scene.tokens, scene.source, closes=CLOSES
    )
    with pytest.raises(ProtocolError, match=r"this offer was used for batch .* already"):
        Aggregator(scene.identities[0], other, scene.ledgers[0], scene.post, scene.source)
    giving = Aggregator(
        scene.identities[0], other, scene.ledgers[0], scene.post, scene.source, giving_up=True
    )
    giving.stop(Abort("given up", "another batch has the keys"))
    assert giving.ended is not None
    assert giving.ended.signed_by(scene.identities[0].public.signing)
    mine = scene.batch.aggregators[0].sealing
    assert scene.ledgers[0].secret(mine, scene.batch.digest) is not None  # not that batch's


def test_an_abort_without_a_reason_stops_the_others_all_the_same(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.report(*range(12))
    says(scene, 1, "abort", {"junk": 1})
    scene.machines[0].advance()
    assert "it did not say why" in scene.why()[0]
    assert scene.ledgers[0].secret(scene.batch.aggregators[0].sealing, scene.batch.digest) is None


def test_a_relay_that_names_too_much_or_nonsense_does_not_stop_the_leader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(tmp_path)
    scene.report(*range(12))
    right = type(scene.post).arrivals

    def wrong(post: object, done: int, most: int) -> list[bytes]:
        return [b"short", *right(post, done, most), *[bytes([k % 256]) * 8 for k in range(500)]]

    monkeypatch.setattr(type(scene.post), "arrivals", wrong)
    assert np.array_equal(scene.finish().totals, scene.truth(*range(12)))


def test_nothing_is_said_while_deleted_keys_are_still_in_the_log(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.report(*range(12))
    reader = sqlite3.connect(tmp_path / "agg0.sqlite", isolation_level=None)
    reader.execute("begin")
    reader.execute("select count(*) from offer").fetchone()
    with pytest.raises(ProtocolError, match="another program reads the ledger"):
        scene.machines[0].stop(Abort("given up", "tired"))
    assert heard(scene.post, scene.batch, "abort") == {}
    reader.close()
    scene.aggregator(0).advance()
    assert set(heard(scene.post, scene.batch, "abort")) == {scene.batch.ids[0]}
    assert (tmp_path / "agg0.sqlite-wal").stat().st_size == 0


class Silent(Meddling):
    """A relay that does not answer the next requests."""

    def __init__(self, post: Post, requests: float) -> None:
        super().__init__(post)
        self.requests = requests

    def __getattr__(self, name: str) -> object:
        self.requests -= 1
        if self.requests >= 0:
            raise RelayError("the relay does not answer")
        return super().__getattr__(name)


def test_a_silent_relay_is_waited_for_until_the_batch_closes(tmp_path: Path) -> None:
    scene, told = Scene(tmp_path), list[str]()
    scene.report(*range(12))
    silent: Any = Silent(scene.post, 3)
    last = run(scene.aggregator(0, silent), patience=0.2, say=told.append)
    assert last.body["step"] == "verify"  # where the other one is missing, which is not here
    assert told == ["Tries again: the relay does not answer"]


def test_a_relay_that_stays_silent_ends_in_a_signed_abort_without_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = Scene(tmp_path)
    scene.report(*range(12))
    monkeypatch.setattr(time, "time", lambda: CLOSES + 10.0)
    sealing, digest = scene.batch.aggregators[0].sealing, scene.batch.digest
    secret = scene.ledgers[0].secret(sealing, digest)
    assert secret is not None

    def files() -> bytes:
        return b"".join(path.read_bytes() for path in tmp_path.glob("agg0*"))

    assert secret in files()
    silent: Any = Silent(scene.post, np.inf)
    with pytest.raises(RelayError):
        run(scene.aggregator(0, silent), patience=0.0)
    assert secret not in files()
    told = run(scene.aggregator(0), patience=0.0)  # the relay is there again
    assert told.body == Abort("key", "the relay did not answer in time").to_dict()
    assert heard(scene.post, scene.batch, "abort") == {scene.identities[0].id: told}
