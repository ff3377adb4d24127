"""Provenance: that the random bytes of real reports are the system's, and nothing else decides.

The randomizer runs in a process of its own in which the system's function is replaced by one that
passes its bytes on and keeps them (`os.urandom` in Python, `crypto.getRandomValues` in JavaScript).
The same bytes again must give the same reports, under other seeds and clocks. Other bytes must give
other reports, and a second run must read fresh ones.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from mdrr.auditing.platforms import Edit, child, in_node
from mdrr.auditing.samples import people
from mdrr.auditing.specimens import drawn_questionnaires
from mdrr.auditing.verdict import Check

PEOPLE = {"single": 64, "browser": 64, "bulk": 2_000, "spark": 2_000}
"""How many people: enough that their bytes are expanded from a key, where that is done."""
_KEY = 32
_WORDS = {
    "single": "os.urandom observed under mdrr.respond",
    "bulk": "os.urandom observed under mdrr.randomize_codes",
    "spark": "os.urandom observed under the function that Spark's workers run",
    "browser": "crypto.getRandomValues observed under the page's modules",
}


def provenance(randomizer: str, fault: str = "", edit: Edit | None = None) -> Check:
    """Observe the bytes that a randomizer reads from the system; a fault may be planted."""
    design = drawn_questionnaires()
    codes = [column.tolist() for column in people(design, PEOPLE[randomizer])]
    task = {"design": design.to_dict(), "codes": codes, "fault": fault}
    if randomizer == "browser":
        answer = in_node({"name": "observe", **task}, edit)
    else:
        file = str(Path(__file__).with_name("observed.py"))
        home = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
        command = [sys.executable, "-P", file]
        answer = child(command, {"kind": randomizer, **task}, PYTHONPATH=path)
    sizes = answer["sizes"]
    findings = _findings(answer, PEOPLE[randomizer] * design.record_bytes)
    read = f"{sum(sizes):,} bytes in {len(sizes):,} requests"
    looked_at = f"{_WORDS[randomizer]}: {read} for {PEOPLE[randomizer]:,} people"
    return Check("provenance", randomizer, not findings, looked_at, tuple(findings))


def _findings(answer: dict[str, Any], needed: int) -> list[str]:
    """What is wrong with what was observed."""
    sizes, wrong = answer["sizes"], []
    if not answer["genuine"]:
        wrong.append("the function that gives random bytes is not the system's own")
    if not sizes:
        wrong.append("no byte was read from the system")
    elif sum(sizes) < needed and min(sizes) < _KEY:
        wrong.append(
            f"{min(sizes)} bytes were read where {needed:,}, or a key of {_KEY}, are needed"
        )
    if answer["again"] != answer["first"]:
        wrong.append("the system's bytes, given again, led to other reports: more than they decide")
    if answer["first"] in answer["turned"]:
        wrong.append("other bytes from the system led to the same reports: they do not decide")
    if answer["fresh"] == answer["first"] or answer["repeated"]:
        wrong.append("a second run used the same bytes again")
    return wrong
