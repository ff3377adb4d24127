"""The relay's routes and mailbox: what it takes, what it refuses, what it hands to whom."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from mdrr.errors import ProtocolError
from mdrr.securesum import ring
from mdrr.securesum.keys import SEALED_EXTRA, Identity
from mdrr.securesum.message import Message, write
from mdrr.securesum.organiser import Organiser, join
from mdrr.securesum.person import make_report
from mdrr.securesum.roster import Batch
from mdrr.securesum.terms import Terms
from mdrr.securesum.transport.keyfile import load_or_make
from mdrr.securesum.transport.mailbox import Mailbox
from mdrr.securesum.transport.relay import Relay, create_relay, largest_body, largest_message
from mdrr.securesum.wire import encode64
from mdrr.source import SeededSource
from tests.chance import nothing_else
from tests.securesum.group import Group, organiser, people

GROUP = Group(4)


LOOP = asyncio.new_event_loop()


@pytest.fixture(autouse=True, scope="module")
def _close_loop() -> Iterator[None]:
    yield
    LOOP.close()


class Http:
    """Requests to an application in this process, one after the other."""

    def __init__(self, app: Any) -> None:
        transport = httpx.ASGITransport(app, raise_app_exceptions=True)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://relay")

    def get(self, url: str, **options: Any) -> httpx.Response:
        return LOOP.run_until_complete(self._client.get(url, **options))

    def post(self, url: str, **options: Any) -> httpx.Response:
        return LOOP.run_until_complete(self._client.post(url, **options))


class Served:
    """A relay and a client for it, everybody joined unless told otherwise."""

    def __init__(self, mode: str, *, joined: int = 4, patience: float = 600.0) -> None:
        self.terms = (GROUP.roster if mode == "paper" else GROUP.batch).terms
        self.relay = Relay(Organiser(organiser(), self.terms), patience=patience)
        self.http = Http(create_relay(self.relay))
        if mode == "aggregators":
            self.post(*(join(one, self.terms, "aggregator") for one in GROUP.aggregators))
        self.post(*(join(one, self.terms) for one in GROUP.identities[:joined]))

    def post(self, *messages: Message) -> tuple[int, dict[str, Any]]:
        body = b"\n".join(message.to_json() for message in messages)
        answer = self.http.post("/v1/messages", content=body)
        return answer.status_code, answer.json()

    def fetch(self, to: str, after: int = 0, **params: Any) -> tuple[list[dict[str, Any]], int]:
        answer = self.http.get("/v1/messages", params={"to": to, "after": after, **params}).json()
        return [json.loads(text) for text in answer["messages"]], answer["next"]

    @property
    def run(self) -> str:
        assert self.relay.organiser.frozen is not None
        return self.relay.organiser.frozen.digest


def test_the_password_of_every_relay_is_128_bits_of_its_own() -> None:
    tokens = []
    for _ in range(3):
        with nothing_else():
            tokens.append(Served("paper", joined=0).relay.token)
    assert len(set(tokens)) == 3
    assert {len(bytes.fromhex(token)) for token in tokens} == {16}


def test_terms_are_signed_and_enrolment_is_listed() -> None:
    served = Served("aggregators")
    message = Message.from_json(served.http.get("/v1/terms").content)
    assert Terms.read(message, organiser().id) == served.terms
    listed = served.http.get("/v1/enrolled").json()["enrolled"]
    assert listed == sorted(one.id for one in GROUP.identities)


def test_the_list_comes_when_all_have_joined() -> None:
    assert Served("paper", joined=3).fetch(GROUP.identities[0].id)[0] == []
    got, cursor = Served("paper").fetch(GROUP.identities[0].id)
    assert [message["kind"] for message in got] == ["roster"]
    assert cursor == 1


def test_a_share_goes_to_its_recipient_only_and_a_broadcast_to_all_others() -> None:
    served = Served("paper")
    one, two, three = GROUP.identities[:3]
    served.post(
        write(one, "accept", served.run, {}),
        write(one, "share", served.run, {"sealed": "AAAA"}, two.id),
    )
    kinds = [[m["kind"] for m in served.fetch(to.id, after=1)[0]] for to in (one, two, three)]
    assert kinds == [[], ["accept", "share"], ["accept"]]
    only = served.fetch(two.id, kinds="share")[0]
    assert [message["kind"] for message in only] == ["share"]


def test_what_nobody_in_the_run_signed_is_refused() -> None:
    served = Served("paper")
    stranger, member = people(1, seed=8)[0], GROUP.identities[0]
    good = write(member, "accept", served.run, {})
    forged = Message("accept", served.run, member.id, None, {"x": 1}, good.signature)
    for message, reason in (
        (write(stranger, "accept", served.run, {}), "nobody in this run signed"),
        (forged, "nobody in this run signed"),
        (write(member, "accept", "0" * 64, {}), "not this relay's"),
        (join(stranger, served.terms), "closed"),
    ):
        status, body = served.post(message)
        assert status == 400
        assert reason in body["error"]
    status, body = served.http.post("/v1/messages", content=b"{").status_code, {}
    assert status == 400
    assert served.fetch(GROUP.identities[1].id, after=1)[0] == []


def test_the_same_message_is_kept_once() -> None:
    served = Served("paper")
    message = write(GROUP.identities[0], "accept", served.run, {})
    assert served.post(message, message)[0] == 200
    assert served.post(message)[0] == 200
    assert len(served.fetch(GROUP.identities[1].id, after=1)[0]) == 1


def test_a_batch_closes_when_all_have_reported() -> None:
    served = Served("aggregators")
    batch = served.relay.organiser.frozen
    assert isinstance(batch, Batch)
    for k, person in enumerate(GROUP.identities):
        got = served.fetch(batch.ids[0], kinds="close")[0]
        assert got == []
        served.post(*make_report(person, batch, GROUP.vectors[k], SeededSource(k)))
    got = served.fetch(batch.ids[0])[0]
    assert [message["kind"] for message in got] == ["batch", *["report"] * 4, "close"]


def test_a_batch_closes_early_for_the_organiser_and_late_by_the_clock() -> None:
    served = Served("aggregators")
    assert served.http.post("/v1/close").status_code == 400
    token = {"Authorization": f"Bearer {served.relay.token}"}
    assert served.http.post("/v1/close", headers=token).status_code == 200
    assert served.http.post("/v1/close", headers=token).status_code == 200  # once is enough
    assert len(served.fetch("0" * 64, kinds="close")[0]) == 1
    late = Served("aggregators", patience=-1.0)
    assert len(late.fetch("0" * 64, kinds="close")[0]) == 1


def test_a_mailbox_pages_what_is_large() -> None:
    box, me = Mailbox(), GROUP.identities[0]
    for k in range(5):
        box.add(write(me, "accept", f"{k:064x}", {}))
    size = len(write(me, "accept", "0" * 64, {}).to_json())
    seen, after = [], 0
    while True:
        got, after = box.fetch("f" * 64, after, limit=2 * size)
        if not got:
            break
        assert len(got) <= 2
        seen += got
    assert len(set(seen)) == len(box) == 5
    assert box.count("f" * 64, 0) == 5
    assert box.count(me.id, 0) == 0


def test_the_organiser_refuses_who_does_not_fit() -> None:
    terms = GROUP.roster.terms
    one = GROUP.identities[0]
    machine = Organiser(organiser(), terms)
    machine.receive(join(one, terms))
    machine.receive(join(one, terms))  # again, after a lost answer: no harm
    other_key = Identity(one.signing_secret, bytes(32))
    other_terms = Group(4, seed=5).roster.terms
    thief = write(people(1, seed=3)[0], "join", terms.digest, join(one, terms).body)
    for message, reason in (
        (join(other_key, terms), "closed"),
        (join(one, other_terms), "other terms"),
        (thief, "not signed by the keys it shows"),
        (join(people(1, seed=4)[0], terms, "aggregator"), "no aggregators"),
        (write(one, "join", terms.digest, {**join(one, terms).body, "role": "king"}), "role"),
    ):
        with pytest.raises(ProtocolError, match=reason):
            machine.receive(message)
    with pytest.raises(ProtocolError, match="at least 3"):
        machine.freeze()
    with pytest.raises(ProtocolError, match="no batch"):
        machine.close()
    with pytest.raises(ProtocolError, match="another organiser"):
        Organiser(people(1)[0], terms)


class Chunks:
    """A body that comes in pieces and counts how many were taken."""

    def __init__(self, size: int, count: int) -> None:
        self.size, self.count, self.taken = size, count, 0

    async def __aiter__(self) -> Any:
        for _ in range(self.count):
            self.taken += 1
            yield b" " * self.size


def test_a_body_is_refused_when_it_grows_too_long_not_after_it_is_all_in_memory() -> None:
    served = Served("paper")
    limit = largest_body(served.terms)
    body = Chunks(limit // 4, 1_000)
    answer = served.http.post("/v1/messages", content=body)
    assert answer.status_code == 400
    assert f"more than {limit} bytes" in answer.json()["error"]
    assert body.taken <= 6
    told = Chunks(1, 1)  # of one that says how long it is nothing is taken
    headers = {"Content-Length": str(limit + 1)}
    assert served.http.post("/v1/messages", content=told, headers=headers).status_code == 400
    assert told.taken == 0


def test_one_long_message_is_refused_before_it_is_parsed() -> None:
    served = Served("paper")
    text = b'{"a": ' + b"[" * (largest_message(served.terms) + 1)
    answer = served.http.post("/v1/messages", content=text)
    assert answer.status_code == 400
    assert f"a message of more than {largest_message(served.terms)}" in answer.json()["error"]


@pytest.mark.parametrize("mode", ["paper", "aggregators"])
def test_what_an_honest_run_sends_is_within_the_limits(mode: str) -> None:
    served = Served(mode)
    me, cells = GROUP.identities[0], served.terms.question.cells
    longest = {"reason": "x" * 500, "step": "share", "who": [one.id for one in GROUP.identities]}
    said = [write(me, "abort", served.run, longest)]
    if mode == "paper":
        sealed = {"sealed": encode64(bytes(cells * ring.width(5) + SEALED_EXTRA))}
        said += [write(me, "share", served.run, sealed, one.id) for one in GROUP.identities[1:]]
    else:
        batch = served.relay.organiser.frozen
        assert isinstance(batch, Batch)
        said += make_report(me, batch, GROUP.vectors[0], SeededSource(1))
    assert served.post(*said)[0] == 200


def test_a_member_cannot_fill_the_memory_and_others_go_on() -> None:
    served = Served("paper")
    flooding, other = GROUP.identities[:2]
    for k in range(10_000):
        padded = {"x": "y" * (largest_message(served.terms) - 600), "k": k}
        status, said = served.post(write(flooding, "accept", served.run, padded))
        if status != 200:
            break
    assert "one sender's messages" in said["error"]
    assert served.relay.mailbox.bytes_in <= served.relay.quota + largest_body(served.terms)
    assert served.post(write(other, "accept", served.run, {}))[0] == 200


def test_two_with_one_sealing_key_do_not_spoil_the_run() -> None:
    served = Served("paper", joined=2)
    taken = GROUP.identities[0]
    double = Identity(people(1, seed=8)[0].signing_secret, taken.sealing_secret)
    status, said = served.post(join(double, served.terms))
    assert status == 400
    assert "another participant's" in said["error"]
    assert served.post(*(join(one, served.terms) for one in GROUP.identities[2:]))[0] == 200
    assert [m["kind"] for m in served.fetch(taken.id)[0]] == ["roster"]


def test_who_waits_is_not_woken_by_what_is_for_others() -> None:
    """Waking all for every message costs n² when n people wait for the list."""
    served = Served("paper", joined=0)
    looked = 0

    class Counting(Mailbox):
        def count(self, *arguments: Any) -> int:
            nonlocal looked
            looked += 1
            return super().count(*arguments)

    served.relay.mailbox = Counting()

    async def wait_and_join() -> list[bytes]:
        waiting = asyncio.ensure_future(served.relay.fetch("f" * 64, 0, 20.0, 1, ()))
        await asyncio.sleep(0)
        for one in GROUP.identities:
            served.relay.post(join(one, served.terms).to_json())
            for _ in range(5):
                await asyncio.sleep(0)
        return (await waiting)[0]

    got = LOOP.run_until_complete(wait_and_join())
    assert [json.loads(one)["kind"] for one in got] == ["roster"]
    assert looked == 2


def test_keys_are_made_once_and_for_their_owner_only(tmp_path: Any) -> None:
    path = tmp_path / "deep" / "keys.json"
    made = load_or_make(path, SeededSource(1))
    assert load_or_make(path, SeededSource(2)) == made
    assert path.stat().st_mode & 0o777 == 0o600
    assert repr(made).count("secret") == 0
    path.write_text('{"signing": "AAAA"}')
    with pytest.raises(ProtocolError, match="32 bytes"):
        load_or_make(path, SeededSource(1))


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
def test_keys_that_others_could_use_are_refused_until_the_advice_is_followed(
    tmp_path: Any, mode: int
) -> None:
    path = tmp_path / "my keys.json"
    made = load_or_make(path, SeededSource(1))
    path.chmod(mode)
    with pytest.raises(ProtocolError, match=f"mode {mode:03o}") as refused:
        load_or_make(path, SeededSource(1))
    advice = str(refused.value).partition("run: ")[2].partition(". Otherwise")[0]
    subprocess.run(advice, shell=True, check=True)
    assert load_or_make(path, SeededSource(1)) == made
