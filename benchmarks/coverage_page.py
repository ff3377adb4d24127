"""docs/benchmarks/coverage.md, made of benchmarks/results/coverage.json and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import pages

PAGE = Path("docs/benchmarks/coverage.md")
KINDS = {
    "categories": "single attributes",
    "cells": "large cells",
    "rare": "rare cells",
    "sets": "sets",
}
APART = {f"apart {kind}": KINDS[kind] for kind in ("cells", "rare")}
DESIGNS = {
    "planned": "planned",
    "known": "planned, dependences known",
    "clusters": "clusters",
    "independent": "independent",
}
LOW, HIGH = 0.93, 0.97

Row = Mapping[str, Any]

ABOUT = """*Single attributes* are all their categories. The others are about two attributes: *large
cells* of ten people and more, *rare cells* of one to nine, and *sets*, each a random tenth of the
combinations. After ± stands the standard error over randomizations, since the intervals of one
share its noise. In brackets stands the mean half-width, in per cent of all people.

Designs are `mdrr.plan`'s, which knows the numbers of people and categories or, where the table says
so, also the exact dependences; and RR-Independent. Other numbers of people than a data set has are
drawn from its records with repetition; made data sets are made that large. Data sets with an
asterisk are held out for judging; [accuracy.md](accuracy.md) names what was changed after runs on
them all the same.

If a handful of people are asked a pair, few different counts can occur. Then no interval covers
exactly 95%, and these cover more rather than less."""

ONE = """Every estimator has an interval of the same kind, made from the unbiased count
([`uncertainty.py`](../../src/mdrr/estimation/uncertainty.py)). It contains the estimator's own
count, and is shorter where that follows the unbiased one less closely."""

POPULATION = """Above, the truth is the count of the people who reported: only their randomization
is uncertain. With `of="population"` the people are a sample as well. Here they are drawn anew each
time from a law, and the law's shares are the truth."""

TOGETHER = """A design may ask some pairs of nobody; plans that know the dependences do so. What an
estimate says of such a pair comes from a model, and no report can show how wrong that is. Its
interval is no confidence interval: it bounds a cell by what the single attributes' intervals
allow (Fréchet). Such bounds are wide and should contain it nearly always, not in 95 of 100
cases."""


def document(results: Mapping[str, Any]) -> str:
    """The whole page."""
    rows = results["rows"]
    main = [r for r in rows if r["method"] == "auto" and r["of"] == "people"]
    others = [r for r in rows if r["method"] != "auto"]
    population = [r for r in rows if r["of"] == "population"]
    apart = [r for r in main if any(kind in r["kinds"] for kind in APART)]
    parts = [
        "# How often intervals contain the truth",
        "Every count and table cell of an estimate has an interval. This page says how often those "
        f"of {results['level']:.0%} contain the true count. `make bench-coverage` made it.",
        numbers(results, main),
        results.get("note", ""),
        overview(main),
        verdict(main),
        ABOUT,
        "## The default",
        table(main, KINDS),
        "## Other estimators",
        ONE,
        table(others, KINDS, method=True),
        "## A population",
        POPULATION,
        table(population, KINDS),
        "## Attributes that nobody was asked together",
        TOGETHER,
        table(apart, APART),
    ]
    return "\n\n".join(pages.wrapped(part) for part in parts if part) + "\n"


def numbers(results: Mapping[str, Any], main: Sequence[Row]) -> str:
    """How many settings there are, and how many randomizations of each."""
    rounds = [row["rounds"] for row in results["rows"]]
    if not rounds:
        return "Nothing has been measured yet."
    text = (
        f"The default was measured in {len(main)} settings, with {pages.span(rounds)} "
        "randomizations in each setting of this page."
    )
    left = results["settings"] - len(rounds)
    if left or min(rounds) < results["rounds"]:
        text = f"**These are first numbers.** {text} A whole run has {results['rounds']}"
        text += f", and {left} settings more." if left else "."
    return text


def found(rows: Iterable[Row], kind: str) -> list[tuple[float, float]]:
    """(share held, its standard error) in all rows with questions of a kind."""
    return [
        (row["kinds"][kind]["held"], row["kinds"][kind]["error"])
        for row in rows
        if kind in row["kinds"]
    ]


def below(known: Iterable[tuple[float, float]]) -> int:
    """How many lie below 93 % by more than two standard errors."""
    return sum(held + 2 * error < LOW for held, error in known)


def above(known: Iterable[tuple[float, float]]) -> int:
    """How many lie above 97 % by more than two standard errors."""
    return sum(held - 2 * error > HIGH for held, error in known)


def overview(rows: Sequence[Row]) -> str:
    """The lowest, the mean and the highest of each kind, held-out data sets apart."""
    lines = []
    for title, held_out in (("seen", False), ("held out", True)):
        some = [row for row in rows if row["held_out"] == held_out]
        for kind, name in KINDS.items():
            known = found(some, kind)
            if known:
                mean = sum(held for held, _ in known) / len(known)
                ends = shown(min(known)), f"{mean:.1%}", shown(max(known))
                lines.append((title, name, len(known), *ends, below(known), above(known)))
    heads = ["data sets", "questions", "settings", "lowest", "mean", "highest"]
    heads += [f"below {LOW:.0%}", f"above {HIGH:.0%}"]
    return pages.table(heads, lines, texts=(0, 1))


def verdict(rows: Sequence[Row]) -> str:
    """What the overview's last columns say, and the lowest of all, in words."""
    known = [(each, row, kind) for kind in KINDS for row in rows for each in found([row], kind)]
    if not known:
        return ""
    each = [entry[0] for entry in known]
    least, row, kind = min(known, key=lambda entry: entry[0])
    text = (
        f"The last columns count the settings outside by more than two standard errors: of "
        f"{len(each)} numbers {below(each)} are below {LOW:.0%} and {above(each)} above "
        f"{HIGH:.0%}. One in 40 numbers whose true value is just at such a limit is counted by "
        f"chance. The lowest is {shown(least)} ({KINDS[kind]}; {where(row)})."
    )
    text += " " + "; ".join(too_many(rows)) + "." if above(each) else ""
    empty = found(rows, "empty")
    if empty:
        mean = sum(held for held, _ in empty) / len(empty)
        text += (
            " Cells with nobody in them are not counted here: their interval contains the truth if "
            f"it begins at 0, and {mean:.1%} do (lowest {shown(min(empty))})."
        )
    return text


def too_many(rows: Sequence[Row]) -> list[str]:
    """The settings above 97 %, in words, and how many people are asked a typical pair there."""
    lines = []
    for row in rows:
        kinds = [name for kind, name in KINDS.items() if above(found([row], kind))]
        if kinds:
            both = f"{row['asked_both']:,} people are asked a typical pair"
            lines.append(f"{', '.join(kinds)} of {where(row)} ({both})")
    return [f"Above are {lines[0]}", *lines[1:]] if lines else []


def where(row: Row) -> str:
    return f"{row['data']}, {row['n']:,} people, {DESIGNS[row['design']]}, ε = {row['epsilon']:g}"


def shown(each: tuple[float, float]) -> str:
    return f"{each[0]:.1%} ± {100 * each[1]:.1f}"


def table(rows: Sequence[Row], kinds: Mapping[str, str], *, method: bool = False) -> str:
    """One line for each setting, one column for each kind of question."""
    if not rows:
        return "Not measured yet."
    heads = ["data", "people", "design", "ε", "randomizations", *kinds.values()]
    lines = []
    for row in rows:
        cells = [
            row["data"] + ("\\*" if row["held_out"] else ""),
            f"{row['n']:,}",
            DESIGNS[row["design"]],
            f"{row['epsilon']:g}",
            f"{row['rounds']}",
        ]
        for kind in kinds:
            if kind in row["kinds"]:
                width = 100 * row["kinds"][kind]["width"]
                cells.append(f"{shown(*found([row], kind))} ({width:.2g})")
            else:
                cells.append("")
        lines.append([f"`{row['method']}`", *cells] if method else cells)
    if method:
        return pages.table(["method", *heads], lines, texts=(0, 1, 3))
    return pages.table(heads, lines, texts=(0, 2))
