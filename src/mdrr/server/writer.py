"""Group commit: answers that come while one batch is written become the next one.

One thread writes. An answer is acknowledged after the commit that holds it, so after it is on disk.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Sequence

import sqlalchemy as sa

from mdrr.server.accept import Answer, Outcome
from mdrr.server.store import Store

MOST = 512
"""Answers in one transaction."""
GATHER = 0.01
"""Seconds for which a batch may wait for more answers."""
PAUSES = (0.1, 0.4, 1.0, 2.0)
"""Seconds between attempts while a database server is away."""

_Waiting = tuple[Answer, "asyncio.Future[Outcome]"]


class UnavailableError(Exception):
    """The database could not store an answer; the same answer may be sent again."""


class Writer:
    """The thread that stores answers.

    Arguments:
        store: where to.
        waiting: answers that may wait at once; more are turned away.
    """

    def __init__(self, store: Store, *, waiting: int = 10_000) -> None:
        self._store = store
        self._most_waiting = waiting
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="mdrr-writer", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self.batches = 0
        self.failures = 0

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start to write for an event loop."""
        self._loop = loop
        self._thread.start()

    def stop(self) -> None:
        """Write what waits, then end."""
        self._queue.put(None)
        self._thread.join()

    @property
    def waiting(self) -> int:
        """How many answers wait."""
        return self._queue.qsize()

    def submit(self, answer: Answer) -> asyncio.Future[Outcome]:
        """Queue an answer; its outcome comes after the commit."""
        if self._loop is None or self.waiting >= self._most_waiting:
            raise UnavailableError
        outcome: asyncio.Future[Outcome] = self._loop.create_future()
        self._queue.put((answer, outcome))
        return outcome

    def _run(self) -> None:
        while (first := self._queue.get()) is not None:
            batch, last = [first], False
            self._gather()
            while len(batch) < MOST and not last:
                try:
                    following = self._queue.get_nowait()
                except queue.Empty:
                    break
                if following is None:
                    last = True
                else:
                    batch.append(following)
            self._write(batch)
            if last:
                return

    def _gather(self) -> None:
        """Wait as long as more answers come, for at most GATHER seconds: syncs are what costs."""
        until, before = time.monotonic() + GATHER, -1
        while before < (now := self.waiting) < MOST and time.monotonic() < until:
            before = now
            time.sleep(GATHER / 10)

    def _write(self, batch: list[_Waiting]) -> None:
        assert self._loop is not None
        outcomes: Sequence[Outcome] | None = None
        try:
            outcomes = self._accept([answer for answer, _ in batch])
            self.batches += 1
        except Exception:  # whatever it is, nobody may wait for ever
            self.failures += 1
        futures = [future for _, future in batch]
        try:
            self._loop.call_soon_threadsafe(_resolve, futures, outcomes)
        except RuntimeError:  # the loop has ended, and nobody waits
            return

    def _accept(self, answers: list[Answer]) -> list[Outcome]:
        for pause in PAUSES:
            try:
                return self._store.accept(answers)
            except sa.exc.OperationalError:
                # A database server that restarts comes back; a full disk must be said at once.
                # Sending again is safe: what the lost commit stored is found under its id.
                if self._store.engine.dialect.name == "sqlite":
                    raise
                time.sleep(pause)
        return self._store.accept(answers)


def _resolve(futures: list[asyncio.Future[Outcome]], outcomes: Sequence[Outcome] | None) -> None:
    for i, future in enumerate(futures):
        if future.done():  # its client went away
            continue
        if outcomes is None:
            future.set_exception(UnavailableError())
        else:
            future.set_result(outcomes[i])
