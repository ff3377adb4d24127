"""The fast paths give what the library's own estimators give on the same reports."""

import numpy as np
import pytest

from mdrr.estimation import estimate
from mdrr.protocols import clustered
from mdrr.reproduction.clusters import alone, partition
from mdrr.reproduction.joint import measure_joint
from mdrr.reproduction.methods import METHODS, measure_methods, release, series
from mdrr.reproduction.population import adult_population
from mdrr.reproduction.printed import COVERAGES
from mdrr.reproduction.settings import Settings
from mdrr.reproduction.tables import measure_table, simulated_table
from mdrr.tallies import tally_codes
from tests.reproduction.small import DOMAIN, population

CLUSTERS = {"alone": ((0,), (1,), (2,)), "pair": ((0, 2), (1,)), "all": ((0, 1, 2),)}
ASKED = [(0, 1), (0, 2), (1, 2), (1,), (0, 1, 2)]


@pytest.mark.parametrize("clusters", CLUSTERS.values(), ids=CLUSTERS)
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("projection", ["clip", "euclidean"])
def test_records_give_the_library_s_estimates(clusters, asked, projection):
    people = population()
    made = release(
        people, partition(people, clusters, "corrected", 0.4), projection, np.random.default_rng(3)
    )
    names = [[DOMAIN.names[j] for j in members] for members in clusters]
    design = clustered(DOMAIN, names, p=0.4)
    tally = tally_codes([made.reports], design)
    wanted = [DOMAIN.names[j] for j in asked]
    product = estimate(tally, design, "product", projection=projection).joint.table(wanted)
    assert made.product(asked) == pytest.approx(product.ravel(), abs=1e-9)
    adjusted = estimate(tally, design, "adjust", projection=projection).joint.table(wanted)
    weighted = made.weighted(asked, made.adjustment.weights)
    assert weighted == pytest.approx(adjusted.ravel(), abs=1e-5)


def test_randomized_is_the_reports_themselves():
    people = population()
    made = release(
        people, partition(people, ((0, 2), (1,)), "power", 0.5), "clip", np.random.default_rng(3)
    )
    a, c = np.divmod(made.reports[0], 4)
    table = np.zeros((2, 4))
    np.add.at(table, (a, c), 1 / people.n)
    assert made.weighted((0, 2), None) == pytest.approx(table.ravel())


@pytest.mark.parametrize("clusters", CLUSTERS.values(), ids=CLUSTERS)
def test_simulated_tables_have_the_distribution_of_real_ones(clusters):
    """Means and spreads of every cell, over 2000 simulations and as many randomizations."""
    people = population()
    design = partition(people, clusters, "corrected", 0.4)
    rng, repeats = np.random.default_rng(12), 2000
    for asked in ASKED[:3]:
        simulated = np.array(
            [simulated_table(people, design, asked, "clip", rng) for _ in range(repeats)]
        )
        real = np.array(
            [release(people, design, "clip", rng).product(asked) for _ in range(repeats)]
        )
        for power in (1, 2):
            first, second = simulated**power, real**power
            gap = first.mean(axis=0) - second.mean(axis=0)
            sd = np.sqrt((first.var(axis=0) + second.var(axis=0)) / repeats)
            assert (np.abs(gap) <= 4.9 * sd + 1e-12).all()  # z(1e-6): 78 cells in all


def test_all_methods_are_measured_at_all_coverages():
    errors = measure_methods(adult_population(), 0.7, (50, 0.1), range(2), Settings())
    assert set(errors) == {series(c, m) for c in COVERAGES for m in METHODS}
    assert all(len(listed) == 2 for listed in errors.values())


def test_dropped_runs_are_not_numbers():
    people = population(rows=3)
    settings = Settings(empty="drop")
    errors = measure_table("table1", people, 0.5, range(30), settings)
    assert any(np.isnan(listed).any() for listed in errors.values())
    assert not all(np.isnan(listed).all() for listed in errors.values())


def test_joint_is_the_inverse_of_one_large_matrix():
    """On a small domain, against the library's estimate of the whole cluster."""
    people = population()
    design = clustered(DOMAIN, [DOMAIN.names], p=0.7)
    part = partition(people, ((0, 1, 2),), "corrected", 0.7)
    assert part.channels[0].signal == design.clusters[0].matrix.signal
    errors = measure_joint(people, 0.7, range(400), Settings(seed=5))
    rng = np.random.default_rng(2)
    settings = Settings(seed=6)
    known = measure_table("table1", people, 0.7, range(1), settings)
    assert set(errors) == {"whole", "queried"}
    assert known
    # The whole made proper is the clustered estimate of all attributes: same median, by ranks.
    from mdrr.reproduction.query import draw_query

    direct = []
    for _ in range(400):
        query = draw_query(people, 0.1, settings, rng)
        table = simulated_table(people, part, query.attributes, "clip", rng)
        direct.append(query.errors(table, people.n)[1])
    low, high = np.sort(direct)[[200 - 61, 200 + 61]]  # z(1e-5)·√2·√400/2 ranks
    assert low <= np.median(errors["whole"]) <= high


def test_alone_is_one_cluster_an_attribute():
    assert alone(population()) == CLUSTERS["alone"]
