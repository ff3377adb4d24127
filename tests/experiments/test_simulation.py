"""Counts simulated from counts have the distribution of counts of randomized records.

Those tests compare two samples of `REPEATS` count vectors, cell by cell, by chi-square on binned
counts; the false-alarm rate is 1e-5 in all, and a planted bug shows the power.
"""

import numpy as np
import pytest
from experiments.printed import COVERAGES
from experiments.readings import with_signal
from experiments.simulation import (
    Choices,
    adult_people,
    ask,
    estimated,
    margins,
    partition,
    product,
    reported,
)
from scipy.stats import chi2_contingency

from mdrr.estimation.project import project
from mdrr.matrix import constant_matrix
from mdrr.protocols import clustered
from mdrr.randomizer import randomize_codes
from mdrr.source import SeededSource
from tests.experiments.made_up import DOMAIN, small_people

REPEATS = 1500
ALARM = 1e-5


def p_value(first, second):
    """The smallest p-value over cells and pairs of neighbouring cells, times their number."""
    first, second = (np.reshape(x, (len(x), -1)) for x in (first, second))
    columns = [(x, y) for x, y in zip(first.T, second.T, strict=True)]
    # Sums of neighbours see the dependence between cells, which single cells do not.
    columns += [
        (first[:, i] + first[:, i + 1], second[:, i] + second[:, i + 1])
        for i in range(first.shape[1] - 1)
    ]
    values = []
    for x, y in columns:
        edges = np.unique(np.quantile(np.concatenate([x, y]), np.linspace(0, 1, 9)))
        bins = [np.histogram(z, np.append(edges[:-1], edges[-1] + 1))[0] for z in (x, y)]
        table = np.array(bins)[:, np.sum(bins, axis=0) > 0]
        values.append(1.0 if table.shape[1] < 2 else chi2_contingency(table).pvalue)
    return min(values) * len(values)


def simulated(people, attributes, matrices, seed=5):
    true = people.table(attributes).reshape([m.cells for m in matrices])
    rng = np.random.default_rng(seed)
    return reported(np.broadcast_to(true, (REPEATS, *true.shape)), matrices, rng)


@pytest.mark.parametrize("clusters", [["abc"], ["a", "bc"], ["a", "b", "c"]])
def test_counts_are_those_of_the_real_randomizer(clusters):
    """Each cluster's counts, and all clusters together, one after the other."""
    people, source = small_people(), SeededSource(3)
    design = clustered(DOMAIN, [list(names) for names in clusters], p=0.4)
    matrices = tuple(cluster.matrix for cluster in design.clusters)
    real = np.zeros((REPEATS, *(m.cells for m in matrices)), dtype=np.int64)
    for row in real:
        (batch,) = randomize_codes(people.codes, design, source).batches
        np.add.at(row, batch.codes, 1)
    together = simulated(people, (0, 1, 2), matrices)
    assert (together.reshape(REPEATS, -1).sum(axis=1) == people.n).all()
    assert p_value(real, together) > ALARM


def test_a_wrong_simulation_is_found():
    """One multinomial over λ for all reports overstates the spread: the truth is fixed."""
    people, matrix = small_people(), constant_matrix(24, p=0.6)
    shares = matrix.forward(people.table((0, 1, 2)).ravel() / people.n)
    wrong = np.random.default_rng(6).multinomial(people.n, shares, REPEATS)
    assert p_value(simulated(people, (0, 1, 2), (matrix,)), wrong) < ALARM


def test_a_matrix_that_lies_is_simulated_row_by_row():
    people, matrix = small_people(), with_signal(6, -0.15)
    rng = np.random.default_rng(7)
    cells = np.repeat(np.arange(6), people.table((0, 1)).ravel())
    draws = [
        matrix.draw(cells, rng.integers(0, matrix.total, len(cells)).astype(np.uint64))
        for _ in range(REPEATS)
    ]
    real = np.array([np.bincount(drawn, minlength=6) for drawn in draws])
    assert p_value(real, simulated(people, (0, 1), (matrix,))) > ALARM


def test_a_matrix_without_signal_says_nothing():
    people = small_people()
    counts = reported(
        np.broadcast_to(people.table((2,)), (9, 4)), (None,), np.random.default_rng(1)
    )
    assert (counts.sum(axis=1) == people.n).all()
    np.testing.assert_allclose(estimated(counts, (None,), "clip"), 0.25)


@pytest.mark.parametrize("projection", ["clip", "euclidean"])
def test_estimates_are_the_library_s(projection):
    counts = np.array([[500, 100, 5], [0, 3, 1]])
    matrix = constant_matrix(3, p=0.4)
    found = estimated(counts, (matrix,), projection)
    for row, values in zip(counts, found, strict=True):
        np.testing.assert_allclose(values, project(matrix.solve(row / row.sum()), projection))
    assert (found == 0).any()


def test_axes_invert_together():
    truth = np.array([[0.3, 0.1, 0.2], [0.0, 0.3, 0.1]])
    first, second = constant_matrix(2, p=0.5), constant_matrix(3, p=0.4)
    seen = first.forward(second.forward(truth).T).T
    counts = np.rint(seen[None] * 1e12).astype(np.int64)
    found = estimated(counts, (first, second), "clip")
    np.testing.assert_allclose(found[0], truth, atol=1e-9)


def test_products_take_clusters_as_independent():
    people = small_people()
    parts = partition(people, [["a", "c"], ["b"]], "corrected", 0.9)
    factors = margins(people, parts, (0, 1, 2), 2, "clip", np.random.default_rng(2))
    found = product(factors, (1, 2)).reshape(2, 3, 4)
    for run in range(2):
        wanted = np.multiply.outer(factors[1][1][run], factors[0][1][run].sum(axis=0))
        np.testing.assert_allclose(found[run], wanted)
    within = product(factors, (0, 2)).reshape(2, 2, 4)
    np.testing.assert_allclose(within, factors[0][1])


@pytest.mark.parametrize("choices", [Choices(), Choices(repeated=True), Choices(size=3)])
def test_queries_hold_their_share_of_the_combinations(choices):
    people = adult_people()
    asked = ask(people, 3000, 0.3, choices, (1, 2))
    assert sorted(np.concatenate([group.runs for group in asked])) == list(range(3000))
    sizes = {}
    for group in asked:
        counts = people.table(group.attributes).ravel()
        held = choices.combinations(0.3, len(counts))
        assert (group.chosen.sum(axis=1) == held).all()
        assert (group.truth == group.chosen @ counts).all()
        assert (group.truth > 0).all()
        sizes[len(group.attributes)] = sizes.get(len(group.attributes), 0) + len(group.runs)
    if choices.repeated:
        assert 375 - 87 < sizes[1] < 375 + 87  # one in 8, 4.4 standard deviations
    else:
        assert set(sizes) == {choices.size}


def test_attributes_and_combinations_are_drawn_evenly():
    """28 pairs by chi-square; and every cell of one pair, counted over its queries."""
    people = adult_people()
    asked = ask(people, 28_000, 0.5, Choices(), (3,))
    counts = np.array([len(group.runs) for group in asked])
    assert len(counts) == 28
    assert ((counts - 1000) ** 2 / 1000).sum() < 75  # chi-square with 27, P(more) < 1e-5
    (group,) = (g for g in asked if people.names(g.attributes) == ("race", "sex"))
    each = group.chosen.sum(axis=0)
    sd = np.sqrt(len(group.runs) / 4)
    assert np.abs(each - len(group.runs) / 2).max() < 5 * sd


def test_the_same_seed_nests_queries_and_serves_both_data_sets():
    few, many = (ask(adult_people(), 500, c, Choices(), (4,)) for c in (0.4, 0.6))
    for small, large in zip(few, many, strict=True):
        assert (small.runs == large.runs).all()
        assert (small.chosen <= large.chosen).all()
    six = ask(adult_people(6), 500, 0.4, Choices(), (4,))
    for one, expanded in zip(few, six, strict=True):
        assert (one.chosen == expanded.chosen).all()
        assert (6 * one.truth == expanded.truth).all()


def test_the_error_of_a_set_is_that_of_its_complement():
    """|Y_S − X_S| = |Y_Sᶜ − X_Sᶜ|, since estimate and truth both sum to n."""
    people = adult_people()
    rng = np.random.default_rng(5)
    for group in ask(people, 300, 0.4, Choices(), (5,)):
        tables = rng.dirichlet(np.ones(group.chosen.shape[1]), len(group.runs))
        here = group.errors(tables, people.n)[0]
        counts = people.table(group.attributes).ravel()
        there = np.abs(
            np.einsum("kc,kc->k", tables, ~group.chosen) * people.n - ~group.chosen @ counts
        )
        np.testing.assert_allclose(here, there, atol=1e-6)
    for cells in range(4, 300):
        held = [Choices().combinations(c, cells) for c in (0.4, 0.6)]
        assert sum(held) == cells  # so σ = 0.6 is the complement of σ = 0.4, rounding included


def test_rounding_is_exact():
    for coverage in COVERAGES:
        assert Choices().combinations(coverage, 10) == round(10 * coverage)
    assert Choices(rounding="up").combinations(0.1, 32) == 4
    assert Choices(rounding="down").combinations(0.1, 4) == 1  # never none


def test_queries_without_people_count_when_asked_to():
    people = small_people()  # nobody has c = "n"
    asked = ask(people, 400, 0.1, Choices(empty="infinite", repeated=True), (6,))
    empty = [group for group in asked if (group.truth == 0).any()]
    assert empty
    for group in empty:
        table = np.full(group.chosen.shape, 1 / group.chosen.shape[1])
        relative = group.errors(table, people.n)[1]
        assert np.isinf(relative[group.truth == 0]).all()
        assert np.isfinite(relative[group.truth > 0]).all()
