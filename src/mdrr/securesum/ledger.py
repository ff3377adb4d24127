"""What an aggregator must not forget when it crashes, on disk, in one SQLite file.

The ledger holds accepted reports as they came (sealed; only this aggregator's key opens them),
which set the batch was closed with, and the one opening it ever gave. It holds no answer, no
opened share, and nothing of other aggregators' shares. Once a batch is opened or aborted its
reports are wiped, from SQLite's write-ahead log too. Every change is one transaction, so a crash
leaves the state before or after it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from mdrr.errors import ProtocolError
from mdrr.securesum.history import check_apart
from mdrr.securesum.person import Part


class Ledger(Protocol):
    """Durable notes of one aggregator."""

    def add(self, batch: str, part: Part, /) -> None:
        """Keep an accepted report."""
        ...

    def parts(self, batch: str, /) -> Iterator[Part]:
        """The accepted reports of a batch, in the order of their arrival."""
        ...

    def note(self, batch: str, name: str, value: bytes, /) -> None:
        """Keep a message this aggregator is about to send; never overwritten."""
        ...

    def noted(self, batch: str, name: str, /) -> bytes | None:
        """The message kept under that name."""
        ...

    def groups(self) -> Iterable[frozenset[str]]:
        """The groups opened before, over all batches."""
        ...

    def unfinished(self) -> Iterable[frozenset[str]]:
        """None: an aggregator cannot ask people for the same answers again."""
        ...

    def remember(self, group: frozenset[str], /) -> None:
        """Note a group before its total is opened."""
        ...

    def note_opening(
        self, batch: str, group: frozenset[str], value: bytes, /, apart: int = 0
    ) -> None:
        """Keep an opening and its group and wipe the reports, all or nothing, before it is sent.

        Refuses a group that differs from an opened one by fewer than `apart` people.
        """
        ...

    def note_abort(self, batch: str, value: bytes, /) -> None:
        """Keep why a batch ended without a total, and wipe its reports, all or nothing."""
        ...


_SCHEMA = """
create table if not exists report (
    batch text not null, person text not null, report text not null, sealed blob not null,
    primary key (batch, person)
);
create table if not exists note (
    batch text not null, name text not null, value blob not null, primary key (batch, name)
);
create table if not exists opened (id integer primary key, people text not null);
"""


class SqliteLedger:
    """A ledger in an SQLite file, or in memory for simulation.

    Arguments:
        path: the file, or ":memory:".

    Example:
        >>> ledger = SqliteLedger(":memory:")
        >>> ledger.note("b", "close", b"{}")
        >>> ledger.noted("b", "close")
        b'{}'
    """

    def __init__(self, path: Path | str) -> None:
        try:
            if str(path) != ":memory:":
                Path(path).touch(mode=0o600)  # who reported is nobody else's business
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._db.execute("pragma journal_mode = wal")
            self._db.execute("pragma synchronous = full")
            self._db.execute("pragma secure_delete = on")
            self._db.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            raise ProtocolError(f"{path} is not a ledger of an aggregator: {error}") from None

    def add(self, batch: str, part: Part, /) -> None:
        """Keep an accepted report; after `begin` it is durable at the next `commit`."""
        self._db.execute(
            "insert into report values (?, ?, ?, ?)",
            (batch, part.person, part.report, part.sealed),
        )

    def begin(self) -> None:
        """Gather the next additions into one transaction."""
        self._db.execute("begin immediate")

    def commit(self) -> None:
        """Make what was gathered durable."""
        if self._db.in_transaction:
            self._db.execute("commit")

    def parts(self, batch: str, /) -> Iterator[Part]:
        """The accepted reports of a batch, in the order of their arrival."""
        rows = self._db.execute(
            "select person, report, sealed from report where batch = ? order by rowid", (batch,)
        )
        for person, report, sealed in rows:
            yield Part(person, report, sealed)

    def note(self, batch: str, name: str, value: bytes, /) -> None:
        """Keep a message this aggregator is about to send; never overwritten."""
        try:
            self._db.execute("insert into note values (?, ?, ?)", (batch, name, value))
        except sqlite3.IntegrityError:
            raise ProtocolError(f"the {name} of this batch was given already") from None

    def noted(self, batch: str, name: str, /) -> bytes | None:
        """The message kept under that name."""
        row = self._db.execute(
            "select value from note where batch = ? and name = ?", (batch, name)
        ).fetchone()
        return None if row is None else bytes(row[0])

    def groups(self) -> Iterable[frozenset[str]]:
        """The groups opened before, over all batches."""
        rows = self._db.execute("select people from opened order by id").fetchall()
        return tuple(frozenset(people.split()) for (people,) in rows)

    def unfinished(self) -> Iterable[frozenset[str]]:
        """None: an aggregator cannot ask people for the same answers again."""
        return ()

    def remember(self, group: frozenset[str], /) -> None:
        """Note a group before its total is opened."""
        self._db.execute("insert into opened (people) values (?)", (" ".join(sorted(group)),))

    def note_opening(
        self, batch: str, group: frozenset[str], value: bytes, /, apart: int = 0
    ) -> None:
        """Look at earlier groups, keep the opening, wipe the reports, in one transaction."""
        with self._wiping(batch):
            check_apart(self, group, apart)
            self.remember(group)
            self.note(batch, "opening", value)

    def note_abort(self, batch: str, value: bytes, /) -> None:
        """Keep why the batch ended, wipe the reports, in one transaction."""
        with self._wiping(batch):
            self.note(batch, "abort", value)

    @contextmanager
    def _wiping(self, batch: str) -> Iterator[None]:
        """One transaction that also deletes a batch's reports, then nothing is left of them."""
        self.commit()
        self.begin()
        try:
            yield
            self._db.execute("delete from report where batch = ?", (batch,))
        except BaseException:
            self._db.execute("rollback")
            raise
        self.commit()
        self._db.execute("pragma wal_checkpoint(truncate)")  # the log still has what was inserted

    def close(self) -> None:
        """Close the file."""
        self._db.close()
