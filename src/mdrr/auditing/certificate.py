"""The certificate: an audit as one HTML page that says what it shows and what it does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdrr.files import write_text
from mdrr.reporting.layout import fill

if TYPE_CHECKING:
    from mdrr.auditing.verdict import Audit, Audited, Check, Planted

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

SHOWS = (
    "Integers counted: the randomizer was given chosen bytes, and the integers that lead to each "
    "report were counted. ε follows from them without any chance. The table says how much of the "
    "design was looked at.",
    "Reports sampled: the randomizer drew its own random bytes for people whose answers are known. "
    "ε is at least the bound shown. It compares every pair of answers on every report "
    "(Clopper-Pearson, with Bonferroni's correction), and a G-test compares every row with the "
    "design. All bounds and tests hold together with the confidence stated.",
    "Random bytes observed: reports followed from the bytes that the system gave. The same bytes "
    "gave the same reports under other seeds and clocks, other bytes gave other reports, and "
    "every run read fresh ones.",
)
SHOWS_NOT = (
    "A bound from samples cannot prove that ε is kept. It can only disprove it. A fault that is "
    "rarer than the samples can show is left to the counted integers.",
    "Side channels are not looked at: running time, memory, the network. Nor is the rest of a "
    "respondent's device, and the system's random number generator is trusted.",
    "ε is of one report. Answering again, or elsewhere, adds to it. Public attributes are outside "
    "ε.",
    "This page is a file, and anybody can write one. To rely on it, run the audit yourself: "
    "mdrr audit DESIGN.",
)
OF_THE_PAGE = (
    "The page's randomizer ran under Node.js and not in anybody's browser. Whether the page that a "
    "respondent gets is this page depends on who serves it."
)
NOT_THE_PAGE = "The randomizer of the page that respondents open in a browser was not audited."
WEAK = "A bound far below the claim says little. More reports make it stronger."
EXAMPLES = (
    "The designs audited are built-in examples. For a survey's own design, give its file to the "
    "command."
)


def findings(checks: Sequence[Check]) -> list[str]:
    """What is wrong, each with the randomizer and the part."""
    return [
        f"{NAMES[check.randomizer]}, {PARTS[check.part]}: {each}"
        for check in checks
        for each in check.findings
    ]


def verdict(audit: Audit) -> str:
    """The outcome in one sentence."""
    if not any(c.passed is False for c in audit.checks) and not audit.passed:
        return "The audit missed faults that were planted: it needs more reports (a larger N)."
    if not audit.passed:
        return "Something is wrong: see the findings."
    if not audit.complete:
        return "Nothing wrong was found, but not everything could be audited."
    return "Nothing wrong was found."


def certificate(audit: Audit, path: str | Path) -> Path:
    """Write an audit as a self-contained page: no script, nothing fetched."""
    planted: dict[tuple[str, str], list[Planted]] = {}
    for each in audit.planted:
        planted.setdefault((each.fault, each.part), []).append(each)
    page = any(c.randomizer == "browser" and c.passed is not None for c in audit.checks)
    own = [each.name for each in audit.designs] == ["as given"]
    text = fill(
        "certificate.html",
        {},
        title="Audit of the randomizer",
        it=audit,
        verdict=verdict(audit),
        names=NAMES,
        parts=PARTS,
        rows=_rows,
        findings=findings,
        scale=_scale,
        planted=[(fault, found) for (fault, _), found in planted.items()],
        shows=SHOWS,
        shows_not=(
            *(() if own else (EXAMPLES,)),
            *SHOWS_NOT,
            WEAK,
            OF_THE_PAGE if page else NOT_THE_PAGE,
        ),
        confidence=f"{100 * audit.confidence:.10g} %",
    )
    write_text(path, text)
    return Path(path)


def _rows(audited: Audited) -> list[tuple[str, Check | None, Check | None]]:
    """Each randomizer with its exact and its empirical check, where there are such."""
    found: dict[str, dict[str, Check]] = {}
    for check in audited.checks:
        found.setdefault(check.randomizer, {})[check.part] = check
    return [(name, each.get("exact"), each.get("empirical")) for name, each in found.items()]


def _scale(track: Callable[..., Any], audited: Audited, check: Check) -> Any:
    """A drawing of the bound and the claim; none where the claim is infinite."""
    bound = check.epsilon or 0.0
    if not isfinite(audited.epsilon):
        return ""
    top = max(bound, audited.epsilon)
    return track(min(bound, audited.epsilon), top, bound, audited.epsilon, 1.1 * top)
