"""What RR-Independent's reports can tell at all: margins, relations, and when relations show.

    python -m benchmarks.limits  # can be stopped and resumed; writes docs/benchmarks/limits.md
    python -m benchmarks.limits --page  # the page from benchmarks/results alone

An estimator is compared with answers nobody can give who has only the reports: some that know the
true margins, some that know the true relations. And the strongest axis of the true relations is
held against the noise that hides it.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.accuracy import questions
from benchmarks.data import load
from benchmarks.methods import answers, collected
from benchmarks.metrics import Answer, product_of
from benchmarks.people import People

import mdrr
from benchmarks import pages, runner
from mdrr.estimation.axes import Interactions, interactions
from mdrr.estimation.evidence import Evidence
from mdrr.estimation.raking import fit_margins

KEPT = (0.1, 0.15, 0.2, 0.3, 0.5, 0.7)
RESULTS = Path("benchmarks/results/limits.json")
PAGE = Path("docs/benchmarks/limits.md")

COLUMNS = {
    "neither": "estimated margins, no relations",
    "auto": "`auto`",
    "hindsight": "`auto`, its relations scaled in hindsight",
    "relations": "estimated margins, true relations",
    "margins": "true margins, no relations",
}
"""Whose count queries are measured; the last three are told what no report tells."""
SCALES = np.linspace(0, 2, 21)

HEAD = """# What separate answers can tell

RR-Independent randomizes every answer separately. How much can be learnt from such reports? The
table has the median relative error of Adult's count queries, as in [accuracy.md](accuracy.md), for
`auto` and for four others:

- *estimated margins, no relations*: the product of the estimated single attributes (each the
  posterior mean under a flat prior);
- *scaled in hindsight*: `auto`, with its departures from that product multiplied by the factor
  (0 to 2) that turns out best for these queries;
- *true relations*, and *true margins*: two that are told part of the truth.

`make bench-limits` made this page. Numbers are means over {seeds} seeds, ± their standard error.

"""

AXES = """
## When relations show

Only p² of the reports keep both of two answers. So noise in a pair's table grows as 1/p², while in
a margin it grows as 1/p.

Collect the interactions of all pairs in one symmetric matrix. Divide each by its standard error,
and multiply it by the roots of its categories' shares, since rare categories bring noise and little
else. Without relations (every column of the people shuffled) this matrix is pure noise; its largest
eigenvalue is called the noise's edge. Relations add axes to it. In a large matrix, an axis weaker
than half the edge leaves no trace in the leading eigenvector, and an axis just above leaves a faint
one (Baik, Ben Arous and Péché 2005; Féral and Péché 2007). This matrix is small, so the border is
not sharp.

The last columns say how much of the true axis is seen: the squared cosine between it and the
leading axis of the reports, and, by chance, that of the shuffled people's reports.

"""
STRENGTHS = ["p", "ε", "strongest axis / half the noise's edge", "second"]
STRENGTHS += ["seen of the strongest", "by chance"]


def work(job: runner.Job) -> dict[str, Any]:
    """One randomization: the errors of all answers, and what is seen of the strongest axis."""
    name, p, seed = job
    people = load(name)
    design = mdrr.independent(people.domain, p=p)
    tally = collected(people, design, seed)
    evidence = Evidence(tally, design)
    margins = dict(zip(people.domain.names, evidence.margins, strict=True))
    known = {attribute: people.table((attribute,)) for attribute in people.domain.names}
    whole = questions(name)
    asked = replace(whole, tables={key: t for key, t in whole.tables.items() if len(key) == 2})
    estimate = answers(mdrr.estimate(tally, design))
    found: dict[str, Answer] = {
        "neither": product_of(margins),
        "auto": estimate,
        "relations": raked(people.table, margins),
        "margins": product_of(known),
    }
    measured = {column: asked.errors(answer) for column, answer in found.items()}
    errors = {column: values["query"] for column, values in measured.items()}
    errors["hindsight"] = min(asked.errors(scaled(estimate, by))["query"] for by in SCALES)
    seen = interactions(evidence)
    roots = np.sqrt(np.concatenate(list(known.values())))
    weights = np.outer(roots, roots)
    (strength, second), axis = leading(weights * true_interactions(people, seen))
    _, found_axis = leading(weights * whitened(seen))
    (edge, _), chance_axis = leading(weights * whitened(_unrelated(people, design, seed)))
    return errors | {
        "epsilon": design.epsilon,
        "pairs": measured["auto"]["tv2"] / measured["neither"]["tv2"],
        "strength": 2 * strength / edge,
        "second": 2 * second / edge,
        "cosine": float(axis @ found_axis) ** 2,
        "chance": float(axis @ chance_axis) ** 2,
    }


def raked(truth: Callable[[Sequence[str]], np.ndarray], margins: dict[str, np.ndarray]) -> Answer:
    """Answers of one who knows all relations, and of the margins what is estimated."""

    def answer(names: tuple[str, ...]) -> np.ndarray:
        return fit_margins(truth(names), [margins[name] for name in names])

    return answer


def scaled(answer: Answer, by: float) -> Answer:
    """Answers with every departure from the product of the margins scaled, and cells kept at 0."""

    def made(names: tuple[str, ...]) -> np.ndarray:
        product = product_of({name: answer((name,)) for name in names})(names)
        table = np.maximum(product + by * (answer(names) - product), 0)
        return np.asarray(table / table.sum())

    return made


def whitened(seen: Interactions) -> np.ndarray:
    """Interactions of unit noise: Δ/√v of every pair."""
    scales = np.sqrt(_expanded(seen))
    return np.divide(seen.values, scales, out=np.zeros_like(scales), where=scales > 0)


def true_interactions(people: People, like: Interactions) -> np.ndarray:
    """What `whitened` would be without noise."""
    made = np.zeros_like(like.values)
    parts = [slice(a, b) for a, b in zip(like.starts[:-1], like.starts[1:], strict=True)]
    for i, j in combinations(range(len(parts)), 2):
        table = people.table([people.domain.names[k] for k in (i, j)])
        table = table - np.outer(table.sum(axis=1), table.sum(axis=0))
        table = table - table.mean(axis=0, keepdims=True)
        made[parts[i], parts[j]] = table - table.mean(axis=1, keepdims=True)
    return (made + made.T) * np.sqrt(_expanded(like))


def _expanded(seen: Interactions) -> np.ndarray:
    sizes = np.diff(seen.starts)
    return np.repeat(np.repeat(seen.precision, sizes, axis=0), sizes, axis=1)


def leading(matrix: np.ndarray) -> tuple[tuple[float, float], np.ndarray]:
    """The two largest eigenvalues of a symmetric matrix, and the first one's eigenvector."""
    values, vectors = np.linalg.eigh(matrix)
    return (float(values[-1]), float(values[-2])), vectors[:, -1]


def _unrelated(people: People, design: mdrr.Design, seed: int) -> Interactions:
    """The interactions of reports by people of the same margins, none related to another."""
    rng = np.random.default_rng(seed)
    codes = tuple(column[rng.permutation(people.n)] for column in people.codes)
    shuffled = People(f"{people.name} shuffled", people.domain, codes, people.about)
    return interactions(Evidence(collected(shuffled, design, seed), design))


def summary(done: dict[runner.Job, dict[str, Any]], seeds: int) -> list[dict[str, Any]]:
    """Means over seeds and their standard errors."""
    rows = []
    for p in KEPT:
        entries = [done["adult", p, seed] for seed in range(seeds) if ("adult", p, seed) in done]
        if entries:
            told = ["pairs", "strength", "second", "cosine", "chance"]
            measured = runner.means(entries, [*COLUMNS, *told], digits=5)
            ratio = runner.means(
                [{"ratio": entry["auto"] / entry["neither"]} for entry in entries], ["ratio"], 4
            )
            epsilon = round(entries[0]["epsilon"], 2)
            rows.append({"p": p, "epsilon": epsilon, "seeds": len(entries)} | measured | ratio)
    return rows


def document(results: dict[str, Any]) -> str:
    """The page."""

    def measured(row: dict[str, Any], key: str, digits: int) -> str:
        return f"{row[key]:.{digits}f} ± {row[f'{key}_error']:.{digits}f}"

    lines, axes = [], []
    for row in results["rows"]:
        case = f"{row['p']:g}", f"{row['epsilon']:.2f}"
        shown = [measured(row, column, 4) for column in COLUMNS]
        shown[-1] = f"{row['margins']:.4f}"  # of no report, so of no seed
        lines.append((*case, *shown, measured(row, "ratio", 3)))
        strengths = [f"{row[key]:.2f}" for key in ("strength", "second")]
        axes.append((*case, *strengths, measured(row, "cosine", 3), measured(row, "chance", 3)))
    heads = ["p", "ε", *COLUMNS.values(), "`auto` / no relations"]
    parts = [HEAD.format(seeds=results["seeds"]), pages.table(heads, lines, texts=())]
    parts += ["\n", AXES, pages.table(STRENGTHS, axes, texts=()), "\n\n", told(results["rows"][0])]
    return "".join(parts)


def told(row: dict[str, Any]) -> str:
    """What the loudest noise leaves to learn."""
    words = (
        f"At p = {row['p']:g} the strongest axis has {row['strength']:.2f} times the strength at "
        f"which an axis begins to show, the second {row['second']:.2f} times. With it, `auto` has "
        f"{1 - row['pairs']:.1%} less total variation of pairs and {1 - row['ratio']:.1%} less "
        "error of these counts than without relations. The best scale in hindsight would lower "
        f"{row['auto']:.4f} to {row['hindsight']:.4f}. The rest is noise of the margins, and "
        "relations that do not show. [Other designs](../planning.md) tell more at the same ε."
    )
    return textwrap.fill(words, 100) + "\n"


def main(arguments: list[str] | None = None) -> None:
    parser = runner.options(__doc__, "limits")
    parser.add_argument("--seeds", type=int, default=40)
    asked = parser.parse_args(arguments)
    if not asked.page:
        todo = [("adult", p, seed) for seed in range(asked.seeds) for p in KEPT]
        done = runner.run_asked(asked, todo, work, kind=lambda job: job[1])
        results = {"seeds": asked.seeds, "rows": summary(done, asked.seeds)}
        RESULTS.write_text(runner.written(results), encoding="utf-8")
    PAGE.write_text(document(json.loads(RESULTS.read_text("utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
