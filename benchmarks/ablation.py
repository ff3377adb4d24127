"""Which parts of the default are worth their place: it without each, and simpler estimators.

    python -m benchmarks.ablation               # stop it and start it again as you like
    python -m benchmarks.ablation --minutes 60  # stop after an hour, go on later
    python -m benchmarks.ablation --quick       # one data set, one randomization, on screen
    python -m benchmarks.ablation --page        # the page from benchmarks/results alone

Every job is (data set, design, ε, seed, variant). All variants of a seed read the same reports.
The data sets are those that defaults were chosen on. Raw results go to out/ablation.jsonl; remove
that file when an estimator has changed. The page's words are in `ablation_page.py`.

A variant of `auto` is `auto` with one name of its module replaced, so that it stays what it is when
`auto` changes. Users have no such option.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.ablation_page import PAGE, document
from benchmarks.data import SEEN, load
from benchmarks.methods import answers, collected
from benchmarks.metrics import METRICS, Answer, workload_of

import mdrr
from benchmarks import runner
from mdrr.estimation import auto
from mdrr.estimation.assisted import Assisted
from mdrr.estimation.axes import Axes, fit_axes, interactions
from mdrr.estimation.evidence import Evidence, Tables
from mdrr.estimation.latent import latent
from mdrr.estimation.mixture import MixtureJoint
from mdrr.estimation.records import with_records

AUTO = import_module("mdrr.estimation.auto")
"""The module; the package has the function under this name."""
DESIGNS = ("planned", "independent")
EPSILONS = (1.0, 2.0, 4.0, 8.0, 16.0)
QUERIES, WIDE = 1000, 30
SEEDS = 5
RESULTS = Path("benchmarks/results/ablation.json")

Variant = Callable[[mdrr.Tally, mdrr.Design], mdrr.Estimate]


def _method(name: str, **options: Any) -> Variant:
    return lambda tally, design: mdrr.estimate(tally, design, name, **options)


def _without(**names: Any) -> Variant:
    """`auto` with some names of its module replaced; an error if it has no such name."""

    def variant(tally: mdrr.Tally, design: mdrr.Design) -> mdrr.Estimate:
        with patch.multiple(AUTO, **names):
            return auto(tally, design)

    return variant


def _as_records(tally: mdrr.Tally, design: mdrr.Design) -> mdrr.Estimate:
    found = latent(tally, design)
    assert isinstance(found.joint, MixtureJoint)
    return replace(found, joint=with_records(found.joint, tally, design))


def _undrawn(model: Tables, evidence: Evidence) -> Assisted:
    """A model's tables as they are."""
    return Assisted(model, dict.fromkeys(model, 0.0))


def _unconfirmed(evidence: Evidence, halves: Sequence[Evidence]) -> tuple[Axes, tuple[Axes, ...]]:
    """Axes as they are fitted, whether or not halves of the people agree."""
    found = [fit_axes(interactions(each), each.margins) for each in (evidence, *halves)]
    return found[0], tuple(found[1:])


def _never(*_: object) -> bool:
    return False


WHOLE = "auto"
VARIANTS: Mapping[str, Variant] = MappingProxyType(
    {
        "product": _method("product"),
        "pairwise without shrinkage": _method("pairwise", shrink=False),
        "pairwise": _method("pairwise"),
        "correspondence": _method("correspondence"),
        "latent": _method("latent"),
        "latent with records": _as_records,
        "auto without axes": _without(MOST_CATEGORIES=0),
        "auto without latent classes": _without(
            has_jointly=_never, has_band=_never, _MOST_REPORTS=0
        ),
        "auto without drawing to unbiased tables": _without(assisted=_undrawn),
        "auto without the check on halves": _without(confirmed=_unconfirmed),
        "auto without records in the joint": _without(_KNOWN=2.0),
        WHOLE: _method("auto"),
    }
)
WIDE_ONLY = (
    "latent with records",
    "auto without records in the joint",
)
"""These differ from `latent` or `auto` only where several attributes are reported as one."""


@cache
def design_of(name: str, design: str, epsilon: float) -> mdrr.Design:
    people = load(name)
    if design == "independent":
        return mdrr.independent(people.domain, epsilon=epsilon)
    return mdrr.plan(people.domain, n=people.n, epsilon=epsilon).design


def work(job: runner.Job) -> dict[str, Any]:
    """One estimate: its errors, what it invents, and the processor time that it took."""
    name, kind, epsilon, seed, variant = job
    design = design_of(name, kind, epsilon)
    tally = collected(load(name), design, seed)
    begun = time.process_time()
    found = VARIANTS[variant](tally, design)
    spent = time.process_time() - begun
    asked = workload_of(name, QUERIES, WIDE)
    errors = asked.errors(answers(found))
    return {**errors, "invented": invented(asked.tables, answers(found)), "cpu": spent}


def invented(truths: Mapping[tuple[str, ...], np.ndarray], answer: Answer) -> float:
    """The most that a pair errs beyond the product of its own margins, in total variation."""
    most = 0.0
    for names, truth in truths.items():
        if len(names) == 2:
            table = answer(names)
            product = np.outer(table.sum(axis=1), table.sum(axis=0))
            beyond = np.abs(table - truth).sum() - np.abs(product - truth).sum()
            most = max(most, float(beyond) / 2)
    return most


def jobs(names: Sequence[str], epsilons: Sequence[float], seeds: int) -> list[runner.Job]:
    """Seed by seed, so that a run stopped early has the same seeds everywhere."""
    return [
        (name, kind, epsilon, seed, variant)
        for seed in range(seeds)
        for name in names
        for kind in DESIGNS
        for epsilon in epsilons
        for variant in VARIANTS
        if kind != "independent" or variant not in WIDE_ONLY
    ]


def summary(done: Mapping[runner.Job, dict[str, Any]]) -> dict[str, Any]:
    """Means over the seeds that every variant of a case has."""
    cases: dict[tuple[str, str, float], dict[str, dict[int, Any]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for (name, kind, epsilon, seed, variant), entry in done.items():
        if variant in VARIANTS:
            cases[name, kind, epsilon][variant][seed] = entry
    rows = []
    for (name, kind, epsilon), variants in sorted(cases.items()):
        seeds = set.intersection(*(set(entries) for entries in variants.values()))
        asked = [v for v in VARIANTS if kind != "independent" or v not in WIDE_ONLY]
        if not seeds or set(asked) - set(variants):
            continue
        for variant in asked:
            entries = [variants[variant][seed] for seed in sorted(seeds)]
            row = {"data": name, "design": kind, "epsilon": epsilon, "variant": variant}
            row |= {"seeds": len(entries)}
            if all("invented" in entry for entry in entries):
                row["invented"] = round(max(entry["invented"] for entry in entries), 4)
            rows.append(row | runner.means(entries, (*METRICS, "cpu"), digits=6))
    return {
        "variants": list(VARIANTS),
        "whole": WHOLE,
        "seeds": SEEDS,
        "cases": len(DESIGNS) * len(SEEN) * len(EPSILONS),
        "queries": QUERIES,
        "wide": WIDE,
        "rows": rows,
    }


def main(arguments: list[str] | None = None) -> None:
    parser = runner.options(__doc__, "ablation")
    parser.add_argument("--quick", action="store_true", help="the network, two ε, on screen alone")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="randomizations of each (5)")
    asked = parser.parse_args(arguments)
    names, epsilons = list(SEEN), list(EPSILONS)
    if asked.quick:
        names, epsilons, asked.seeds = ["network"], [1.0, 16.0], 1
        asked.kept = asked.kept.with_stem(asked.kept.stem + "-quick")
    if not asked.page:
        todo = jobs(names, epsilons, asked.seeds)
        done = runner.run_asked(asked, todo, work, kind=lambda job: (job[0], job[1], job[4]))
        results = summary(done)
        if asked.quick:
            print(document(results))
            return
        RESULTS.write_text(runner.written(results), encoding="utf-8")
    PAGE.write_text(document(json.loads(RESULTS.read_text("utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
