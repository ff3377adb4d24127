"""Group commit: answers that come while one batch is written become the next one.

One thread writes. An answer is acknowledged after the commit that holds it, so after it is on disk.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import sqlalchemy as sa

from mdrr.server.accept import Answer, Outcome
from mdrr.server.schema import why
from mdrr.server.store import Store

log = logging.getLogger("mdrr.server")

MOST = 512
"""Answers in one transaction."""
GATHER = 0.004
"""Seconds for which a batch waits for more answers: a sync costs as much for one as for many."""
PAUSES = (0.1, 0.4, 1.0, 2.0)
"""Seconds between attempts while a database server is away."""
DISK_FULL = "53100"
"""What PostgreSQL calls it."""

_Waiting = tuple[Answer, "asyncio.Future[Outcome]"]


class UnavailableError(Exception):
    """The database could not store an answer; the same answer may be sent again."""


class Writer:
    """Stores answers in a thread of its own; everything else of it belongs to the event loop.

    So many answers may be `waiting` at once; more are turned away.
    """

    def __init__(self, store: Store, *, waiting: int = 10_000) -> None:
        self._store = store
        self._most_waiting = waiting
        self._waiting: list[_Waiting] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="mdrr-writer")
        self._task: asyncio.Task[None] | None = None
        self.batches = 0
        self.failures = 0
        self._trouble: str | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start to write for an event loop."""
        self._loop = loop

    async def stop(self) -> None:
        """Write what waits, then end."""
        self._loop = None
        if self._task is not None:
            await self._task
        self._thread.shutdown()

    @property
    def waiting(self) -> int:
        """How many answers wait."""
        return len(self._waiting)

    def submit(self, answer: Answer) -> asyncio.Future[Outcome]:
        """Queue an answer; its outcome comes after the commit."""
        if self._loop is None or len(self._waiting) >= self._most_waiting:
            raise UnavailableError
        outcome: asyncio.Future[Outcome] = self._loop.create_future()
        self._waiting.append((answer, outcome))
        if self._task is None:
            self._task = self._loop.create_task(self._write_all())
        return outcome

    async def _write_all(self) -> None:
        """Write batch after batch until nothing waits."""
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                await asyncio.sleep(GATHER)
                batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
                answers = [answer for answer, _ in batch]
                outcomes: Sequence[Outcome | None] = [None] * len(batch)
                try:
                    outcomes = await loop.run_in_executor(self._thread, self._accept, answers)
                    self.batches += 1
                    self._say(None)
                except Exception as error:  # whatever it is, nobody may wait for ever
                    self.failures += 1
                    self._say(why(error) or type(error).__name__)
                for (_, future), outcome in zip(batch, outcomes, strict=True):
                    if future.done():  # its client went away
                        continue
                    if outcome is None:
                        future.set_exception(UnavailableError())
                    else:
                        future.set_result(outcome)
        finally:
            self._task = None

    def _say(self, trouble: str | None) -> None:
        """Log why answers are not stored, once, and when they are again."""
        if trouble == self._trouble:
            return
        self._trouble = trouble
        if trouble is None:
            log.warning("answers are stored again")
        else:
            log.error("answers are not stored", extra={"fields": {"why": trouble}})

    def _accept(self, answers: list[Answer]) -> list[Outcome]:
        for pause in PAUSES:
            try:
                return self._store.accept(answers)
            except sa.exc.OperationalError as error:
                # A database server that restarts comes back; a full disk must be said at once.
                # Sending again is safe: what the lost commit stored is found under its id.
                full = getattr(error.orig, "sqlstate", None) == DISK_FULL
                if full or self._store.engine.dialect.name == "sqlite":
                    raise
                time.sleep(pause)
        return self._store.accept(answers)
