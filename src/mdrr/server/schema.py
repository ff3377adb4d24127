"""The collector's and the relay's tables; how a database is opened, brought up to date, rewritten.

Nothing here says who answered, when, or in which order: an answer's key is the random number its
device made, an invitation is a hash and a flag, and arrivals are counted by the hour.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url

from mdrr.errors import MdrrError

MIGRATIONS = Path(__file__).with_name("migrations")
BUSY_SECONDS = 10
"""How long one process waits for another that writes to the same SQLite file."""

metadata = sa.MetaData()

surveys = sa.Table(
    "surveys",
    metadata,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("frozen", sa.Text, nullable=False),  # the frozen survey file
    sa.Column("state", sa.String(9), nullable=False),  # draft, open, closed, published
    sa.Column("phase", sa.Integer, nullable=False),  # the phase that is asked now: 1 or 2
    sa.Column("invitations", sa.String(8), nullable=False),  # none, required, blind
    sa.Column("owner", sa.LargeBinary(32), nullable=False),  # SHA-256 of the owner's token
    sa.Column("most", sa.BigInteger, nullable=False),  # answers a phase may have
    sa.Column("results", sa.Text),  # the published estimate
    sa.Column("open_data", sa.Boolean, nullable=False),  # whether the reports are published
    sa.Column("signing_key", sa.LargeBinary),  # private, of blind invitations, until it is closed
    sa.Column("blind_key", sa.LargeBinary),  # its public part
    sqlite_with_rowid=False,
)
phases = sa.Table(
    "phases",
    metadata,
    sa.Column("key", sa.Integer, primary_key=True),
    sa.Column("survey", sa.String(32), sa.ForeignKey("surveys.id"), nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("design", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.String(64), nullable=False),
    sa.UniqueConstraint("survey", "number", name="one_phase_of_a_number"),
)
answers = sa.Table(
    "answers",
    metadata,
    sa.Column("phase", sa.Integer, sa.ForeignKey("phases.key"), primary_key=True),
    sa.Column("id", sa.LargeBinary(16), primary_key=True),
    sa.Column("questionnaire", sa.Integer, nullable=False),
    sa.Column("codes", sa.Text, nullable=False),  # one whole number per cluster, comma between
    sqlite_with_rowid=False,
)
invitations = sa.Table(
    "invitations",
    metadata,
    sa.Column("survey", sa.String(32), sa.ForeignKey("surveys.id"), primary_key=True),
    sa.Column("hash", sa.LargeBinary(32), primary_key=True),
    sa.Column("used", sa.Boolean, nullable=False),
    sqlite_with_rowid=False,
)
arrivals = sa.Table(
    "arrivals",
    metadata,
    sa.Column("phase", sa.Integer, sa.ForeignKey("phases.key"), primary_key=True),
    sa.Column("hour", sa.String(13), primary_key=True),  # UTC, as 2026-11-16T07
    sa.Column("count", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
signed = sa.Table(  # blind invitations: what was signed once, so that a lost reply can be repeated
    "signed",
    metadata,
    sa.Column("survey", sa.String(32), primary_key=True),
    sa.Column("invitation", sa.LargeBinary(32), primary_key=True),
    sa.Column("blinded", sa.LargeBinary(32), nullable=False),  # a hash
    sa.ForeignKeyConstraint(["survey", "invitation"], ["invitations.survey", "invitations.hash"]),
    sqlite_with_rowid=False,
)
spent = sa.Table(  # blind invitations: the tokens that came with an answer
    "spent",
    metadata,
    sa.Column("survey", sa.String(32), sa.ForeignKey("surveys.id"), primary_key=True),
    sa.Column("hash", sa.LargeBinary(32), primary_key=True),
    sqlite_with_rowid=False,
)
runs = sa.Table(  # secure sums that this relay stores messages for
    "runs",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),  # digest of what the organiser signed
    sa.Column("document", sa.LargeBinary, nullable=False),  # the message that she signed
    sa.Column("reports", sa.BigInteger, nullable=False),  # how many came
    sa.Column("messages", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
rolls = sa.Table(  # hashes of credentials that others than the relay check
    "rolls",
    metadata,
    sa.Column("run", sa.String(64), sa.ForeignKey("runs.id"), primary_key=True),
    sa.Column("reader", sa.Integer, primary_key=True),
    sa.Column("data", sa.LargeBinary, nullable=False),
)
admissions = sa.Table(  # who may leave something here: hashes of credentials, each good for once
    "admissions",
    metadata,
    sa.Column("run", sa.String(64), sa.ForeignKey("runs.id"), primary_key=True),
    sa.Column("hash", sa.LargeBinary(32), primary_key=True),
    sa.Column("used", sa.LargeBinary(32)),  # SHA-256 of what was left
    sqlite_with_rowid=False,
)
sealed_reports = sa.Table(
    "sealed_reports",
    metadata,
    sa.Column("run", sa.String(64), sa.ForeignKey("runs.id"), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("id", sa.LargeBinary(16), nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
    sa.UniqueConstraint("run", "id", name="one_report_of_an_id"),
)
members = sa.Table(  # whose signed messages are taken, and how much of them still is
    "members",
    metadata,
    sa.Column("run", sa.String(64), sa.ForeignKey("runs.id"), primary_key=True),
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("key", sa.LargeBinary(32), nullable=False),
    sa.Column("messages", sa.BigInteger, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
messages = sa.Table(
    "messages",
    metadata,
    sa.Column("run", sa.String(64), sa.ForeignKey("runs.id"), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("topic", sa.String(40), nullable=False),
    sa.Column("sender", sa.String(64), nullable=False),
    sa.Column("recipient", sa.String(64), nullable=False),  # empty: for everybody
    sa.Column("data", sa.LargeBinary, nullable=False),
    sa.UniqueConstraint("run", "topic", "sender", "recipient", name="one_message_of_a_topic"),
    sa.Index("mailboxes", "run", "recipient", "number"),
)


class StoreError(MdrrError):
    """A database that cannot be used, or a step that a survey's state does not allow."""


def database_url(text: str) -> URL:
    """The URL of a database that the collector can use; a path is a SQLite file."""
    try:
        url = make_url(text if "://" in text else f"sqlite:///{text}")
    except sa.exc.ArgumentError:
        raise StoreError(
            "the database is a URL such as sqlite:///mdrr.db or postgresql://host/name"
        ) from None
    backend = url.get_backend_name()
    if backend in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise StoreError(f"the database is SQLite or PostgreSQL, not {backend}")
    if not url.database or url.database == ":memory:":
        raise StoreError("name a file for SQLite, as in sqlite:///mdrr.db: memory is not durable")
    return url


def masked(text: str) -> str:
    """A database's URL as it was given, without its password."""
    text = re.sub(r"(://[^:/@]*:)[^@]*@", r"\1***@", text)
    return re.sub(r"([?&]password=)[^&]*", r"\1***", text)


def database_file(text: str) -> Path | None:
    """The file of a SQLite database; None for others."""
    url = database_url(text)
    name = url.database or ""
    return Path(name) if url.get_backend_name() == "sqlite" and ":" not in name[:5] else None


def open_engine(text: str) -> sa.Engine:
    """An engine whose commits are durable, and whose errors and logs hold no values.

    A new SQLite file can be read by its owner alone, and so can the files that SQLite puts
    beside it: they get the permissions of the first.
    """
    url, file = database_url(text), database_file(text)
    engine = sa.create_engine(url, hide_parameters=True, pool_size=8, max_overflow=40)
    if file is not None:
        with suppress(OSError):  # it exists, or opening it will say why it cannot be made
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        _watch(engine, file.absolute())
    if url.get_backend_name() == "sqlite":
        sa.event.listen(engine, "connect", _connected)
        sa.event.listen(engine, "begin", _begun)
    return engine


def _watch(engine: sa.Engine, file: Path) -> None:
    """Let nothing be read or stored once the file that is open is not the one of that name.

    Otherwise answers would go on into a file that was deleted, and be gone with the process.
    """

    def identity() -> tuple[int, int] | None:
        try:
            found = os.stat(file)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    known: list[tuple[int, int] | None] = []

    def connected(*_: Any) -> None:
        if not known:
            known.append(identity())

    def check(_: Any) -> None:
        if identity() != known[0]:
            gone = f"{file} was moved or deleted while it was in use. Put it back, or stop here"
            raise sa.exc.OperationalError("", None, OSError(gone))

    sa.event.listen(engine, "connect", connected)
    sa.event.listen(engine, "begin", check)
    sa.event.listen(engine, "commit", check)


def why(error: BaseException) -> str | None:
    """What a database says of itself when it cannot work: no values are in it; None if unsure."""
    if not isinstance(error, sa.exc.OperationalError):
        return None
    return str(error.orig).strip().partition("\n")[0]


def _connected(connection: Any, _: Any) -> None:
    """WAL with a sync at every commit; what is deleted is overwritten with zeros."""
    connection.isolation_level = None  # transactions begin where _begun says
    for setting in (
        f"busy_timeout = {BUSY_SECONDS * 1000}",
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        "secure_delete = ON",
    ):
        connection.execute(f"PRAGMA {setting}")


@contextmanager
def writing(engine: sa.Engine) -> Iterator[sa.Connection]:
    """A transaction that takes the write lock first, so that it never fails half-way."""
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        yield connection


def _begun(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def migrate(engine: sa.Engine) -> None:
    """Make the tables of a new database; bring an old one up to date."""
    from alembic import command  # it takes as long as all else that a command loads
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    with writing(engine) as connection:
        if connection.dialect.name == "postgresql":  # two servers may start at once
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7239102)")
        config.attributes["connection"] = connection
        if sa.inspect(connection).has_table("alembic_version"):
            command.upgrade(config, "head")
        else:
            metadata.create_all(connection, checkfirst=False)
            command.stamp(config, "head")


def forget_order(engine: sa.Engine, survey: str) -> None:
    """Rewrite a survey's answers and invitations so that none shows in which order answers came.

    SQLite writes the whole file anew by key, and empties the log beside it. PostgreSQL stores
    the survey's rows again in random order, in one transaction, and rewrites the tables.
    """
    if engine.dialect.name == "sqlite":
        with closing(engine.raw_connection()) as pooled:
            raw: Any = pooled.driver_connection
            raw.execute("VACUUM")
            for _ in range(100):  # a reader may hold the log for a moment
                if not raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                    return
                time.sleep(0.05)
        raise StoreError(
            "the SQLite log could not be emptied: another program reads the database. "
            "Stop it and close the survey again"
        )
    parts = (
        (answers, answers.c.phase.in_(sa.select(phases.c.key).where(phases.c.survey == survey))),
        (spent, spent.c.survey == survey),
        (signed, signed.c.survey == survey),
        (invitations, invitations.c.survey == survey),
    )
    names = ", ".join(table.name for table, _ in parts)
    with writing(engine) as connection:
        # Whoever comes now waits, and does not find that an invitation is gone.
        connection.exec_driver_sql(f"LOCK TABLE {names} IN ACCESS EXCLUSIVE MODE")
        for table, mine in parts:
            rows = sa.select(table).where(mine).order_by(sa.func.random())
            made = rows.compile(connection, compile_kwargs={"literal_binds": True})
            connection.exec_driver_sql(
                f"CREATE TEMPORARY TABLE shuffled_{table.name} ON COMMIT DROP AS "
                + str(made).replace("%", "%%")
            )
            connection.execute(sa.delete(table).where(mine))
        for table, _ in reversed(parts):
            connection.exec_driver_sql(
                f"INSERT INTO {table.name} SELECT * FROM shuffled_{table.name}"
            )
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as c:
        c.exec_driver_sql(f"VACUUM (FULL) {names}, surveys")
