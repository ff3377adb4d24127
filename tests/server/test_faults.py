"""What goes wrong around the collector: it is killed, the disk is full, the database restarts.

`make faults` kills it 200 times and restarts PostgreSQL 20 times; here a few times do.
"""

import asyncio
import os
import random
import secrets
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from mdrr.estimation import estimate
from mdrr.response import Report
from mdrr.server.accept import Outcome
from mdrr.server.held import answer_bytes
from mdrr.server.schema import StoreError, answers
from mdrr.server.store import Store
from mdrr.tallies import tally_responses
from tests.server.cases import DESIGN, answer, body, free_port, frozen, report, running

KILLS = int(os.environ.get("MDRR_KILLS", "2"))
PROGRAM = "import sys; from mdrr.server.app import serve; serve(sys.argv[1], port=int(sys.argv[2]))"
LENGTH = answer_bytes(DESIGN, "required")


class Crowd:
    """People who send their answer again and again until it is acknowledged, each with a link."""

    def __init__(self, address, survey, tokens):
        self.place = f"{address}/api/surveys/{survey}/answers"
        self.waiting = [(report(), token) for token in tokens]
        self.acknowledged: list[Report] = []
        self.sent: list[Report] = []
        self.wrong: list[int] = []
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self.person) for _ in range(8)]
        for thread in self.threads:
            thread.start()

    def person(self):
        with httpx.Client(timeout=20) as client:
            while not self.stop.is_set():
                try:
                    made, token = self.waiting.pop()
                except IndexError:
                    return
                self.sent.append(made)
                while not self.stop.is_set():
                    try:
                        reply = client.post(self.place, content=body(made, LENGTH, token))
                    except httpx.TransportError:
                        time.sleep(0.1)
                        continue
                    if reply.status_code == 201:
                        self.acknowledged.append(made)
                        break
                    if reply.status_code != 503:
                        self.wrong.append(reply.status_code)
                        break
                    time.sleep(0.02)

    def end(self):
        self.stop.set()
        for thread in self.threads:
            thread.join()


def invited(store, count):
    survey = frozen()
    store.create(survey, invitations="required")
    store.open(survey.id)
    return survey.id, store.invite(survey.id, count)


def started(url, port):
    server = subprocess.Popen([sys.executable, "-c", PROGRAM, url, str(port)], stderr=-3)
    until = time.monotonic() + 300
    while True:
        try:
            if httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=5).status_code == 200:
                return server
        except httpx.TransportError:
            assert server.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)


def check_nothing_lost(store, survey, crowd):
    """Everything acknowledged is there; nothing is there that was not sent, or twice."""
    held = store.need(survey)
    again = store.accept([answer(held, made) for made in crowd.acknowledged])
    assert set(again) <= {Outcome.AGAIN}
    status, found = store.status(survey), store.tally(held.phase())
    assert found.n == status["answers"] == status["invitations"]["used"]
    ids = {made.id: made for made in crowd.sent}
    with store.engine.connect() as connection:
        stored = [
            bytes(row[0]).hex() for row in connection.exec_driver_sql("SELECT id FROM answers")
        ]
    assert found == tally_responses([ids[each] for each in stored], DESIGN)
    assert crowd.wrong == []


def test_kill_the_server_under_load(url):
    """kill -9 at random moments: what was acknowledged is stored, once."""
    store, chance = Store(url), random.Random(1)
    survey, tokens = invited(store, 400 * KILLS)
    port = free_port()
    server = started(url, port)
    crowd = Crowd(f"http://127.0.0.1:{port}", survey, tokens)
    try:
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.05, 0.5))
            server.send_signal(signal.SIGKILL)
            server.wait()
            server = started(url, port)
        time.sleep(0.3)
    finally:
        crowd.end()
        server.send_signal(signal.SIGTERM)
        server.wait()
    assert len(crowd.acknowledged) > KILLS
    check_nothing_lost(store, survey, crowd)
    store.dispose()


def test_a_clock_that_jumps_moves_the_hour_alone(store, monkeypatch):
    from mdrr.server import accept

    survey, tokens = invited(store, 3)
    held = store.need(survey)
    for year, token in zip((1971, 2099, 2001), tokens, strict=True):

        class Jumped(accept.datetime):
            @classmethod
            def now(cls, zone=None, year=year):
                return cls(year, 1, 1, 5, tzinfo=zone)

        monkeypatch.setattr(accept, "datetime", Jumped)
        assert store.accept([answer(held, report(), token)]) == [Outcome.STORED]
    status = store.status(survey)
    assert status["answers"] == 3
    hours = [each["hour"] for each in status["arrivals"]]
    assert hours == ["1971-01-01T05:00Z", "2001-01-01T05:00Z", "2099-01-01T05:00Z"]


def test_a_full_disk_refuses_and_loses_nothing(url):
    """As its database reports a full disk; once there is room, answers are taken again."""
    with running(url) as (address, store):
        survey, tokens = invited(store, 600)
        with httpx.Client(base_url=f"{address}/api/surveys/{survey}", timeout=60) as client:
            kept = [(report(), token) for token in tokens]

            def send(made, token):
                return client.post("/answers", content=body(made, LENGTH, token)).status_code

            assert send(*kept[0]) == 201
            make_room = fill_disk(store)
            statuses = [send(*each) for each in kept]
            assert set(statuses) == {201, 503}
            assert statuses[0] == 201
            stored = [made for (made, _), s in zip(kept, statuses, strict=True) if s == 201]
            assert store.tally(store.need(survey).phase()) == tally_responses(stored, DESIGN)
            assert store.status(survey)["invitations"]["used"] == len(stored)
            make_room()
            assert {send(*each) for each in kept} == {201}
        assert store.tally(store.need(survey).phase()).n == len(kept)


def fill_disk(store):
    """Leave room for a few answers; gives what makes room again.

    SQLite may not enlarge its file, which it reports as it does a full disk. PostgreSQL raises the
    error that it has for a full disk.
    """
    if store.engine.dialect.name == "sqlite":
        limit = limit_pages(store, room=3)
        return lambda: limit(2**30)
    full = "RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'"
    with store.engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE FUNCTION extend() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            f"IF (SELECT count(*) FROM answers) > 30 THEN {full}; END IF; RETURN NEW; END $$"
        )
        connection.exec_driver_sql(
            "CREATE TRIGGER full_disk BEFORE INSERT ON answers FOR EACH ROW "
            "EXECUTE FUNCTION extend()"
        )

    def make_room():
        with store.engine.begin() as connection:
            connection.exec_driver_sql("DROP TRIGGER full_disk ON answers")

    return make_room


def limit_pages(store, room):
    """Let the file grow by a few pages only; gives how to set it otherwise."""
    most = None

    def begun(connection):
        connection.exec_driver_sql(f"PRAGMA max_page_count = {most}")

    def limit(pages):
        nonlocal most
        most = pages

    with store.engine.connect() as connection:
        limit(connection.exec_driver_sql("PRAGMA page_count").scalar_one() + room)
    sa.event.listen(store.engine, "begin", begun)
    return limit


def test_postgresql_restarts_under_load(cluster):
    url = cluster.new_database()
    with running(url) as (address, store):
        survey, tokens = invited(store, 2000 * max(1, KILLS // 20))
        crowd = Crowd(address, survey, tokens)
        try:
            for mode in ("immediate", "fast") * max(1, KILLS // 20):
                time.sleep(0.5)
                cluster.stop(mode)
                time.sleep(0.3)
                cluster.start()
            before = len(crowd.acknowledged)
            until = time.monotonic() + 60
            while len(crowd.acknowledged) < before + 50 and time.monotonic() < until:
                time.sleep(0.05)
            assert len(crowd.acknowledged) >= before + 50
        finally:
            crowd.end()
        check_nothing_lost(store, survey, crowd)


def test_a_backup_under_load_restores_to_the_same_estimate(url, tmp_path, request):
    """What was acknowledged before the backup began is in it, whole, and nothing is half there."""
    with running(url) as (address, store):
        survey, tokens = invited(store, 3000)
        crowd = Crowd(address, survey, tokens)
        try:
            while len(crowd.acknowledged) < 40:
                time.sleep(0.02)
            before = list(crowd.acknowledged)
            if url.startswith("sqlite"):
                restored = f"sqlite:///{tmp_path}/restored.db"
                with (
                    sqlite3.connect(tmp_path / "answers.db") as source,
                    sqlite3.connect(tmp_path / "restored.db") as target,
                ):
                    source.backup(target)
                source.close()
                target.close()
            else:
                cluster = request.getfixturevalue("cluster")
                restored = cluster.new_database()
                at = ("-h", "127.0.0.1", "-p", cluster.port, "-U", "mdrr")
                file = cluster.folder / f"dump{secrets.token_hex(4)}"
                name = url.rsplit("/", 1)[1]
                cluster.run("pg_dump", *at, "-Fc", "-f", file, name)
                cluster.run("pg_restore", *at, "-d", restored.rsplit("/", 1)[1], file)
        finally:
            crowd.end()
    copy = Store(restored)
    held = copy.need(survey)
    assert set(copy.accept([answer(held, made) for made in before])) == {Outcome.AGAIN}
    status, found = copy.status(survey), copy.tally(held.phase())
    assert found.n == status["answers"] == status["invitations"]["used"] >= len(before)
    sent = {made.id: made for made in crowd.sent}
    with copy.engine.connect() as connection:
        ids = [bytes(id).hex() for id in connection.execute(sa.select(answers.c.id)).scalars()]
    wanted = tally_responses([sent[id] for id in ids], DESIGN)
    assert found == wanted
    for method in ("product", "pairwise"):
        restored, known = estimate(found, DESIGN, method), estimate(wanted, DESIGN, method)
        for name in DESIGN.domain.names:
            assert restored.table(name).values == pytest.approx(known.table(name).values)
            assert restored.table(name).low == pytest.approx(known.table(name).low)
    copy.dispose()


def test_the_writer_turns_away_what_it_cannot_hold(sqlite_store):
    from mdrr.server.writer import UnavailableError, Writer

    async def crowded():
        survey, tokens = invited(sqlite_store, 3)
        held = sqlite_store.need(survey)
        writer = Writer(sqlite_store, waiting=2)
        with pytest.raises(UnavailableError):  # not started
            writer.submit(answer(held, report(), tokens[0]))
        writer.start(asyncio.get_running_loop())
        queued = [writer.submit(answer(held, report(), token)) for token in tokens[:2]]
        with pytest.raises(UnavailableError):
            writer.submit(answer(held, report(), tokens[2]))
        assert await asyncio.gather(*queued) == [Outcome.STORED] * 2
        last = writer.submit(answer(held, report(), tokens[2]))
        await writer.stop()  # after what waits is written
        assert last.result() == Outcome.STORED

    asyncio.run(crowded())


def test_two_servers_on_one_database(url):
    """Two processes take answers at once; the same answer sent to both counts once."""
    with running(url) as (one, store), running(url) as (two, _):
        survey, tokens = invited(store, 60)
        made = [(report(), token) for token in tokens]

        def send(address):
            with httpx.Client(base_url=f"{address}/api/surveys/{survey}", timeout=60) as client:
                for each, token in made:
                    reply = client.post("/answers", content=body(each, LENGTH, token))
                    statuses.append(reply.status_code)

        statuses: list[int] = []
        threads = [threading.Thread(target=send, args=(address,)) for address in (one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses == [201] * 120
        expected = tally_responses([each for each, _ in made], DESIGN)
        assert store.tally(store.need(survey).phase()) == expected
        assert store.status(survey)["answers"] == 60


def test_a_database_that_cannot_be_written_is_said(tmp_path):
    file = Path(tmp_path, "answers.db")
    file.write_bytes(b"this is no database" * 100)
    with pytest.raises(StoreError, match=r"cannot be opened.*Name another file"):
        Store(f"sqlite:///{file}")
    assert file.read_bytes() == b"this is no database" * 100
    with pytest.raises(StoreError, match=r"cannot be opened.*you may write there"):
        Store(f"sqlite:///{tmp_path}/no/such/folder/answers.db")
