"""What an aggregator must not forget when it is killed, in one SQLite file of its own.

Offers with their secret keys; for each batch the verify key, the running sum of its shares, which
reports were counted or refused, and the messages it is about to send. Every change is one
transaction, so a crash leaves the state before or after it. Once a batch is opened or aborted its
keys, shares and credentials are wiped, from SQLite's write-ahead log too; the batch and what the
aggregator signed at its end stay.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from mdrr.errors import ProtocolError
from mdrr.securesum.private import make_folder, refuse_if_others_read

COPIED = (
    "run that too, then give up what is in it: add --abort REASON to your 'mdrr securesum "
    "aggregate' for batches, and --withdraw to your 'mdrr securesum offer' for offers"
)
_SCHEMA = """
create table if not exists offer (
    sealing blob primary key, secret blob, batch text unique
);
create table if not exists note (
    batch text, name text, value blob not null, primary key (batch, name)
);
create table if not exists progress (
    batch text primary key, verify_key blob not null, jobs integer not null, ended integer not null,
    chain text not null, total blob
);
create table if not exists report (
    batch text, id blob, code integer not null, credential blob, primary key (batch, id)
);
create unique index if not exists once on report (batch, credential);
"""


@dataclass(frozen=True)
class Progress:
    """How far an aggregator is in a batch.

    Arguments:
        verify_key: shared by the aggregators.
        jobs: how many jobs are done.
        ended: whether the last of them was the last job.
        chain: digest of the last job that was done.
        total: its aggregate share so far.
    """

    verify_key: bytes
    jobs: int = 0
    ended: bool = False
    chain: str = ""
    total: bytes | None = None


@dataclass(frozen=True)
class Seen:
    """What became of one report: 0 if it counts, otherwise why not; and the credential it spent."""

    id: bytes
    code: int
    credential: bytes | None


class Ledger:
    """The notes of one aggregator, in a file, or in memory for simulation.

    Arguments:
        path: the file, or ":memory:".

    Example:
        >>> ledger = Ledger(":memory:")
        >>> ledger.note("b", "ready", b"{}")
        >>> ledger.noted("b", "ready")
        b'{}'
    """

    def __init__(self, path: Path | str) -> None:
        try:
            if str(path) != ":memory:":
                make_folder(Path(path).parent)
                Path(path).touch(mode=0o600)
                for file in (Path(path), Path(f"{path}-wal")):
                    with suppress(FileNotFoundError):
                        refuse_if_others_read(file, COPIED)
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._db.execute("pragma journal_mode = wal")
            self._db.execute("pragma synchronous = full")
            self._db.execute("pragma secure_delete = on")
            self._db.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            raise ProtocolError(f"{path} is not a ledger of an aggregator: {error}") from None

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def _whole(self) -> Iterator[None]:
        self._db.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._db.execute("rollback")
            raise
        self._db.execute("commit")

    def offer(self, sealing: bytes, secret: bytes) -> None:
        """Keep the secret key of an offer before the offer leaves."""
        self._db.execute("insert into offer values (?, ?, null)", (sealing, secret))

    def withdraw(self) -> int:
        """Wipe the offers that no batch has used; how many they were."""
        gone = self._db.execute("delete from offer where batch is null").rowcount
        self.wipe()
        return gone

    def secret(self, sealing: bytes, batch: str) -> bytes | None:
        """The secret key of an offer, which from now on belongs to this batch; None once wiped."""
        with self._whole():
            row = self._db.execute(
                "select secret, batch from offer where sealing = ?", (sealing,)
            ).fetchone()
            if row is None:
                raise ProtocolError(
                    "the batch names an offer that is not in this folder, or was withdrawn. Use "
                    "the --state that the offer was made with. If it was withdrawn, add --abort "
                    "REASON, so that people may answer elsewhere"
                )
            if row[1] not in (None, batch):
                raise ProtocolError(
                    f"this offer was used for batch {row[1][:16]}… already. Keys serve one batch: "
                    "add --abort REASON here, make a new offer, and let the organiser sign a new "
                    "batch"
                )
            self._db.execute("update offer set batch = ? where sealing = ?", (batch, sealing))
        return None if row[0] is None else bytes(row[0])

    def note(self, batch: str, name: str, value: bytes) -> None:
        """Keep a message before it is sent; never overwritten."""
        try:
            self._db.execute("insert into note values (?, ?, ?)", (batch, name, value))
        except sqlite3.IntegrityError:
            raise ProtocolError(f"the {name} of this batch was given already") from None

    def noted(self, batch: str, name: str) -> bytes | None:
        """The message kept under that name."""
        row = self._db.execute(
            "select value from note where batch = ? and name = ?", (batch, name)
        ).fetchone()
        return None if row is None else bytes(row[0])

    def begin(self, batch: str, verify_key: bytes, notes: Mapping[str, bytes]) -> None:
        """Keep the verify key, and what is said about it."""
        with self._whole():
            self._db.execute(
                "insert into progress values (?, ?, 0, 0, ?, null)", (batch, verify_key, batch)
            )
            for name, value in notes.items():
                self.note(batch, name, value)

    def progress(self, batch: str) -> Progress | None:
        """How far it is; None before the verify key is known."""
        row = self._db.execute(
            "select verify_key, jobs, ended, chain, total from progress where batch = ?", (batch,)
        ).fetchone()
        return None if row is None else Progress(row[0], row[1], bool(row[2]), row[3], row[4])

    def commit(self, batch: str, done: Progress, seen: Iterable[Seen]) -> None:
        """Keep what one job gave, all or nothing."""
        with self._whole():
            self._db.executemany(
                "insert into report values (?, ?, ?, ?)",
                [(batch, one.id, one.code, one.credential) for one in seen],
            )
            self._db.execute(
                "update progress set jobs = ?, ended = ?, chain = ?, total = ? where batch = ?",
                (done.jobs, done.ended, done.chain, done.total, batch),
            )
            self._db.execute(
                "delete from note where batch = ? and name in ('job', 'verify')", (batch,)
            )

    def seen(self, batch: str, ids: Iterable[bytes]) -> set[bytes]:
        """Which of these reports were in an earlier job."""
        return self._among(batch, "id", ids)

    def spent(self, batch: str, credentials: Iterable[bytes]) -> set[bytes]:
        """Which of these credentials came with an earlier report."""
        return self._among(batch, "credential", credentials)

    def _among(self, batch: str, column: str, values: Iterable[bytes]) -> set[bytes]:
        query = f"select 1 from report where batch = ? and {column} = ?"
        return {v for v in values if self._db.execute(query, (batch, v)).fetchone() is not None}

    def reports(self, batch: str) -> int:
        """How many reports were looked at."""
        query = "select count(*) from report where batch = ?"
        return int(self._db.execute(query, (batch,)).fetchone()[0])

    def counted(self, batch: str) -> list[bytes]:
        """Ids of the reports that count, sorted."""
        query = "select id from report where batch = ? and code = 0 order by id"
        return [bytes(row[0]) for row in self._db.execute(query, (batch,))]

    def refused(self, batch: str) -> dict[int, int]:
        """How many reports were refused, by reason."""
        query = "select code, count(*) from report where batch = ? and code > 0 group by code"
        return dict(self._db.execute(query, (batch,)).fetchall())

    def end(self, batch: str, name: str, value: bytes) -> None:
        """Keep the result or the abort and wipe all else but the batch itself, all or nothing."""
        with self._whole():
            if self.noted(batch, "result") or self.noted(batch, "abort"):
                raise ProtocolError("this batch has ended already")
            self._db.execute("delete from note where batch = ? and name != 'batch'", (batch,))
            self.note(batch, name, value)
            self._db.execute("update offer set secret = null where batch = ?", (batch,))
            self._db.execute("delete from progress where batch = ?", (batch,))
            self._db.execute("delete from report where batch = ?", (batch,))
        self.wipe()

    def wipe(self) -> None:
        """Empty the write-ahead log, which still has what was deleted."""
        busy, *_ = self._db.execute("pragma wal_checkpoint(truncate)").fetchone()
        if busy:
            raise ProtocolError(
                "another program reads the ledger, so deleted keys are still in its log. Nothing "
                "was said. Close that program and give this command again"
            )
