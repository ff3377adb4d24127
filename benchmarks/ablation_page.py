"""docs/benchmarks/ablation.md, made of benchmarks/results/ablation.json and nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import pages

PAGE = Path("docs/benchmarks/ablation.md")
METRICS = {
    "query": "counts",
    "tv1": "single attributes",
    "tv2": "pairs",
    "tv3": "triples",
    "tv4": "four-way",
}
DESIGNS = {"planned": "planned designs", "independent": "RR-Independent"}
EARNED = 1.01
"""A part is worth its place if errors grow by one per cent and more without it."""
RARELY = 1.1
"""Or, in few cases, if some error grows by so much."""
INVENTED = 1.25
"""A part keeps dependence from being invented if without it so many times more is."""
NOT_WORTH = "not worth its place"
WITHOUT = "auto without "

Case = tuple[str, str, float]

HEAD = """# Which parts of the default are worth their place

`auto`, the default, is made of several parts. Here it is compared with itself without each of them,
and with the simpler estimators. The table has errors as multiples of those of `auto`, below 1 where
a variant errs less. Each is a geometric mean over {cases}. `make bench-ablation` made this
page.

A part is called worth its place if errors grow by one per cent or more without it, in the mean over
the five kinds, with one of the two kinds of designs; of use in few cases, if only some single error
grows by a tenth or more; harmful, if errors shrink by one per cent without it."""

ABOUT = """*Counts* have the median relative error of {queries} counts over a tenth of two
attributes' combinations. The others have the mean total variation: all single attributes, all
pairs, {wide} tables of three attributes and as many of four. *CPU* is the mean processor time of an
estimate in seconds. A dash stands where nothing differs: with RR-Independent nobody reports several
attributes as one, so there are no records. The data sets are those that the defaults were chosen
on."""


class Book:
    """The rows of one run, looked up by variant and case."""

    def __init__(self, results: Mapping[str, Any]) -> None:
        self.whole: str = results["whole"]
        self.variants: list[str] = results["variants"]
        self.rows: dict[tuple[str, Case], Mapping[str, Any]] = {
            (row["variant"], (row["design"], row["data"], row["epsilon"])): row
            for row in results["rows"]
        }

    def cases(self, variant: str, design: str, epsilon: float | None = None) -> list[Case]:
        """Where a variant was measured."""
        return [
            case
            for name, case in self.rows
            if name == variant and case[0] == design and epsilon in (None, case[2])
        ]

    def ratio(self, variant: str, case: Case, metric: str) -> float:
        """A variant's error over the default's; 1 where both have none."""
        ours, whole = (self.rows[name, case][metric] for name in (variant, self.whole))
        least = 1e-6  # as exactly as results are kept
        return max(ours, least) / max(whole, least)

    def mean(
        self, variant: str, design: str, metrics: Sequence[str], epsilon: float | None = None
    ) -> float | None:
        """The geometric mean of ratios over all cases, or None if there is none."""
        logs = [
            math.log(self.ratio(variant, case, metric))
            for case in self.cases(variant, design, epsilon)
            for metric in metrics
        ]
        return math.exp(sum(logs) / len(logs)) if logs else None

    def cpu(self, variant: str, design: str) -> float | None:
        """The mean processor time."""
        times = [self.rows[variant, case]["cpu"] for case in self.cases(variant, design)]
        return sum(times) / len(times) if times else None

    def worst(self, variant: str) -> tuple[float, str, Case]:
        """The largest ratio of all, and where."""
        return max(
            (self.ratio(variant, case, metric), METRICS[metric], case)
            for design in DESIGNS
            for case in self.cases(variant, design)
            for metric in METRICS
        )


def document(results: Mapping[str, Any]) -> str:
    """The whole page."""
    book = Book(results)
    if not book.rows:
        return HEAD.splitlines()[0] + "\n\nNothing has been measured yet.\n"
    parts = [
        HEAD.format(cases=measured(book)),
        stopped(book, results),
        table(book),
        *(f"- {sentence}" for sentence in sentences(book)),
        ABOUT.format(wide=results["wide"], queries=f"{results['queries']:,}"),
        "## By budget",
        "The same by ε, mean over data sets: pairs, and tables of three attributes.",
    ]
    for design in DESIGNS:
        for metric in ("tv2", "tv3"):
            parts += [f"### {METRICS[metric].capitalize()}, {DESIGNS[design]}"]
            parts += [by_budget(book, design, metric)]
    text = "\n\n".join(pages.wrapped(part) for part in parts if part)
    return text.replace("\n\n- ", "\n- ").replace("|\n- ", "|\n\n- ") + "\n"


def measured(book: Book) -> str:
    """How many cases there are, in words."""
    whole = [case for name, case in book.rows if name == book.whole]
    names = sorted({case[1] for case in whole})
    budgets = sorted({case[2] for case in whole})
    seeds = [row["seeds"] for row in book.rows.values()]
    shown = ", ".join(f"{budget:g}" for budget in budgets)
    return (
        f"data sets ({', '.join(names)}) and ε ({shown}), with a mean over {pages.span(seeds)} "
        f"randomization{'s' if max(seeds) > 1 else ''} of each"
    )


def stopped(book: Book, results: Mapping[str, Any]) -> str:
    """What a whole run would have, if this one was not."""
    cases = sum(name == book.whole for name, _ in book.rows)
    seeds = min(row["seeds"] for row in book.rows.values())
    if cases >= results["cases"] and seeds >= results["seeds"]:
        return ""
    return (
        f"**These are first numbers.** A whole run has {results['cases']} cases (designs, data "
        f"sets, ε) with {results['seeds']} randomizations each; this one has {cases}."
    )


def table(book: Book) -> str:
    """One line for each variant; each design's errors and times."""
    heads = [
        f"{title}, {name}" for name in ("planned", "indep.") for title in (*METRICS.values(), "CPU")
    ]
    rows = []
    for variant in book.variants:
        cells = [variant]
        for design in DESIGNS:
            cells += [shown(book.mean(variant, design, [metric])) for metric in METRICS]
            cells.append(shown(book.cpu(variant, design), digits=1))
        rows.append(cells)
    return pages.table(["variant", *heads], rows)


def by_budget(book: Book, design: str, metric: str) -> str:
    budgets = sorted({case[2] for _, case in book.rows})
    rows = [
        [variant, *(shown(book.mean(variant, design, [metric], budget)) for budget in budgets)]
        for variant in book.variants
        if variant != book.whole and book.cases(variant, design)
    ]
    return pages.table(["variant", *(f"ε = {budget:g}" for budget in budgets)], rows)


def shown(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def sentences(book: Book) -> list[str]:
    """What the table says: of every part, and of every simpler estimator."""
    parts, simpler = [], []
    for variant in book.variants:
        means = {design: book.mean(variant, design, list(METRICS)) for design in DESIGNS}
        known = {design: mean for design, mean in means.items() if mean is not None}
        if variant == book.whole or not known:
            continue
        times = " and ".join(f"{mean:.2f} with {DESIGNS[design]}" for design, mean in known.items())
        value, metric, (design, name, epsilon) = book.worst(variant)
        worst = f"{value:.2f} ({metric}, {name}, {DESIGNS[design]}, ε = {epsilon:g})"
        if variant.startswith(WITHOUT):
            part, guard = variant.removeprefix(WITHOUT), beyond(book, variant)
            judged = verdict(known, value)
            if guard and judged == NOT_WORTH:
                judged = "a guard for few cases"
            parts.append(
                f"**{part[0].upper()}{part[1:]}: {judged}.** Without, errors are multiplied by "
                f"{times}; at worst by {worst}.{guard} {spent(book, variant, known)}"
            )
        else:
            simpler.append(f"`{variant}` multiplies errors by {times}; at worst by {worst}.")
    return parts + simpler


def verdict(means: Mapping[str, float], worst: float) -> str:
    """Whether a part earns its place, by the errors without it."""
    earned = [DESIGNS[design] for design, mean in means.items() if mean >= EARNED]
    harmed = [DESIGNS[design] for design, mean in means.items() if mean <= 1 / EARNED]
    if earned and harmed:
        return f"worth its place with {earned[0]}, harmful with {harmed[0]}"
    if earned:
        return "worth its place"
    if harmed:
        return "harmful"
    return "of use in few cases" if worst >= RARELY else NOT_WORTH


def beyond(book: Book, variant: str) -> str:
    """What a part does against dependence that is not there, where it does something."""
    found = [
        max((row.get("invented", 0.0) for (name, _), row in book.rows.items() if name == each))
        for each in (variant, book.whole)
    ]
    if not min(found) or found[0] < INVENTED * found[1]:
        return ""
    return (
        " It keeps dependence from being invented: the most that any pair errs beyond the product "
        f"of its own margins is {found[1]:.3f} in total variation, and {found[0]:.3f} without."
    )


def spent(book: Book, variant: str, designs: Mapping[str, float]) -> str:
    """How much of the default's processor time is spent on a part."""
    times = []
    for design in designs:
        rest, whole = book.cpu(variant, design), book.cpu(book.whole, design)
        assert rest is not None
        assert whole is not None
        times.append(f"{max(whole - rest, 0):.1f} of {whole:.1f} s with {DESIGNS[design]}")
    return f"Processor time spent on it: {', '.join(times)}."
