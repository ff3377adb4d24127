"""docs/benchmarks/accuracy.md and its charts, made of benchmarks/results/accuracy.json alone."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

from benchmarks.accuracy_book import (
    TITLES,
    Book,
    Results,
    choosing,
    each_peer,
    kinds,
    overview,
    seeds_table,
    small_budgets,
    table,
    two_phases,
    verdicts,
)
from benchmarks.charts import lines

from benchmarks import pages

PAGE = Path("docs/benchmarks/accuracy.md")
IMAGES = Path("docs/benchmarks/img")
OVERVIEW_CHART = "accuracy-adult.svg"
SEEN_CHART, HELD_OUT_CHART = "accuracy.svg", "accuracy-held-out.svg"
SHOWN = ("RR-Independent", "RR-Cl 100 + Adj", "SMP", "CALM", "mbi on pairs", "auto", "plan + auto")
"""The methods in the charts: the rest is in the tables."""

HEAD = """# Accuracy at the same privacy

Every method here gets the same people and the same total ε per person, and answers the same
questions. `make bench-accuracy` runs them all and makes this page from
`benchmarks/results/accuracy.json`.
"""

ADULT = """## In short

The median relative error of count queries on Adult, {n:,} people. Smaller is better. The last line
has all data sets: the error of {ours} divided by that of the best peer, the geometric mean.
"""

READING = """![Error of count queries on Adult against ε](img/{chart})

- *auto* estimates from the reports of RR-Independent: everybody answers every attribute, and each
  answer is randomized by itself. [limits.md](limits.md) shows how much such reports can tell.
- *plan + auto* is what a user gets by default. `mdrr.plan` chooses what people are asked. It knows
  only the attributes, the number of people and ε.
- *The paper's best* may be RR-Clusters, which asks related attributes together. It is told the
  true dependences, and here that costs it no ε.
- The best of the paper's methods and of the peers is picked at each ε after the fact. That favours
  them.
- The paper's own settings are p = .1, .3, .5 and .7. RR-Independent then spends ε = 4.62, 10.69,
  15.92 and 21.89.

The rest of this page is detail.
"""

MEASURES = """## What is measured

- **Count queries** are the paper's metric. A query picks two attributes and a tenth of their
  combinations, at random, and counts the people in them: X_S, at least 1. The error is the median
  of |X̂_S − X_S| / X_S over {queries:,} queries ({adult_queries:,} on Adult), the same
  for all methods.
- **Total variation** of a table is ½ Σ |estimated − true|. The error is its mean over all single
  attributes, over all pairs, or over {wide} random tables of three or of four attributes.

Numbers are means over seeds ({seeds}).
In the tables at the end the best of each column is bold.

{origin}
"""


def listed(names: list[str]) -> str:
    """a, b and c"""
    return " and ".join(", ".join(names).rsplit(", ", 1))


def origin(book: Book) -> str:
    """Which data sets the defaults were chosen on, and which are held out."""
    told = []
    if book.seen:
        told.append(
            "The defaults of `auto` and `plan` were chosen while looking at errors on "
            f"{listed(book.seen)}, mostly on Adult. That favours ours somewhat there."
        )
    if not book.held_out:
        return textwrap.fill(" ".join([*told, "No data set here is held out."]), 100)
    told.append(
        f"Held out: {listed(book.held_out)}. Their bins and laws were declared before any method "
        "was run on them. No default was chosen by looking at results on them, with one exception: "
        "how an earlier `correspondence` chose its axes was decided after runs on all data sets. "
        "Three faults of `auto` were also corrected after these runs. Each shows on the other data "
        "sets and on fresh draws of the law of potts as well: wide tables started from latent "
        "classes even where held-out pairs spoke against them; tables of pure noise were sometimes "
        "believed; and among many pairs some were believed by chance."
    )
    return textwrap.fill(" ".join(told), 100)


def older(book: Book) -> list[str]:
    """A note while results of ours are older than the estimators; nothing once all are new."""
    names = book.older
    if not names:
        return []
    words = (
        f"**Some numbers are older than the code.** {listed(names)} were measured with an earlier "
        "version of the estimators. This command measures them again:"
    )
    option = f'"{",".join(names)}"'
    command = f"    python -m benchmarks.accuracy --methods {option} --again {option}"
    return [*textwrap.wrap(words, 100), "", command, ""]


def apart(book: Book, part: Callable[[Book, list[str]], list[str]]) -> list[str]:
    """A part of the page once for the data sets looked at and once for those held out."""
    kinds = {
        "Data sets the defaults were chosen on": book.seen,
        "Held-out data sets": book.held_out,
    }
    made = []
    for kind, names in kinds.items():
        found = part(book, names) if names else []
        if found:
            made += [f"### {kind}: {listed(names)}", "", *found, ""]
    return made


def document(results: Results) -> str:
    """The page."""
    book = Book(results)
    seeds = sorted({row["seeds"] for row in results["rows"]})
    told = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}, see the last table"
    counts = {key: results[key] for key in ("queries", "adult_queries", "wide")}
    parts = [HEAD, *older(book)]
    if "adult" in book.data:
        parts += [
            ADULT.format(ours=book.ours, n=results["people"]["adult"]["n"]),
            *overview(book, "adult"),
            "",
        ]
        parts += [READING.format(chart=OVERVIEW_CHART)]
    parts += [MEASURES.format(origin=origin(book), seeds=told, **counts)]
    parts += ["## Who wins", "", *apart(book, verdicts)]
    if small := apart(book, small_budgets):
        parts += ["## At ε = 1, 2, 4 and 8", "", TRADE, *small]
        parts += ["### Every peer", "", *each_peer(book), ""]
    if phases := two_phases(book):
        parts += ["## Two phases", "", PHASES, *phases, ""]
    parts += ["## Error against ε", ""]
    for names, file in ((book.seen, SEEN_CHART), (book.held_out, HELD_OUT_CHART)):
        if names:
            parts += [f"![Error against ε on {listed(names)}](img/{file})", ""]
    if "auto" in book.methods:
        parts += ["## What choosing costs", "", *apart(book, choosing)]
    rows = []
    for name, people in results["people"].items():
        sizes = f"{people['attributes']} ({', '.join(map(str, people['sizes']))})"
        role = "held out" if name in book.held_out else "chosen on it"
        counts = f"{people['n']:,}", sizes, f"{people['cells']:,}"
        rows.append((name, role, *counts, people["about"]))
    heads = ["name", "defaults", "people", "attributes", "cells", "what"]
    parts += ["## Data", "", pages.table(heads, rows, texts=(0, 1, 5)), ""]
    methods = [
        (name, *map(results["methods"][name].get, ("group", "about"))) for name in book.methods
    ]
    heads = ["method", "whose", "what"]
    parts += ["## Methods", "", pages.table(heads, methods, texts=(0, 1, 2))]
    versions = ", ".join(f"{k} {v}" for k, v in results["versions"].items() if v)
    parts += ["", NOTES.format(versions=versions)]
    for data in book.data:
        parts += [f"## {data}", ""]
        for metric, title in TITLES.items():
            parts += [f"### {title} ({data})", "", table(book, data, metric), ""]
    parts += ["## Seeds", "", seeds_table(book)]
    return "\n".join(parts) + "\n"


TRADE = """At a small ε, a survey can tell more about pairs or more about single attributes, not
both. [frontier.md](frontier.md) shows plans with other weights than the default beside the peers.
"""

PHASES = """*pilot + auto* asks a quarter of the people what *plan + auto* would ask, and learns
dependences from their reports. With those it plans what the others are asked. The table has its
error divided by that of *plan + auto*, the geometric mean over all data sets. Knowing dependences
changes little: most people are asked the same with or without them, and `auto` finds them anyway.
"""

NOTES = """Versions: {versions}. Peers run with their best published settings:

- **ibu**: the iterative Bayesian update of Agrawal and Aggarwal (2001), table by table, on the
  reports of RR-Independent. Each table is then made to agree with the margins.
- **SPL, SMP, RS+FD**: the package's own clients and aggregators, which choose between GRR and OUE.
  They estimate single attributes; wider tables are products of those. RS+FD as published counts ε
  between records that differ in one attribute. Between whole records it spends
  ln(d(e^ε − 1) + 1), so it is also run with a budget that makes that the stated ε. The published
  one promises less, so it is never counted as the best peer.
- **CALM** and **pair sampling**: GRR or OUE by the number of cells, PriView's consistency, maximum
  entropy for wider tables. They are written here, since no package has them. CALM's views have the
  size with the smallest predicted error, up to all attributes. Wide views keep their unbiased
  marginals: this was decided in its favour after first runs on adult and randhie.
- **mbi**: Private-PGM fitted to unbiased tables of single attributes and pairs, weighted by their
  standard errors. Pairs are chosen by AIM's score within a junction tree of half a megabyte.
- **Castell**: the aggregated inverse as its abstract describes it; the nearest distribution
  replaces negative shares. The abstract does not describe its hybrid extension, so that is not run.
- **RR-Clusters** gets exact dependences, as in the paper's experiments, and pays no ε for them.
"""


def write(results: Results, page: Path = PAGE, images: Path = IMAGES) -> None:
    """The page and its charts."""
    page.write_text(document(results), encoding="utf-8")
    book = Book(results)
    images.mkdir(exist_ok=True)
    if "adult" in book.data:
        lines(summits(book), images / OVERVIEW_CHART, list(kinds(book)), width=460, height=280)
    for names, file in ((book.seen, SEEN_CHART), (book.held_out, HELD_OUT_CHART)):
        if names:
            lines(points(book, names), images / file, [m for m in SHOWN if m in book.methods])


def summits(book: Book) -> list[dict[str, object]]:
    """What the first chart draws: the lines of the first table."""
    found = [
        (kind, epsilon, book.best("adult", epsilon, "query", methods))
        for kind, methods in kinds(book).items()
        for epsilon in book.epsilons
    ]
    words = {"data": "Adult: median relative error of count queries", "what": ""}
    return [{"method": k, "epsilon": e, "error": top[0], **words} for k, e, top in found if top]


def points(book: Book, names: list[str]) -> list[dict[str, object]]:
    """What is drawn: the shown methods on some data sets."""
    return [
        {"method": m, "data": d, "epsilon": e, "error": book.get(d, e, m, metric), "what": what}
        for metric, what in (("query", "count queries"), ("tv2", "pairs, TV"), ("tv4", "four, TV"))
        for d in names
        for e in book.epsilons
        for m in SHOWN
        if m in book.methods and book.get(d, e, m, metric) is not None
    ]
