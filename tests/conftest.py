"""Every run of the tests is the same: drawn examples too, on a fast machine and on a slow one."""

import os
import secrets
import ssl
from functools import cache

import pytest
from hypothesis import HealthCheck, settings

from tests.chance import Recorded

settings.register_profile(
    "same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same")

# Reading the authorities that sign certificates takes every new client 40 ms, and there is nobody
# here whom they could vouch for.
ssl.create_default_context = cache(ssl.create_default_context)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spark first: later another process would take some of its tests and start a cluster too."""
    items.sort(key=lambda item: "engines" not in item.path.parts)


@pytest.fixture
def system(monkeypatch) -> Recorded:
    """The system's random bytes, known and recorded."""
    recorded = Recorded()
    monkeypatch.setattr(os, "urandom", recorded)
    monkeypatch.setattr(secrets, "token_bytes", recorded)
    return recorded
