"""`mdrr audit`: that the shipped randomizers do what a design claims."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from mdrr.cli.inputs import check_ending, keep_apart, kind_of, load_design, load_frozen
from mdrr.cli.options import AsJson
from mdrr.cli.screen import print_json, print_table, print_text, progress

EXAMPLE = "mdrr audit design.json --randomizer bulk -o certificate.html"

_NAMES = ("single", "bulk", "browser", "spark")
_FAULT = 1
_INCOMPLETE = 4


def audit(
    design: Annotated[
        Path | None,
        Argument(
            help="The design or frozen survey (JSON). Default: built-in designs with every kind of "
            "matrix."
        ),
    ] = None,
    n: Annotated[
        int, Option("--n", "-n", help="How many reports each randomizer draws for each design.")
    ] = 20_000,
    confidence: Annotated[
        float, Option(help="Of all bounds and tests together, between 0 and 1.")
    ] = 0.9999,
    randomizer: Annotated[
        list[str] | None,
        Option(
            help="single, bulk, browser (needs Node.js) or spark (needs Java); repeatable. "
            "Default: all.",
            autocompletion=lambda: list(_NAMES),
        ),
    ] = None,
    self_test: Annotated[
        bool, Option("--self-test", help="Also plant faults, and show which are found.")
    ] = False,
    out: Annotated[
        Path | None, Option("--out", "-o", help="File for the certificate, an HTML page.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that the randomizers keep the ε that a design claims: exactly, and by sampling.

    Exit code 1 if something is wrong, 4 if something asked for could not be audited.
    """
    from mdrr.auditing import audit as run
    from mdrr.auditing.verdict import NAMES, NO_PROOF, PARTS, WEAK, findings

    keep_apart(out, [design])
    check_ending(out, ".html", "the certificate is HTML")
    made = None
    if design is not None:
        frozen = kind_of(design) == "a frozen survey"
        made = load_frozen(design).design if frozen else load_design(design)
    with progress("Auditing", quiet=as_json) as done:
        found = run(
            made,
            n=n,
            confidence=confidence,
            randomizers=randomizer or _NAMES,
            self_test=self_test,
            progress=done,
        )
    if out is not None:
        found.certificate(out)
    if as_json:
        print_json({**found.to_dict(), "out": None if out is None else str(out)})
    else:
        shown = {None: "not audited", True: "passed", False: "FAILED"}
        for audited in found.designs:
            rows = []
            for check in audited.checks:
                bound = "≥ " if check.part == "empirical" else ""
                epsilon = "" if check.epsilon is None else f"{bound}{_written(check.epsilon)}"
                outcome = shown[check.passed]
                rows.append([NAMES[check.randomizer], PARTS[check.part], epsilon, outcome])
            claim = f"claims ε = {_written(audited.epsilon)}"
            title = f"{audited.fingerprint[:12]} ({audited.name}), {claim}"
            print_table(["randomizer", "part", "ε found", "outcome"], rows, title=title)
        origins = [[NAMES[c.randomizer], shown[c.passed]] for c in found.provenance]
        print_table(["randomizer", "outcome"], origins, title="Random bytes are the system's")
        for check in found.checks:
            if check.passed is None:
                print_text(f"{NAMES[check.randomizer]}, {PARTS[check.part]}: {check.looked_at}")
        for finding in findings(found.checks):
            print_text(finding)
        if found.planted:
            print_table(
                ["planted fault", "randomizer", "part", "found", "power at least", "outcome"],
                [
                    [
                        each.fault,
                        NAMES[each.randomizer],
                        PARTS[each.part],
                        f"{each.found} of {each.runs}",
                        "" if each.sound else f"{each.power:.2f}",
                        "as it should" if each.passed else "WRONG",
                    ]
                    for each in found.planted
                ],
                title="Faults planted on purpose",
            )
        print_text(
            f"{found.verdict} Version {found.version}, n = {found.n:,}, confidence "
            f"{100 * found.confidence:.10g} %. {NO_PROOF}"
        )
        if any(
            check.part == "empirical" and (check.epsilon or 0.0) < min(audited.epsilon, 10) / 4
            for audited in found.designs
            for check in audited.checks
            if check.passed
        ):
            print_text(f"{WEAK} Give a larger --n.")
        if out is not None:
            print_text(f"Wrote {out}.")
    if not found.passed or not found.complete:
        raise typer.Exit(_INCOMPLETE if found.passed else _FAULT)


def _written(epsilon: float) -> str:
    return f"{epsilon:.4f}" if isfinite(epsilon) else "∞"
