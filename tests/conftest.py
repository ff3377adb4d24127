"""Every run of the tests is the same: drawn examples too, on a fast machine and on a slow one."""

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


LONGEST = [
    *("engines", "faults", "statistical", "test_wheel.py", "test_notebooks.py", "cli", "browser"),
    *("server", "securesum", "estimation", "benchmarks", "reporting"),
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first, so that no process is left alone with it at the end.

    Spark before all: later another process would take some of its tests and start a cluster too.
    Then those that wait for others to give up, while other processes work.
    """

    def place(item: pytest.Item) -> int:
        name = item.path.relative_to(HERE).parts[0] if HERE in item.path.parents else ""
        return LONGEST.index(name) if name in LONGEST else len(LONGEST)

    items.sort(key=place)


@pytest.fixture
def system(monkeypatch) -> Recorded:
    """The system's random bytes, known and recorded."""
    recorded = Recorded()
    monkeypatch.setattr(os, "urandom", recorded)
    monkeypatch.setattr(secrets, "token_bytes", recorded)
    return recorded
