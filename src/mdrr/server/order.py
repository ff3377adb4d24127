"""The order in which answers came, and how it is forgotten: in the database and in downloads."""

from __future__ import annotations

import secrets
import time
from contextlib import closing
from typing import Any

import numpy as np
import sqlalchemy as sa

from mdrr.randomizer import Batch, Reports
from mdrr.server.held import Held
from mdrr.server.schema import StoreError, answers, invitations, signed, spent, writing
from mdrr.tallies import Tally


def forget_order(engine: sa.Engine, held: Held) -> None:
    """Rewrite answers and invitations so that none shows in which order answers came.

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
    keys = [phase.key for phase in held.phases]
    parts = (
        (answers, answers.c.phase.in_(keys)),
        (spent, spent.c.survey == held.id),
        (signed, signed.c.survey == held.id),
        (invitations, invitations.c.survey == held.id),
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


def shuffled(tally: Tally) -> Reports:
    """Every report of a tally of all reports, in random order."""
    rows = np.random.default_rng(secrets.randbits(128)).permutation(tally.n)
    batches, before = [], 0
    for group in tally.groups:
        codes = tuple(np.repeat(column, group.counts) for column in group.codes)
        batches.append(Batch(rows[before : before + group.n], codes))
        before += group.n
    return Reports(tally.fingerprint, tally.n, tuple(batches))
