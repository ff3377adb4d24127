"""Tables of a reproduction in Markdown: ours, the paper's, their ratio, and bands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

import numpy as np

from mdrr.reproduction.clusters import clusters_of, way
from mdrr.reproduction.explanation import CELLS, fits
from mdrr.reproduction.methods import METHODS
from mdrr.reproduction.outcome import Outcome, TableMedians, VariantOutcome, epsilons
from mdrr.reproduction.population import adult_population
from mdrr.reproduction.printed import (
    COVERAGES,
    KEEPS,
    LEAST_DEPENDENCES,
    MOST_CELLS,
    TABLES,
    Cell,
)
from mdrr.reproduction.results import Median
from mdrr.reproduction.verdict import Claim, below

TITLES = {"table1": "Table 1 (Adult)", "table2": "Table 2 (Adult6)"}


def grid(headings: Sequence[str], rows: Iterable[Sequence[str]], align: str = "--:") -> str:
    """A Markdown table, the first column to the left and the others to the right or as asked.

    >>> print(grid(("p", "error"), [("0.1", "0.2")]))
    | p | error |
    |:--|--:|
    | 0.1 | 0.2 |
    """
    lines = [f"| {' | '.join(headings)} |", "|:--" + f"|{align}" * (len(headings) - 1) + "|"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def side_by_side(table: TableMedians) -> str:
    """Every cell: ours with its band, the paper's, and the ratio; `*` where chance is no excuse."""
    headings = ["p", "T_d"]
    for most in MOST_CELLS:
        headings += [f"ours, T_v = {most}", "paper", "ratio"]
    rows = []
    for p in KEEPS:
        for least in LEAST_DEPENDENCES:
            row = [str(p), str(least)]
            for most in MOST_CELLS:
                found = table[p, most, least]
                mark = "" if found.agrees else " \\*"
                row += [banded(found), f"{found.paper:.3f}", f"{found.ratio:.2f}{mark}"]
            rows.append(row)
    return grid(headings, rows)


def banded(found: Median, digits: int = 3) -> str:
    """A median with its 99 % band.

    >>> banded(Median(0.2041, 0.19, 0.222, 0, 1, 1000))
    '0.204 (0.190–0.222)'
    """
    value, low, high = (f"{x:,.{digits}f}" for x in (found.value, found.low, found.high))
    return f"{value} ({low}–{high})"


def figure2_table(outcome: Outcome) -> str:
    """Both errors of both methods by coverage."""
    found = outcome.figure2
    names = [("Randomized", "absolute"), ("RR-Independent", "absolute")]
    names += [("Randomized", "relative"), ("RR-Independent", "relative")]
    headings = ["σ", *(f"{method}, {error}" for method, error in names)]
    rows = [
        [str(c), *(banded(found[c, m, e], 0 if e == "absolute" else 3) for m, e in names)]
        for c in COVERAGES
    ]
    return grid(headings, rows)


def figure3_table(outcome: Outcome, p: float) -> str:
    """The five methods by coverage at one p."""
    rows = [
        [str(c), *(banded(outcome.figure3[p, c, method]) for method in METHODS)] for c in COVERAGES
    ]
    return grid(["σ", *METHODS], rows)


def joint_table(outcome: Outcome) -> str:
    """RR-Joint by p, beside RR-Independent where that was run."""
    spent = epsilons(outcome.settings)
    rows = []
    for p in KEEPS:
        single = outcome.figure3.get((p, COVERAGES[0], "RR-Independent"))
        rows.append(
            [
                f"{p} ({spent[p][0]:.2f})",
                banded(outcome.joint[p, "whole"]),
                banded(outcome.joint[p, "queried"], 4),
                banded(single) if single else "not run",
            ]
        )
    headings = ["p (ε)", "RR-Joint, whole made proper", "RR-Joint, queried table made proper"]
    return grid([*headings, "RR-Independent"], rows)


def fit_table(variants: Sequence[VariantOutcome], name: str) -> str:
    """For one of the paper's tables: cells that agree, and errors for T_v = 50 / 100 / 300."""
    found = fits(variants)
    printed = [f"{_three(TABLES[name], p)}" for p in KEEPS]
    rows = [["**the paper**", *printed]]
    for outcome in variants:
        row = [outcome.variant.name]
        errors = {cell: median.value for cell, median in outcome.tables[name].items()}
        for p in KEEPS:
            fit = next(f for f in found[name, p] if f.name == outcome.variant.name)
            mark = "**" if fit.explains else ""
            row.append(f"{_three(errors, p)}, {mark}{fit.agree} of {CELLS}{mark}")
        rows.append(row)
    return grid(["reading, attributes of a query", *(f"p = {p}" for p in KEEPS)], rows)


def _three(errors: Mapping[Cell, float], p: float) -> str:
    """Means over T_d, by T_v."""
    means = [fmean(errors[p, most, least] for least in LEAST_DEPENDENCES) for most in MOST_CELLS]
    return " / ".join(f"{mean:.3f}" for mean in means)


def overall_table(variants: Sequence[VariantOutcome]) -> str:
    """How many cells of both tables each reading explains, the best first."""
    counts = {
        outcome.variant.name: [
            sum(f.agrees is True for f in outcome.tables[name].values()) for name in TABLES
        ]
        for outcome in variants
    }
    best = sorted(counts, key=lambda name: -sum(counts[name]))
    rows = [[name, *(str(c) for c in counts[name]), str(sum(counts[name]))] for name in best]
    size = len(next(iter(TABLES.values())))
    headings = [f"{TITLES[name]}, of {size}" for name in TABLES]
    return grid(["reading, attributes of a query", *headings, "both"], rows)


def best_readings(variants: Sequence[VariantOutcome]) -> str:
    """One line per table and p: what explains it, or what comes nearest."""
    lines = []
    for (name, p), row in fits(variants).items():
        title = "Table 1" if name == "table1" else "Table 2"
        enough = [fit.name for fit in row if fit.explains]
        best = row[0]
        if enough:
            text = f"explained by {_listed(enough)}"
        else:
            text = (
                f"**explained by none**; nearest is {best.name} ({best.agree} of {CELLS} cells "
                f"agree, ours / paper {best.ratio:.2f})"
            )
        lines.append(f"- {title}, p = {p}: {text}.")
    return "\n".join(lines)


def _listed(names: Sequence[str]) -> str:
    return "; ".join(f"*{name}*" for name in names)


def variant_table(variants: Sequence[VariantOutcome], name: str = "table1") -> str:
    """Per variant and p: the mean error over T_d for each T_v."""
    rows = []
    for outcome in variants:
        table = outcome.tables[name]
        for p in KEEPS:
            row = [outcome.variant.name, str(p)]
            for most in MOST_CELLS:
                cells = [table[p, most, least] for least in LEAST_DEPENDENCES]
                row += [", ".join(f"{cell.value:.3f}" for cell in cells)]
            rows.append(row)
    return grid(["variant", "p", *(f"T_v = {m}" for m in MOST_CELLS)], rows)


def cluster_table(variants: Sequence[VariantOutcome]) -> str:
    """What each way to learn dependences costs, and how many clusters it typically finds."""
    rows = []
    for outcome in variants:
        settings = outcome.variant.settings
        counts = {cell: found.value for cell, found in outcome.clusters.items()}
        for p, (report, spent) in epsilons(settings).items():
            if not outcome.clusters:
                counts = _fixed_clusters(settings.dependences, p)
            total = "∞" if spent == float("inf") else f"{report + spent:.2f}"
            found = [
                ", ".join(f"{counts[p, most, least]:g}" for least in LEAST_DEPENDENCES)
                for most in MOST_CELLS
            ]
            rows.append([outcome.variant.name, str(p), f"{report:.2f}", total, *found])
    headings = ["way", "p", "ε of the report", "ε in all"]
    return grid([*headings, *(f"clusters, T_v = {m}" for m in MOST_CELLS)], rows)


def _fixed_clusters(name: str, p: float) -> dict[Cell, float]:
    """How many clusters a way finds that finds the same ones in every run."""
    population = adult_population()
    found = way(name).learn(population, p, np.random.default_rng(0))
    return {
        (p, most, least): float(len(clusters_of(found, population, most, least)))
        for most in MOST_CELLS
        for least in LEAST_DEPENDENCES
    }


def threshold_lines(variants: Sequence[VariantOutcome]) -> str:
    """Per way, in how many cases T_d matters, and which way."""
    lines = []
    for outcome in variants:
        table = outcome.tables["table1"]
        pairs = [(table[p, m, 0.1], table[p, m, 0.3]) for p in KEEPS for m in MOST_CELLS]
        found = [below(small, large) for small, large in pairs]
        better, worse = found.count(True), found.count(False)
        lines.append(
            f"- `{outcome.variant.name}`: T_d = 0.1 is better than 0.3 beyond chance in {better} "
            f"of {len(pairs)} cases and worse in {worse}."
        )
    return "\n".join(lines)


def claim_table(claims: Sequence[Claim]) -> str:
    """Every claim with its verdict and number."""
    rows = [[c.section, c.text, f"**{c.verdict}**", c.evidence.replace("|", "\\|")] for c in claims]
    return grid(["section", "the paper", "here", "the number"], _escaped(rows), ":--")


def _escaped(rows: Iterable[Sequence[str]]) -> Iterable[Sequence[str]]:
    for section, text, verdict, evidence in rows:
        yield section, text.replace("|A|", "\\|A\\|"), verdict, evidence


def agreement(table: TableMedians) -> str:
    """How many cells agree with the paper's.

    Returns:
        `"12 of 36"`.
    """
    return f"{sum(f.agrees is True for f in table.values())} of {len(table)}"
