"""The page on single attributes against pairs is made of its results."""

import json
from pathlib import Path

from benchmarks.frontier import DATA, EPSILONS, WORTHS, answer_to, document, summary

ROOT = Path(__file__).resolve().parents[2]
RESULTS, ACCURACY = (
    json.loads((ROOT / f"benchmarks/results/{name}.json").read_text("utf-8"))
    for name in ("frontier", "accuracy")
)


def test_the_page_is_made_of_the_results():
    assert (ROOT / "docs/benchmarks/frontier.md").read_text("utf-8") == document(RESULTS, ACCURACY)


def test_every_worth_was_run_everywhere():
    met = {(row["data"], row["epsilon"], row["worth"]) for row in RESULTS["rows"]}
    assert met == {(name, e, worth) for name in DATA for e in EPSILONS for worth in WORTHS}
    assert all(row["seeds"] == RESULTS["seeds"] for row in RESULTS["rows"])


def test_single_attributes_and_pairs_trade():
    """The least worth is best for pairs where everything is related, the most for singles."""
    rows = {(r["data"], r["epsilon"], r["worth"]): r for r in RESULTS["rows"]}
    for epsilon in EPSILONS:
        few, many = (rows["correlated", epsilon, worth] for worth in (WORTHS[0], WORTHS[-1]))
        assert few["tv2"] < many["tv2"]
        assert few["tv1"] > many["tv1"]


def test_means_are_over_the_seeds_that_were_run():
    done = {
        ("fair", 1.0, 5.0, seed): {"tv1": value, "tv2": 2 * value}
        for seed, value in enumerate((0.1, 0.3))
    }
    (row,) = summary(done, seeds=4)
    assert (row["seeds"], row["tv1"], row["tv2"], row["tv1_error"]) == (2, 0.2, 0.4, 0.1)


def test_a_peer_is_answered_by_the_plan_that_is_no_worse_in_either():
    plans = [{"tv1": 1.0, "tv2": 3.0}, {"tv1": 1.5, "tv2": 2.0}, {"tv1": 3.0, "tv2": 1.0}]
    assert answer_to({"tv1": 1.6, "tv2": 2.2}, plans) is plans[1]
    assert answer_to({"tv1": 1.0, "tv2": 9.0}, plans) is plans[0]
