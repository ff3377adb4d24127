"""Every run of the tests is the same: drawn examples too, on a fast machine and on a slow one."""

import gc
import os
import secrets
import ssl
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.chance import Recorded

HERE = Path(__file__).parent
settings.register_profile(
    "same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same")

# Reading the authorities that sign certificates takes every new client 40 ms, and there is nobody
# here whom they could vouch for.
ssl.create_default_context = cache(ssl.create_default_context)

SECONDS = {
    "engines/test_spark.py": 90,
    "statistical/test_coverage.py": 40,
    "cli/test_securesum.py": 40,
    "cli/test_batch.py": 25,
    "cli/test_documented.py": 25,
    "test_wheel.py": 25,
    "statistical/test_intervals.py": 20,
    "cli/test_collection.py": 20,
    "cli/test_tutorial.py": 20,
    "server/test_faults.py": 20,
    "server/test_fuzz.py": 20,
    "test_notebooks.py": 20,
}
"""About how long files take whose tests take long."""
WAITING = 12
"""And about how long each test in `faults` does, where most of the time everybody waits."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Each process begins with its share of what takes long, so that none ends alone with it.

    xdist gives every process as many tests, in their order; who has no more takes some from the end
    of another's. Spark's are together and first: no other process starts a cluster too.
    """
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    long: dict[str, list[pytest.Item]] = {}
    rest, seconds = [], dict[str, int]()
    for item in items:
        file = item.path.relative_to(HERE).as_posix() if HERE in item.path.parents else ""
        apart = file.startswith("faults/")
        if apart or file in SECONDS:
            key = item.nodeid if apart else file
            seconds[key] = WAITING if apart else SECONDS[file]
            long.setdefault(key, []).append(item)
        else:
            rest.append(item)
    shares: list[list[pytest.Item]] = [[] for _ in range(processes)]
    spent = [0] * processes
    for key in sorted(long, key=lambda key: -seconds[key]):
        least = spent.index(min(spent))
        shares[least] += long[key]
        spent[least] += seconds[key]
    left = len(items)
    for k, share in enumerate(shares):
        more = max(left // (processes - k) - len(share), 0)
        share += rest[:more]
        rest = rest[more:]
        left -= len(share)
    items[:] = [item for share in shares for item in share] + rest


def pytest_collection_finish() -> None:
    """Half a million objects of modules and tests stay: they need not be looked at for garbage."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def system(monkeypatch) -> Recorded:
    """The system's random bytes, known and recorded."""
    recorded = Recorded()
    monkeypatch.setattr(os, "urandom", recorded)
    monkeypatch.setattr(secrets, "token_bytes", recorded)
    return recorded
