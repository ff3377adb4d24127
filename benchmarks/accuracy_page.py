"""docs/benchmarks/accuracy.md and its charts, made of benchmarks/results/accuracy.json alone."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

from benchmarks.accuracy_book import (
    TITLES,
    Book,
    Results,
    against_paper,
    choosing,
    each_peer,
    seeds_table,
    small_budgets,
    table,
    two_phases,
    verdicts,
)
from benchmarks.charts import lines

PAGE = Path("docs/benchmarks/accuracy.md")
IMAGES = Path("docs/benchmarks/img")
SEEN_CHART, HELD_OUT_CHART = "accuracy.svg", "accuracy-held-out.svg"
SHOWN = ("RR-Independent", "RR-Cl 100 + Adj", "SMP", "CALM", "mbi on pairs", "auto", "plan + auto")
"""The methods in the charts: the rest is in the tables."""

HEAD = """# Accuracy at the same privacy

Every method below gets the same people and the same total ε per person, and answers the same
questions. `make bench-accuracy` runs everything and makes this page from
`benchmarks/results/accuracy.json`.

{origin}

**The rows of ours were measured before every answer came from one joint**, when `correspondence`
also drew axes and `latent` was part of `auto` everywhere. `make bench-accuracy` measures them anew.

- **Count queries** are the paper's metric: two random attributes, a random tenth of their
  combinations, X_S > 0; the median of |X̂_S − X_S| / X_S over {queries:,} queries ({adult_queries:,}
  on Adult), the same for all methods.
- **Total variation** is ½ Σ |estimated − true| of a table: the mean over all single attributes, all
  pairs, and {wide} random tables of three and of four attributes.

Numbers are means over seeds ({seeds}).
The best of a column is bold. The ε on Adult are those that RR-Independent spends at p = .1 (4.62),
.3 (10.69), .5 (15.92) and .7 (21.89).
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
            f"{listed(book.seen)}, on Adult most, which favours ours somewhat there."
        )
    if book.held_out:
        told.append(
            f"Held out: {listed(book.held_out)}. Their bins and laws were declared before any "
            "method was run on them, and but for one no default was chosen by looking at "
            "results on them: that `correspondence` averaged fitted and drawn axes, where drawn "
            "ones alone are better on Adult and worse on some others, was decided after runs on "
            "all. Three flaws of `auto` were mended after their runs as well, on the other data "
            "sets and fresh draws of the law of potts, which show them too: wide tables started "
            "from latent classes whatever held-out pairs said, tables of hopeless noise were "
            "believed now and then, and of many pairs some were believed by chance."
        )
    else:
        told.append("No data set here is held out.")
    return textwrap.fill(" ".join(told), 100)


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
    parts = [HEAD.format(origin=origin(book), seeds=told, **counts)]
    parts += ["## Who wins", "", *apart(book, verdicts)]
    if small := apart(book, small_budgets):
        parts += ["## At ε = 1, 2, 4 and 8", "", TRADE, *small]
        parts += ["### Every peer", "", *each_peer(book), ""]
    if "adult" in book.data:
        parts += ["## The paper's metric on Adult", "", PAPER, *against_paper(book, "adult"), ""]
    if phases := two_phases(book):
        parts += ["## Two phases", "", PHASES, *phases, ""]
    parts += ["## Error against ε", ""]
    for names, file in ((book.seen, SEEN_CHART), (book.held_out, HELD_OUT_CHART)):
        if names:
            parts += [f"![Error against ε on {listed(names)}](img/{file})", ""]
    if "auto" in book.methods:
        parts += ["## What choosing costs", "", *apart(book, choosing)]
    parts += [
        "## Data",
        "",
        "| name | defaults | people | attributes | cells | what |",
        "|---|---|--:|--:|--:|---|",
    ]
    for name, people in results["people"].items():
        sizes = f"{people['attributes']} ({', '.join(map(str, people['sizes']))})"
        role = "held out" if name in book.held_out else "chosen on it"
        parts.append(
            f"| {name} | {role} | {people['n']:,} | {sizes} | {people['cells']:,} "
            f"| {people['about']} |"
        )
    parts += ["", "## Methods", "", "| method | whose | what |", "|---|---|---|"]
    for name in book.methods:
        method = results["methods"][name]
        parts.append(f"| {name} | {method['group']} | {method['about']} |")
    versions = ", ".join(f"{k} {v}" for k, v in results["versions"].items() if v)
    parts += ["", NOTES.format(versions=versions)]
    for data in book.data:
        parts += [f"## {data}", ""]
        for metric, title in TITLES.items():
            parts += [f"### {title} ({data})", "", *table(book, data, metric), ""]
    parts += ["## Seeds", "", *seeds_table(book)]
    return "\n".join(parts) + "\n"


TRADE = """At small budgets what is told of pairs is not told of single attributes:
[frontier.md](frontier.md) shows plans of other choices than the default's beside the peers.
"""

PAPER = """*Same reports* are RR-Independent's, one attribute at a time. RR-Clusters asks related
attributes jointly, knowing from the truth which are, and may then err less than anything made of
RR-Independent's reports; *plan + auto* may ask what it likes as well, and knows nothing.
[limits.md](limits.md) shows what the same reports can tell at all.
"""

PHASES = """*pilot + auto* asks a quarter of the people what *plan + auto* would, learns dependences
from them, and plans for the others with those. Its errors divided by those of *plan + auto*, the
geometric mean over all data sets: to know dependences changes little, since what is asked of most
people does not hang on them, and the default's estimate finds them anyhow.
"""

NOTES = """Versions: {versions}. The peers are run at their best published setting:

- **SPL, SMP, RS+FD**: the package's own clients and aggregators, adaptive between GRR and OUE. They
  estimate single attributes; wider tables are products of those. RS+FD as published counts ε
  between records that differ in one attribute; between whole records it spends
  ln(d(e^ε − 1) + 1), so it is also run with a budget that makes that ε. The published one is no
  peer at the same ε, and the best of a column is chosen without it.
- **CALM** and **pair sampling**: GRR or OUE by the view's cells, PriView's consistency, maximum
  entropy for wider tables; written here, since no package has it. CALM's views have the size whose
  error is predicted smallest, up to all attributes; that wide views keep their unbiased marginals
  was decided in its favour after first runs on adult and randhie.
- **mbi**: Private-PGM fitted to unbiased tables of single attributes and pairs, weighted by their
  standard errors; pairs are chosen by AIM's score within a junction tree of half a megabyte.
- **Castell**: the aggregated inverse as its abstract describes it, negatives removed by the nearest
  distribution; its hybrid extension is not described there and not run.
- **RR-Clusters** gets exact dependences, as in the paper's experiments, and pays no ε for
  them here.
"""


def write(results: Results, page: Path = PAGE, images: Path = IMAGES) -> None:
    """The page and its charts."""
    page.write_text(document(results))
    book = Book(results)
    images.mkdir(exist_ok=True)
    for names, file in ((book.seen, SEEN_CHART), (book.held_out, HELD_OUT_CHART)):
        if names:
            lines(points(book, names), images / file, [m for m in SHOWN if m in book.methods])


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
