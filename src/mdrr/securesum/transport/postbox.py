"""What a relay stores, in its database: SQLite or PostgreSQL, tables and engine of the collector.

A `Run` of it is a `Post` and a `Mail` in this process; `service` puts it behind HTTP.

It believes nobody and is believed by nobody. A report is taken from who shows a credential of the
relay's roll, once, and has the one length that reports of its batch have. A message is taken from a
member of the run, signed, once a topic, within the member's quotas of messages and bytes. Work for
each is the same however many came before. Whatever was acknowledged is on disk.
"""

from __future__ import annotations

import hashlib
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

from mdrr.errors import ProtocolError
from mdrr.securesum.admission import CREDENTIAL, hashed
from mdrr.securesum.batch import Batch, Folder, read_signed
from mdrr.securesum.keys import name_of
from mdrr.securesum.members import read_join
from mdrr.securesum.message import Message
from mdrr.securesum.opening import DIGEST, JOB
from mdrr.securesum.person import SealedReport
from mdrr.securesum.post import topic_of
from mdrr.securesum.prio3.scheme import NONCE
from mdrr.securesum.signed import Roster, Terms
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
    writing,
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
        self.engine, self.clock = open_engine(url), clock
        self.kept: dict[str, Run] = {}
        migrate(self.engine)

    def dispose(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def open(self, folder: Folder) -> None:
        """Make room for a batch or a small group; nothing happens if there is room already."""
        signed, run = read_signed(folder.message), folder.message.run
        count, _, size = quotas(signed)
        if isinstance(signed, Batch):
            listed = [(one.signing, count) for one in signed.aggregators]
        else:  # the others are listed when they join
            listed = [(signed.organiser, 2)]
        with writing(self.engine) as db:
            if db.execute(sa.select(runs.c.id).filter_by(id=run)).first() is not None:
                return
            fresh = {"id": run, "document": folder.message.to_json(), "reports": 0, "messages": 0}
            db.execute(sa.insert(runs).values(fresh))
            admitted = (_entry(folder.rolls[0], k) for k in range(signed.people))
            db.execute(sa.insert(admissions), [{"run": run, "hash": one} for one in admitted])
            for reader, data in enumerate(folder.rolls):
                db.execute(sa.insert(rolls).values(run=run, reader=reader, data=data))
            for key, most in listed:
                _admit(db, run, key, most, size)

    def runs(self) -> list[Batch | Terms]:
        """What all runs are about."""
        found = _rows(self.engine, sa.select(runs.c.document).order_by(runs.c.id))
        return [read_signed(Message.from_json(bytes(row.document))) for row in found]

    def at(self, run: str) -> Run:
        """A run by its digest; read once."""
        if run not in self.kept:
            found = _rows(self.engine, sa.select(runs.c.document).filter_by(id=run))
            if not found:
                raise ProtocolError("this relay has no such run. Is the address complete?")
            self.kept[run] = Run(self, Message.from_json(bytes(found[0].document)))
        return self.kept[run]


class Run:
    """One run at a relay.

    Arguments:
        box: the relay's database.
        message: what the organiser signed.
    """

    def __init__(self, box: Postbox, message: Message) -> None:
        self._engine, self._clock, self._message = box.engine, box.clock, message
        self.id, self.signed = message.run, read_signed(message)
        self._roster_digest: str | None = None
        self._admitted = self.roll(0)

    def close(self) -> None:
        """Nothing: the database stays open."""

    def document(self) -> Message:
        """What the organiser signed."""
        return self._message

    @property
    def batch(self) -> Batch:
        """What the run is about, if it has aggregators."""
        if not isinstance(self.signed, Batch):
            raise ProtocolError("this run is a small group's; it takes no reports")
        return self.signed

    @property
    def terms(self) -> Terms:
        """What the run is about, if it is a small group's."""
        if not isinstance(self.signed, Terms):
            raise ProtocolError("this run is a batch; nobody joins it")
        return self.signed

    def roll(self, reader: int, /) -> bytes:
        """A roll: 0 is the relay's own."""
        asked = sa.select(rolls.c.data).filter_by(run=self.id, reader=reader)
        found = _rows(self._engine, asked)
        if not found:
            raise ProtocolError("this relay has no such roll")
        return bytes(found[0].data)

    def check(self, credential: bytes) -> None:
        """Refuse a credential that is not on the relay's roll, which is in memory."""
        roll, mark = self._admitted, hashed(credential)
        at = bisect_left(range(len(roll) // CREDENTIAL), mark, key=lambda k: _entry(roll, k))
        if _entry(roll, at) != mark:
            raise ProtocolError(
                "this invitation is not on the relay's roll for this batch or group"
            )

    def upload(self, report: SealedReport, /) -> None:
        """Store a report."""
        [refused] = self.upload_all([report])
        if refused is not None:
            raise refused

    def upload_all(self, reports: Sequence[SealedReport]) -> list[ProtocolError | None]:
        """Store reports in one transaction; returns why each was refused, or None.

        What was acknowledged is durable. The same report again is acknowledged again.
        """
        batch = self.batch
        found: list[ProtocolError | None] = []
        with writing(self._engine) as db:
            count, _ = self._lock(db)
            for report in reports:
                try:
                    count += self._store(db, batch, report, count + 1)
                    found.append(None)
                except ProtocolError as error:
                    found.append(error)
            db.execute(sa.update(runs).filter_by(id=self.id).values(reports=count))
        return found

    def _store(self, db: sa.Connection, batch: Batch, report: SealedReport, number: int) -> bool:
        """Store one report, unless it is here; whether it is new."""
        if len(report.id) != NONCE or len(report.data) != batch.report_bytes:
            raise ProtocolError(f"a report of this batch has {batch.report_bytes} bytes")
        left = hashlib.sha256(report.id + report.data).digest()
        if self._is_spent(db, report.credential, left, "another report"):
            return False
        if self._clock() >= batch.closes:
            raise ProtocolError(f"this batch closed on {batch.closing}; nothing was reported")
        same = sa.select(sealed_reports.c.number).filter_by(run=self.id, id=report.id)
        if db.execute(same).first():
            raise ProtocolError("another report has this id. Start again with a new --state")
        row = {"run": self.id, "number": number, "id": report.id, "data": report.data}
        db.execute(sa.insert(sealed_reports).values(row))
        self._spend(db, report.credential, left)
        return True

    def _is_spent(self, db: sa.Connection, credential: bytes, left: bytes, what: str) -> bool:
        """Whether an invitation was used to leave the very same; an error if to leave another."""
        self.check(credential)
        one = sa.select(admissions.c.used).filter_by(run=self.id, hash=hashed(credential))
        used = db.execute(one).scalar_one()
        if used is not None and bytes(used) != left:
            raise ProtocolError(f"this invitation was used already, with {what}")
        return used is not None

    def _spend(self, db: sa.Connection, credential: bytes, left: bytes) -> None:
        one = sa.update(admissions).filter_by(run=self.id, hash=hashed(credential))
        db.execute(one.values(used=left))

    def _lock(self, db: sa.Connection) -> tuple[int, int]:
        """How many reports and messages there are; nobody adds to them until this one is done."""
        db.execute(sa.update(runs).filter_by(id=self.id).values(messages=runs.c.messages))
        asked = sa.select(runs.c.reports, runs.c.messages).filter_by(id=self.id)
        reports, said = db.execute(asked).one()
        return reports, said

    def arrivals(self, after: int, limit: int, /) -> list[bytes]:
        """Ids of reports in the order of arrival, from one number on."""
        c = sealed_reports.c
        some = c.number.between(after + 1, after + min(limit, MOST_IDS))
        asked = sa.select(c.id).filter_by(run=self.id).where(some).order_by(c.number)
        return [bytes(row.id) for row in _rows(self._engine, asked)]

    def parts(self, request: Message, /) -> dict[bytes, bytes]:
        """Public share and own sealed part of the reports that an aggregator asks for."""
        batch = self.batch
        if request.kind != "fetch" or request.run != self.id or request.sender not in batch.ids:
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
        wanted = sa.select(c.id, head, tail).filter_by(run=self.id).where(c.id.in_(ids))
        found = _rows(self._engine, wanted)
        return {bytes(one): bytes(first) + bytes(own) for one, first, own in found}

    def join(self, shown: bytes, message: Message, /) -> None:
        """Take a party into a run, once for each invitation; from then on she may say things."""
        public = read_join(message, self.terms).public
        left = hashlib.sha256(message.to_json()).digest()
        count, _, size = quotas(self.terms)
        with writing(self._engine) as db:
            _, number = self._lock(db)
            if self._is_spent(db, shown, left, "other keys"):
                return
            if self._clock() >= self.terms.closes:
                raise ProtocolError(f"this group closed on {self.terms.closing}; nobody can join")
            if self._member(db, public.id) is not None:
                raise ProtocolError("these keys joined already, with another invitation")
            _admit(db, self.id, public.signing, count, size)
            self._spend(db, shown, left)
            self._keep(db, message, number + 1)

    def _member(self, db: sa.Connection, name: str) -> sa.Row[Any] | None:
        return db.execute(sa.select(members).filter_by(run=self.id, id=name)).first()

    def _keep(self, db: sa.Connection, message: Message, number: int) -> None:
        row = {"run": self.id, "number": number, "topic": topic_of(message)}
        sent = {"sender": message.sender, "recipient": message.to or "", "data": message.to_json()}
        db.execute(sa.insert(messages).values({**row, **sent}))
        db.execute(sa.update(runs).filter_by(id=self.id).values(messages=number))

    def say(self, *said: Message) -> None:
        """Store signed messages of members, each once a topic and recipient; all of them or none.

        What was acknowledged is durable.
        """
        with writing(self._engine) as db:
            _, number = self._lock(db)
            for message in said:
                number += self._take(db, message, number + 1)

    def _take(self, db: sa.Connection, message: Message, number: int) -> bool:
        """Store one message, unless it is here; whether it is new."""
        data, topic, to = message.to_json(), topic_of(message), message.to or ""
        if len(topic) > 40:
            raise ProtocolError("a message with a number that no run reaches")
        member = self._member(db, message.sender)
        known = message.run == self.id or message.run == self._roster(db)
        if not known or member is None or not message.signed_by(bytes(member.key)):
            raise ProtocolError("a message that nobody in this run signed")
        same = {"run": self.id, "topic": topic, "sender": message.sender, "recipient": to}
        kept = db.execute(sa.select(messages.c.data).filter_by(**same)).scalar()
        if kept is not None and bytes(kept) == data:
            return False
        if kept is not None:
            raise ProtocolError(f"a second, different message on '{topic}' of one sender")
        if member.messages < 1 or member.bytes < len(data):
            raise ProtocolError("one sender's messages exceed what this run needs")
        left = {"messages": member.messages - 1, "bytes": member.bytes - len(data)}
        db.execute(sa.update(members).filter_by(run=self.id, id=message.sender).values(left))
        self._keep(db, message, number)
        return True

    def _roster(self, db: sa.Connection) -> str | None:
        """Digest of the roster of a small group, to which its members' messages belong."""
        if self._roster_digest is None and isinstance(self.signed, Terms):
            said = {"run": self.id, "topic": "roster", "sender": name_of(self.signed.organiser)}
            found = db.execute(sa.select(messages.c.data).filter_by(**said)).scalar()
            if found is not None:
                roster = Roster.read(Message.from_json(bytes(found)), self.signed)
                self._roster_digest = roster.digest
        return self._roster_digest

    def mail(self, recipient: str, after: int, /) -> tuple[list[Message], int]:
        """What came since a mark, read."""
        found, mark = self.mail_bytes(recipient, after)
        return [Message.from_json(data) for data in found], mark

    def mail_bytes(self, recipient: str, after: int) -> tuple[list[bytes], int]:
        """What came for everybody or for one recipient after a mark, a page; and the next mark."""
        c = messages.c
        hers = c.recipient.in_(("", recipient)) & (c.number > after)
        asked = sa.select(c.number, c.data).filter_by(run=self.id).where(hers).order_by(c.number)
        found = _rows(self._engine, asked.limit(max(1, PAGE // self.terms.share_bytes)))
        return [bytes(row.data) for row in found], found[-1].number if found else after

    def hear(self, topic: str, /) -> list[Message]:
        """All messages on a topic that are for everybody, read."""
        return [Message.from_json(data) for data in self.hear_bytes(topic)]

    def hear_bytes(self, topic: str) -> list[bytes]:
        """All messages on a topic that are for everybody."""
        asked = sa.select(messages.c.data).filter_by(run=self.id, topic=topic, recipient="")
        found = _rows(self._engine, asked.order_by(messages.c.number))
        return [bytes(row.data) for row in found]


def _admit(db: sa.Connection, run: str, key: bytes, count: int, size: int) -> None:
    """List a member of a run by her signing key, with how much she may leave."""
    row = {"run": run, "id": name_of(key), "key": key, "messages": count, "bytes": size}
    db.execute(sa.insert(members).values(row))


def _rows(engine: sa.Engine, query: sa.Executable) -> Sequence[Any]:
    with engine.connect() as db:
        return db.execute(query).all()


def _entry(roll: bytes, k: int) -> bytes:
    return roll[k * CREDENTIAL : (k + 1) * CREDENTIAL]
