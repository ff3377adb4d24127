"""The page on coverage, its numbers from one run of `benchmarks.coverage`."""

from __future__ import annotations

KINDS = ("categories", "cells", "rare cells", "sets")
APART = ("cells, asked of nobody together", "sets, asked of nobody together")
UNBIASED = ("product", "pairwise", "ibu")
MODELS = ("latent", "correspondence", "auto")

HEAD = """# How often intervals hold the truth

Every count and table cell of every estimator has an interval. This page says how often those of
95 % hold the true count, on simulated people and on Adult. `make bench-coverage` made it.

*Categories* are of one attribute; *cells* are single combinations of two; *rare cells* are those
with 1 to 9 people; *sets* are random tenths of two attributes' combinations. After each share
stands its standard error over randomizations, since intervals of one randomization share its noise
(0 where all of them held it; few randomizations then say little).
*People* are those who reported: only the randomization is uncertain. For a *population* people are
drawn anew from a law each time, and its shares are the truth.

"""

UNBIASED_TEXT = """## Unbiased estimates

`product` within its clusters (single attributes when each is alone), `pairwise` and `ibu` centre
their intervals on the unbiased count, whose variance is known. It depends on the count itself: a
cell that nobody was reported in shows no spread, though one of a few people would have some. So an
interval holds every count that a test at that count's own variance does not reject, with counts
below 0 or above n ruled out (`src/mdrr/estimation/interval.py`). It is then widened to hold the
estimate itself, which is a proper distribution's and may lie outside: where that happens often, as
in rare cells of noisy reports, the truth is held a little more often than stated. `adjust` keeps
`product`'s estimates within clusters. The last rows are of 30 people.

"""

MODELS_TEXT = """## Estimates that take something for granted

`latent` and `auto` refit resampled reports, which shows how a fit varies but not how wrong it is.
That is read off its distance to the unbiased table, as far as the latter's noise lets it be seen
(`src/mdrr/estimation/misfit.py`), and shared among a table's cells: intervals of cells with few
people are as wide as other cells'. Where the unbiased count of a set lies further off than its own
standard error, the interval is the unbiased one, widened to hold the estimate, as all of
`correspondence` are: a fit may miss a diagonal in one direction, which no cell shows. A miss below
that standard error is not seen, and such sets are held less often, so in `related`, where two
attributes agree for nine of ten people, and cells of many people too. {lowest}
Who needs 95 % of such cells takes `pairwise`, whose intervals are unbiased; it is here for
comparison. In brackets stands the mean half-width of the sets, in per cent of all people.

"""

ACROSS_TEXT = """## Across clusters: no promise

`product` takes clusters for independent, and `adjust` keeps the randomized records' odds ratios.
Their intervals measure noise, not that, and hold the truth as seldom as this:

"""

APART_TEXT = """## Attributes that nobody was asked together

A design may ask some pairs of nobody; plans made without dependences do not. What is said of such
a pair comes from a model, and no report can show how wrong that is. Intervals allow for a Cramér's
V of 0.2, which is enough for some data and not for others.
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
