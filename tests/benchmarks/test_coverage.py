"""The page on coverage is made of its results, and intervals there are about right."""

import json
from pathlib import Path

from benchmarks.coverage import METHODS, document

ROOT = Path(__file__).resolve().parents[2]
RESULTS = json.loads((ROOT / "benchmarks/results/coverage.json").read_text("utf-8"))


def test_the_page_is_made_of_the_results():
    assert (ROOT / "docs/coverage.md").read_text("utf-8") == document(RESULTS)


def test_unbiased_intervals_cover_and_narrow_ones_are_narrow():
    for row in RESULTS["rows"]:
        assert set(row["methods"]) == set(METHODS)
        covered, width = row["methods"]["pairwise"]
        assert row["methods"]["latent"][1] < 2 * width
        if "ε = 2" not in row["design"]:  # there some pairs are asked of nobody
            # A table's counts share their noise: about 28 tables × seeds are independent.
            assert 0.95 - 4 * (0.05 * 0.95 / (28 * RESULTS["seeds"])) ** 0.5 < covered
