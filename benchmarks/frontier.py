"""What single attributes cost pairs: plans of every worth beside the peers, at small budgets.

    python -m benchmarks.frontier  # can be stopped and resumed; writes docs/benchmarks/frontier.md
    python -m benchmarks.frontier --page  # the page from benchmarks/results alone

At small ε a report tells little, and what it tells of pairs it does not tell of single attributes.
`mdrr.plan(…, worth=w)` chooses a point of that trade. Peers' errors are those of
benchmarks/results/accuracy.json: the same people, ε and questions.
"""

from __future__ import annotations

import json
import math
import textwrap
from pathlib import Path
from typing import Any

from benchmarks.accuracy import RESULTS as ACCURACY
from benchmarks.accuracy import questions
from benchmarks.charts import trade
from benchmarks.data import load
from benchmarks.methods import METHODS, answers, collected

import mdrr
from benchmarks import pages, runner
from mdrr.planning.predict import WORTH

DATA = ("adult", "fair", "randhie", "network", "correlated")
EPSILONS = (1.0, 2.0)
WORTHS = (0.2, 1.0, 2.0, WORTH, 10.0, 50.0)
RESULTS = Path("benchmarks/results/frontier.json")
PAGE = Path("docs/benchmarks/frontier.md")
PLANS = ("plan, worth", "seeds", "single attributes", "pairs")
PEERS = ("peer", "single attributes", "pairs", "nearest plan, worth")
PEERS += ("its singles / the peer's", "its pairs / the peer's")
CHART = Path("docs/benchmarks/img/frontier.svg")

HEAD = """# What single attributes cost pairs

At a small ε a report tells little. A survey can tell more about single attributes or more about
pairs, not both. `mdrr.plan(…, worth=w)` chooses: w is the weight of the single attributes' error
against that of pairs. This page compares plans of several weights, estimated by `auto`, with the
peers of [accuracy.md](accuracy.md). The errors are mean total variations. The chart shows only
peers that come near. `make bench-frontier` made this page.

![Errors of single attributes and of pairs: plans of every worth, and peers](img/frontier.svg)

Left and below is better. Each point of the line is a plan, from the largest weight to the
smallest. The ring is the default, 5. With it, single attributes are about as accurate as with SMP,
which asks everybody one attribute, and pairs are as accurate as that allows. If every pair is
strongly related, as in `correlated`, a smaller weight is better. A weight below 1 seldom is: pairs
need accurate single attributes too.

"""


def work(job: runner.Job) -> dict[str, Any]:
    """One randomization of a plan and its errors."""
    name, epsilon, worth, seed = job
    people = load(name)
    design = mdrr.plan(people.domain, n=people.n, epsilon=epsilon, worth=worth).design
    estimate = mdrr.estimate(collected(people, design, seed), design)
    return questions(name).errors(answers(estimate))


def summary(done: dict[runner.Job, dict[str, Any]], seeds: int) -> list[dict[str, Any]]:
    """Means over seeds and their standard errors."""
    rows = []
    for name in DATA:
        for epsilon in EPSILONS:
            for worth in WORTHS:
                some = [done.get((name, epsilon, worth, seed)) for seed in range(seeds)]
                entries = [entry for entry in some if entry is not None]
                if not entries:
                    continue
                row = {"data": name, "epsilon": epsilon, "worth": worth, "seeds": len(entries)}
                rows.append(row | runner.means(entries, ("tv1", "tv2"), digits=5))
    return rows


def plans_of(results: dict[str, Any], accuracy: dict[str, Any]) -> list[dict[str, Any]]:
    """The plans; the default as the accuracy benchmark has it, with more seeds."""
    known = {(r["data"], r["epsilon"]): r for r in accuracy["rows"] if r["method"] == "plan + auto"}
    return [
        known[row["data"], row["epsilon"]] | {"worth": WORTH} if row["worth"] == WORTH else row
        for row in results["rows"]
    ]


def peers(accuracy: dict[str, Any]) -> list[dict[str, Any]]:
    """The peers' rows of the accuracy benchmark that the plans are compared with."""
    return [
        row
        for row in accuracy["rows"]
        if row["data"] in DATA
        and row["epsilon"] in EPSILONS
        and METHODS[row["method"]].group == "peer"
    ]


def answer_to(peer: dict[str, Any], plans: list[dict[str, Any]]) -> dict[str, Any]:
    """The plan whose worse ratio to a peer, of single attributes and of pairs, is least."""
    return min(plans, key=lambda row: max(row["tv1"] / peer["tv1"], row["tv2"] / peer["tv2"]))


def document(results: dict[str, Any], accuracy: dict[str, Any]) -> str:
    """The page."""
    every, lines = plans_of(results, accuracy), []
    for name in DATA:
        for epsilon in EPSILONS:
            plans = [r for r in every if (r["data"], r["epsilon"]) == (name, epsilon)]
            rivals = [r for r in peers(accuracy) if (r["data"], r["epsilon"]) == (name, epsilon)]
            shown = [
                (f"{row['worth']:g}", row["seeds"], _shown(row, "tv1"), _shown(row, "tv2"))
                for row in plans
            ]
            beside = []
            for rival in sorted(rivals, key=lambda row: row["tv2"]):
                ours = answer_to(rival, plans)
                ratios = [f"{ours[metric] / rival[metric]:.2f}" for metric in ("tv1", "tv2")]
                errors = _shown(rival, "tv1"), _shown(rival, "tv2")
                beside.append((rival["method"], *errors, f"{ours['worth']:g}", *ratios))
            lines += [f"## {name}, ε = {epsilon:g}", ""]
            lines += [pages.table(PLANS, shown, texts=()), "", pages.table(PEERS, beside), ""]
    return HEAD + told(every, peers(accuracy)) + "\n\n" + "\n".join(lines)


def told(plans: list[dict[str, Any]], rivals: list[dict[str, Any]]) -> str:
    """In how many cases a plan is better than the peer in both, surely so, or by default."""
    ratios, defaults, sure = [], [], 0
    for rival in rivals:
        case = rival["data"], rival["epsilon"]
        some = [row for row in plans if (row["data"], row["epsilon"]) == case]
        ours = answer_to(rival, some)
        ratios.append(max(ours[m] / rival[m] for m in ("tv1", "tv2")))
        sure += any(all(_beyond(row, rival, m) for m in ("tv1", "tv2")) for row in some)
        default = next(row for row in some if row["worth"] == WORTH)
        defaults.append(max(default[m] / rival[m] for m in ("tv1", "tv2")))
    better = sum(ratio < 1 for ratio in ratios)
    lost = sum(ratio > 1 for ratio in defaults)
    words = (
        f"A case is a peer, a data set and an ε. In {better} of {len(ratios)} some plan has the "
        f"smaller error in both, single attributes and pairs, in {sure} by more than two standard "
        f"errors in each; where none has, the nearest is {max(ratios):.2f} times the peer in the "
        "worse of the two. That plan is chosen after the fact among a few seeds, which favours "
        f"ours. The default has the larger error in one of the two in {lost} cases, at most "
        f"{max(defaults):.2f} times the peer's. Peers' seeds are those of the accuracy page; ± is "
        "the standard error."
    )
    return textwrap.fill(words, 100)


def _beyond(ours: dict[str, Any], rival: dict[str, Any], metric: str) -> bool:
    errors = [row.get(f"{metric}_error", 0.0) for row in (ours, rival)]
    return bool(rival[metric] - ours[metric] > 2 * math.hypot(*errors))


def _shown(row: dict[str, Any], metric: str) -> str:
    error = row.get(f"{metric}_error")
    return f"{row[metric]:.4f}" + (f" ± {error:.4f}" if error is not None else "")


def near(plans: list[dict[str, Any]], rivals: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The peers that a chart can show beside the plans."""
    found = []
    for rival in rivals:
        case = rival["data"], rival["epsilon"]
        some = [row for row in plans if (row["data"], row["epsilon"]) == case]
        if all(rival[m] <= 1.35 * max(row[m] for row in some) for m in ("tv1", "tv2")):
            found.append(rival)
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = runner.options(__doc__, "frontier")
    parser.add_argument("--seeds", type=int, default=5)
    asked = parser.parse_args(arguments)
    if not asked.page:
        todo = [
            (name, epsilon, worth, seed)
            for seed in range(asked.seeds)
            for name in DATA
            for epsilon in EPSILONS
            for worth in WORTHS
        ]
        done = runner.run_asked(asked, todo, work, kind=lambda job: job[0])
        rows = summary(done, asked.seeds)
        RESULTS.write_text(runner.written({"seeds": asked.seeds, "rows": rows}), encoding="utf-8")
    results, accuracy = (json.loads(path.read_text("utf-8")) for path in (RESULTS, ACCURACY))
    PAGE.write_text(document(results, accuracy), encoding="utf-8")
    plans = plans_of(results, accuracy)
    trade(plans, near(plans, peers(accuracy)), CHART, list(DATA), WORTH)


if __name__ == "__main__":
    main()
