"""Run units in processes; what comes out does not depend on how many there are."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing, contextmanager
from multiprocessing import get_context
from typing import Protocol

from mdrr.errors import MdrrError
from mdrr.reproduction.settings import Settings
from mdrr.reproduction.store import Store
from mdrr.reproduction.unit import Errors, Unit, measure


class Progress(Protocol):
    """Told after every unit how many runs are done, and of how many."""

    def __call__(self, done: int, total: int, /) -> None:
        """Show it."""
        ...


Job = tuple[Settings, Store, list[Unit]]
"""Units to run under some settings, and where they are kept."""


def run(jobs: list[Job], *, workers: int | None = None, progress: Progress | None = None) -> None:
    """Run what the stores do not hold yet.

    Interrupted, it loses only the units that are running; called again, it does the rest.

    Arguments:
        jobs: settings, store and units.
        workers: processes; as many as there are cores by default. With 1, none is started.
        progress: told how far it is.
    """
    workers = (os.cpu_count() or 1) if workers is None else workers
    if workers < 1:
        raise MdrrError(f"workers={workers}: at least one process must do the work")
    todo = [(settings, store, unit) for settings, store, wanted in jobs
            for unit in dict.fromkeys(store.missing(wanted))]  # fmt: skip
    total = sum(_runs(wanted) for _, _, wanted in jobs)
    done = total - _missing(jobs)
    report = progress or (lambda done, total: None)
    report(done, total)
    try:
        with closing(_results(todo, min(workers, len(todo)))) as found:
            for store, unit, errors in found:
                store.add(unit, errors)
                done += _runs([unit])
                report(done, total)
    except KeyboardInterrupt:
        for _, store, _ in jobs:
            store.read()  # it may have come between writing a unit and counting it
        report(total - _missing(jobs), total)
        raise


def _runs(listed: list[Unit]) -> int:
    return sum(unit.stop - unit.start for unit in listed)


def _missing(jobs: list[Job]) -> int:
    return sum(_runs(store.missing(wanted)) for _, store, wanted in jobs)


def _results(
    todo: list[tuple[Settings, Store, Unit]], workers: int
) -> Generator[tuple[Store, Unit, Errors], None, None]:
    if workers <= 1:
        for settings, store, unit in todo:
            yield store, unit, measure(unit, settings)
        return
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_leave_ctrl_c)
    try:
        with _later():  # workers are started here, and what is held back stays so in them
            futures = {pool.submit(measure, unit, settings): (store, unit)
                       for settings, store, unit in todo}  # fmt: skip
        for future in as_completed(futures):
            store, unit = futures.pop(future)
            yield store, unit, future.result()
    finally:
        with _later():  # a second Ctrl-C must not cut off the wait for what is running
            pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _later() -> Iterator[None]:
    """Hold Ctrl-C back until this is done."""
    if not hasattr(signal, "pthread_sigmask"):  # not on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _leave_ctrl_c() -> None:
    """The parent decides what an interruption means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
