"""What separate answers can tell: the reference answers, the axes, and the page."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from benchmarks.data import load
from benchmarks.limits import (
    COLUMNS,
    KEPT,
    document,
    leading,
    raked,
    scaled,
    summary,
    true_interactions,
    whitened,
    work,
)
from benchmarks.methods import collected
from benchmarks.people import coded

import mdrr
from mdrr.estimation.axes import interactions
from mdrr.estimation.evidence import Evidence

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks/results/limits.json"


@pytest.fixture(scope="module")
def people():
    """Three attributes, the first two related."""
    rng = np.random.default_rng(5)
    first = rng.integers(0, 2, 20_000)
    columns = {
        "a": first,
        "b": np.where(rng.random(20_000) < 0.6, first, rng.integers(0, 3, 20_000)),
        "c": rng.integers(0, 5, 20_000),
    }
    return coded("related", columns, {"a": 2, "b": 3, "c": 5}, "made for a test")


def seen_at(people, p, seed):
    design = mdrr.independent(people.domain, p=p)
    return interactions(Evidence(collected(people, design, seed), design))


def test_whitened_interactions_are_the_true_ones_and_unit_noise(people):
    off, blocks = [], []
    for seed in range(40):
        seen = seen_at(people, 0.2, seed)
        noise = whitened(seen) - true_interactions(people, seen)
        for i, j in combinations(range(3), 2):
            block = noise[seen.starts[i] : seen.starts[i + 1], seen.starts[j] : seen.starts[j + 1]]
            free = (block.shape[0] - 1) * (block.shape[1] - 1)
            off.append(float((block**2).sum() / free))
        blocks.append(noise)
    assert np.mean(off) == pytest.approx(1, abs=0.08)
    assert np.abs(np.mean(blocks, axis=0)).max() < 4 / np.sqrt(40)


def test_a_strong_axis_is_found_and_a_hidden_one_is_not(people):
    found = {}
    for p in (0.6, 0.01):
        cosines = []
        for seed in range(10):
            seen = seen_at(people, p, seed)
            _, true = leading(true_interactions(people, seen))
            _, axis = leading(whitened(seen))
            cosines.append(float(true @ axis) ** 2)
        found[p] = float(np.mean(cosines))
    assert found[0.6] > 0.95
    assert found[0.01] < 0.6


def test_raked_answers_have_the_margins_given_and_the_true_odds(people):
    margins = {"a": np.array([0.7, 0.3]), "b": np.array([0.2, 0.2, 0.6])}
    truth = people.table(("a", "b"))
    table = raked(people.table, margins)(("a", "b"))
    assert table.sum(axis=1) == pytest.approx(margins["a"], abs=1e-6)
    assert table.sum(axis=0) == pytest.approx(margins["b"], abs=1e-6)

    def odds(t):
        return t[0, 0] * t[1, 1] / (t[0, 1] * t[1, 0])

    assert odds(table) == pytest.approx(odds(truth), rel=1e-6)


def test_scaled_answers_lie_between_the_product_and_beyond(people):
    names = ("a", "b")
    truth = people.table(names)
    product = np.outer(truth.sum(axis=1), truth.sum(axis=0))
    assert scaled(people.table, 0.0)(names) == pytest.approx(product)
    assert scaled(people.table, 1.0)(names) == pytest.approx(truth)
    assert scaled(people.table, 0.5)(names) == pytest.approx((truth + product) / 2)
    assert scaled(people.table, 9.0)(names).min() == 0


def test_one_randomization_is_measured_against_the_truth():
    """One of the scales is 1, so hindsight errs no more than `auto` but for the last bits.

    Scaled by 1 a share is product + (share − product), over a sum: five roundings of numbers up to
    1, each by 2^-53 at most. A count adds up fewer than 10 of them, relative to no less than 1/n.
    """
    entry = work(("network", 0.5, 0))
    last_bits = 5 * 2**-53 * 10 * load("network").n
    assert entry["epsilon"] == mdrr.independent(load("network").domain, p=0.5).epsilon
    assert entry["relations"] < entry["neither"]
    assert entry["hindsight"] <= entry["auto"] + last_bits
    assert entry["auto"] < entry["neither"]
    assert entry["strength"] > 1
    assert entry["cosine"] > 0.5


def test_means_are_over_the_seeds_that_were_run():
    one = dict.fromkeys((*COLUMNS, "pairs", "strength", "second", "chance"), 0.2)
    done = {
        ("adult", 0.3, seed): one | {"auto": auto, "cosine": 0.5, "epsilon": 10.691}
        for seed, auto in enumerate((0.1, 0.3))
    }
    (row,) = summary(done, seeds=3)
    assert (row["seeds"], row["epsilon"], row["auto"], row["ratio"]) == (2, 10.69, 0.2, 1.0)


def test_the_page_is_made_of_the_results():
    results = json.loads(RESULTS.read_text("utf-8"))
    assert [row["p"] for row in results["rows"]] == list(KEPT)
    assert (ROOT / "docs/benchmarks/limits.md").read_text("utf-8") == document(results)
