"""After a survey is closed, the database's files do not show in which order answers came."""

import hashlib
import secrets
from dataclasses import replace
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from mdrr.response import Report
from mdrr.server.accept import Outcome
from mdrr.server.blind import new_signing_key
from mdrr.server.store import Store, token_hash
from tests.server.cases import answer, frozen, report

N = 200


def filled(store):
    """A survey whose answers came one by one, each with an invitation; in the order they came."""
    survey = frozen()
    store.create(survey, invitations="required")
    store.open(survey.id)
    held = store.need(survey.id)
    tokens = store.invite(survey.id, N)
    made = report()
    came = []
    for token in tokens:
        each = Report(made.fingerprint, 0, made.codes, secrets.token_hex(16))
        store.accept([answer(held, each, token)])
        came.append(bytes.fromhex(each.id))
    return survey.id, came


def trend(places):
    """The rank correlation of the order of arrival with the places of storage."""
    ranks = np.argsort(np.argsort(places))
    return float(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1])


LEAST = 4.5 / np.sqrt(N)
"""Chance exceeds it less than once in 100,000 times: the correlation has variance 1 / (N - 1)."""


def test_postgresql_keeps_the_order_until_a_survey_is_closed(cluster):
    store = Store(cluster.new_database())
    survey, came = filled(store)

    def read():
        query = "SELECT id, ctid::text, xmin::text FROM answers ORDER BY age(xmin) DESC"
        with store.engine.connect() as connection:
            found = {bytes(row.id): row for row in connection.execute(sa.text(query))}
            used = connection.execute(sa.text("SELECT xmin::text FROM invitations")).scalars().all()
        places = []
        for id in came:
            page, line = found[id].ctid.strip("()").split(",")
            places.append(int(page) * 10_000 + int(line))
        return trend(places), list(found), {row.xmin for row in found.values()}, set(used)

    order, aged, stored, used = read()
    assert order > 0.99  # the heap is in the order of arrival
    assert aged == came  # and so are the numbers of transactions
    assert len(stored & used) == N  # which join answers with invitations
    store.close(survey)
    order, _, stored, used = read()
    assert abs(order) < LEAST
    assert len(stored) == len(used) == 1
    heap = b"".join(file.read_bytes() for file in heap_files(store, cluster))
    assert all(heap.count(id) == 1 for id in came)
    assert abs(trend([heap.index(id) for id in came])) < LEAST
    store.dispose()


def test_the_log_of_postgresql_keeps_the_order_even_after_closing(cluster):
    """Until PostgreSQL writes over it: docs/threats.md says so, and this is what it says."""
    store = Store(cluster.new_database())
    survey, came = filled(store)

    def logged():
        files = sorted(path for path in (cluster.data / "pg_wal").iterdir() if path.is_file())
        log = b"".join(path.read_bytes() for path in files)
        return trend([log.index(id) for id in came])

    assert logged() > 0.99
    store.close(survey)
    assert logged() > 0.99
    store.dispose()


def test_blind_invitations_share_no_transaction_with_an_answer(cluster):
    """So not even an open survey's rows join the two; the order of each is there to be read."""
    from mdrr.server.sign import claim

    store, survey = Store(cluster.new_database()), frozen()
    store.create(survey, invitations="blind", signing_key=new_signing_key())
    store.open(survey.id)
    held = store.need(survey.id)
    tokens, came = store.invite(survey.id, 20), []
    for number, token in enumerate(tokens):
        claim(store.engine, survey.id, token_hash(token), b"%d" % number)
    for number in range(20):
        made = report()
        spent = hashlib.sha256(b"%d" % number).digest()
        sent = replace(answer(held, made), invitation=spent)
        assert store.accept([sent]) == [Outcome.STORED]
        came.append(bytes.fromhex(made.id))
    with store.engine.connect() as connection:
        numbers = {
            table: set(connection.execute(sa.text(f"SELECT xmin::text FROM {table}")).scalars())
            for table in ("answers", "spent", "invitations", "signed")
        }
    assert numbers["answers"] == numbers["spent"]
    assert not numbers["answers"] & (numbers["invitations"] | numbers["signed"])
    store.dispose()


def heap_files(store, cluster):
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("CHECKPOINT"))
        path = connection.execute(sa.text("SELECT pg_relation_filepath('answers')")).scalar_one()
    return sorted(Path(cluster.data, path).parent.glob(f"{Path(path).name}*"))[:1]


def test_sqlite_keeps_no_order_once_a_survey_is_closed(sqlite_store, tmp_path):
    """Within a page SQLite appends, and its log is in order of time: closing rewrites both."""
    survey, came = filled(sqlite_store)
    log = (tmp_path / "answers.db-wal").read_bytes()
    assert trend([log.find(id) for id in came]) > LEAST
    sqlite_store.close(survey)
    assert (tmp_path / "answers.db-wal").stat().st_size == 0
    file = (tmp_path / "answers.db").read_bytes()
    assert all(file.count(id) == 1 for id in came)
    assert abs(trend([file.index(id) for id in came])) < LEAST
    # The layout is a function of the ids alone: on each page they stand in their own order.
    with sqlite_store.engine.connect() as connection:
        size = connection.exec_driver_sql("PRAGMA page_size").scalar_one()
    pages: dict[int, list[tuple[int, bytes]]] = {}
    for id in came:
        place = file.index(id)
        pages.setdefault(place // size, []).append((place, id))
    for content in pages.values():
        ids = [id for _, id in sorted(content)]
        assert ids in (sorted(ids), sorted(ids, reverse=True))


def test_starting_the_second_phase_rewrites_the_first(sqlite_store, tmp_path):
    from tests.server.cases import SAMPLED

    survey, came = filled(sqlite_store)
    sqlite_store.start_phase(survey, SAMPLED)
    assert (tmp_path / "answers.db-wal").stat().st_size == 0
    file = (tmp_path / "answers.db").read_bytes()
    assert abs(trend([file.index(id) for id in came])) < LEAST
