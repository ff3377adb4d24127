from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

from mdrr.reproduction.population import Population
from mdrr.reproduction.query import CountQuery, draw_query
from mdrr.reproduction.settings import Settings
from tests.reproduction.small import DOMAIN, population

PEOPLE = population()


def queries(settings, count=3000, coverage=0.1, people=PEOPLE):
    rng = np.random.default_rng(1)
    return [draw_query(people, coverage, settings, rng) for _ in range(count)]


def test_truth_is_counted():
    for query in queries(Settings(), 50, coverage=0.4):
        codes = np.ravel_multi_index(
            [PEOPLE.codes[j] for j in query.attributes], PEOPLE.shape(query.attributes)
        )
        assert query.truth == np.isin(codes, query.cells).sum()
        assert len(set(query.cells.tolist())) == len(query.cells)


def test_distinct_pairs_are_equally_likely():
    found = Counter(query.attributes for query in queries(Settings(empty="infinite")))
    assert set(found) == {(0, 1), (0, 2), (1, 2)}
    assert chisquare(list(found.values())).pvalue > 1e-5


def test_repeated_attributes_ask_about_one():
    found = Counter(
        query.attributes for query in queries(Settings(pairs="repeated", empty="infinite"))
    )
    expected = {(j,): 1 / 9 for j in range(3)} | {(0, 1): 2 / 9, (0, 2): 2 / 9, (1, 2): 2 / 9}
    assert set(found) == set(expected)
    counts, shares = zip(*((found[key], expected[key]) for key in expected), strict=True)
    assert chisquare(counts, np.array(shares) * 3000).pvalue > 1e-5


def test_every_combination_is_equally_likely():
    found = Counter()
    for query in queries(Settings(query_size=3, empty="infinite"), 2000, coverage=0.25):
        assert len(query.cells) == 6
        found.update(query.cells.tolist())
    assert set(found) == set(range(24))
    # 6 of 24 without replacement: counts vary less than multinomially, so chi-square is safe.
    assert chisquare([found[cell] for cell in range(24)]).pvalue > 1e-5


def test_empty_queries():
    """Nobody has the last category of c, so some queries of one cell hold nobody."""
    assert all(query.truth > 0 for query in queries(Settings(empty="redraw"), 500))
    assert any(query is None for query in queries(Settings(empty="drop"), 500))
    held = queries(Settings(empty="infinite"), 500)
    assert any(query.truth == 0 for query in held)
    dropped = queries(Settings(empty="drop"), 500)
    assert all(query is None or query.truth > 0 for query in dropped)


def test_errors():
    query = CountQuery((0, 1), np.array([0, 3]), 20)
    table = np.array([0.1, 0.4, 0.3, 0.2])
    assert query.errors(table, 100) == (pytest.approx(10), pytest.approx(0.5))
    nobody = replace(query, truth=0)
    assert nobody.errors(table, 100)[1] == np.inf
    assert nobody.errors(np.array([0, 0.5, 0.5, 0]), 100) == (0, 0)


def test_one_attribute_is_enough_for_a_query():
    people = Population(DOMAIN.project(["b", "c"]), PEOPLE.codes[1:])
    rng = np.random.default_rng(2)
    query = draw_query(people, 0.5, Settings(query_size=1), rng)
    assert len(query.attributes) == 1
