"""How often intervals hold the truth: every estimator, counts and single cells.

    python -m benchmarks.coverage  # can be stopped and resumed; writes docs/benchmarks/coverage.md
    python -m benchmarks.coverage --page  # the page from benchmarks/results alone

Intervals of one randomization share its noise, so randomizations are the sample: the standard error
of a coverage is that of a mean over them. For a population the records are a law, from which people
are drawn anew each time. The page's words are in `coverage_page.py`.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.coverage_page import document
from benchmarks.data import People, coded, correlated, load, network

import mdrr
from benchmarks import runner
from mdrr.masks import Term
from mdrr.query import Query
from mdrr.randomizer import randomize_codes
from mdrr.tallies import tally_codes

LEVEL = 0.95
RARE = 10
RESULTS = Path("benchmarks/results/coverage.json")
PEOPLE = 10_000


@dataclass(frozen=True, eq=False)
class Asked:
    """A question: which kind, the set, the true share, and whether one cluster answers it."""

    kind: str
    query: Query
    truth: float
    inside: bool


@dataclass(frozen=True, eq=False)
class Case:
    """Some people, a design, and how many randomizations of each method to judge."""

    people: People
    about: str
    design: mdrr.Design
    methods: dict[str, int]
    whose: tuple[str, ...] = ("people",)


def questions(people: People, design: mdrr.Design, rng: np.random.Generator) -> Iterator[Asked]:
    """Ten sets of a tenth of two attributes' combinations, ten cells, ten rare cells (1 to 9
    people), and five categories of one attribute."""
    names = people.domain.names
    homes = [set(c.attributes) for q in design.questionnaires for c in q.clusters]
    together = [set(q.attributes) for q in design.questionnaires]
    alone = len(design.questionnaires) == 1

    def asked(kind: str, chosen: tuple[str, ...], mask: np.ndarray, table: np.ndarray) -> Asked:
        if not any(set(chosen) <= met for met in together):
            kind = f"{kind}, asked of nobody together"
        inside = len(chosen) == 1 or (alone and any(set(chosen) <= home for home in homes))
        query = Query(people.domain, (Term(chosen, mask),))
        return Asked(kind, query, float(table[mask].sum()), inside)

    for _ in range(10):
        first, second = sorted(rng.choice(len(names), 2, replace=False))
        pair = (names[first], names[second])
        table = people.table(pair)
        held = rng.choice(table.size, max(1, round(0.1 * table.size)), replace=False)
        if table.ravel()[held].sum() > 0:
            yield asked("sets", pair, _mask(table, held), table)
        yield asked("cells", pair, _mask(table, rng.integers(table.size)), table)
        rare = np.flatnonzero((table > 0) & (np.rint(table * people.n) < RARE).reshape(table.shape))
        if len(rare):
            yield asked("rare cells", pair, _mask(table, rng.choice(rare)), table)
    for _ in range(5):
        one = (names[rng.integers(len(names))],)
        table = people.table(one)
        yield asked("categories", one, _mask(table, rng.integers(table.size)), table)


def _mask(table: np.ndarray, held: np.ndarray) -> np.ndarray:
    mask = np.zeros(table.size, dtype=np.bool_)
    mask[held] = True
    return mask.reshape(table.shape)


def measure(case: Case) -> list[dict[str, object]]:
    """One row for each method and whose count it is."""
    people, design = case.people, case.design
    seen: dict[tuple[str, str], dict[str, list[np.ndarray]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for round_ in range(max(case.methods.values())):
        rng = np.random.default_rng([round_, 95])
        asked = list(questions(people, design, rng))
        for of in case.whose:
            rows = rng.integers(people.n, size=people.n)
            codes = people.codes if of == "people" else [column[rows] for column in people.codes]
            source = mdrr.SeededSource(f"{people.name}/{design.fingerprint}/{of}/{round_}")
            tally = tally_codes(randomize_codes(codes, design, source), design)
            for method, rounds in case.methods.items():
                if round_ < rounds:
                    for kind, sums in judged(mdrr.estimate(tally, design, method), asked, of):
                        seen[method, of][kind].append(sums)
    return [
        {
            "data": people.name,
            "n": people.n,
            "design": case.about,
            "method": method,
            "of": of,
            "rounds": case.methods[method],
            "kinds": {kind: summary(sums) for kind, sums in sorted(kinds.items())},
        }
        for (method, of), kinds in seen.items()
    ]


def judged(
    estimate: mdrr.Estimate, asked: Sequence[Asked], of: str
) -> Iterator[tuple[str, np.ndarray]]:
    """By kind: how many questions, how many held, the sum of half-widths as shares."""
    sums: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(3))
    for one in asked:
        found = estimate.count(one.query, level=LEVEL, of=of)
        held = found.low - 1e-6 <= one.truth * estimate.n <= found.high + 1e-6
        kind = one.kind
        if estimate.method in ("product", "adjust") and not one.inside:
            kind = f"{one.kind.partition(',')[0]}, across clusters"
        sums[kind] += 1, held, (found.high - found.low) / 2 / estimate.n
    yield from sums.items()


def summary(sums: Sequence[np.ndarray]) -> dict[str, float]:
    """The share held, its standard error over randomizations, and the mean half-width."""
    table = np.array(sums)
    count, held, width = table.sum(axis=0)
    share = held / count
    rest = table[:, 1] - share * table[:, 0]
    error = float(np.sqrt((rest**2).sum() * len(table) / max(len(table) - 1, 1)) / count)
    return {
        "count": int(count),
        "held": round(float(share), 5),
        "error": round(error, 5),
        "width": round(float(width / count), 6),
    }


def cases(quick: int = 1) -> Iterator[Case]:
    """What is measured; `quick` divides the numbers of randomizations."""
    many, some, few, least = (max(2, rounds // quick) for rounds in (200, 16, 8, 6))
    made = network(people=PEOPLE)
    both = ("people", "population")
    first = {"product": many, "pairwise": many}
    independent = "independent, ε = 10.69"
    yield Case(made, independent, mdrr.independent(made.domain, epsilon=10.69), first, both)
    names = made.domain.names
    pairs = [names[i : i + 2] for i in range(0, len(names), 2)]
    clusters = mdrr.clustered(made.domain, pairs, p=0.5)
    about = f"pairs as clusters, ε = {clusters.epsilon:.1f}"
    yield Case(made, about, clusters, first | {"adjust": max(2, many // 4)}, both)
    three = made.domain.project(names[:3])
    part = People("network", three, made.codes[:3], made.about)
    for epsilon in (2.0, 6.0):
        design = mdrr.joint(three, epsilon=epsilon)
        yield Case(
            part,
            f"three attributes jointly, ε = {epsilon:g}",
            design,
            {"product": many, "adjust": many},
            both,
        )
    design = mdrr.independent(three, epsilon=4.0)
    yield Case(part, "three attributes, independent, ε = 4", design, first, both)
    for epsilon in (2.0, 4.62, 15.92):
        design = mdrr.plan(made.domain, n=made.n, epsilon=epsilon).design
        yield Case(made, f"planned, ε = {epsilon:g}", design, {"pairwise": many}, both)
    for people, rounds in ((made, few), (correlated(people=PEOPLE), few), (load("adult"), least)):
        methods = dict.fromkeys(("latent", "correspondence", "auto"), rounds)
        if people is not made:
            methods = {"product": rounds, "adjust": rounds, "pairwise": rounds} | methods
        design = mdrr.independent(people.domain, epsilon=10.69)
        yield Case(people, independent, design, methods | {"adjust": rounds})
        for epsilon in (2.0, 4.62, 15.92):
            design = mdrr.plan(people.domain, n=people.n, epsilon=epsilon).design
            kept = {m: r for m, r in methods.items() if m not in ("product", "adjust")}
            yield Case(people, f"planned, ε = {epsilon:g}", design, kept)
    strong = related()
    methods = dict.fromkeys(("pairwise", "latent", "correspondence", "auto"), max(2, many // 5))
    for epsilon in (4.0, 10.69):
        design = mdrr.independent(strong.domain, epsilon=epsilon)
        yield Case(strong, f"independent, ε = {epsilon:g}", design, methods)
    design = mdrr.plan(strong.domain, n=strong.n, epsilon=2.0).design
    yield Case(strong, "planned, ε = 2", design, methods)
    handful = network(people=30)
    few_people = ("product", "adjust", "pairwise", "latent", "correspondence", "auto")
    methods = dict.fromkeys(few_people, many)
    design = mdrr.independent(handful.domain, epsilon=10.69)
    yield Case(handful, independent, design, methods | {"latent": some, "auto": some})


def related(people: int = PEOPLE, categories: int = 12, seed: int = 31) -> People:
    """Two attributes that agree for nine of ten people, and one that has nothing to do with them.

    A pair that depends so strongly is what a model with few classes or axes misses most.
    """
    rng = np.random.default_rng(seed)
    first = rng.choice(categories, people, p=rng.dirichlet(np.full(categories, 3.0)))
    other = rng.integers(categories, size=people)
    second = np.where(rng.random(people) < 0.9, first, other)
    columns = {"first": first, "second": second, "apart": rng.integers(4, size=people)}
    counts = {"first": categories, "second": categories, "apart": 4}
    return coded("related", columns, counts, "two attributes that nearly agree (made here)")


@lru_cache(maxsize=1)
def listed(quick: int) -> tuple[Case, ...]:
    return tuple(cases(quick))


def work(job: runner.Job) -> dict[str, Any]:
    """One case."""
    quick, place, _, _ = job
    return {"rows": measure(listed(quick)[place])}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", type=int, default=1, help="divide the randomizations by this")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kept", type=Path, default=Path("out/coverage.jsonl"))
    asked = parser.parse_args()
    if not asked.page:
        todo = [
            (asked.quick, place, case.people.name, case.about)
            for place, case in enumerate(listed(asked.quick))
        ]
        done = runner.run(todo, work, asked.kept, workers=asked.workers)
        rows = [row for job in todo if job in done for row in done[job]["rows"]]
        results = {"level": LEVEL, "rows": rows}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    page = document(json.loads(RESULTS.read_text("utf-8")))
    Path("docs/benchmarks/coverage.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
