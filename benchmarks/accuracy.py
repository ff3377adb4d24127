"""Accuracy at the same total ε: the paper's methods, ours and peers, on eight data sets.

    python -m benchmarks.accuracy              # everything; can be stopped and resumed
    python -m benchmarks.accuracy --quick      # minutes: Adult and the network, three budgets
    python -m benchmarks.accuracy --again auto,latent       # these methods anew, the rest as kept
    python -m benchmarks.accuracy --methods auto --seeds 2  # these alone; other rows stay as kept
    python -m benchmarks.accuracy --page       # the page from benchmarks/results alone

Three of the data sets are held out: defaults are not chosen by looking at results on them (but for
one, which the page names). To choose a default, run with `--seen`, which leaves them out.

Every job is (data set, ε, seed, method). Raw results go to out/accuracy.jsonl, their means to
benchmarks/results/accuracy.json, and the page is made of those.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.accuracy_book import choices
from benchmarks.data import DATA, HELD_OUT, SEEN, load
from benchmarks.methods import METHODS, REVISION, available
from benchmarks.metrics import METRICS, Workload, workload_of

from benchmarks import runner

EPSILONS = (1.0, 2.0, 4.0, 4.62, 8.0, 10.69, 15.92, 21.89)
RESULTS = Path("benchmarks/results/accuracy.json")
QUERIES, WIDE = 1000, 30
ADULT_QUERIES = 20_000
"""Adult's errors stand beside printed ones, and which 1,000 queries are drawn moves them by 2 %; on
other data sets methods are compared with each other, on the same queries."""
LAST = ("mbi", "mbi on pairs")
"""Slow to compile: done after all others of a seed."""


def work(job: runner.Job) -> dict[str, Any]:
    """One randomization and estimate, and its errors."""
    name, epsilon, seed, method = job
    answer = METHODS[method].run(load(name), epsilon, seed)
    return questions(name).errors(answer) | {"revision": REVISION}


def questions(name: str) -> Workload:
    """What every method is asked of a data set."""
    return workload_of(name, ADULT_QUERIES if name == "adult" else QUERIES, WIDE)


def jobs(
    names: list[str], epsilons: list[float], seeds: int, methods: list[str]
) -> list[runner.Job]:
    """Seed by seed, so that a run stopped early has the same seeds everywhere."""
    quick = [method for method in methods if method not in LAST]
    slow = [method for method in methods if method in LAST]
    return [
        (name, epsilon, seed, method)
        for seed in range(seeds)
        for some in (quick, slow)
        for name in names
        for epsilon in epsilons
        for method in some
    ]


def summary(done: dict[runner.Job, dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds and their standard errors, small enough to be kept with the code."""
    grouped: dict[tuple[str, float, str], dict[int, Any]] = defaultdict(dict)
    for (name, epsilon, seed, method), entry in done.items():
        if name in DATA and method in METHODS:
            grouped[name, epsilon, method][seed] = entry
    rows = []
    order = {method: i for i, method in enumerate(METHODS)}
    places = {name: i for i, name in enumerate(DATA)}
    for key in sorted(grouped, key=lambda k: (places[k[0]], k[1], order[k[2]])):
        entries = list(grouped[key].values())
        row = {"data": key[0], "epsilon": key[1], "method": key[2], "seeds": len(entries)}
        row["revision"] = min(entry.get("revision", 1) for entry in entries)
        rows.append(row | runner.means(entries, METRICS, digits=6))
    people = {
        name: {
            "n": load(name).n,
            "attributes": len(load(name).domain.names),
            "cells": load(name).domain.size,
            "sizes": list(load(name).domain.shape),
            "about": load(name).about,
            "held_out": name in HELD_OUT,
        }
        for name in dict.fromkeys(row["data"] for row in rows)
    }
    return {
        "queries": QUERIES,
        "adult_queries": ADULT_QUERIES,
        "wide": WIDE,
        "versions": {package: _version(package) for package in ("multi-freq-ldpy", "mbi")},
        "people": people,
        "methods": {m.name: {"group": m.group, "about": m.about} for m in METHODS.values()},
        "choices": sorted(choices(grouped), key=lambda row: (places[row["data"]], row["epsilon"])),
        "rows": rows,
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def main(arguments: list[str] | None = None) -> None:
    parser = runner.options(__doc__, "accuracy")
    parser.add_argument("--quick", action="store_true", help="two data sets, three ε, one seed")
    parser.add_argument("--seen", action="store_true", help="no held-out data sets")
    parser.add_argument("--data", help="some data sets, with commas")
    parser.add_argument("--epsilons", help="some budgets, with commas")
    parser.add_argument("--methods", help="some methods, with commas")
    parser.add_argument("--again", help="methods whose kept results are not used, with commas")
    parser.add_argument("--seeds", type=int, default=10, help="randomizations of each (10)")
    asked = parser.parse_args(arguments)
    if not asked.page:
        execute(asked)
    from benchmarks.accuracy_page import write

    write(json.loads(RESULTS.read_text()))


def execute(asked: argparse.Namespace) -> None:
    names, epsilons, seeds = list(SEEN if asked.seen else DATA), list(EPSILONS), asked.seeds
    if asked.quick:
        names, epsilons, seeds = ["adult", "network"], [2.0, 4.62, 10.69], 1
        asked.kept = asked.kept.with_stem(asked.kept.stem + "-quick")
    names = asked.data.split(",") if asked.data else names
    epsilons = [float(e) for e in asked.epsilons.split(",")] if asked.epsilons else epsilons
    methods = asked.methods.split(",") if asked.methods else list(METHODS)
    missing = [method for method in methods if not available(method)]
    if missing:
        print(f"left out, not installed (pip install 'mdrr[bench]'): {', '.join(missing)}")
    methods = [method for method in methods if method not in missing]
    if asked.again:
        runner.forget(asked.kept, asked.again.split(","))
    todo = jobs(names, epsilons, seeds, methods)
    done = runner.run_asked(asked, todo, work, kind=lambda job: (job[0], job[3]))
    results = summary(done)
    if asked.quick:
        for row in results["rows"]:
            print(
                f"{row['data']:11} ε={row['epsilon']:<6} {row['method']:17} "
                + " ".join(f"{metric} {row[metric]:.4f}" for metric in METRICS)
            )
        raise SystemExit
    RESULTS.parent.mkdir(exist_ok=True)
    if RESULTS.exists():
        results = kept_beside(results, json.loads(RESULTS.read_text()))
    RESULTS.write_text(runner.written(results))


def kept_beside(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """New results, and the old ones of whatever was not run again.

    A run of some methods, or on a machine that never ran the others, leaves theirs as they are.
    """

    def key(row: dict[str, Any]) -> tuple[Any, ...]:
        return row["data"], row["epsilon"], row.get("method")

    places = {name: i for i, name in enumerate(DATA)}
    order = {method: i for i, method in enumerate(METHODS)}
    merged = dict(new)
    for part in ("rows", "choices"):
        made = {key(row): row for row in old[part] if row.get("method", "auto") in METHODS}
        made |= {key(row): row for row in new[part]}
        merged[part] = sorted(
            made.values(),
            key=lambda row: (places[row["data"]], row["epsilon"], order.get(row.get("method"), 0)),
        )
    merged["people"] = old["people"] | new["people"]
    merged["versions"] = {k: v or old["versions"].get(k) for k, v in new["versions"].items()}
    return merged


if __name__ == "__main__":
    main()
