"""What is said of Spark's costs follows from what was measured."""

import json
from pathlib import Path

import pytest
from benchmarks.spark import PAGE, RESULTS, WORK, Meter, billion, document, slope

ROOT = Path(__file__).resolve().parents[2]
FOUND = json.loads((ROOT / RESULTS).read_text(encoding="utf-8"))


def test_slope_is_that_of_a_line_through_the_sizes():
    runs = [{"people": n, "distinct": n // 2, "em": {"cores": 3 + 2e-6 * n}} for n in (0, 10**6)]
    assert slope(runs, "em") == pytest.approx(4e-6)
    assert billion(runs, "em") == pytest.approx(4e3 / 3600)


def test_processor_time_counts_this_process():
    meter = Meter()
    before = meter.seconds()
    while meter.seconds() < before + 0.05:
        pass
    meter.stopped.set()
    meter.thread.join()
    meter.used[-1] = 10**6  # one that ended
    assert meter.seconds() > 1_000


def test_page_is_what_was_measured():
    assert (ROOT / PAGE).read_text(encoding="utf-8") == document(FOUND)


def test_docs_quote_it():
    text = (ROOT / "docs/scale.md").read_text(encoding="utf-8")
    rows = dict(
        line.strip("| \n").split(" | ")
        for line in text.splitlines()
        if line.endswith(" core-hours |")
    )
    assert list(rows.values()) == [
        f"{billion(FOUND['runs'], work):.1f} core-hours" for work in WORK
    ]
    last = FOUND["runs"][-1]
    assert f"{last['bytes'] / last['people']:.0f} GB" in text
