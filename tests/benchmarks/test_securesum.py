"""The short version of `make bench-securesum`: bytes grow as the page says, within its limits."""

import pytest
from benchmarks.securesum import one, one_person, pipelined
from benchmarks.securesum_page import document


def test_shares_grow_with_n_squared_in_paper_mode_and_with_n_for_aggregators() -> None:
    small, large = one("paper", 4), one("paper", 8)
    assert large["shares"] / small["shares"] == pytest.approx(8 * 7 / (4 * 3), rel=0.01)
    few, many = one("aggregators", 20), one("aggregators", 40)
    assert many["shares"] / few["shares"] == pytest.approx(2.0, rel=0.01)


def test_a_person_sends_and_receives_less_than_10_kB_for_exact_tables_of_adult() -> None:
    for aggregators in (2, 3):
        bytes_of = one_person(False, aggregators)
        assert bytes_of["sent"] + bytes_of["received"] < 10_000
    # Randomized pairs do not stay below it: their terms name 28 matrices.
    assert one_person(True, 2)["received"] > one_person(False, 2)["received"]


def test_terms_joins_and_lists_are_counted() -> None:
    measured, alone = one("aggregators", 20), one_person(False, 2)
    assert measured["sent_per_person"] == pytest.approx(alone["sent"], rel=0.02)
    assert measured["received_per_person"] == pytest.approx(alone["received"], rel=0.02)


def test_people_and_aggregators_in_two_processes_give_the_exact_total() -> None:
    assert pipelined(60)["people"] == 60  # it raises when the totals are not exact


def test_the_page_is_made_of_the_results() -> None:
    row = {"mode": "paper", "people": 7, "cells": 1582, "seconds": 1.25, "cpu": 0.5}
    row |= {"sent": 10_000_000, "received": 0, "shares": 7 * 6 * 1582, "messages": 1}
    row |= {"sent_per_person": 5000.0, "received_per_person": 0.0}
    batch = {**row, "mode": "aggregators", "people": 1234, "shares": 2 * 1234 * 1582}
    network = [{"mode": "paper", "people": 30, "seconds": 12.3, "cpu": 20.0}]
    adult = {"people": 32_561, "seconds": 40.0, "cpu": 32.561, "sent_per_person": 5600.0}
    adult["received_per_person"] = 2500.0
    person = [{"tables": "exact", "aggregators": 2, "sent": 6000, "received": 2500}]
    results = {"cores": 2, "by_people": [row, batch], "by_cells": [row], "network": network}
    page = document({**results, "all_of_adult": adult, "load": 0.2, "one_person": person})
    assert "| exact | 2 | 6.0 | 2.5 | 8.5 |" in page
    assert "(a load of at least 0 while this was measured)" in page
    assert "All 32,561 people of Adult** with two aggregators" in page
    assert "(1.00 ms a person" in page
    assert "| `paper` | 7 | 1,582 | 1.2 | 0.5 | 5.0 | 0.0 | 10.0 |" in page
    assert "| `aggregators` | 1,234 | n·cells | 2.00 |" in page
    assert "| `paper` | 30 | 12 | 20 |" in page
    assert "no differential privacy (ε = ∞)" in page
