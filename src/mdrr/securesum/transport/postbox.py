"""What a relay stores, in its database: SQLite or PostgreSQL, tables and engine of the collector.

It believes nobody and is believed by nobody. A report is taken from who shows a credential of the
relay's roll, once, and has the one length that reports of its batch have. A message is taken from a
member of the run, signed, once a topic, within the member's quotas of messages and bytes. Work for
each is the same however many came before. Whatever was acknowledged is on disk.
"""

from __future__ import annotations

import hashlib
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from mdrr.errors import ProtocolError
from mdrr.securesum.admission import CREDENTIAL, hashed
from mdrr.securesum.batch import Batch
from mdrr.securesum.folder import Folder, read_signed
from mdrr.securesum.keys import name_of
from mdrr.securesum.message import Message
from mdrr.securesum.opening import DIGEST, JOB
from mdrr.securesum.organiser import read_join
from mdrr.securesum.person import SealedReport
from mdrr.securesum.post import topic_of
from mdrr.securesum.prio3.scheme import NONCE
from mdrr.securesum.roster import Roster
from mdrr.securesum.terms import Terms
from mdrr.securesum.wire import Fields
from mdrr.server.schema import (
    admissions,
    members,
    messages,
    migrate,
    open_engine,
    rolls,
    runs,
    sealed_reports,
)

MOST_IDS = 10_000
"""Ids of reports that are listed at once."""
PAGE = 4_000_000
"""About how many bytes of messages are handed out at once."""


def quotas(batch: Batch | Terms) -> tuple[int, int, int]:
    """How many messages one member may leave, how long one request may be, and all together."""
    if isinstance(batch, Terms):  # a party sends all her shares in one request
        size = 8_000 + batch.people * (batch.share_bytes + 1_000)
        return batch.people + 4, size, size
    jobs = batch.people // JOB + 3
    sizes = batch.prio3.sizes
    job = 2_000 + 2 * JOB * (NONCE + 1 + sizes.verifier_share + DIGEST)
    longest = max(job, 4_000 + 2 * (NONCE * batch.people + sizes.aggregate_share))
    return 2 * jobs + 4, longest, jobs * job + 2 * longest


class Postbox:
    """The database of a relay.

    Arguments:
        url: SQLite or PostgreSQL; it is made ready if it is new.
        clock: seconds since 1970.
    """

    def __init__(self, url: str, *, clock: Callable[[], float] = time.time) -> None:
        self._engine = open_engine(url)
        self._clock = clock
        self._rolls: dict[str, bytes] = {}
        self._signed: dict[str, Batch | Terms] = {}
        self._rosters: dict[str, str] = {}
        migrate(self._engine)

    def dispose(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        with self._engine.connect().execution_options(writes=True) as found, found.begin():
            yield found

    def open(self, folder: Folder) -> None:
        """Make room for a batch or a small group; nothing happens if there is room already."""
        signed, run = read_signed(folder.message), folder.message.run
        count, _, size = quotas(signed)
        if isinstance(signed, Batch):
            listed = [(one.signing, count) for one in signed.aggregators]
        else:  # the others are listed when they join
            listed = [(signed.organiser, 2)]
        with self._writing() as db:
            if self._document(db, run) is not None:
                return
            fresh = {"id": run, "document": folder.message.to_json(), "reports": 0, "messages": 0}
            db.execute(sa.insert(runs).values(fresh))
            admitted = (_entry(folder.rolls[0], k) for k in range(signed.people))
            db.execute(sa.insert(admissions), [{"run": run, "hash": one} for one in admitted])
            for reader, data in enumerate(folder.rolls):
                db.execute(sa.insert(rolls).values(run=run, reader=reader, data=data))
            for key, most in listed:
                self._admit(db, run, key, most, size)

    def _admit(self, db: sa.Connection, run: str, key: bytes, count: int, size: int) -> None:
        """List a member of a run by her signing key, with how much she may leave."""
        row = {"run": run, "id": name_of(key), "key": key, "messages": count, "bytes": size}
        db.execute(sa.insert(members).values(row))

    def runs(self) -> list[str]:
        """The digests of all runs."""
        with self._engine.connect() as db:
            return [row.id for row in db.execute(sa.select(runs.c.id).order_by(runs.c.id))]

    def document(self, run: str) -> Message:
        """What the organiser signed."""
        with self._engine.connect() as db:
            found = self._document(db, run)
        if found is None:
            raise ProtocolError("this relay has no such run. Is the address complete?")
        return Message.from_json(found)

    def _document(self, db: sa.Connection, run: str) -> bytes | None:
        found = db.execute(sa.select(runs.c.document).where(runs.c.id == run)).scalar()
        return None if found is None else bytes(found)

    def signed(self, run: str) -> Batch | Terms:
        """What a run is about, read once."""
        if run not in self._signed:
            self._signed[run] = read_signed(self.document(run))
        return self._signed[run]

    def batch(self, run: str) -> Batch:
        """The batch of a run."""
        found = self.signed(run)
        if not isinstance(found, Batch):
            raise ProtocolError("this run is a small group's; it takes no reports")
        return found

    def terms(self, run: str) -> Terms:
        """The terms of a small group's run."""
        found = self.signed(run)
        if not isinstance(found, Terms):
            raise ProtocolError("this run is a batch; nobody joins it")
        return found

    def roll(self, run: str, reader: int) -> bytes:
        """A roll: 0 is the relay's own."""
        where = (rolls.c.run == run) & (rolls.c.reader == reader)
        with self._engine.connect() as db:
            found = db.execute(sa.select(rolls.c.data).where(where)).scalar()
        if found is None:
            raise ProtocolError("this relay has no such roll")
        return bytes(found)

    def admits(self, run: str, credential: bytes) -> bool:
        """Whether a credential is on the relay's roll: looked up in memory, once the roll is."""
        if run not in self._rolls:
            self._rolls[run] = self.roll(run, 0)
        roll, mark = self._rolls[run], hashed(credential)
        at = bisect_left(range(len(roll) // CREDENTIAL), mark, key=lambda k: _entry(roll, k))
        return _entry(roll, at) == mark

    def _admission(self, db: sa.Connection, run: str, credential: bytes) -> bytes | None:
        where = (admissions.c.run == run) & (admissions.c.hash == hashed(credential))
        found = db.execute(sa.select(admissions.c.used).where(where)).first()
        if found is None:
            raise ProtocolError("this invitation is not on the relay's roll for this batch")
        return None if found.used is None else bytes(found.used)

    def upload(self, run: str, reports: Sequence[SealedReport]) -> list[ProtocolError | None]:
        """Store reports in one transaction; returns why each was refused, or None.

        What was acknowledged is durable. The same report again is acknowledged again.
        """
        batch = self.batch(run)
        found: list[ProtocolError | None] = []
        with self._writing() as db:
            count, _ = self._lock(db, run)
            for report in reports:
                try:
                    count += self._store(db, batch, report, count + 1)
                    found.append(None)
                except ProtocolError as error:
                    found.append(error)
            db.execute(sa.update(runs).where(runs.c.id == run).values(reports=count))
        return found

    def _store(self, db: sa.Connection, batch: Batch, report: SealedReport, number: int) -> bool:
        """Store one report, unless it is here; whether it is new."""
        run, mark = batch.digest, hashed(report.credential)
        if len(report.id) != NONCE or len(report.data) != batch.report_bytes:
            raise ProtocolError(f"a report of this batch has {batch.report_bytes} bytes")
        used = self._admission(db, run, report.credential)
        left = hashlib.sha256(report.id + report.data).digest()
        if used == left:
            return False
        if used is not None:
            raise ProtocolError("this invitation was used already, with another report")
        if self._clock() >= batch.closes:
            raise ProtocolError(f"this batch closed on {batch.closing}; nothing was reported")
        c = sealed_reports.c
        if db.execute(sa.select(c.number).where((c.run == run) & (c.id == report.id))).first():
            raise ProtocolError("another report has this id. Start again with a new --state")
        row = {"run": run, "number": number, "id": report.id, "data": report.data}
        db.execute(sa.insert(sealed_reports).values(row))
        where = (admissions.c.run == run) & (admissions.c.hash == mark)
        db.execute(sa.update(admissions).where(where).values(used=left))
        return True

    def _lock(self, db: sa.Connection, run: str) -> tuple[int, int]:
        """How many reports and messages a run has; nobody adds to it until this one is done."""
        here = runs.c.id == run
        db.execute(sa.update(runs).where(here).values(messages=runs.c.messages))
        found = db.execute(sa.select(runs.c.reports, runs.c.messages).where(here)).first()
        if found is None:
            raise ProtocolError("this relay has no such run. Is the address complete?")
        return found.reports, found.messages

    def arrivals(self, run: str, after: int, limit: int) -> list[bytes]:
        """Ids of reports in the order of arrival, from one number on."""
        c = sealed_reports.c
        where = (c.run == run) & (c.number > after) & (c.number <= after + min(limit, MOST_IDS))
        with self._engine.connect() as db:
            found = db.execute(sa.select(c.id).where(where).order_by(c.number))
            return [bytes(row.id) for row in found]

    def parts(self, run: str, request: Message) -> dict[bytes, bytes]:
        """Public share and own sealed part of the reports that an aggregator asks for."""
        batch = self.batch(run)
        if request.kind != "fetch" or request.run != run or request.sender not in batch.ids:
            raise ProtocolError("reports are handed to the aggregators of their batch alone")
        position = batch.ids.index(request.sender)
        if not request.signed_by(batch.aggregators[position].signing):
            raise ProtocolError("a request that the aggregator it names did not sign")
        with Fields(request.body, "a request") as read:
            asked = read.data("ids")
        ids = [asked[at : at + NONCE] for at in range(0, len(asked), NONCE)]
        if len(ids) > JOB:
            raise ProtocolError(f"a request for more than {JOB} reports")
        public = batch.prio3.sizes.public_share
        start = public + sum(batch.part_bytes[:position])
        c = sealed_reports.c
        head = sa.func.substr(c.data, 1, public)
        tail = sa.func.substr(c.data, start + 1, batch.part_bytes[position])
        where = (c.run == run) & c.id.in_(ids)
        with self._engine.connect() as db:
            found = db.execute(sa.select(c.id, head, tail).where(where))
            return {bytes(row[0]): bytes(row[1]) + bytes(row[2]) for row in found}

    def join(self, run: str, shown: bytes, message: Message) -> None:
        """Take a party into a run, once for each invitation; from then on she may say things."""
        terms = self.terms(run)
        public = read_join(message, terms).public
        left = hashlib.sha256(message.to_json()).digest()
        count, _, size = quotas(terms)
        with self._writing() as db:
            _, number = self._lock(db, run)
            used = self._admission(db, run, shown)
            if used == left:
                return
            if used is not None:
                raise ProtocolError("this invitation was used already, with other keys")
            if self._clock() >= terms.closes:
                raise ProtocolError(f"this group closed on {terms.closing}; nobody can join")
            if self._member(db, run, public.id) is not None:
                raise ProtocolError("these keys joined already, with another invitation")
            self._admit(db, run, public.signing, count, size)
            where = (admissions.c.run == run) & (admissions.c.hash == hashed(shown))
            db.execute(sa.update(admissions).where(where).values(used=left))
            self._keep(db, run, message, number + 1)

    def _member(self, db: sa.Connection, run: str, name: str) -> sa.Row[Any] | None:
        here = (members.c.run == run) & (members.c.id == name)
        return db.execute(sa.select(members).where(here)).first()

    def _keep(self, db: sa.Connection, run: str, message: Message, number: int) -> None:
        row = {"run": run, "number": number, "topic": topic_of(message), "sender": message.sender}
        more = {"recipient": message.to or "", "data": message.to_json()}
        db.execute(sa.insert(messages).values({**row, **more}))
        db.execute(sa.update(runs).where(runs.c.id == run).values(messages=number))

    def say(self, run: str, *said: Message) -> None:
        """Store signed messages of members, each once a topic and recipient; all of them or none.

        What was acknowledged is durable.
        """
        with self._writing() as db:
            _, number = self._lock(db, run)
            for message in said:
                number += self._take(db, run, message, number + 1)

    def _take(self, db: sa.Connection, run: str, message: Message, number: int) -> bool:
        """Store one message, unless it is here; whether it is new."""
        data, topic, to = message.to_json(), topic_of(message), message.to or ""
        if len(topic) > 40:
            raise ProtocolError("a message with a number that no run reaches")
        member = self._member(db, run, message.sender)
        known = message.run == run or message.run == self._roster(db, run)
        if not known or member is None or not message.signed_by(bytes(member.key)):
            raise ProtocolError("a message that nobody in this run signed")
        c = messages.c
        same = (c.run == run) & (c.topic == topic) & (c.sender == message.sender)
        kept = db.execute(sa.select(c.data).where(same & (c.recipient == to))).scalar()
        if kept is not None and bytes(kept) == data:
            return False
        if kept is not None:
            raise ProtocolError(f"a second, different message on '{topic}' of one sender")
        if member.messages < 1 or member.bytes < len(data):
            raise ProtocolError("one sender's messages exceed what this run needs")
        left = {"messages": member.messages - 1, "bytes": member.bytes - len(data)}
        here = (members.c.run == run) & (members.c.id == message.sender)
        db.execute(sa.update(members).where(here).values(left))
        self._keep(db, run, message, number)
        return True

    def _roster(self, db: sa.Connection, run: str) -> str | None:
        """Digest of the roster of a small group, to which its members' messages belong."""
        signed = self.signed(run)
        if run not in self._rosters and isinstance(signed, Terms):
            leader = messages.c.sender == name_of(signed.organiser)
            where = (messages.c.run == run) & (messages.c.topic == "roster") & leader
            found = db.execute(sa.select(messages.c.data).where(where)).scalar()
            if found is not None:
                self._rosters[run] = Roster.read(Message.from_json(bytes(found)), signed).digest
        return self._rosters.get(run)

    def mail(self, run: str, recipient: str, after: int) -> tuple[list[bytes], int]:
        """What came for everybody or for one recipient after a mark, a page; and the next mark."""
        c = messages.c
        where = (c.run == run) & c.recipient.in_(("", recipient)) & (c.number > after)
        rows = max(1, PAGE // self.terms(run).share_bytes)
        with self._engine.connect() as db:
            asked = sa.select(c.number, c.data).where(where).order_by(c.number).limit(rows)
            found = db.execute(asked).all()
        return [bytes(row.data) for row in found], found[-1].number if found else after

    def hear(self, run: str, topic: str) -> list[bytes]:
        """All messages on a topic that are for everybody."""
        c = messages.c
        where = (c.run == run) & (c.topic == topic) & (c.recipient == "")
        with self._engine.connect() as db:
            found = db.execute(sa.select(c.data).where(where).order_by(c.number))
            return [bytes(row.data) for row in found]


def _entry(roll: bytes, k: int) -> bytes:
    return roll[k * CREDENTIAL : (k + 1) * CREDENTIAL]
