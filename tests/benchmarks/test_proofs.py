"""The short version of `make bench-proofs`: exact totals, bytes within the limit, and the page."""

import json
from pathlib import Path

import pytest
from benchmarks.proofs import document, one

from mdrr.securesum.prio3.pairs import PROOFS

ROOT = Path(__file__).resolve().parents[2]
RESULTS = json.loads((ROOT / "benchmarks/results/proofs.json").read_text("utf-8"))


@pytest.mark.parametrize(("randomized", "aggregators"), [(False, 3), (True, 2)])
def test_some_people_of_adult_with_and_without_proofs(randomized: bool, aggregators: int) -> None:
    """Both raise when a total is not exact or a report is refused."""
    runs = [
        one(40, randomized=randomized, aggregators=aggregators, proofs=proofs)
        for proofs in (False, True)
    ]
    assert [run["proofs"] for run in runs] == [0, PROOFS]
    assert runs[0]["sent_per_person"] < runs[1]["sent_per_person"] < 60_000


def test_all_of_adult_was_proved_within_five_minutes_and_60_kB() -> None:
    for row in RESULTS["everybody"]:
        assert row["people"] == 32_561
        assert row["seconds"] < 300
        assert row["sent_per_person"] < 60_000


def test_the_page_is_made_of_the_results() -> None:
    assert (ROOT / "docs/benchmarks/proofs.md").read_text("utf-8") == document(RESULTS)
