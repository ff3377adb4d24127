"""How often intervals contain the truth: the default in 40 settings, and every other estimator.

    python -m benchmarks.coverage               # hours; stop it and start it again as you like
    python -m benchmarks.coverage --minutes 60  # stop after an hour, go on later
    python -m benchmarks.coverage --quick       # some settings, two randomizations, on screen
    python -m benchmarks.coverage --page        # the page from benchmarks/results alone

Every job is a setting and ten of its randomizations, all settings before the next ten: a run that
was stopped has about the same number of each. Raw results go to out/coverage.jsonl, their sums to
benchmarks/results, from where another run goes on, on this machine or another. Remove both files
when an estimator has changed. The page's words are in `coverage_page.py`.

Intervals of one randomization share its noise, so randomizations are the sample: the standard error
of a coverage is that of a mean over them.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from benchmarks.coverage_page import PAGE, document
from benchmarks.data import DATA, HELD_OUT, People, load
from benchmarks.methods import clusters

import mdrr
from benchmarks import runner
from mdrr.dependence import from_codes
from mdrr.query import Query, Term
from mdrr.randomizer import randomize_codes
from mdrr.tallies import tally_codes

LEVEL = 0.95
FEW = 10
"""Cells of fewer people are rare."""
ASKED = {"cells": 60, "rare": 30, "empty": 20, "sets": 30}
"""Questions of each kind about pairs in one randomization, drawn anew for each."""
ROUNDS, BLOCK = 200, 10
RESULTS = Path("benchmarks/results/coverage.json")
MADE = ("network", "correlated", "potts")
"""Data sets made here: for any number of people."""


@dataclass(frozen=True)
class Setting:
    """Some people, a design, an estimator, and whose counts its intervals are to contain.

    The design is `planned` (`mdrr.plan`, knowing nothing of the people), `known` (the same with
    their exact dependences), `clusters` (Algorithm 1 with these), or `independent`.
    """

    data: str
    n: int
    design: str
    epsilon: float
    method: str = "auto"
    of: Literal["people", "population"] = "people"


def settings() -> list[Setting]:
    """What is measured: every budget at every n with both designs, the data sets in turn."""
    found = []
    names = ("network", "happiness", "fair", "labsup", "correlated", "potts", "randhie")
    for i, n in enumerate((500, 2_000, 10_000, 32_561, 100_000)):
        for j, epsilon in enumerate((1.0, 4.0, 16.0)):
            for k, design in enumerate(("planned", "independent")):
                name = "adult" if n == 32_561 else names[(3 * i + j + 3 * k) % len(names)]
                found.append(Setting(name, n, design, epsilon))
    found += [
        Setting(name, n, design, epsilon)
        for name, n, design, epsilon in (
            ("adult", 500, "known", 2.0),
            ("happiness", 500, "known", 8.0),
            ("potts", 2_000, "known", 2.0),
            ("fair", 2_000, "known", 8.0),
            ("labsup", 10_000, "known", 1.0),
            ("randhie", 10_000, "known", 16.0),
            ("network", 10_000, "planned", 2.0),
            ("correlated", 10_000, "independent", 8.0),
            ("adult", 10_000, "planned", 8.0),
            ("potts", 100_000, "known", 4.0),
        )
    ]
    three = (
        Setting("network", 10_000, "clusters", 4.0),
        Setting("randhie", 2_000, "independent", 4.0),
        Setting("labsup", 10_000, "clusters", 16.0),
    )
    for method in ("product", "adjust", "pairwise", "latent", "correspondence"):
        found += [replace(setting, method=method) for setting in three]
    for name, n, design, epsilon in (
        ("network", 10_000, "planned", 1.0),
        ("adult", 2_000, "planned", 4.0),
        ("happiness", 500, "planned", 16.0),
        ("labsup", 10_000, "independent", 4.0),
        ("correlated", 2_000, "independent", 16.0),
    ):
        found.append(Setting(name, n, design, epsilon, of="population"))
    return found


@cache
def people_of(name: str, n: int) -> People:
    """So many people: the whole data set, one made so large, or drawn from it with repetition."""
    if name in MADE:
        return DATA[name](people=n)  # type: ignore[call-arg]
    people = load(name)
    if n == people.n:
        return people
    return people.some(np.random.default_rng(n).integers(people.n, size=n))


@cache
def design_of(name: str, n: int, design: str, epsilon: float) -> mdrr.Design:
    """The design of a setting."""
    domain = load(name).domain
    if design == "independent":
        return mdrr.independent(domain, epsilon=epsilon)
    if design == "clusters":
        return mdrr.clustered(domain, clusters(name, 50), epsilon=epsilon)
    exact = from_codes(load(name).codes, domain) if design == "known" else None
    return mdrr.plan(domain, n=n, epsilon=epsilon, dependences=exact).design


def asked_both(setting: Setting) -> int:
    """How many people are asked a typical pair of attributes, of those that anybody is asked."""
    design = design_of(setting.data, setting.n, setting.design, setting.epsilon)
    weights = [
        sum(q.weight for q in design.questionnaires if set(pair) <= set(q.attributes))
        for pair in combinations(design.domain.names, 2)
    ]
    typical = np.median([weight for weight in weights if weight] or [0])
    return round(setting.n * float(typical) / design.weights)


@dataclass(frozen=True, eq=False)
class Asked:
    """A question: which kind, the set, and the true share."""

    kind: str
    query: Query
    truth: float


Pair = tuple[str, str]


class Questions:
    """What can be asked about some people: every cell of every pair, and of how many it is."""

    def __init__(self, people: People, design: mdrr.Design) -> None:
        self.people = people
        together = [set(q.attributes) for q in design.questionnaires]
        pairs = list(combinations(people.domain.names, 2))
        self.tables = {pair: people.table(pair) for pair in pairs}
        self.groups: dict[str, list[Pair]] = {"": [], "apart ": []}
        for pair in pairs:
            met = any(set(pair) <= names for names in together)
            self.groups["" if met else "apart "].append(pair)

    def drawn(self, rng: np.random.Generator) -> Iterator[Asked]:
        """All categories, and for each kind so many cells and sets of pairs.

        Sets are a tenth of a pair's combinations, with somebody in them. Cells of pairs that nobody
        was asked together are of kinds of their own.
        """
        domain = self.people.domain
        for name in domain.names:
            table = self.people.table((name,))
            for code in range(table.size):
                kind = "categories" if table[code] > 0 else "empty"
                yield _asked(domain, kind, (name,), table, np.array([code]))
        for group, pairs in self.groups.items():
            if not pairs:
                continue
            flat = [np.rint(self.tables[pair].ravel() * self.people.n) for pair in pairs]
            counts = np.concatenate(flat)
            starts = np.cumsum([0, *map(len, flat)])
            kinds = {"cells": counts >= FEW, "rare": (counts > 0) & (counts < FEW)}
            kinds["empty"] = counts == 0
            for kind, some in kinds.items():
                places = np.flatnonzero(some)
                size = min(ASKED[kind], len(places))
                for place in rng.choice(places, size, replace=False):
                    at = int(np.searchsorted(starts, place, side="right")) - 1
                    cell = np.array([place - starts[at]])
                    yield _asked(domain, group + kind, pairs[at], self.tables[pairs[at]], cell)
            if group:
                continue  # of a set across such a pair nothing is known: 0 to n
            for at in rng.integers(len(pairs), size=ASKED["sets"]):
                table = self.tables[pairs[at]]
                cells = rng.choice(table.size, max(1, round(0.1 * table.size)), replace=False)
                if table.ravel()[cells].sum() > 0:
                    yield _asked(domain, "sets", pairs[at], table, cells)


def _asked(
    domain: mdrr.Domain, kind: str, names: tuple[str, ...], table: np.ndarray, cells: np.ndarray
) -> Asked:
    """A single cell is asked for as people do, by a category of each attribute."""
    mask = np.zeros(table.size, dtype=np.bool_)
    mask[cells] = True
    mask = mask.reshape(table.shape)
    terms = [Term(names, mask)]
    if len(cells) == 1:
        others = [tuple(k for k in range(mask.ndim) if k != axis) for axis in range(mask.ndim)]
        terms = [Term((n,), mask.any(axis=o)) for n, o in zip(names, others, strict=True)]
    return Asked(kind, Query(domain, tuple(terms)), float(table.ravel()[cells].sum()))


@cache
def questions_of(name: str, n: int, design: str, epsilon: float) -> Questions:
    return Questions(people_of(name, n), design_of(name, n, design, epsilon))


Sums = dict[str, list[float]]


def measured(setting: Setting, seed: int) -> Sums:
    """One randomization; for a population, of people drawn anew from its law."""
    where = (setting.data, setting.n, setting.design, setting.epsilon)
    people, design = people_of(*where[:2]), design_of(*where)
    rng = np.random.default_rng([seed, 95])
    asked = list(questions_of(*where).drawn(rng))
    if setting.of == "population":
        people = people.some(rng.integers(people.n, size=people.n))
    source = mdrr.SeededSource("/".join(map(str, (*astuple(setting), seed))))
    tally = tally_codes(randomize_codes(people.codes, design, source), design)
    return judged(mdrr.estimate(tally, design, setting.method), asked, setting.of)


def judged(estimate: mdrr.Estimate, asked: Sequence[Asked], of: str, level: float = LEVEL) -> Sums:
    """By kind: how many questions, how many held, the sum of half-widths as shares."""
    sums: Sums = defaultdict(lambda: [0, 0, 0.0])
    for one in asked:
        found = estimate.count(one.query, level=level, of=of)
        held = found.low - 1e-6 <= one.truth * estimate.n <= found.high + 1e-6
        for at, part in enumerate((1, int(held), (found.high - found.low) / 2 / estimate.n)):
            sums[one.kind][at] += part
    return dict(sums)


def totals(rounds: Sequence[Sequence[float]]) -> list[float]:
    """What adds up over randomizations: how many, c, h and the widths, then h², h·c and c².

    A randomization has c intervals, of which h held.
    """
    count, held, width = np.array(rounds).T
    sums = (len(count), count, held, width, held * held, held * count, count * count)
    return [float(np.sum(each)) for each in sums]


def summary(sums: Sequence[float]) -> dict[str, Any]:
    """The share held, its standard error over randomizations, and the mean half-width.

    The error is at least that of as many independent intervals of 95 %: a few randomizations that
    all held everything do not show that all always do.
    """
    rounds, count, held, width, held_squared, both, count_squared = sums
    share = held / count
    rest = max(held_squared - 2 * share * both + share**2 * count_squared, 0.0)
    error = float(np.sqrt(rest * rounds / max(rounds - 1, 1)) / count)
    return {
        "count": int(count),
        "held": round(share, 5),
        "error": round(max(error, (LEVEL * (1 - LEVEL) / count) ** 0.5), 5),
        "width": round(width / count, 6),
        "sums": [round(each, 6) for each in sums],
    }


def work(job: runner.Job) -> dict[str, Any]:
    """Some randomizations of one setting."""
    *parts, first, many = job
    setting = Setting(*parts)
    begun = time.process_time()
    rounds = {str(seed): measured(setting, seed) for seed in range(first, first + many)}
    return {"rounds": rounds, "cpu": round(time.process_time() - begun, 2)}


Rows = Mapping[tuple[Any, ...], Mapping[str, Any]]
"""Rows of results by their setting."""


def rows_of(results: Mapping[str, Any]) -> Rows:
    names = list(asdict(settings()[0]))
    return {tuple(row[name] for name in names): row for row in results["rows"]}


def jobs(
    listed: Sequence[Setting], rounds: int, before: Rows = MappingProxyType({})
) -> list[runner.Job]:
    """Block by block over all settings, without the randomizations that were made before."""
    begun = {s: before[astuple(s)]["rounds"] if astuple(s) in before else 0 for s in listed}
    return [
        (*astuple(setting), first, min(BLOCK, rounds - first))
        for first in range(0, rounds, BLOCK)
        for setting in listed
        if first >= begun[setting]
    ]


def gathered(
    listed: Sequence[Setting],
    done: Mapping[runner.Job, dict[str, Any]],
    before: Rows = MappingProxyType({}),
) -> dict:
    """The results that the page is made of: one row for each setting that has any."""
    rounds: dict[tuple[Any, ...], dict[str, Sums]] = defaultdict(dict)
    for job, entry in done.items():
        rounds[job[:-2]] |= entry["rounds"]
    rows = []
    for setting in listed:
        row = before.get(astuple(setting), {"rounds": 0, "kinds": {}})
        new = {
            seed: s for seed, s in rounds[astuple(setting)].items() if int(seed) >= row["rounds"]
        }
        kinds: dict[str, list[list[float]]] = defaultdict(list)
        for sums in new.values():
            for kind, each in sums.items():
                kinds[kind].append(each)
        found = {kind: old["sums"] for kind, old in row["kinds"].items()}
        for kind, each in kinds.items():
            more = totals(each)
            found[kind] = list(np.add(found[kind], more)) if kind in found else more
        if found:
            shown = asdict(setting) | {"held_out": setting.data in HELD_OUT}
            shown |= {"asked_both": asked_both(setting), "rounds": row["rounds"] + len(new)}
            shown["kinds"] = {kind: summary(each) for kind, each in sorted(found.items())}
            rows.append(shown)
    return {"level": LEVEL, "rounds": ROUNDS, "settings": len(listed), "rows": rows}


def main(arguments: list[str] | None = None) -> None:
    parser = runner.options(__doc__, "coverage")
    parser.add_argument("--quick", action="store_true", help="five settings, on screen alone")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="randomizations of each (200)")
    asked = parser.parse_args(arguments)
    listed = settings()
    if asked.quick:
        listed, asked.rounds = listed[::15], 2
        asked.kept = asked.kept.with_stem(asked.kept.stem + "-quick")
    if not asked.page:
        before = {}
        if RESULTS.exists() and not asked.quick:
            before = rows_of(json.loads(RESULTS.read_text("utf-8")))
        todo = jobs(listed, asked.rounds, before)
        done = runner.run_asked(asked, todo, work, kind=lambda job: job[:-2])
        results = gathered(listed, done, before)
        if asked.quick:
            print(document(results))
            return
        RESULTS.write_text(runner.written(results), encoding="utf-8")
    PAGE.write_text(document(json.loads(RESULTS.read_text("utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
