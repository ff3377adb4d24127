"""The page on coverage, its numbers from one run of `benchmarks.coverage`."""

from __future__ import annotations

KINDS = ("categories", "cells", "rare cells", "sets")
APART = ("cells, asked of nobody together", "sets, asked of nobody together")
UNBIASED = ("product", "pairwise")
MODELS = ("latent", "correspondence", "auto")

HEAD = """# How often intervals hold the truth

Every count and table cell of every estimator has an interval. This page says how often those of
95 % hold the true count, on simulated people and on Adult. `make bench-coverage` made it.

**The numbers were measured before all estimators had the same interval.** Those of `product` within
clusters and of `pairwise` were the unbiased ones then as well. Those of `latent`, `correspondence`,
`auto`, and of `product` and `adjust` across clusters were the methods' own. `make bench-coverage`
measures them anew.

*Categories* are of one attribute; *cells* are single combinations of two; *rare cells* are those
with 1 to 9 people; *sets* are random tenths of two attributes' combinations. After each share
stands its standard error over randomizations, since intervals of one randomization share its noise
(0 where all of them held it; few randomizations then say little).
*People* are those who reported: only the randomization is uncertain. For a *population* people are
drawn anew from a law each time, and its shares are the truth.

"""

UNBIASED_TEXT = """## One interval for every estimator

Every interval is that of the unbiased count, whatever estimator gave the count itself
(`src/mdrr/estimation/uncertainty.py`). Its variance follows from the design. It depends on the
count: a cell that nobody was reported in shows no spread, though one of a few people would have
some. So an interval holds every count that a test at that count's own variance does not reject,
with counts below 0 or above n ruled out. The estimate lies inside: where it would not, the interval
is made longer. That happens most in rare cells of noisy reports, and there the truth is held a
little more often than stated. The first table has the estimators that take nothing for granted
within a cluster: `product` and `adjust` within their clusters, and `pairwise`. The last rows are of
30 people.

"""

MODELS_TEXT = """## Estimates that take something for granted

`latent`, `correspondence` and `auto` may miss, so their intervals are the unbiased ones too;
`pairwise` is here for comparison. {lowest} In brackets stands the mean half-width of the sets, in
per cent of all people.

"""

ACROSS_TEXT = """## Across clusters

`product` takes clusters for independent, and `adjust` keeps the randomized records' odds ratios.
Their estimates across clusters may be far off. The interval allows for that: it is the unbiased
one, made long enough to hold the estimate.

"""

APART_TEXT = """## Attributes that nobody was asked together

A design may ask some pairs of nobody; plans made without dependences do not. What is said of such
a pair comes from a model, and no report can show how wrong that is. Its interval is as wide as the
intervals of its parts allow: no larger than any of them, and no smaller than what they must have in
common (Fréchet).
"""


def document(results: dict) -> str:
    """The whole page."""
    rows = results["rows"]
    first = [r for r in rows if r["method"] in (*UNBIASED, "adjust") and r["kinds"]]
    unbiased = [r for r in first if any(kind in r["kinds"] for kind in KINDS)]
    models = [r for r in rows if r["method"] in ("pairwise", *MODELS)]
    compared = {(r["data"], r["n"], r["design"]) for r in rows if r["method"] == "auto"}
    models = [
        r for r in models if r["of"] == "people" and (r["data"], r["n"], r["design"]) in compared
    ]
    models.sort(key=lambda r: (-r["n"], r["data"], r["design"]))
    across = [r for r in rows if any("across" in kind for kind in r["kinds"])]
    apart = [r for r in rows if any(kind in r["kinds"] for kind in APART)]
    return (
        HEAD
        + UNBIASED_TEXT
        + table(unbiased, KINDS)
        + "\n"
        + MODELS_TEXT.format(lowest=lowest(models))
        + table(models, KINDS, width="sets")
        + "\n"
        + ACROSS_TEXT
        + table(across, tuple(f"{kind}, across clusters" for kind in KINDS[1:]))
        + "\n"
        + APART_TEXT
        + (f"\n{table(apart, APART)}" if apart else "")
    )


def lowest(rows: list[dict]) -> str:
    """The least share that the default's intervals held, in words."""
    found = [
        (row["kinds"][kind]["held"], row["kinds"][kind]["error"], kind, row)
        for row in rows
        if row["method"] == "auto"
        for kind in KINDS
        if kind in row["kinds"]
    ]
    if not found:
        return ""
    held, error, kind, row = min(found, key=lambda each: each[0])
    return (
        f"The lowest of `auto` is {held:.1%} ± {100 * error:.1f} ({row['data']}, {row['design']}, "
        f"{kind})."
    )


def table(rows: list[dict], kinds: tuple[str, ...], width: str = "") -> str:
    """One line for each row, one column for each kind of question."""
    heads = [kind.partition(",")[0] for kind in kinds]
    lines = [
        "| data | people | design | method | of | randomizations | " + " | ".join(heads) + " |",
        "|---|--:|---|---|---|--:|" + "--:|" * len(kinds),
    ]
    for row in rows:
        cells = []
        for kind in kinds:
            found = row["kinds"].get(kind)
            text = "" if found is None else f"{found['held']:.1%} ± {100 * found['error']:.1f}"
            if found and kind == width:
                text += f" ({100 * found['width']:.2f})"
            cells.append(text)
        lines.append(
            f"| {row['data']} | {row['n']:,} | {row['design']} | {row['method']} | {row['of']} "
            f"| {row['rounds']} | " + " | ".join(cells) + " |"
        )
    return "\n".join(lines) + "\n"
