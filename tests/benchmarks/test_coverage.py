"""The page on coverage is made of its results, and those are what is promised."""

import json
from pathlib import Path

import pytest
from benchmarks.coverage_page import KINDS, MODELS, UNBIASED, document

from mdrr.estimation import METHODS
from tests.chance import z

ROOT = Path(__file__).resolve().parents[2]
RESULTS = json.loads((ROOT / "benchmarks/results/coverage.json").read_text("utf-8"))
ROWS = RESULTS["rows"]


def tolerance(found):
    """z(1e-5) standard errors over randomizations, or of as many independent intervals if more."""
    return z() * max(found["error"], (0.05 * 0.95 / found["count"]) ** 0.5)


def asked(methods, least=1):
    """(row, kind, what was found) for what people were asked together and one cluster answers."""
    return [
        (row, kind, row["kinds"][kind])
        for row in ROWS
        if row["method"] in methods and row["n"] >= least
        for kind in KINDS
        if kind in row["kinds"]
    ]


def test_the_page_is_made_of_the_results():
    assert (ROOT / "docs/benchmarks/coverage.md").read_text("utf-8") == document(RESULTS)


def test_every_estimator_is_measured():
    assert {row["method"] for row in ROWS} == set(METHODS)
    assert {row["of"] for row in ROWS} == {"people", "population"}


def test_unbiased_intervals_hold_the_truth_in_93_to_97_of_100_cases():
    known = asked(UNBIASED, least=1000)
    assert len(known) > 60
    for row, kind, found in known:
        assert found["held"] > 0.93 - tolerance(found), (row["design"], row["method"], kind)
        assert found["held"] < 0.97 + tolerance(found), (row["design"], row["method"], kind)


def test_together_they_hold_it_in_95_of_100_cases():
    """Over rows with a hundred randomizations and more, to within half a point."""
    known = [found for row, _, found in asked(UNBIASED, least=1000) if row["rounds"] >= 100]
    assert len(known) > 20
    assert sum(found["held"] for found in known) / len(known) == pytest.approx(0.95, abs=0.005)


@pytest.mark.parametrize("method", MODELS)
def test_models_are_not_surer_than_they_should_be(method):
    for row, kind, found in asked([method], least=1000):
        assert found["held"] > 0.93 - tolerance(found), (row["data"], row["design"], kind)


def test_the_default_is_as_narrow_as_the_unbiased():
    """Both are the unbiased ones; how people are spread over cells is each estimator's own view."""
    widths = {
        (row["data"], row["n"], row["design"], row["method"]): row["kinds"]["sets"]["width"]
        for row in ROWS
        if row["of"] == "people" and row["n"] >= 1000 and "sets" in row["kinds"]
    }
    compared = [key[:3] for key in widths if key[3] == "auto" and (*key[:3], "pairwise") in widths]
    assert len(compared) > 8
    for key in compared:
        assert widths[*key, "auto"] < 1.1 * widths[*key, "pairwise"]
