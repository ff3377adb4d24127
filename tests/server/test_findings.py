"""The thread of estimates: one at a time, and nobody waits for it when the server stops."""

import asyncio
import threading

import pytest

from mdrr.server.findings import Findings
from mdrr.server.store import Store


@pytest.fixture
def findings(tmp_path):
    store = Store(f"sqlite:///{tmp_path}/answers.db")
    yield Findings(store)
    store.dispose()


def test_work_is_done_in_order_and_errors_reach_whoever_asked(findings):
    async def ask():
        first = findings.compute(lambda: threading.current_thread().name)
        second = findings.compute(divmod, 7, 0)
        return await asyncio.gather(first, second, return_exceptions=True)

    name, error = asyncio.run(ask())
    assert name == "mdrr-estimate"
    assert isinstance(error, ZeroDivisionError)


def test_stopping_does_not_wait_for_an_estimate_and_gives_up_those_that_wait(findings):
    begun, end, done = threading.Event(), threading.Event(), []

    def slow():
        begun.set()
        end.wait(60)
        done.append("slow")

    async def ask():
        running = asyncio.create_task(findings.compute(slow))
        waiting = asyncio.create_task(findings.compute(done.append, "waiting"))
        await asyncio.to_thread(begun.wait, 60)
        findings.stop()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert done == []
        end.set()
        await running

    asyncio.run(ask())
    assert done == ["slow"]
