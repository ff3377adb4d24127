"""The experiments: what is measured in every run, for a job that `benchmarks.runner` can keep.

A job is (experiment, variant, choice, copies, p, start, stop, seed): which experiment, the reading
of section 6.3 or the way to learn dependences, a key of `CHOICES`, how often the records are
repeated, p, and which runs. Its result is one list of errors per series, the same for a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import mdrr
from experiments.printed import (
    BASE_KEEP,
    COPIES,
    COVERAGES,
    KEEPS,
    LEAST_DEPENDENCES,
    METHODS,
    MOST_CELLS,
    RUNS,
    TABLE_COVERAGE,
    best_thresholds,
)
from experiments.readings import READINGS
from experiments.simulation import (
    Asked,
    Choices,
    People,
    adult_people,
    ask,
    estimated,
    margins,
    partition,
    product,
    reported,
)
from mdrr.clustering import cluster
from mdrr.dependence import Dependences, from_codes, from_tables, pair_tables
from mdrr.design import Design
from mdrr.estimation.invert import invert
from mdrr.estimation.project import project
from mdrr.matrix import Constant
from mdrr.matrix.protocol import add_up
from mdrr.protocols import clustered, independent, joint
from mdrr.randomizer import randomize_codes
from mdrr.securesum.question import Question
from mdrr.securesum.ways import learn
from mdrr.source import SeededSource
from mdrr.tallies import tally_codes

Job = tuple[str, str, str, int, float, int, int, int]
Errors = dict[str, list[float]]

CHOICES = {
    "as stated": (Choices(), "the settings of the main run"),
    "repeated": (Choices(repeated=True), "the two attributes of a query may be the same one"),
    "rounding down": (Choices(rounding="down"), "σ·cells rounded down, at least 1"),
    "rounding up": (Choices(rounding="up"), "σ·cells rounded up"),
    "empty queries count": (Choices(empty="infinite"), "X_S = 0 counts as an infinite error"),
    "three attributes": (Choices(size=3), "queries over 3 attributes"),
    "Euclidean projection": (
        Choices(projection="euclidean"),
        "the nearest distribution instead of clip and rescale",
    ),
}

WAYS = {
    "attributes": "RR on each attribute at p (section 4.1), debiased",
    "attenuated": "RR on each attribute at p, read as it stands (section 4.1 as the paper has it)",
    "pairs": "RR on each pair at p, opened by a secure sum (section 4.3), debiased",
}
"""How dependences are learnt, where not from the exact tables of section 4.2."""

POOL = 4
"""One data set's queries are drawn from a pool this many times as large as what it needs."""


def jobs(runs: int, seed: int) -> list[Job]:
    """All jobs of a reproduction; those that are simulated from counts have more runs."""
    listed: list[Job] = []

    def add(name: str, variant: str, choice: str, copies: int, p: float, n: int, size: int) -> None:
        listed.extend(
            (name, variant, choice, copies, p, start, min(start + size, n), seed)
            for start in range(0, n, size)
        )

    add("figure2", "corrected", "as stated", 1, BASE_KEEP, 100 * runs, 5000)
    for p in KEEPS:
        for copies in COPIES:
            add("table", "corrected", "as stated", copies, p, 60 * runs, 5000)
        for choice in list(CHOICES)[2:]:
            add("table", "corrected", choice, 1, p, 4 * runs, 1000)
        add("figure3", "corrected", "as stated", 1, p, runs, 25)
        add("joint", "corrected", "as stated", 1, p, runs // 4 or 1, 25)
        for way, copies in (*((way, 1) for way in WAYS), ("attenuated", 6)):
            n = runs if way == "attenuated" else runs // 4 or 1
            add("learnt", way, "as stated", copies, p, n, 25)
    for reading in READINGS:
        for p in KEEPS:
            for copies in COPIES:
                for choice in ("as stated", "repeated"):
                    add("once", reading, choice, copies, p, runs // 2 or 1, 250)
                    if (reading, choice) != ("corrected", "as stated"):
                        add("table", reading, choice, copies, p, 4 * runs, 1000)
    return listed


def work(job: Job) -> dict[str, Any]:
    """Do a job; errors are rounded to 6 digits."""
    found = EXPERIMENTS[job[0]](job)
    return {"errors": {name: [float(f"{x:.6g}") for x in listed] for name, listed in found.items()}}


def exact_clusters(people: People) -> dict[int, tuple[tuple[str, ...], ...]]:
    """Algorithm 1 on the exact dependences, by T_v: T_d makes no difference here."""
    found = from_codes(people.codes, people.domain)
    return {most: _clusters(found, people, most, LEAST_DEPENDENCES[0]) for most in MOST_CELLS}


def _clusters(
    found: Dependences, people: People, most: int, least: float
) -> tuple[tuple[str, ...], ...]:
    return cluster(found, people.domain, max_cells=most, min_dependence=least)


def _each_run(asked: Sequence[Asked], runs: int) -> list[Asked]:
    """The queries run by run."""
    found: list[Any] = [None] * runs
    for group in asked:
        for k, run in enumerate(group.runs):
            part = slice(k, k + 1)
            found[run] = Asked(
                group.attributes, group.runs[part], group.chosen[part], group.truth[part]
            )
    return found


def _seeds(job: Job) -> tuple[tuple[int, ...], np.random.Generator]:
    """The seed of a job's queries, shared with others, and the numbers for its reports."""
    name, variant, choice, copies, p, start, _, seed = job
    text = "|".join(map(str, (name, variant, choice, copies, p)))
    return (seed, start), np.random.default_rng([seed, start, *text.encode()])


def figure2(job: Job) -> Errors:
    """Randomized and RR-Independent at every coverage, both from the same reports."""
    people, (queries, rng) = adult_people(), _seeds(job)
    runs, p = job[6] - job[5], job[4]
    singles = [READINGS[job[1]][0]((r,), p)[0] for r in people.domain.shape]
    errors = {
        (c, method, error): np.empty(runs)
        for c in COVERAGES
        for method in ("Randomized", "RR-Independent")
        for error in ("absolute", "relative")
    }
    for coverage in COVERAGES:
        for group in ask(people, runs, coverage, Choices(), queries):
            at = tuple(singles[j] for j in group.attributes)
            true = people.table(group.attributes)
            table = reported(np.broadcast_to(true, (len(group.runs), *true.shape)), at, rng)
            factors = [
                ((j,), estimated(table.sum(axis=2 - k), at[k : k + 1], "clip"))
                for k, j in enumerate(group.attributes)
            ]
            estimates = {
                "Randomized": table.reshape(len(table), -1) / people.n,
                "RR-Independent": product(factors, group.attributes),
            }
            for method, estimate in estimates.items():
                both = group.errors(estimate, people.n)
                for name, error in zip(("absolute", "relative"), both, strict=True):
                    errors[coverage, method, name][group.runs] = error
    return {f"{c} {m} {e}": listed.tolist() for (c, m, e), listed in errors.items()}


def table(job: Job) -> Errors:
    """The relative error of RR-Clusters for every T_v, with fresh reports in every run."""
    _, reading, choice, copies, p, start, stop, _ = job
    people, choices, (queries, rng) = adult_people(copies), CHOICES[choice][0], _seeds(job)
    asked = ask(people, stop - start, TABLE_COVERAGE, choices, queries)
    found: Errors = {}
    for most, clusters in exact_clusters(people).items():
        parts = partition(people, clusters, reading, p)
        errors = np.empty(stop - start)
        for group in asked:
            at, k = group.attributes, len(group.runs)
            factors = margins(people, parts, at, k, choices.projection, rng)
            errors[group.runs] = group.errors(product(factors, at), people.n)[1]
        found[str(most)] = errors.tolist()
    return found


def once(job: Job) -> Errors:
    """The median over 1000 queries that all read one randomized data set, for many data sets."""
    _, reading, choice, copies, p, start, stop, _ = job
    people, choices, (queries, rng) = adult_people(copies), CHOICES[choice][0], _seeds(job)
    sets, pool = stop - start, POOL * RUNS
    asked = ask(people, pool, TABLE_COVERAGE, choices, queries)
    everything = tuple(range(len(people.domain)))
    found: Errors = {}
    for most, clusters in exact_clusters(people).items():
        parts = partition(people, clusters, reading, p)
        factors = margins(people, parts, everything, sets, choices.projection, rng)
        errors = np.empty((sets, pool), dtype=np.float32)
        for group in asked:
            counts = product(factors, group.attributes) @ group.chosen.T.astype(float) * people.n
            errors[:, group.runs] = np.abs(counts - group.truth) / group.truth
        found[str(most)] = [
            float(np.median(row[rng.choice(pool, RUNS, replace=False)])) for row in errors
        ]
    return found


def _estimates(people: People, design: Design, seed: int) -> tuple[Any, Any]:
    """The library's estimates of one randomized data set: product, and raked (RR-Adjustment)."""
    tally = tally_codes(randomize_codes(people.codes, design, SeededSource(seed)), design)
    return (
        mdrr.estimate(tally, design, method="product", projection="clip"),
        mdrr.estimate(tally, design, method="adjust", projection="clip", tolerance=1e-6),
    )


def figure3(job: Job) -> Errors:
    """The four methods of section 6.2 on whole records: the library, from records to tables.

    A run randomizes the records once independently and once by clusters; all methods answer the
    same queries at every coverage.
    """
    _, _, _, _, p, start, stop, _ = job
    people, (queries, rng) = adult_people(), _seeds(job)
    most, _ = best_thresholds(p)
    designs = (
        independent(people.domain, p=p),
        clustered(people.domain, exact_clusters(people)[most], p=p),
    )
    asked = {
        c: _each_run(ask(people, stop - start, c, Choices(), queries), stop - start)
        for c in COVERAGES
    }
    found: Errors = {f"{c} {method}": [] for c in COVERAGES for method in METHODS}
    for run in range(stop - start):
        pairs = [_estimates(people, design, int(rng.integers(2**62))) for design in designs]
        in_order = [estimate for both in zip(*pairs, strict=True) for estimate in both]
        estimates = dict(zip(METHODS, in_order, strict=True))
        for c in COVERAGES:
            query = asked[c][run]
            names = people.names(query.attributes)
            for method, estimate in estimates.items():
                values = estimate.table(*names).values.reshape(1, -1)
                found[f"{c} {method}"].append(float(query.errors(values, people.n)[1][0]))
    return found


def rr_joint(job: Job) -> Errors:
    """RR-Joint on all eight attributes and RR-Independent at the same ε, by target.

    `distance` is the total variation between the estimated and the true joint distribution of the
    records over all 1,814,400 cells; `whole` and `queried` are relative errors of counts over two
    attributes, after making the whole estimate proper (as the paper does) or the queried table.
    """
    _, _, _, _, p, start, stop, _ = job
    people, (queries, rng) = adult_people(), _seeds(job)
    shape, everything = people.domain.shape, tuple(range(len(people.domain)))
    design = joint(people.domain, p=p)
    matrix = design.clusters[0].matrix
    assert isinstance(matrix, Constant)
    truth = people.table(everything) / people.n
    singles = partition(people, [[name] for name in people.domain.names], "corrected", p)
    found: Errors = {"whole": [], "queried": [], "independent": [],
                     "distance": [], "independent distance": []}  # fmt: skip
    asked = ask(people, stop - start, TABLE_COVERAGE, Choices(), queries)
    for query in _each_run(asked, stop - start):
        at = query.attributes
        gone = tuple(j for j in everything if j not in at)
        source = SeededSource(int(rng.integers(2**62)))
        (batch,) = randomize_codes(people.codes, design, source).batches
        counts = np.bincount(batch.codes[0], minlength=matrix.cells)
        whole = project(invert(counts, matrix), "clip").reshape(shape)
        seen = (counts.reshape(shape).sum(axis=gone) / people.n).ravel()
        asked_cells = (seen - matrix.floor * truth.size / seen.size) / matrix.signal
        factors = margins(people, singles, everything, 1, "clip", rng)
        alone = product(factors, everything).reshape(shape)
        tables = {
            "whole": whole.sum(axis=gone),
            "queried": project(asked_cells, "clip"),
            "independent": alone.sum(axis=gone),
        }
        for name, values in tables.items():
            found[name].append(float(query.errors(values.reshape(1, -1), people.n)[1][0]))
        found["distance"].append(float(np.abs(whole - truth).sum() / 2))
        found["independent distance"].append(float(np.abs(alone - truth).sum() / 2))
    return found


def dependences(people: People, way: str, p: float, rng: np.random.Generator) -> Dependences:
    """Dependences as one of `WAYS` learns them."""
    if way == "pairs":
        question = Question.randomized(people.domain, p=p)
        opened = [
            reported(people.table(pair).ravel(), (matrix,), rng)
            for pair, matrix in zip(question.pairs, question.matrices, strict=True)
        ]  # each pair is randomized on its own, so counts have the distribution of a secure sum's
        return learn(question, np.concatenate(opened), people.n)
    design = independent(people.domain, p=p)
    codes = [np.tile(column, people.copies) for column in people.codes]
    reports = randomize_codes(codes, design, SeededSource(int(rng.integers(2**62))))
    if way == "attributes":
        return mdrr.dependences(tally_codes(reports, design), design, level=None)
    return from_tables(pair_tables(reports.batches[0].codes, people.domain), people.domain)


def spent(people: People, way: str, p: float) -> float:
    """The ε that one person spends on a way, before she answers the clustered design."""
    if way == "pairs":
        return add_up([m.epsilon for m in Question.randomized(people.domain, p=p).matrices])
    return independent(people.domain, p=p).epsilon


def learnt(job: Job) -> Errors:
    """Tables 1 and 2 with dependences that every run learns anew, and the number of clusters."""
    _, way, _, copies, p, start, stop, _ = job
    people, (queries, rng) = adult_people(copies), _seeds(job)
    asked = ask(people, stop - start, TABLE_COVERAGE, Choices(), queries)
    found: Errors = {}
    for query in _each_run(asked, stop - start):
        known = dependences(people, way, p, rng)
        errors: dict[Any, float] = {}
        for most in MOST_CELLS:
            for least in LEAST_DEPENDENCES:
                clusters = _clusters(known, people, most, least)
                if clusters not in errors:  # the same clusters, the same reports
                    parts = partition(people, clusters, "corrected", p)
                    factors = margins(people, parts, query.attributes, 1, "clip", rng)
                    estimate = product(factors, query.attributes)
                    errors[clusters] = float(query.errors(estimate, people.n)[1][0])
                found.setdefault(f"{most} {least}", []).append(errors[clusters])
                found.setdefault(f"{most} {least} clusters", []).append(float(len(clusters)))
    return found


EXPERIMENTS: dict[str, Callable[[Job], Errors]] = {"figure2": figure2, "table": table, "once": once,
               "figure3": figure3, "joint": rr_joint, "learnt": learnt}  # fmt: skip
