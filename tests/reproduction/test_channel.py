"""Counts simulated from counts have the distribution of counts of randomized records.

Every test compares two samples of `REPEATS` count vectors, cell by cell, by chi-square on binned
counts; the false-alarm rate is 1e-5 in all, and a planted bug shows the power.
"""

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from mdrr.errors import MatrixError
from mdrr.protocols import clustered
from mdrr.randomizer import randomize_codes
from mdrr.reproduction.axes import Axes, simulate_axes
from mdrr.reproduction.channel import Channel
from mdrr.source import SeededSource
from tests.reproduction.small import DOMAIN, population

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


def counted(channel, cells, size, rng):
    return np.array(
        [np.bincount(channel.randomize(cells, rng), minlength=size) for _ in range(REPEATS)]
    )


@pytest.mark.parametrize("clusters", [[["a", "b", "c"]], [["a"], ["b", "c"]]])
def test_counts_are_those_of_the_real_randomizer(clusters):
    people = population()
    design = clustered(DOMAIN, clusters, p=0.4)
    source = SeededSource(3)
    rng = np.random.default_rng(5)
    real = [[] for _ in design.clusters]
    for _ in range(REPEATS):
        (batch,) = randomize_codes(people.codes, design, source).batches
        for i, (cluster, codes) in enumerate(zip(design.clusters, batch.codes, strict=True)):
            real[i].append(np.bincount(codes, minlength=cluster.matrix.cells))
    for cluster, rows in zip(design.clusters, real, strict=True):
        link = Channel(cluster.matrix.cells, cluster.matrix.signal)
        true = people.counts(people.places([cluster.attributes])[0])
        simulated = np.array([link.simulate(true, rng) for _ in range(REPEATS)])
        assert (simulated.sum(axis=1) == people.n).all()
        assert p_value(np.array(rows), simulated) > ALARM


def test_a_wrong_simulation_is_found():
    """One multinomial over λ for all reports overstates the spread: the truth is fixed."""
    people = population()
    link = Channel(24, 0.6)
    true = people.counts((0, 1, 2))
    rng = np.random.default_rng(6)
    right = np.array([link.simulate(true, rng) for _ in range(REPEATS)])
    shares = link.signal * true / people.n + link.floor
    wrong = rng.multinomial(people.n, shares, REPEATS)
    assert p_value(right, wrong) < ALARM


@pytest.mark.parametrize("signal", [0.35, 0.0, -0.04])
def test_records_and_counts_agree(signal):
    people = population()
    link = Channel(24, signal)
    rng = np.random.default_rng(7)
    true = people.counts((0, 1, 2))
    simulated = np.array([link.simulate(true, rng) for _ in range(REPEATS)])
    records = counted(link, people.cells((0, 1, 2)), 24, rng)
    assert p_value(records, simulated) > ALARM


def test_copies_are_people():
    people = population(copies=3)
    assert people.n == 2700
    assert (people.counts((1,)) == np.bincount(people.cells((1,)), minlength=3)).all()


def test_axes_are_those_of_the_real_randomizer():
    people = population()
    design = clustered(DOMAIN, [["a"], ["b"], ["c"]], p=0.5)
    links = [Channel(c.matrix.cells, c.matrix.signal) for c in design.clusters]
    source, rng = SeededSource(4), np.random.default_rng(8)
    true = people.counts((0, 1, 2)).reshape(2, 3, 4)
    simulated = np.array([simulate_axes(links, true, rng) for _ in range(REPEATS)])
    real = np.zeros_like(simulated)
    for row in real:
        (batch,) = randomize_codes(people.codes, design, source).batches
        np.add.at(row, batch.codes, 1)
    assert p_value(real, simulated) > ALARM


def test_axes_invert_together():
    axes = Axes((Channel(2, 0.5), Channel(3, 0.4)))
    truth = np.array([[0.3, 0.1, 0.2], [0.0, 0.3, 0.1]])
    seen = np.array([[0.75, 0.25], [0.25, 0.75]]) @ truth @ (0.4 * np.eye(3) + 0.2)
    counts = np.rint(seen.ravel() * 1e12).astype(np.int64)
    assert axes.estimate(counts, "euclidean") == pytest.approx(truth.ravel(), abs=1e-9)


def test_axes_randomize_each_attribute():
    people = population()
    axes = Axes((Channel(2, 0.5), Channel(3, 0.4)))
    rng = np.random.default_rng(9)
    true = people.counts((0, 1))
    simulated = np.array([axes.simulate(true, rng) for _ in range(REPEATS)])
    assert p_value(counted(axes, people.cells((0, 1)), 6, rng), simulated) > ALARM


@pytest.mark.parametrize("signal", [0.7, -0.3])
def test_estimates_undo_the_channel(signal):
    link = Channel(3, signal)
    truth = np.array([0.5, 0.3, 0.2])
    seen = signal * truth + link.floor
    assert link.solve(seen) == pytest.approx(truth)


def test_singular_channel_says_nothing():
    link = Channel(4, 0.0)
    assert link.is_singular
    assert link.epsilon == 0
    assert link.estimate(np.array([9, 1, 0, 0]), "clip") == pytest.approx([0.25] * 4)


@pytest.mark.parametrize(("cells", "signal"), [(1, 0.5), (3, 1.1), (3, -0.6), (3, float("nan"))])
def test_no_matrix_is_refused(cells, signal):
    with pytest.raises(MatrixError):
        Channel(cells, signal)
