"""The experiments of section 6, run again on the real data, beside what the paper prints."""

from __future__ import annotations

from mdrr.reproduction.claims import check
from mdrr.reproduction.outcome import TARGETS, Outcome, reproduce
from mdrr.reproduction.settings import Settings
from mdrr.reproduction.verdict import Claim

__all__ = ["TARGETS", "Claim", "Outcome", "Settings", "check", "reproduce"]
