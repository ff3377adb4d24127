"""The audit: that the randomizers as shipped keep the ε that a design claims.

Three parts, each of which can fail where the others cannot see:

- exact (`integers`): which share of all integers leads to each report, and so ε without chance;
- empirical (`samples`): what is really sent, bounded by Clopper-Pearson and tested by G-tests;
- provenance (`origin`): that the random bytes come from the system, and nothing else decides.

`planted` shows that each part finds what it is meant to find.
"""

from __future__ import annotations

import platform as machine
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

from mdrr.auditing.integers import MOST_PROBES, exact
from mdrr.auditing.origin import provenance
from mdrr.auditing.planted import self_test as find_planted
from mdrr.auditing.platforms import PLATFORMS, in_node
from mdrr.auditing.samples import empirical
from mdrr.auditing.specimens import specimens
from mdrr.auditing.verdict import Audit, Audited, Check, Part, Planted
from mdrr.design import Design
from mdrr.errors import MdrrError, did_you_mean, is_number, whole

__all__ = ["Audit", "Audited", "Check", "Planted", "RANDOMIZERS", "audit"]

RANDOMIZERS = tuple(PLATFORMS)
"""single, bulk, browser, spark."""

N = 20_000
CONFIDENCE = 0.9999


def audit(
    design: Design | None = None,
    *,
    n: int = N,
    confidence: float = CONFIDENCE,
    randomizers: Sequence[str] = RANDOMIZERS,
    self_test: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Audit:
    """Check that the shipped randomizers do what a design claims.

    Arguments:
        design: the design; without one, built-in designs that have every kind of matrix.
        n: how many reports each randomizer draws under each design.
        confidence: that of all bounds and tests of this audit together. A sound randomizer fails
            the audit with a chance of at most 1 − confidence.
        randomizers: of "single" (`mdrr.respond`), "bulk" (`mdrr.randomize_codes`), "browser" (the
            respondent page, under Node.js) and "spark"; all of them by default. What cannot run
            here is not audited, and `complete` is then false.
        self_test: also plant faults, and say which were found.
        progress: is told the share done, from 0 to 1.

    Returns:
        What was found: `passed`, `complete`, `to_dict()`, and `certificate(path)`, which writes it
        as an HTML page.

    Example:
        >>> from mdrr.domain import Attribute, Domain
        >>> from mdrr.protocols import independent
        >>> design = independent(Domain((Attribute("smokes", ("no", "yes")),)), epsilon=1.0)
        >>> found = audit(design, n=2_000, randomizers=["bulk"])
        >>> found.passed, found.complete
        (True, True)
    """
    n = whole("n", n, 100, MdrrError)
    if not (is_number(confidence) and 0 < confidence < 1):
        raise MdrrError(f"confidence={confidence!r} must lie between 0 and 1, as 0.9999 does")
    names = list(dict.fromkeys(randomizers))
    for name in names:
        if name not in PLATFORMS:
            hint = did_you_mean(name, PLATFORMS) or f". Known: {', '.join(PLATFORMS)}"
            raise MdrrError(f"there is no randomizer {name!r}{hint}")
    if not names:
        raise MdrrError(f"name at least one randomizer: {', '.join(PLATFORMS)}")
    if not (design is None or isinstance(design, Design)):
        raise MdrrError(f"an audit is of an mdrr.Design, not of a {type(design).__name__}")
    asked = specimens() if design is None else {"as given": design}
    alpha = (1 - confidence) / (len(asked) * len(names))
    seen: dict[str, list[Check]] = {name: [] for name in asked}
    origins: list[Check] = []
    steps = len(names) + (1 if self_test else 0)
    tell = progress or (lambda share: None)
    for i, name in enumerate(names):
        for done, (where, check) in enumerate(_checks(name, asked, n, alpha), start=1):
            (origins if where is None else seen[where]).append(check)
            tell((i + done / (2 * len(asked) + 1)) / steps)
    audited = tuple(
        Audited(name, each.fingerprint, each.epsilon, each.domain.public, tuple(seen[name]))
        for name, each in asked.items()
    )
    planted: tuple[Planted, ...] = ()
    here = [c.randomizer for c in origins if c.passed is not None]
    if self_test:
        planted = find_planted(here, n, alpha, lambda share: tell((len(names) + share) / steps))
    tell(1.0)
    return Audit(
        metadata.version("mdrr"),
        datetime.now(UTC).date().isoformat(),
        n,
        float(confidence),
        _about(here),
        audited,
        tuple(origins),
        planted,
    )


def _checks(
    name: str, asked: dict[str, Design], n: int, alpha: float
) -> Iterator[tuple[str | None, Check]]:
    """The checks of one randomizer, each with the name of the design it is of."""
    with ExitStack() as stack:
        run, why = None, ""
        try:
            run = stack.enter_context(PLATFORMS[name]())
        except MdrrError as error:
            why = str(error)

        def check(part: Part, make: Callable[..., Check], *given: Any) -> Check:
            reason = why
            if run is not None:
                try:
                    return make(*given)
                except MdrrError as error:
                    reason = str(error)
            return Check(part, name, None, f"not audited: {reason}")

        for where, design in asked.items():
            if name in MOST_PROBES:
                yield where, check("exact", exact, run, design, name)
            yield where, check("empirical", empirical, run, design, name, n, alpha)
        yield None, check("provenance", provenance, name)


def _about(names: Sequence[str]) -> dict[str, str]:
    """The versions of what the audit ran on."""
    about = {machine.system(): machine.release(), "Python": machine.python_version()}
    if "browser" in names:
        about["Node.js"] = str(in_node({"name": "version"})).removeprefix("v")
    if "spark" in names:
        about["Spark"] = metadata.version("pyspark")
    return about
