"""Every run of the tests is the same: drawn examples too, on a fast machine and on a slow one."""

import os
import secrets

import pytest
from hypothesis import HealthCheck, settings

from tests.chance import Recorded

settings.register_profile(
    "same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same")


@pytest.fixture
def system(monkeypatch) -> Recorded:
    """The system's random bytes, known and recorded."""
    recorded = Recorded()
    monkeypatch.setattr(os, "urandom", recorded)
    monkeypatch.setattr(secrets, "token_bytes", recorded)
    return recorded
