import math

import pytest

from mdrr.errors import MatrixError
from mdrr.matrix import constant_matrix
from mdrr.protocols import epsilon_of
from mdrr.theory import cluster_diagonal, paper_epsilon, paper_p_cluster


def test_printed_epsilon_vanishes_where_the_corrected_one_does_not():
    assert paper_epsilon(0.1, 9) == 0.0
    assert epsilon_of(0.1, 9) == pytest.approx(math.log(2))
    assert paper_epsilon(0.05, 9) > 0  # the absolute value hides p·r < 1−p


@pytest.mark.parametrize("p", [0.2, 0.5, 0.7, 0.95])
@pytest.mark.parametrize("r", [2, 9, 16])
def test_printed_epsilon_against_its_definition(p, r):
    assert paper_epsilon(p, r) == pytest.approx(abs(math.log(p / ((1 - p) / r))))


@pytest.mark.parametrize("shape", [(2,), (7, 6, 2), (16, 2)])
def test_cluster_rows_sum_to_one(shape):
    """The printed sign gives rows that do not."""
    spent, cells = sum(paper_epsilon(0.7, r) for r in shape), math.prod(shape)
    diagonal = paper_p_cluster(0.7, shape)
    assert diagonal + (cells - 1) * diagonal * math.exp(-spent) == pytest.approx(1)
    wrong = 1 / (1 + (1 - cells) * math.exp(-spent))
    assert wrong + (cells - 1) * wrong * math.exp(-spent) != pytest.approx(1)


def test_diagonal_of_a_matrix_that_is_sampled():
    assert constant_matrix(12, epsilon=2.0).keep == pytest.approx(
        cluster_diagonal(12, 2.0), rel=1e-3
    )
    assert constant_matrix(9, p=0.7).keep == pytest.approx(
        cluster_diagonal(9, epsilon_of(0.7, 9)), rel=1e-3
    )
    assert cluster_diagonal(1, 0.0) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: paper_epsilon(0.0, 3),
        lambda: paper_epsilon(1.0, 3),
        lambda: paper_epsilon(0.5, 0),
        lambda: cluster_diagonal(0, 1.0),
        lambda: cluster_diagonal(3, -1.0),
        lambda: cluster_diagonal(3, math.nan),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(MatrixError):
        call()
