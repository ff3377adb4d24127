import math

import pytest
from experiments.readings import READINGS, with_signal

from mdrr.protocols import epsilon_of, independent
from mdrr.theory import cluster_diagonal, paper_epsilon, paper_p_cluster
from tests.experiments.made_up import DOMAIN


def one(reading, shape, p):
    (matrix,) = READINGS[reading][0](shape, p)
    return matrix


def diagonal(matrix):
    return float(matrix.likelihood([0])[0, 0])


def test_corrected_is_the_library_s_and_equally_private():
    for cluster, size in zip(independent(DOMAIN, p=0.3).clusters, DOMAIN.shape, strict=True):
        assert one("corrected", (size,), 0.3) == cluster.matrix
    spent = one("corrected", (7, 6, 2), 0.3).epsilon
    assert spent == pytest.approx(sum(epsilon_of(0.3, r) for r in (7, 6, 2)), rel=1e-3)


def test_each_spends_the_same_attribute_by_attribute():
    matrices = READINGS["each"][0]((7, 6, 2), 0.3)
    assert [m.cells for m in matrices] == [7, 6, 2]
    spent = sum(m.epsilon for m in matrices)
    assert spent == pytest.approx(one("corrected", (7, 6, 2), 0.3).epsilon, rel=1e-3)


@pytest.mark.parametrize("p", [0.3, 0.5, 0.7])
def test_printed_is_the_printed_formula_with_its_sign_put_right(p):
    shape = (7, 6, 2)
    assert diagonal(one("printed", shape, p)) == pytest.approx(paper_p_cluster(p, shape), rel=1e-3)
    single = diagonal(one("printed", (9,), p))
    assert single == pytest.approx(cluster_diagonal(9, paper_epsilon(p, 9)), rel=1e-3)


def test_printed_says_nothing_for_nine_categories_at_a_tenth():
    assert READINGS["printed"][0]((9,), 0.1) == (None,)
    assert READINGS["signed"][0]((9,), 0.1) == (None,)


def test_signed_lies_where_the_logarithm_is_negative():
    assert diagonal(one("signed", (2,), 0.1)) < 0.5 < diagonal(one("printed", (2,), 0.1))
    assert diagonal(one("signed", (2,), 0.7)) == diagonal(one("printed", (2,), 0.7))


def test_powers():
    shape, p, cells = (7, 6, 2), 0.5, 84
    keep = p**3
    assert one("power", shape, p).signal == pytest.approx(keep, rel=1e-3)
    assert diagonal(one("power-diagonal", shape, p)) == pytest.approx(keep, rel=1e-3)
    printed = one("power-printed", shape, p)
    assert printed.epsilon == pytest.approx(math.log(keep * cells / (1 - keep)), rel=1e-3)
    rows = one("power-diagonal", (16, 2), 0.1).probabilities  # below the rest: it lies
    assert rows.sum(axis=1) == pytest.approx([1] * 32)
    assert rows[3, 3] == pytest.approx(0.01, rel=1e-6)
    assert rows[3, 4] == pytest.approx(0.99 / 31, rel=1e-6)


def test_signals():
    assert with_signal(4, 0.5).signal == pytest.approx(0.5, rel=1e-3)
    assert with_signal(4, 0.0) is None
    assert with_signal(4, -0.2).probabilities[0] == pytest.approx([0.1, 0.3, 0.3, 0.3])


def test_every_reading_says_what_it_means():
    assert all(meaning for _, meaning in READINGS.values())
