"""What an audit found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Part = Literal["exact", "empirical", "provenance"]

MOST_LISTED = 5
"""So many findings of one check are written out."""


@dataclass(frozen=True)
class Check:
    """One part of the audit, of one randomizer under one design.

    Arguments:
        part: "exact", "empirical" or "provenance".
        randomizer: "single", "bulk", "browser" or "spark".
        passed: whether nothing wrong was found; None if it was not audited.
        looked_at: what was looked at, in words; why not, if it was not.
        findings: what is wrong.
        epsilon: exact: ε of the integers counted; empirical: the lower bound on ε; else None.
        tests: how many bounds and G-tests the confidence is shared by.
    """

    part: Part
    randomizer: str
    passed: bool | None
    looked_at: str
    findings: tuple[str, ...] = ()
    epsilon: float | None = None
    tests: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The check as JSON-ready values; an infinite ε is null."""
        finite = self.epsilon is not None and math.isfinite(self.epsilon)
        return {
            "part": self.part,
            "randomizer": self.randomizer,
            "passed": self.passed,
            "epsilon": self.epsilon if finite else None,
            "looked_at": self.looked_at,
            "findings": list(self.findings),
            "tests": self.tests,
        }


@dataclass(frozen=True)
class Audited:
    """A design and what was found of it; `epsilon` is what the design claims."""

    name: str
    fingerprint: str
    epsilon: float
    public: tuple[str, ...]
    checks: tuple[Check, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {
            "name": self.name,
            "fingerprint": self.fingerprint,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "public": list(self.public),
            "checks": [check.to_dict() for check in self.checks],
        }


@dataclass(frozen=True)
class Planted:
    """A fault that was planted on purpose: which part must find it, and how often it did."""

    fault: str
    part: Part
    randomizer: str
    runs: int
    found: int
    power: float
    """A lower bound on the chance of finding it, with confidence 95 %; 1 where nothing is drawn."""

    @property
    def sound(self) -> bool:
        """Whether nothing was planted, to show that nothing is found then."""
        return self.fault == SOUND

    @property
    def passed(self) -> bool:
        """A fault is found in four runs of five at least; a sound randomizer in one at most."""
        if self.sound:
            return self.found <= 1
        return 5 * self.found >= 4 * self.runs

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {**vars(self), "passed": self.passed}


SOUND = "none: the randomizer as shipped"


@dataclass(frozen=True)
class Audit:
    """What an audit found: of each design, of the random bytes' origin, of planted faults.

    `passed` says that nothing wrong was found, `complete` that all that was asked for was audited.
    """

    version: str
    day: str
    n: int
    confidence: float
    platform: Mapping[str, str]
    designs: tuple[Audited, ...]
    provenance: tuple[Check, ...]
    planted: tuple[Planted, ...] = ()

    @property
    def checks(self) -> tuple[Check, ...]:
        """All checks."""
        return (*(c for audited in self.designs for c in audited.checks), *self.provenance)

    @property
    def passed(self) -> bool:
        """Nothing wrong was found, and every planted fault was."""
        return not any(c.passed is False for c in self.checks) and all(
            planted.passed for planted in self.planted
        )

    @property
    def complete(self) -> bool:
        """All that was asked for was audited."""
        return all(check.passed is not None for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """The audit as JSON-ready values."""
        return {
            "version": self.version,
            "day": self.day,
            "n": self.n,
            "confidence": self.confidence,
            "platform": dict(self.platform),
            "passed": self.passed,
            "complete": self.complete,
            "designs": [audited.to_dict() for audited in self.designs],
            "provenance": [check.to_dict() for check in self.provenance],
            "self_test": [planted.to_dict() for planted in self.planted],
        }

    def certificate(self, path: str | Path) -> Path:
        """Write the audit as one self-contained HTML page, and give its path."""
        from mdrr.auditing.certificate import certificate

        return certificate(self, path)
