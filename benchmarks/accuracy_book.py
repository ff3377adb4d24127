"""The tables of the accuracy page: the results by data set, budget and method, and who wins."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from benchmarks.methods import REVISION

from benchmarks import pages

Results = dict[str, Any]
Row = dict[str, Any]

LEVEL = 0.05
"""Errors this near to each other count as level."""

SINGLE = ("RR-Independent", "pairwise", "latent", "correspondence", "ibu")
"""The single methods on RR-Independent's reports that `auto` is compared with; ibu is a peer."""

SMALL = (1.0, 2.0, 4.0, 8.0)
"""The budgets at which ours is compared case by case."""

TITLES = {
    "query": "Count queries: median relative error",
    "tv1": "Single attributes: mean total variation",
    "tv2": "Tables of two attributes: mean total variation",
    "tv3": "Tables of three attributes: mean total variation",
    "tv4": "Tables of four attributes: mean total variation",
}


class Ratio(NamedTuple):
    """One error over another, and its standard error over seeds."""

    value: float
    error: float

    def __str__(self) -> str:
        wobble = "" if math.isnan(self.error) else f" ± {self.error:.2f}"
        return f"{self.value:.2f}{wobble}"


class Book:
    """The rows by data set, budget and method; which data sets defaults were chosen on."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.rows: dict[tuple[str, float, str], Row] = {
            (row["data"], row["epsilon"], row["method"]): row for row in results["rows"]
        }
        self.data = list(dict.fromkeys(row["data"] for row in results["rows"]))
        self.epsilons = sorted({row["epsilon"] for row in results["rows"]})
        held = {name for name, people in results["people"].items() if people.get("held_out")}
        self.seen = [name for name in self.data if name not in held]
        self.held_out = [name for name in self.data if name in held]
        met = {row["method"] for row in results["rows"]}
        self.methods = [name for name in results["methods"] if name in met]

    def get(self, data: str, epsilon: float, method: str, metric: str) -> float | None:
        row = self.rows.get((data, epsilon, method))
        return None if row is None else float(row[metric])

    def ratio(self, data: str, epsilon: float, method: str, other: str, metric: str) -> Ratio:
        """A method's error over another's; its standard error is nan where either has one seed."""
        rows = [self.rows[data, epsilon, name] for name in (method, other)]
        value = rows[0][metric] / rows[1][metric]
        errors = [row.get(f"{metric}_error", math.nan) / row[metric] for row in rows]
        return Ratio(value, value * math.hypot(*errors))

    def group(self, group: str) -> list[str]:
        return [m for m in self.methods if self.results["methods"][m]["group"] == group]

    def best(
        self, data: str, epsilon: float, metric: str, methods: Iterable[str]
    ) -> tuple[float, str] | None:
        found = [(self.get(data, epsilon, m, metric), m) for m in methods]
        return min(((v, m) for v, m in found if v is not None), default=None)

    @property
    def older(self) -> list[str]:
        """Our methods with results of an earlier revision than the code's."""
        old = {row["method"] for row in self.rows.values() if row.get("revision", 1) < REVISION}
        return [method for method in self.group("ours") if method in old]

    @property
    def ours(self) -> str | None:
        """What a user gets by default: the free design where it was run."""
        return next((m for m in ("plan + auto", "auto", "latent") if m in self.methods), None)


def number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}" if value < 0.01 else f"{value:.3f}"


def table(book: Book, data: str, metric: str) -> str:
    """One line per method, one column per budget, the best of a column bold."""
    made = []
    same = [m for m in book.methods if book.results["methods"][m]["group"] != "weaker"]
    best = {e: book.best(data, e, metric, same) for e in book.epsilons}
    for method in book.methods:
        cells = []
        for epsilon in book.epsilons:
            text = number(book.get(data, epsilon, method, metric))
            top = best[epsilon]
            cells.append(f"**{text}**" if top and top[1] == method else text)
        if any(cell != "–" for cell in cells):
            made.append([method, *cells])
    return by_budget("method \\ ε", book.epsilons, made)


def by_budget(what: str, budgets: list[float], rows: list[list[str]]) -> str:
    return pages.table([what, *(f"{epsilon:g}" for epsilon in budgets)], rows)


def verdicts(book: Book, names: list[str]) -> list[str]:
    """Ours against the best peer on some data sets: won, level or lost, and every case lost."""
    ours = book.ours
    if ours is None:
        return []
    counts, lost = [], []
    for metric, title in TITLES.items():
        question = title.split(":")[0]
        ratios = []
        for data in names:
            for epsilon in book.epsilons:
                mine = book.get(data, epsilon, ours, metric)
                peer = book.best(data, epsilon, metric, book.group("peer"))
                if mine is None or peer is None:
                    continue
                ratios.append(peer[0] / mine)
                if ratios[-1] < 1 / (1 + LEVEL):
                    case = question, data, f"{epsilon:g}", peer[1], number(peer[0]), number(mine)
                    lost.append((*case, book.ratio(data, epsilon, ours, peer[1], metric)))
        if ratios:
            won = sum(ratio > 1 + LEVEL for ratio in ratios)
            behind = sum(ratio < 1 / (1 + LEVEL) for ratio in ratios)
            ends = f"{np.median(ratios):.2f}", f"{min(ratios):.2f}", f"{max(ratios):.1f}"
            counts.append((question, won, len(ratios) - won - behind, behind, *ends))
    heads = ["question", "won", "level", "lost"]
    heads += ["best peer's error / ours: median", "least", "most"]
    made = [
        f"A case is a data set and an ε. In each case `{ours}`, the defaults, is compared with the",
        f"best of all peers. *Level* means that the errors are within {LEVEL:.0%} of each other.",
        "",
        pages.table(heads, counts),
    ]
    if lost:
        heads = ["question", "data", "ε", "peer", "its error", "ours", "ours / its"]
        made += ["", "A peer is better here:", "", pages.table(heads, lost, texts=(0, 1, 3))]
    return made


def small_budgets(book: Book, names: list[str]) -> list[str]:
    """Ours over the best peer at whole, small ε: pairs and single attributes, every data set."""
    ours, budgets = book.ours, [e for e in SMALL if e in book.epsilons]
    if ours is None or not budgets:
        return []
    made = []
    for metric in ("tv2", "tv1"):
        lines = {data: [data] for data in [*names, "geometric mean"]}
        for epsilon in budgets:
            ratios = []
            for data in names:
                peer = book.best(data, epsilon, metric, book.group("peer"))
                if peer is None or (data, epsilon, ours) not in book.rows:
                    lines[data].append("–")
                    continue
                ratios.append(book.ratio(data, epsilon, ours, peer[1], metric))
                lines[data].append(f"{ratios[-1]} ({peer[1]})")
            lines["geometric mean"].append(f"{_mean(ratios)}" if ratios else "–")
        what = TITLES[metric].split(":")[0]
        made += [by_budget(f"{what} \\ ε", budgets, list(lines.values())), ""]
    return [
        f"The error of `{ours}` divided by that of the best peer, ± the standard error over seeds.",
        "Below 1 ours is better. The best peer is picked after the fact, which favours peers.",
        "",
        *made[:-1],
    ]


def each_peer(book: Book) -> list[str]:
    """Ours over every single peer at small ε, the geometric mean over all data sets."""
    ours, budgets = book.ours, [e for e in SMALL if e in book.epsilons]
    if ours is None or not budgets:
        return []
    kinds = {"tv2": "pairs", "tv1": "single"}
    heads = [f"{kind}, ε = {epsilon:g}" for kind in kinds.values() for epsilon in budgets]
    made = []
    for peer in book.group("peer"):
        cells = [peer]
        for metric in kinds:
            for epsilon in budgets:
                ratios = [
                    book.ratio(data, epsilon, ours, peer, metric)
                    for data in book.data
                    if all((data, epsilon, method) in book.rows for method in (ours, peer))
                ]
                missing = "" if len(ratios) == len(book.data) else f" (of {len(ratios)})"
                cells.append(f"{_mean(ratios).value:.2f}{missing}" if ratios else "–")
        made.append(cells)
    return [
        f"The error of `{ours}` divided by each peer's: the geometric mean over all data sets.",
        "If a peer was not run on all of them, their number is in brackets.",
        "",
        pages.table(["peer", *heads], made),
    ]


def two_phases(book: Book) -> list[str]:
    """The two-phase plan over the plan that knows nothing, the geometric mean over data sets."""
    pair = ("pilot + auto", "plan + auto")
    if any(method not in book.methods for method in pair):
        return []
    made = []
    for epsilon in book.epsilons:
        names = [d for d in book.data if all((d, epsilon, m) in book.rows for m in pair)]
        if names:
            means = [_mean([book.ratio(d, epsilon, *pair, m) for d in names]) for m in TITLES]
            made.append([f"{epsilon:g}", *means])
    heads = ["ε", *(title.split(":")[0] for title in TITLES.values())]
    return [pages.table(heads, made, texts=())]


def _mean(ratios: list[Ratio]) -> Ratio:
    """The geometric mean of independent ratios."""
    value = math.exp(np.mean([math.log(ratio.value) for ratio in ratios]))
    return Ratio(value, value * math.hypot(*(r.error / r.value for r in ratios)) / len(ratios))


def kinds(book: Book) -> dict[str, list[str]]:
    """The lines of the overview: the best of the paper's methods and of the peers, and ours."""
    return {
        "the paper's best": book.group("paper"),
        "best peer": book.group("peer"),
        **{method: [method] for method in ("auto", "plan + auto") if method in book.methods},
    }


def overview(book: Book, data: str) -> list[str]:
    """The paper's metric on one data set, by ε; then ours over the best peer on all of them."""
    made, winners = [], []
    for kind, methods in kinds(book).items():
        best = [book.best(data, epsilon, "query", methods) for epsilon in book.epsilons]
        if not any(best):
            continue
        made.append([kind, *(number(top and top[0]) for top in best)])
        where: dict[str, list[str]] = {}
        for epsilon, top in zip(book.epsilons, best, strict=True):
            if top and top[1] != kind:
                where.setdefault(top[1], []).append(f"{epsilon:g}")
        if where:
            told = "; ".join(f"{name} (ε = {', '.join(at)})" for name, at in where.items())
            winners += textwrap.wrap(f"{kind[0].upper()}{kind[1:]}: {told}.", 100)
    if book.ours is None:
        return [by_budget("total ε", book.epsilons, made)]
    means = [f"*all {len(book.data)} data sets:* {book.ours} ÷ best peer"]
    for epsilon in book.epsilons:
        tops = {name: book.best(name, epsilon, "query", book.group("peer")) for name in book.data}
        ratios = [
            book.ratio(name, epsilon, book.ours, top[1], "query")
            for name, top in tops.items()
            if top and (name, epsilon, book.ours) in book.rows
        ]
        means.append(f"{_mean(ratios).value:.2f}" if ratios else "–")
    return [by_budget("total ε", book.epsilons, [*made, means]), "", *winners]


def choices(grouped: dict[tuple[str, float, str], dict[int, Row]]) -> list[Row]:
    """`auto` over the best single method, each on the seeds that both were run with.

    Arguments:
        grouped: errors by data set, ε and method, then by seed.
    """
    made = []
    for (data, epsilon, method), mine in grouped.items():
        if method != "auto":
            continue
        row: Row = {"data": data, "epsilon": epsilon}
        for metric in TITLES:
            ratios = []
            for single in SINGLE:
                theirs = grouped.get((data, epsilon, single), {})
                seeds = sorted(mine.keys() & theirs.keys())
                if seeds:
                    errors = [sum(some[seed][metric] for seed in seeds) for some in (mine, theirs)]
                    ratios.append((round(errors[0] / max(errors[1], 1e-300), 4), single))
            if ratios:
                row[metric] = max(ratios)
        made.append(row)
    return made


def choosing(book: Book, names: list[str]) -> list[str]:
    """How much `auto` loses against the best single method on the same reports."""
    made = []
    rows = [row for row in book.results.get("choices", []) if row["data"] in names]
    for metric in TITLES:
        ratios = [(*row[metric], row["data"], row["epsilon"]) for row in rows if metric in row]
        if ratios:
            worst = max(ratios)
            where = f"{worst[0]:.2f} ({worst[2]}, ε = {worst[3]:g}, {worst[1]})"
            within = f"{sum(r[0] <= 1.1 for r in ratios)} of {len(ratios)}"
            made.append((metric, f"{np.median([r[0] for r in ratios]):.2f}", where, within))
    if not made:
        return []
    peers = book.group("peer")
    single = [f"the peer {m}" if m in peers else m for m in SINGLE if m in book.methods]
    words = (
        f"The error of `auto` divided by that of the best of {', '.join(single)}, on the same "
        "reports. Each is compared over the seeds it was run with:"
    )
    heads = ["metric", "median", "worst", "at most 1.1"]
    return [*textwrap.wrap(words, 100), "", pages.table(heads, made, texts=(0, 2))]


def seeds_table(book: Book) -> str:
    """How many seeds stand behind the numbers, fewest to most over budgets."""

    def told(method: str, data: str) -> str:
        rows = [book.rows.get((data, epsilon, method)) for epsilon in book.epsilons]
        return pages.span([row["seeds"] if row else 0 for row in rows], "–")

    made = [[method, *(told(method, data) for data in book.data)] for method in book.methods]
    return pages.table(["method", *book.data], made)
