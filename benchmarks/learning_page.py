"""docs/benchmarks/learning.md, made of benchmarks/results/learning.json and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks import pages

PAGE = Path("docs/benchmarks/learning.md")
TITLES = {"accuracy": "Accuracy", "balanced": "Balanced accuracy", "auc": "AUC"}

HEAD = """# Learning from randomized reports

Can a model be trained on randomized reports? Here income is predicted from Adult's other seven
attributes, by scikit-learn's logistic regression and gradient boosting with default settings. They
are trained on the reports of {train:,} people and tested on the true records of Adult's own test
part, {test:,} people. Of these, {majority:.1%} are in the same income class: always guessing that
class has this accuracy. Numbers are means of {seeds} seeds. `make bench-learning` made this page
from `benchmarks/results/learning.json`.

{sources}

The best of each column is bold; training on true records does not count.
"""

END = """
Records drawn from an estimate are ordinary records: any learner takes them. Adjusted records have
the right margins, but if reports are noisy their weights are very uneven, and a few records decide.
Prefer `estimate.sample(n)`.
"""


def document(results: dict[str, Any]) -> str:
    rows = results["rows"]
    epsilons = sorted({row["epsilon"] for row in rows})
    met = {row["source"] for row in rows}
    sources = [source for source in results["sources"] if source in met]
    seeds = [row["seeds"] for row in rows]
    told = [(source, results["sources"][source]) for source in sources]
    listed = pages.table(["trained on", "what"], told, texts=(0, 1))
    parts = [HEAD.format(**{**results, "sources": listed, "seeds": pages.span(seeds, "–")})]
    values = {(r["epsilon"], r["source"], r["model"]): r for r in rows}
    for model in dict.fromkeys(row["model"] for row in rows):
        for measure, title in TITLES.items():
            best = {
                e: max(
                    values[e, s, model][measure]
                    for s in sources
                    if s != "true records" and (e, s, model) in values
                )
                for e in epsilons
            }
            lines = []
            for source in sources:
                cells = [source]
                for epsilon in epsilons:
                    row = values.get((epsilon, source, model))
                    text = "–" if row is None else f"{row[measure]:.3f}"
                    top = row is not None and row[measure] == best[epsilon]
                    cells.append(f"**{text}**" if top and source != "true records" else text)
                lines.append(cells)
            heads = ["trained on", *(f"ε = {epsilon:g}" for epsilon in epsilons)]
            parts += [f"## {title}, {model}", "", pages.table(heads, lines), ""]
    return "\n".join(parts) + END


def write(results: dict[str, Any], page: Path = PAGE) -> None:
    page.write_text(document(results))
