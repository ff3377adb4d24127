"""The page on predictions is made of its results, and those are what is promised."""

import json
from pathlib import Path

from benchmarks.planning import DATA, FACTOR, document, kinds

ROOT = Path(__file__).resolve().parents[2]
RESULTS = json.loads((ROOT / "benchmarks/results/planning.json").read_text("utf-8"))


def test_the_page_is_made_of_the_results():
    assert (ROOT / "docs/predictions.md").read_text("utf-8") == document(RESULTS)


def test_predictions_are_within_the_factor():
    counted = kinds(RESULTS["rows"])
    known = counted["With known dependences"]
    assert {row["data"] for row in known} == set(DATA)
    assert len(known) > 200
    for words, some in counted.items():
        ratios = [row["predicted"] / row["simulated"] for row in some]
        if words != "Predicted to err by more than half":
            assert min(ratios) > 1 / FACTOR, "a design errs more than was promised"
            assert sum(ratio < FACTOR for ratio in ratios) >= 0.98 * len(ratios)


def test_every_candidate_of_use_is_simulated():
    """RR-Independent, RR-Joint, clusters, samples of several sizes and the split questionnaire."""
    for name in DATA:
        met = {row["design"] for row in RESULTS["rows"] if row["data"] == name}
        assert {"independent", "joint", "split questionnaire"} <= met
        assert {f"sampled {size}" for size in (1, 2, 3, 4)} <= met
        assert any(design.startswith("clusters") for design in met)
