"""What plans predict against what happens: every candidate design, simulated with the default.

    python -m benchmarks.planning           # some minutes; writes docs/predictions.md

The simulated error is the predicted one's own definition with true squared errors in it: the
typical relative error of counts over a tenth of a table's combinations, mean over all attributes
and, with the same weight, all pairs. Estimates are `method="auto"`.
"""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
from benchmarks.data import People, load
from benchmarks.methods import collected
from benchmarks.runner import written

import mdrr
from mdrr.dependence import from_codes
from mdrr.planning import predict
from mdrr.planning.predict import relative_error

DATA = ("network", "correlated", "randhie")
EPSILONS = (1.0, 2.0, 4.0, 8.0)
SEEDS = 1
RESULTS = Path("benchmarks/results/planning.json")
PAGE = Path("docs/predictions.md")
FACTOR = 1.5
DROWNED = 0.5
"""Designs predicted to err by more are of no use to anyone, and not promised to err so much."""

DESIGNS = ("independent", "joint", "sampled 1", "sampled 2", "sampled 4", "split questionnaire")
"""Of the candidates, those that are done in minutes."""

HEAD = """# Predicted and simulated errors

What `mdrr.plan` predicts of a design, beside what the default estimator then does. The candidates
of plans that know the exact dependences are simulated on true records; the error is the typical
relative error of a count, mean over attributes and pairs. `make bench-planning` made this page.

Predictions are of unbiased tables, products of margins and mixtures of them. The default estimator
does better where it learns from all reports at once, most so where many attributes are reported
jointly. Designs predicted to err by more than half are listed, but not counted in the last lines.
One randomization each.

"""


def simulated(people: People, design: mdrr.Design) -> float:
    """The error that was predicted, from estimates and true tables."""
    tables = [(name,) for name in people.domain.names]
    tables += list(combinations(people.domain.names, 2))
    squares = dict.fromkeys(tables, 0.0)
    for seed in range(SEEDS):
        estimate = mdrr.estimate(collected(people, design, seed), design)
        for names in tables:
            gap = estimate.table(*names).values - people.table(names)
            squares[names] += float((gap**2).sum()) / SEEDS
    errors = {
        names: relative_error(total, people.table(names).size, 0.1)
        for names, total in squares.items()
    }
    kinds = [[e for names, e in errors.items() if len(names) == width] for width in (1, 2)]
    return float(np.mean([np.mean(kind) for kind in kinds]))


def rows_of(name: str) -> list[dict[str, object]]:
    people = load(name)
    exact = from_codes(people.codes, people.domain)
    found = []
    for epsilon in EPSILONS:
        known = mdrr.plan(people.domain, n=people.n, epsilon=epsilon, dependences=exact)
        blind = mdrr.plan(people.domain, n=people.n, epsilon=epsilon)
        plans = [("known", c) for c in known.candidates] + [("assumed", blind.best)]
        for kind, candidate in plans:
            if candidate.predicted.error > 1.0 or candidate.name not in DESIGNS:
                continue
            again = predict(
                candidate.design,
                people.n,
                known.tables,
                dependences=exact if kind == "known" else blind.dependences,
            )
            error = simulated(people, candidate.design)
            row = {
                "data": name,
                "epsilon": epsilon,
                "design": candidate.name,
                "dependences": kind,
                "predicted": round(again.error, 5),
                "simulated": round(error, 5),
            }
            print(row, flush=True)
            found.append(row)
    return found


def document(results: dict) -> str:
    """The page."""
    lines = [
        "| data | ε | design | dependences | predicted | simulated | ratio |",
        "|---|--:|---|---|--:|--:|--:|",
    ]
    for row in results["rows"]:
        ratio = row["predicted"] / row["simulated"]
        lines.append(
            f"| {row['data']} | {row['epsilon']:g} | {row['design']} | {row['dependences']} "
            f"| {row['predicted']:.3f} | {row['simulated']:.3f} | {ratio:.2f} |"
        )
    told = []
    for kind in ("known", "assumed"):
        ratios = [
            row["predicted"] / row["simulated"]
            for row in results["rows"]
            if row["dependences"] == kind and row["predicted"] <= DROWNED
        ]
        within = sum(1 / FACTOR <= ratio <= FACTOR for ratio in ratios)
        told.append(
            f"With {kind} dependences {within} of {len(ratios)} predictions lie within a factor "
            f"{FACTOR} (median ratio {np.median(ratios):.2f}, {min(ratios):.2f} to "
            f"{max(ratios):.2f})."
        )
    return HEAD + "\n".join(lines) + "\n\n" + "\n".join(told) + "\n"


def main() -> None:
    results = {"seeds": SEEDS, "rows": [row for name in DATA for row in rows_of(name)]}
    RESULTS.write_text(written(results), encoding="utf-8")
    PAGE.write_text(document(json.loads(RESULTS.read_text("utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
