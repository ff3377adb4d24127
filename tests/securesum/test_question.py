import numpy as np
import pytest

from mdrr.domain import Attribute, Domain
from mdrr.errors import MdrrError, ProtocolError, SchemaError
from mdrr.matrix import constant_matrix
from mdrr.securesum.question import Question
from mdrr.source import SeededSource
from tests.securesum.group import DOMAIN, QUESTION, codes


def test_the_vector_holds_all_pair_tables_in_order() -> None:
    assert QUESTION.cells == 2 * 3 + 2 * 4 + 3 * 4
    vector = QUESTION.encode([1, 2, 3])
    assert np.flatnonzero(vector).tolist() == [1 * 3 + 2, 6 + 1 * 4 + 3, 14 + 2 * 4 + 3]


def test_sums_and_tables_are_the_contingency_tables() -> None:
    columns = codes(500)
    tables = QUESTION.tables(QUESTION.sums(columns))
    assert list(tables) == [("smokes", "region"), ("smokes", "age"), ("region", "age")]
    wanted = np.zeros((3, 4))
    np.add.at(wanted, (columns[1], columns[2]), 1)
    assert np.array_equal(tables["region", "age"], wanted)
    QUESTION.check(QUESTION.sums(columns), 500)


def test_adult_has_1582_cells() -> None:
    sizes = (9, 16, 7, 15, 6, 5, 2, 2)
    names = [Attribute(str(k), tuple(range(size))) for k, size in enumerate(sizes)]
    assert Question(Domain(tuple(names))).cells == 1582


def test_randomized_sums_are_unbiased_in_every_cell() -> None:
    question = Question.randomized(DOMAIN, p=0.5)
    n, runs = 2000, 60
    columns = codes(n)
    exact = QUESTION.tables(QUESTION.sums(columns))
    source = SeededSource(5)
    seen = [question.tables(question.sums(columns, source)) for _ in range(runs)]
    for k, pair in enumerate(exact):
        estimates = np.array([tables[pair] for tables in seen])
        spread = np.sqrt(n * 0.25) / question.matrices[k].signal / np.sqrt(runs)  # at most
        assert np.abs(estimates.mean(axis=0) - exact[pair]).max() < 4.42 * spread  # z(1e-5)


def test_ill_formed_totals_are_noticed() -> None:
    good = QUESTION.sums(codes(50))
    for change, message in (
        ({0: -1 - int(good[0])}, "not from 0"),
        ({0: 51}, "not from 0"),
        ({0: int(good[0]) + 1}, "counts 51 of 50"),
    ):
        bad = good.copy()
        for cell, value in change.items():
            bad[cell] = value
        with pytest.raises(ProtocolError, match=message):
            QUESTION.check(bad, 50)
    moved = good.copy()
    moved[0], moved[3] = good[0] + 1, good[3] - 1  # still 50 people, another margin of smokes
    with pytest.raises(ProtocolError, match="disagree on 'smokes'"):
        QUESTION.check(moved, 50)


def test_randomized_tables_need_not_agree_on_margins() -> None:
    question = Question.randomized(DOMAIN, epsilon=1.0)
    question.check(question.sums(codes(50), SeededSource(1)), 50)


def test_json_reads_back() -> None:
    for question in (QUESTION, Question.randomized(DOMAIN, epsilon=2.0)):
        assert Question.from_dict(question.to_dict()) == question


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Question(DOMAIN.project(["smokes"])), "no pairs"),
        (lambda: Question(DOMAIN, (constant_matrix(6, p=0.5),)), "3 pairs need"),
        (lambda: Question(DOMAIN, (constant_matrix(5, p=0.5),) * 3), "one of its 6 cells"),
        (lambda: Question.randomized(DOMAIN, p=0.5).encode([0, 0, 0]), "need a source"),
        (lambda: QUESTION.encode([0, 0]), "3 attributes"),
        (lambda: QUESTION.encode([0, 3, 0]), "'region' is not from 0 to 2"),
        (lambda: QUESTION.sums([[0], [0, 1], [0]]), "differ in number"),
        (lambda: Question.from_dict({"domain": []}), "at least one attribute|no 'matrices'"),
    ],
)
def test_what_does_not_fit_is_refused(make: object, message: str) -> None:
    with pytest.raises((ProtocolError, SchemaError, MdrrError), match=message):
        make()  # type: ignore[operator]
