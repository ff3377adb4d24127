"""The short version of `make bench-learning`, and that its page is made of committed results."""

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.learning_page import document

from benchmarks import learning

ROOT = Path(__file__).resolve().parents[2]


def test_a_model_learns_from_true_records_and_not_from_independent_ones():
    truth = learning.score("logistic regression", learning.training("true records", 8.0, 0), 0)
    others, target, _ = learning.training("product, drawn", 8.0, 0)
    drawn = learning.score("logistic regression", (others, target, None), 0)
    assert truth["auc"] > 0.85
    assert drawn["auc"] < truth["auc"] - 0.1


def test_weights_come_with_adjusted_records_in_their_order():
    others, target, weights = learning.training("adjusted, weighted", 15.92, 0)
    as_they_are, same, none = learning.training("reports as they are", 15.92, 0)
    assert none is None
    np.testing.assert_array_equal(others, as_they_are)
    np.testing.assert_array_equal(target, same)
    assert weights.mean() == pytest.approx(1.0)
    true = learning.people("train")[2].mean()
    assert abs(weights @ target / weights.sum() - true) < abs(target.mean() - true)


def test_the_page_is_made_of_the_committed_results():
    results = json.loads((ROOT / "benchmarks/results/learning.json").read_text("utf-8"))
    assert (ROOT / "docs/benchmarks/learning.md").read_text("utf-8") == document(results)
    assert set(results["sources"]) == set(learning.SOURCES)
