from pathlib import Path

import numpy as np
import pytest

from mdrr.domain import Attribute, Domain
from mdrr.errors import MdrrError, ProtocolError, SchemaError
from mdrr.matrix import constant_matrix
from mdrr.securesum.belongings import record_codes
from mdrr.securesum.question import Question, asked_again, randomized_in_all, spent_on
from mdrr.source import BytesSource, SeededSource
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


def test_an_ill_formed_randomized_table_is_noticed_wherever_it_stands() -> None:
    question = Question.randomized(DOMAIN, epsilon=1.0)
    totals = question.sums(codes(50), SeededSource(1))
    for end in question.offsets[1:]:
        bad = totals.copy()
        bad[end - 1] += 1
        with pytest.raises(ProtocolError, match="counts 51 of 50 people"):
            question.check(bad, 50)


def test_everybody_in_one_cell_is_a_total_that_can_be() -> None:
    QUESTION.check(QUESTION.sums([[1] * 5, [2] * 5, [3] * 5]), 5)
    with pytest.raises(ProtocolError, match="not from 0 to 5"):
        QUESTION.check(np.zeros(QUESTION.cells + 1, np.int64), 5)


@pytest.mark.parametrize(("p", "size"), [(0.5, 2), (0.999999, 6)])
def test_every_pair_is_drawn_from_as_many_bytes_as_its_matrix_needs(p: float, size: int) -> None:
    question = Question.randomized(DOMAIN, p=p)
    data = bytes(k * 89 % 256 for k in range(3 * 2 * size + 8))
    columns = [np.array([0, 1]), np.array([2, 1]), np.array([3, 0])]
    source = BytesSource(data)
    places = question.positions(columns, source)
    assert source.read(8) == data[-8:]
    assert places.dtype == np.int64
    for k, (matrix, (i, j)) in enumerate(zip(question.matrices, question.pairs, strict=True)):
        assert matrix.total == 256**size
        at = range(2 * size * k, 2 * size * (k + 1), size)
        drawn = [int.from_bytes(data[a : a + size], "little") for a in at]
        cells = (columns[i] * DOMAIN.shape[j] + columns[j]).astype(np.uint64)
        wanted = matrix.draw(cells, np.array(drawn, np.uint64)) + np.uint64(question.offsets[k])
        assert places[:, k].tolist() == wanted.tolist()


def test_a_vector_holds_ones_in_single_bytes_and_draws_from_the_source() -> None:
    for question in (QUESTION, Question.randomized(DOMAIN, p=0.5)):
        vector = question.encode([1, 2, 3], SeededSource(4))
        assert (vector.dtype, vector.max(), vector.sum()) == (np.uint8, 1, 3)
    assert QUESTION.positions([[1.0], [2.0], [3.0]]).tolist() == [[5, 13, 25]]
    assert QUESTION.sums(codes(5)).dtype == QUESTION.sums([[], [], []]).dtype == np.int64
    assert {table.dtype for table in QUESTION.tables(QUESTION.sums(codes(5))).values()} == {
        np.dtype(np.float64)
    }


def test_what_a_question_spends_is_the_sum_over_its_pairs() -> None:
    assert spent_on(QUESTION) is None
    question = randomized_in_all(DOMAIN, 3.0)
    each = [matrix.epsilon for matrix in question.matrices]
    assert len(each) == 3
    assert each == pytest.approx([1.0] * 3, rel=1e-3)
    assert spent_on(question) == pytest.approx(sum(each))


def test_an_attribute_is_asked_again_in_any_letters() -> None:
    assert asked_again(("AGE", "income", "smokes"), QUESTION) == ("AGE", "smokes")
    assert asked_again((), QUESTION) == ()


def test_matrices_may_come_in_a_list() -> None:
    matrices = Question.randomized(DOMAIN, p=0.5).matrices
    assert Question(DOMAIN, list(matrices)).matrices == matrices  # type: ignore[arg-type]


def test_a_question_of_too_many_parts_or_others_is_refused() -> None:
    good = QUESTION.to_dict()
    for change, reason in (
        ({"domain": [{}] * 1001}, "'domain' of a question must be a list of at most 1000"),
        ({"matrices": [{}] * 500_001}, "'matrices' of a question must be a list of at most 500000"),
        ({"more": 1}, "a question has an unknown field 'more'"),
    ):
        with pytest.raises(ProtocolError) as refused:
            Question.from_dict({**good, **change})
        assert str(refused.value) == reason


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
        (lambda: QUESTION.sums([[0], [0, 1], [0]]), "'region' differ in number"),
        (lambda: QUESTION.sums([[[0]], [[1]], [[0]]]), "'smokes' differ in number"),
        (lambda: Question.from_dict({"domain": []}), "at least one attribute|no 'matrices'"),
    ],
)
def test_what_does_not_fit_is_refused(make: object, message: str) -> None:
    with pytest.raises((ProtocolError, SchemaError, MdrrError), match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("answer", ["Norht", 3, None, ["north"], {}])
def test_a_misspelt_answer_is_not_repeated_and_the_advice_is_for_a_person(answer: object) -> None:
    answers = {"smokes": "no", "region": answer, "age": "old"}
    with pytest.raises(SchemaError) as caught:
        record_codes(answers, DOMAIN, Path("me.json"))
    said = str(caught.value)
    assert said.startswith("me.json: the answer to 'region'")
    assert said.endswith("Write one of these, letter by letter: 'north', 'east', 'south'")
    assert "Norht" not in said
    assert record_codes({**answers, "region": "south"}, DOMAIN, Path("me.json")) == [0, 2, 2]
