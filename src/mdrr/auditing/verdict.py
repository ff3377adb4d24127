"""What an audit found: as values, in words, and as a certificate, one HTML page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from mdrr.files import write_text

Part = Literal["exact", "empirical", "provenance"]

NAMES = {
    "single": "one record, Python",
    "bulk": "many records, Python",
    "browser": "respondent page, JavaScript",
    "spark": "Apache Spark",
}
PARTS = {
    "exact": "integers counted",
    "empirical": "reports sampled",
    "provenance": "random bytes observed",
}
NO_PROOF = (
    "A bound from samples cannot prove that ε is kept. It can only disprove it. A fault that is "
    "rarer than the samples can show is left to the counted integers."
)
WEAK = "A bound far below the claim says little. More reports make it stronger."
SOUND = "none: the randomizer as shipped"

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
        epsilon = self.epsilon if finite else None
        return {**vars(self), "findings": list(self.findings), "epsilon": epsilon}


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
            **vars(self),
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "public": list(self.public),
            "checks": [check.to_dict() for check in self.checks],
        }

    @property
    def rows(self) -> list[tuple[str, Check | None, Check | None]]:
        """Each randomizer with its exact and its empirical check, where there are such."""
        found: dict[str, dict[str, Check]] = {}
        for check in self.checks:
            found.setdefault(check.randomizer, {})[check.part] = check
        return [(name, each.get("exact"), each.get("empirical")) for name, each in found.items()]


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
        about = ("version", "day", "n", "confidence", "platform", "passed", "complete")
        return {
            **{name: getattr(self, name) for name in about},
            "designs": [audited.to_dict() for audited in self.designs],
            "provenance": [check.to_dict() for check in self.provenance],
            "self_test": [planted.to_dict() for planted in self.planted],
        }

    @property
    def verdict(self) -> str:
        """The outcome in one sentence."""
        if any(check.passed is False for check in self.checks):
            return "Something is wrong: see the findings."
        if not self.passed:
            return "The audit missed faults that were planted: it needs more reports (a larger N)."
        if not self.complete:
            return "Nothing wrong was found, but not everything could be audited."
        return "Nothing wrong was found."

    def certificate(self, path: str | Path) -> Path:
        """Write the audit as one self-contained HTML page, and give its path."""
        from mdrr.reporting import fill

        planted: dict[str, list[Planted]] = {}
        for each in self.planted:
            planted.setdefault(each.fault, []).append(each)
        known = {"names": NAMES, "parts": PARTS, "no_proof": NO_PROOF, "weak": WEAK}
        values = {"it": self, "findings": findings, "planted": planted, **known}
        write_text(path, fill("certificate.html", title="Audit of the randomizer", **values))
        return Path(path)


def findings(checks: Sequence[Check]) -> list[str]:
    """What is wrong, each with the randomizer and the part."""
    return [
        f"{NAMES[check.randomizer]}, {PARTS[check.part]}: {each}"
        for check in checks
        for each in check.findings
    ]
