"""The short version of `make bench-numeric`: order pays on age, and the page says what was run."""

import numpy as np
from benchmarks.numeric import METHODS, SCALES, document, errors

import mdrr


def test_banded_is_several_times_nearer_than_k_rr_on_age_at_epsilon_1():
    people = mdrr.datasets.adult(columns=["age"])["age"].to_numpy()
    found = errors(people - SCALES["age"][0], len(SCALES["age"]) - 1, 1.0, seed=11)
    named = dict(zip(METHODS, found, strict=True))
    banded = [error for name, error in named.items() if name.startswith("banded")]
    assert max(banded) < min(e for name, e in named.items() if name.startswith("k-RR")) / 3


def test_the_page_is_made_of_the_results():
    row = {"attribute": "age", "bins": 74, "epsilon": 1.0, "width": 13}
    row |= dict(zip(METHODS, [4.0, 3.0, 2.0, 5.0, 0.5, 0.6], strict=True))
    summary = dict.fromkeys(("mean", "true mean", "median", "low", "high", "true median"), 41.25)
    page = document({"seeds": 3, "rows": [row], "summaries": [{"attribute": "age", **summary}]})
    assert "mean of 3 seeds" in page
    assert "| age | 74 | 1 | ±13 | 4.000 | 3.000 | 2.000 | 5.000 | 0.500 | 0.600 | 4.0 |" in page
    assert np.char.count(page, "41.25") == 2
