"""The page on predictions is made of its results, and those are what is promised."""

import json
from pathlib import Path

from benchmarks.planning import DATA, DROWNED, FACTOR, document

ROOT = Path(__file__).resolve().parents[2]
RESULTS = json.loads((ROOT / "benchmarks/results/planning.json").read_text("utf-8"))


def test_the_page_is_made_of_the_results():
    assert (ROOT / "docs/predictions.md").read_text("utf-8") == document(RESULTS)


def test_predictions_with_known_dependences_are_within_the_factor():
    rows = [
        row
        for row in RESULTS["rows"]
        if row["dependences"] == "known" and row["predicted"] <= DROWNED
    ]
    assert {row["data"] for row in rows} == set(DATA)
    assert len(rows) > 40
    ratios = [row["predicted"] / row["simulated"] for row in rows]
    assert min(ratios) > 1 / FACTOR, "a design errs more than was promised"
    assert sum(ratio < FACTOR for ratio in ratios) >= 0.9 * len(ratios)
