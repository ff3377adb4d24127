"""`mdrr privacy`, `theory` and `audit`: what a design promises, and whether it is kept."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from mdrr.cli.inputs import check_ending, keep_apart, kind_of, load_design, load_frozen
from mdrr.cli.options import AsJson, Level, People
from mdrr.cli.screen import finite, print_json, print_table, print_text, progress
from mdrr.errors import MdrrError

EXAMPLES = {
    "privacy": "mdrr privacy design.json --shuffled 32561",
    "theory": "mdrr theory design.json --n 32561 --error 0.01",
    "audit": "mdrr audit design.json --randomizer bulk -o certificate.html",
}
_RANDOMIZERS = ("single", "bulk", "browser", "spark")
_FAULT = 1
_INCOMPLETE = 4


def privacy(
    design: Annotated[Path, Argument(help="The design (JSON).")],
    shuffled: Annotated[
        int | None,
        Option(
            metavar="N",
            help="Also give (ε, δ) for N reports (with the same public answers) whose senders are "
            "hidden.",
        ),
    ] = None,
    delta: Annotated[float, Option(help="The δ of that guarantee.")] = 1e-9,
    as_json: AsJson = False,
) -> None:
    """Say what one report reveals: ε of the record, of each cluster and attribute, and in words."""
    from mdrr.privacy import account, in_words
    from mdrr.privacy import shuffled as by_shuffling

    made = load_design(design)
    spent = account(made)
    mixed = None if shuffled is None else by_shuffling(made, shuffled, delta)
    words = in_words(made)
    if as_json:
        hidden = None if mixed is None else mixed.to_dict()
        print_json({**spent.to_dict(), "words": list(words), "shuffled": hidden})
        return
    rows = [[a.name, a.asked, a.epsilon, a.epsilon_others_unknown] for a in spent.attributes]
    heads = ["attribute", "asked", "ε", "ε, other answers unknown"]
    print_table(heads, rows, title="What a report reveals")
    beside = f" {made.outside}" if made.outside else ""
    print_text(f"One person spends ε = {spent.epsilon:.4f} in all.{beside}\n")
    for sentence in words:
        print_text(f"• {sentence}")
    if mixed is not None:
        same = " that have the same public answers" if made.outside else ""
        print_text(
            f"\nMixed with {mixed.n:,} reports{same}, sender hidden: ε = {mixed.epsilon:.4f}, "
            f"δ = {mixed.delta:g} ({mixed.method})."
        )


def theory(
    design: Annotated[Path, Argument(help="The design (JSON).")],
    n: People,
    level: Level = 0.95,
    error: Annotated[
        float | None, Option(help="Also say how many people are needed for this absolute error.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Predict errors of the reported (λ̂) and the estimated (π̂) shares, before anyone is asked.

    All combinations are taken as equally likely.
    """
    import numpy as np

    from mdrr.theory import compare, frequency_errors, influence, people_needed

    if not 0 < level < 1:
        raise MdrrError(f"--level {level:g}: a confidence level lies between 0 and 1")
    alpha = round(1 - level, 12)
    made = load_design(design)
    total = made.weights
    rows: list[dict[str, Any]] = []
    for place, asked in enumerate(made.questionnaires):
        people = max(round(n * asked.weight / total), 1)
        for cluster in asked.clusters:
            if cluster.matrix.kind == "public":
                continue
            matrix = cluster.matrix
            even = np.full(matrix.cells, 1 / matrix.cells)
            row = frequency_errors(matrix, even, people, alpha).to_dict()
            del row["alpha"]
            row |= {"name": cluster.name, "questionnaire": place}
            row["forged"] = influence(matrix).swing
            if error is not None:
                needed = people_needed(even, matrix=matrix, absolute=error, alpha=alpha)
                row["people_needed"] = -(-needed * total // asked.weight)
            rows.append(row)
    epsilon, both = finite(made.epsilon), None
    shape = made.randomized.domain.shape
    if epsilon is not None and len(shape) > 1:
        both = compare(shape, n, epsilon, alpha)
    if as_json:
        compared = None if both is None else both.to_dict()
        fields = {"n": n, "level": level, "epsilon": epsilon}
        print_json({**fields, "clusters": rows, "comparison": compared})
        return
    heads = ["cluster", "people", "√B", "λ̂ abs", "λ̂ rel", "π̂ abs", "π̂ rel", "one forged report"]
    keys = ["name", "n", "sqrt_b", "lambda_abs", "lambda_rel", "pi_abs", "pi_rel", "forged"]
    if error is not None:
        heads.append(f"people for π̂ abs {error:g}")
        keys.append("people_needed")
    shown = [["∞" if row[key] is None else row[key] for key in keys] for row in rows]
    print_table(heads, shown, title=f"Errors that are not exceeded with probability {level:.0%}")
    print_text("one forged report: the most people by which it can move an estimated count.")
    print_text(made.outside)
    if both is not None:
        print_text(
            f"At the same ε, relative error of the worst attribute: RR-Independent "
            f"{both.attribute_independent:.3g}, RR-Joint {both.attribute_joint:.3g}; of all "
            f"combinations: RR-Independent {both.cell_independent:.3g}, RR-Joint "
            f"{both.cell_joint:.3g}."
        )
    elif epsilon is None:
        print_text(
            "ε is infinite: a report can prove that some answers are not hers. So there is no "
            "RR-Independent or RR-Joint of the same ε to compare with."
        )


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
            autocompletion=lambda: list(_RANDOMIZERS),
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
    with progress("Auditing") as done:
        found = run(
            made,
            n=n,
            confidence=confidence,
            randomizers=randomizer or _RANDOMIZERS,
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
