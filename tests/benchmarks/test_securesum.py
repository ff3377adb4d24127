"""The short version of `make bench-securesum`: bytes grow as the page says, within its limits."""

import pytest
from benchmarks.securesum import in_paper_mode, with_aggregators
from benchmarks.securesum_page import document


def test_shares_grow_with_n_squared_in_paper_mode() -> None:
    small, large = in_paper_mode(4), in_paper_mode(8)
    assert large["shares"] / small["shares"] == pytest.approx(8 * 7 / (4 * 3), rel=0.01)


def test_a_batch_through_the_real_service_costs_what_the_page_says() -> None:
    row = with_aggregators(20)  # it raises when the totals are not exact
    assert row["people"] == 20
    assert row["sent_per_person"] < 13_500
    assert row["received_per_person"] < 10_000
    page = document({"cores": 2, "load": 0.2, "batch": [row], "adult": [{**row, "people": 32_561}],
                     "batch_cells": [row], "paper": [in_paper_mode(4)],
                     "paper_cells": []})  # fmt: skip
    assert "(a load of at least 0 while this was measured)" in page
    assert "**All 32,561 people of Adult**" in page
    assert "| 1,582 |" in page
    assert "no differential privacy (ε = ∞)" in page
