"""How often intervals hold the truth: every estimator, random counts over two attributes.

    python -m benchmarks.coverage    # writes benchmarks/results/coverage.json, docs/coverage.md

Each cell of the page is the share of 95 % intervals that hold the people's true count, over random
sets of a tenth of two attributes' combinations, and how wide they are: the mean half-width as a
share of all people.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from benchmarks.data import People, load

import mdrr
from mdrr.query import Query
from mdrr.randomizer import randomize_codes
from mdrr.tallies import tally_reports
from mdrr.terms import Term

METHODS = ("pairwise", "ibu", "latent", "auto")
DATA = ("adult", "network")
LEVEL = 0.95
RESULTS = Path("benchmarks/results/coverage.json")


def designs(people: People) -> dict[str, mdrr.Design]:
    found = {"independent, ε = 10.69": mdrr.independent(people.domain, epsilon=10.69)}
    for epsilon in (2.0, 4.62, 15.92):
        plan = mdrr.plan(people.domain, n=people.n, epsilon=epsilon)
        found[f"planned, ε = {epsilon:g}"] = plan.design
    return found


def queries(people: People, count: int, rng: np.random.Generator) -> list[tuple[Query, float]]:
    found = []
    while len(found) < count:
        first, second = sorted(rng.choice(len(people.domain.names), 2, replace=False))
        names = (people.domain.names[first], people.domain.names[second])
        truth = people.table(names)
        mask = np.zeros(truth.size, dtype=np.bool_)
        mask[rng.choice(truth.size, max(1, round(0.1 * truth.size)), replace=False)] = True
        mask = mask.reshape(truth.shape)
        if truth[mask].sum() > 0:
            found.append((Query(people.domain, (Term(names, mask),)), float(truth[mask].sum())))
    return found


def measure(people: People, design: mdrr.Design, seeds: int, count: int) -> dict[str, list[float]]:
    held: dict[str, list[bool]] = {method: [] for method in METHODS}
    widths: dict[str, list[float]] = {method: [] for method in METHODS}
    for seed in range(seeds):
        asked = queries(people, count, np.random.default_rng(seed))
        source = mdrr.SeededSource(f"{people.name}/{design.fingerprint}/{seed}")
        tally = tally_reports(randomize_codes(people.codes, design, source), design)
        for method in METHODS:
            estimate = mdrr.estimate(tally, design, method)
            for query, truth in asked:
                found = estimate.count(query, level=LEVEL)
                held[method].append(found.low <= truth * people.n <= found.high)
                widths[method].append((found.high - found.low) / 2 / people.n)
    return {m: [float(np.mean(held[m])), float(np.mean(widths[m]))] for m in METHODS}


def run(seeds: int, count: int) -> dict[str, object]:
    rows = []
    for name in DATA:
        people = load(name)
        for about, design in designs(people).items():
            found = measure(people, design, seeds, count)
            rows.append({"data": name, "design": about, "methods": found})
            shown = {m: [round(v, 4) for v in values] for m, values in found.items()}
            print(name, about, shown, flush=True)
    return {"seeds": seeds, "queries": count, "rows": rows}


HEAD = """# How often intervals hold the truth

Every count and table cell has an interval. `pairwise` and `ibu` centre it on the unbiased count,
whose variance is known exactly: it holds the truth as often as it says, and is as wide as the
reports are noisy. `latent` refits resampled reports (a bootstrap from a warm start), which measures
how the fit varies and not how wrong the model is. `auto` adds to that how wrong the model may be,
judged by its distance to the unbiased table: narrower intervals than the unbiased ones, nearly as
often right. Some pairs are asked of nobody at ε = 2: what is said of them comes from a model, and
all intervals but `latent`'s allow for a Cramér's V of 0.2 that the reports cannot show.

Share of 95 % intervals that hold the people's true count, and mean half-width in per cent of all
people: random sets of a tenth of two attributes' combinations, {queries} counts on each of {seeds}
randomizations. `make bench-coverage` made this page.

"""


def document(results: dict) -> str:
    """The page, its numbers from one run."""
    lines = [
        "| data | design | " + " | ".join(METHODS) + " |",
        "|---|---|" + "--:|" * len(METHODS),
    ]
    for row in results["rows"]:
        cells = [
            f"{row['methods'][m][0]:.1%} (± {100 * row['methods'][m][1]:.2f})" for m in METHODS
        ]
        lines.append(f"| {row['data']} | {row['design']} | " + " | ".join(cells) + " |")
    return HEAD.format(**results) + "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--queries", type=int, default=200)
    options = parser.parse_args()
    results = run(options.seeds, options.queries)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    Path("docs/coverage.md").write_text(document(results), encoding="utf-8")


if __name__ == "__main__":
    main()
