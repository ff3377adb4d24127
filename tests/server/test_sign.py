"""Blind invitations through the server: signed once, spent once, and joined by nothing."""

import logging
import threading
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from mdrr.server import blind, schema
from mdrr.server.accept import Outcome
from mdrr.server.blind import from_text, to_text
from mdrr.server.held import token_hash
from mdrr.server.schema import StoreError
from mdrr.server.sign import claim
from mdrr.server.store import Store
from tests.server.cases import SAMPLED, answer, body, frozen, report, running


@pytest.fixture(scope="module")
def signing_key() -> bytes:
    return blind.new_signing_key()


class Person:
    """Somebody with a link: asks for the survey, has a token signed, and answers."""

    def __init__(self, client: httpx.Client, id: str, invitation: str) -> None:
        self.client, self.api, self.invitation = client, f"/api/surveys/{id}", invitation
        shown = client.get(self.api).json()
        self.length, self.key = shown["answer_bytes"], from_text(shown["blind_key"])
        self.prepared = blind.prepare(b"t" * 32)
        self.hidden = blind.blind(self.prepared, self.key)

    def ask(self, **changes: object) -> httpx.Response:
        fields = {"invitation": self.invitation, "blinded": to_text(self.hidden.message)}
        return self.client.post(f"{self.api}/sign", json=fields | changes)

    def ticket(self) -> str:
        reply = self.ask()
        assert reply.status_code == 200, reply.text
        signed = from_text(reply.json()["signature"])
        signature = blind.finalize(self.prepared, signed, self.hidden.inverse, self.key)
        return blind.ticket(self.prepared, signature)

    def answer(self, ticket: str | None, made=None) -> int:
        text = body(made or report(), self.length, ticket)
        return self.client.post(f"{self.api}/answers", content=text).status_code


def opened(store: Store, key: bytes, count: int, design=None) -> tuple[str, list[str]]:
    survey = frozen(design) if design else frozen()
    store.create(survey, invitations="blind", signing_key=key)
    store.open(survey.id)
    return survey.id, store.invite(survey.id, count)


@pytest.fixture
def service(url, signing_key):
    """A client, the store, and an open survey with four blind invitations."""
    with running(url) as (address, store), httpx.Client(base_url=address) as client:
        id, tokens = opened(store, signing_key, 4)
        yield client, store, id, tokens


def test_from_an_invitation_to_an_answer(service):
    client, store, id, tokens = service
    shown = client.get(f"/api/surveys/{id}").json()
    assert shown["invitations"] == "blind"
    person = Person(client, id, tokens[0])
    ticket = person.ticket()
    made = report()
    assert person.answer(ticket, made) == 201
    assert person.answer(ticket, made) == 201, "a lost reply is repeated"
    assert person.answer(ticket) == 403, "a ticket is good for one answer"
    left, right = ticket.split(".")
    for bad in (
        None,
        tokens[1],  # not signed
        left,
        f"{to_text(blind.prepare(b't' * 32))}.{right}",  # of another token
        f"{left}.{to_text(bytes(256))}",
        f"{left}.{right}=",
    ):
        assert person.answer(bad) == 403, bad
    assert store.status(id)["answers"] == 1
    assert store.status(id)["invitations"] == {"kind": "blind", "made": 4, "used": 1}


def test_an_invitation_signs_once(service):
    client, store, id, tokens = service
    person = Person(client, id, tokens[0])
    first = person.ask()
    assert first.status_code == 200
    assert person.ask().json() == first.json(), "a lost reply is repeated"
    other = blind.blind(person.prepared, person.key)
    refused = person.ask(blinded=to_text(other.message))
    assert (refused.status_code, refused.json()["error"][:15]) == (403, "This invitation")
    assert person.ask(invitation="unknown").status_code == 403
    assert person.ask(invitation=tokens[1], blinded=to_text(other.message)).status_code == 200
    assert store.status(id)["invitations"]["used"] == 2


def test_what_cannot_be_signed_uses_no_invitation(service):
    client, store, id, tokens = service
    person = Person(client, id, tokens[0])
    good = to_text(person.hidden.message)
    for bad in ("", "x", good[:-1], good + "A", good[:-1] + "=", to_text(b"\xff" * 256), 7, None):
        reply = person.ask(blinded=bad)
        assert reply.status_code == 422, bad
        assert tokens[0] not in reply.text
    assert person.ask(more=1).status_code == 422
    assert person.ask(invitation="x" * 44).status_code == 422
    assert store.status(id)["invitations"]["used"] == 0
    wanted = {"invitation": tokens[0], "blinded": good}
    assert client.post("/api/surveys/nothere2/sign", json=wanted).status_code == 404
    plain = frozen()
    store.create(plain, invitations="required")
    store.open(plain.id)
    refused = client.post(f"/api/surveys/{plain.id}/sign", json=wanted)
    assert (refused.status_code, "signs nothing" in refused.text) == (404, True)


def cells(store: Store, *tables: sa.Table) -> set[object]:
    """Every value in some tables but the survey's id and flags."""
    found = set()
    with store.engine.connect() as connection:
        for table in tables:
            for row in connection.execute(sa.select(table)).mappings():
                found |= {
                    bytes(value) if isinstance(value, memoryview) else value
                    for name, value in row.items()
                    if name not in ("survey", "phase", "used", "questionnaire", "codes")
                }
    return found


def test_the_database_holds_nothing_that_joins_an_invitation_and_an_answer(service, signing_key):
    """Not by value, and not by arithmetic with everything the server saw and its private key."""
    client, store, id, tokens = service
    people = [Person(client, id, token) for token in tokens]
    tickets = [person.ticket() for person in people]
    for person, ticket in reversed(list(zip(people, tickets, strict=True))):
        assert person.answer(ticket) == 201
    before = cells(store, schema.invitations, schema.signed)
    after = cells(store, schema.spent, schema.answers)
    assert (len(before), len(after)) == (8, 8)
    assert before & after == set()
    key = blind._private(signing_key).private_numbers()
    n = key.public_numbers.n
    for person in people:
        z = int.from_bytes(person.hidden.message)
        for ticket in tickets:
            m = pow(int.from_bytes(from_text(ticket.split(".")[1])), 65537, n)
            factor = pow(z * pow(m, -1, n), key.d, n)
            assert m * pow(factor, 65537, n) % n == z, "every pair is as possible as every other"
    with store.engine.connect() as connection:
        inspected = sa.inspect(connection)
        names = {t: {c["name"] for c in inspected.get_columns(t)} for t in ("signed", "spent")}
    assert names == {"signed": {"survey", "invitation", "blinded"}, "spent": {"survey", "hash"}}


def test_closing_destroys_the_key_and_what_it_signed(service, signing_key):
    client, store, id, tokens = service
    person, late = Person(client, id, tokens[0]), Person(client, id, tokens[1])
    ticket, made = person.ticket(), report()
    assert person.answer(ticket, made) == 201
    unused = late.ticket()

    def on_disk() -> bool:
        """Whether part of the private key is in SQLite's file or the log beside it."""
        path = store.engine.url.database
        files = [Path(f"{path}{end}").read_bytes() for end in ("", "-wal")]
        return any(signing_key[-600:-500] in file for file in files)

    sqlite = store.engine.dialect.name == "sqlite"
    assert not sqlite or on_disk()
    store.close(id)
    assert not sqlite or not on_disk()
    with store.engine.connect() as connection:
        assert connection.execute(sa.select(schema.surveys.c.signing_key)).scalars().all() == [None]
    assert cells(store, schema.signed) == set()
    assert person.ask().status_code == 410
    assert person.answer(ticket, made) == 201, "a lost reply is repeated after the end too"
    assert late.answer(unused) == 410
    store.close(id)
    for again in (lambda: store.open(id), lambda: store.start_phase(id, SAMPLED)):
        with pytest.raises(StoreError, match="cannot take answers again"):
            again()


def test_a_ticket_of_the_first_phase_is_good_for_one_answer_in_either(service):
    client, store, id, tokens = service
    person, late = Person(client, id, tokens[0]), Person(client, id, tokens[1])
    ticket, unused = person.ticket(), late.ticket()
    assert person.answer(ticket) == 201
    store.start_phase(id, SAMPLED)
    assert cells(store, schema.signed) != set()
    held = store.need(id)
    kept = blind.ticket_hash(ticket, person.key), blind.ticket_hash(unused, late.key)
    batch = [replace(answer(held, report(SAMPLED)), invitation=hash) for hash in kept]
    assert store.accept(batch) == [Outcome.UNINVITED, Outcome.STORED]
    assert late.ask().status_code == 200, "the reply can still be repeated"


def test_at_once_one_blinded_message_wins(url, signing_key):
    store = Store(url)
    id, (token,) = opened(store, signing_key, 1)
    messages = [bytes([i]) * 256 for i in range(8)]
    found: dict[bytes, Outcome] = {}

    def ask(message: bytes) -> None:
        found[message] = claim(store.engine, id, token_hash(token), message)[0]

    threads = [threading.Thread(target=ask, args=(message,)) for message in messages]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found.values()) == [Outcome.STORED, *7 * [Outcome.UNINVITED]]
    winner = next(m for m in messages if found[m] == Outcome.STORED)
    assert claim(store.engine, id, token_hash(token), winner)[0] == Outcome.AGAIN
    store.dispose()


def test_signing_is_counted_and_not_logged(tmp_path, signing_key, caplog):
    caplog.set_level(logging.INFO, "mdrr.server")
    url = f"sqlite:///{tmp_path}/answers.db"
    with running(url) as (address, store), httpx.Client(base_url=address) as client:
        id, (token,) = opened(store, signing_key, 1)
        person = Person(client, id, token)
        person.ticket()
        person.ask(invitation="unknown")
        counted = client.get("/metrics").text
    for status in (200, 403):
        line = f'{{route="/api/surveys/{{survey}}/sign",status="{status}"}} 1'
        assert f"mdrr_responses_total{line}" in counted
    logged = [r.fields for r in caplog.records if r.fields.get("route", "").endswith("/sign")]
    assert [each["status"] for each in logged] == [403]


def test_whether_an_invitation_is_good_can_be_asked_and_marks_nothing(url, caplog, monkeypatch):
    """Used and unknown look the same; an answer that would be taken is not refused before."""
    caplog.set_level(logging.INFO, "mdrr.server")
    monkeypatch.setattr("mdrr.server.sign.ASKED_BURST", 8.0)
    monkeypatch.setattr("mdrr.server.sign.ASKED_RATE", 1e-6)
    survey = frozen()
    with running(url) as (address, store), httpx.Client(base_url=address) as client:
        store.create(survey, invitations="required")
        api = f"/api/surveys/{survey.id}"

        def ask(invitation: object) -> httpx.Response:
            return client.post(f"{api}/invitation", json={"invitation": invitation})

        assert ask("x").status_code == 404, "a draft"
        store.open(survey.id)
        token, other = store.invite(survey.id, 2)
        assert [ask(token).status_code for _ in range(2)] == [200, 200]
        assert store.status(survey.id)["invitations"]["used"] == 0
        length = client.get(api).json()["answer_bytes"]
        assert client.post(f"{api}/answers", content=body(report(), length, token)).is_success
        used, unknown = ask(token), ask("x" * 43)
        assert (used.status_code, used.text) == (403, unknown.text)
        assert ask(other).status_code == 200
        assert ask("x" * 44).status_code == 422
        store.close(survey.id)
        assert ask(other).status_code == 410
        assert [ask(other).status_code for _ in range(2)] == [410, 429]
    logged = [r.fields for r in caplog.records if r.fields.get("route", "").endswith("invitation")]
    assert {each["status"] for each in logged} == {403, 404, 410, 422, 429}


def test_the_fingerprints_of_phases_that_are_over_are_said(url):
    survey = frozen()
    with running(url) as (address, store), httpx.Client(base_url=address) as client:
        store.create(survey, invitations="required")
        store.open(survey.id)
        assert client.get(f"/api/surveys/{survey.id}").json()["earlier"] == []
        store.start_phase(survey.id, SAMPLED)
    with running(url) as (address, _), httpx.Client(base_url=address) as client:
        said = client.get(f"/api/surveys/{survey.id}").json()
    assert (said["phase"], said["fingerprint"]) == (2, SAMPLED.fingerprint)
    assert said["earlier"] == [survey.design.fingerprint]
