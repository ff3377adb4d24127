"""Latent classes through every kind of design, against a joint that is known."""

import numpy as np
import pytest

from mdrr.design import Cluster, Design, Questionnaire
from mdrr.domain import Attribute, Domain
from mdrr.errors import EstimateError, TallyError
from mdrr.estimation import estimate, latent, product
from mdrr.estimation.channel import stacks
from mdrr.estimation.evidence import Evidence
from mdrr.estimation.latent import choose, em, log_likelihood, random_start, step
from mdrr.matrix import constant_matrix, dense_matrix
from mdrr.protocols import clustered, independent, joint, sampled
from mdrr.randomizer import randomize_codes
from mdrr.source import SeededSource
from mdrr.tallies import tally_codes

SHAPE = (3, 2, 4, 2)
DOMAIN = Domain(
    tuple(Attribute(name, tuple(range(size))) for name, size in zip("abcd", SHAPE, strict=True))
)
N = 20_000


def people(seed=0):
    """Two classes of people, told apart by every attribute."""
    rng = np.random.default_rng(seed)
    kind = rng.random(N) < 0.4
    columns = []
    for size in SHAPE:
        first = 0.25 ** np.arange(size) / (0.25 ** np.arange(size)).sum()
        second = first[::-1]
        columns.append(
            np.where(kind, rng.choice(size, N, p=first), rng.choice(size, N, p=second)).astype(
                np.uint8
            )
        )
    return columns


def with_dense():
    rng = np.random.default_rng(5)
    mixed = 0.6 * np.eye(8) + 0.4 * rng.dirichlet(np.full(8, 5.0), 8)
    return Design(
        DOMAIN,
        (
            Questionnaire(
                (
                    Cluster(("a",), constant_matrix(3, epsilon=2.0)),
                    Cluster(("b", "c"), dense_matrix(mixed)),
                    Cluster(("d",), constant_matrix(2, epsilon=2.0)),
                )
            ),
        ),
    )


DESIGNS = {
    "independent": independent(DOMAIN, epsilon=8.0),
    "joint": joint(DOMAIN, epsilon=5.0),
    "clustered": clustered(DOMAIN, [["a", "c"], ["b"], ["d"]], epsilon=7.0),
    "sampled": sampled(DOMAIN, 2, epsilon=3.0),
    "dense": with_dense(),
}


def reports(design, seed=3):
    return tally_codes(randomize_codes(people(), design, SeededSource(seed)), design)


def true_table(first, second):
    columns = people()
    i, j = DOMAIN.index(first), DOMAIN.index(second)
    cells = columns[i].astype(int) * SHAPE[j] + columns[j]
    return np.bincount(cells, minlength=SHAPE[i] * SHAPE[j]).reshape(SHAPE[i], SHAPE[j]) / N


@pytest.mark.parametrize("name", DESIGNS)
def test_finds_the_pairs_that_a_product_misses(name):
    design = DESIGNS[name]
    tally = reports(design)
    found = latent(tally, design, classes=3, passes=200, fits=1)
    for first, second in (("a", "c"), ("b", "d"), ("c", "d")):
        truth = true_table(first, second)
        flat = np.outer(truth.sum(axis=1), truth.sum(axis=0))
        error = np.abs(found.table(first, second).values - truth).sum()
        assert error < 0.5 * np.abs(flat - truth).sum()


def test_every_pass_raises_the_likelihood():
    design = with_dense()
    tally = reports(design)
    data, margins = stacks(tally, design), Evidence(tally, design).margins
    mixture = random_start(DOMAIN, margins, 4, seed=1)
    values = []
    for _ in range(30):
        mixture, value = step(data, mixture, margins, prior=0.0)
        values.append(value)
    assert (np.diff(values) >= -1e-6).all()
    assert values[-1] > values[0] + 100
    assert log_likelihood(data, mixture) >= values[-1] - 1e-6


def test_one_class_is_the_maximum_likelihood_product():
    design = independent(DOMAIN, epsilon=8.0)
    tally = reports(design)
    found = latent(tally, design, classes=1, passes=2000, prior=0.0)
    exact = product(tally, design)
    for name in DOMAIN.names:
        assert np.allclose(found.table(name).values, exact.table(name).values, atol=1e-4)


def test_the_likelihood_is_that_of_the_written_out_model():
    design = with_dense()
    tally = tally_codes([[np.array([0, 2, 1]), np.array([7, 0, 3]), np.array([1, 1, 0])]], design)
    mixture = random_start(DOMAIN, [np.full(size, 1 / size) for size in SHAPE], 3, seed=2)
    full = mixture.table(DOMAIN.names)
    a, bc, d = (
        cluster.matrix.likelihood(np.arange(8)[: cluster.matrix.outcomes])
        for cluster in design.clusters
    )
    seen = np.einsum("abcd,ya,xbc,wd->yxw", full, a, bc.reshape(8, 2, 4), d)
    expected = np.log(seen[[0, 2, 1], [7, 0, 3], [1, 1, 0]]).sum()
    assert log_likelihood(stacks(tally, design), mixture) == pytest.approx(expected, rel=1e-12)


def test_many_attributes_do_not_underflow():
    wide = Domain(tuple(Attribute(f"x{i}", tuple(range(50))) for i in range(200)))
    design = independent(wide, epsilon={f"x{i}": 9.0 for i in range(200)})
    rng = np.random.default_rng(0)
    tally = tally_codes([[rng.integers(0, 50, 30) for _ in range(200)]], design)
    margins = [np.full(50, 0.02)] * 200
    fit = em(stacks(tally, design), random_start(wide, margins, 3, 0), margins, passes=3, prior=0.1)
    assert np.isfinite(fit.log_likelihood)


def test_held_out_reports_choose_one_class_for_independent_attributes():
    rng = np.random.default_rng(8)
    columns = [rng.integers(0, size, N).astype(np.uint8) for size in SHAPE]
    design = independent(DOMAIN, epsilon=6.0)
    tally = tally_codes(randomize_codes(columns, design, SeededSource(1)), design)
    few = choose(Evidence(tally, design).halves(0), None, None, prior=0.3, seed=0)
    assert few.tried[0][2] >= max(entry[2] for entry in few.tried) - 1e-3
    tally = reports(independent(DOMAIN, epsilon=12.0))
    more = latent(tally, independent(DOMAIN, epsilon=12.0))
    assert more.notes["classes"] > 1


def test_same_seed_same_fit_and_counts_with_intervals():
    design = sampled(DOMAIN, 3, epsilon=4.0)
    tally = reports(design)
    first, second = (latent(tally, design, classes=4, passes=30, fits=2) for _ in range(2))
    assert np.array_equal(first.table("a", "d").values, second.table("a", "d").values)
    count = first.count({"a": [0], "d": [1]})
    assert 0 <= count.low < count.value < count.high <= N


def test_refuses_what_cannot_be_fitted():
    design = independent(DOMAIN, epsilon=4.0)
    tally = reports(design)
    with pytest.raises(EstimateError, match="classes=0"):
        latent(tally, design, classes=0)
    with pytest.raises(EstimateError, match="prior"):
        latent(tally, design, prior=-1.0)
    with pytest.raises(TallyError, match="design"):
        estimate(tally, independent(DOMAIN, epsilon=5.0), "latent")
    empty = tally_codes([[np.array([], dtype=int)] * 4], design)
    with pytest.raises(EstimateError, match="empty"):
        latent(empty, design)
    single = tally_codes([[np.array([0])] * 4], design)
    assert latent(single, design).table("a").values.sum() == pytest.approx(1)


def test_models_are_judged_on_people_who_had_no_part_in_them():
    """Each half's fit is made again from that half alone; the other half's fit chose its size."""
    design = clustered(DOMAIN, [["a", "c"], ["b", "d"]], epsilon=6.0)
    halves = Evidence(reports(design), design).halves(3)
    choice = choose(halves, None, None, prior=0.3, seed=0)
    assert len(choice.crossed) == 2
    counted = [stacks(half.tally, design) for half in halves]
    made, told = [{}, {}], [{}, {}]
    for count, *_ in choice.tried:
        mixtures = [random_start(DOMAIN, half.margins, count, 0) for half in halves]
        sums = []
        for done in range(1, 151):
            for f, half in enumerate(halves):
                mixtures[f], _ = step(counted[f], mixtures[f], half.margins, 0.3)
            if done % 10 == 0:
                for f in (0, 1):
                    made[f][count, done] = mixtures[f]
                    told[f][count, done] = log_likelihood(counted[1 - f], mixtures[f])
                sums.append(told[0][count, done] + told[1][count, done])
                if len(sums) > 2 and sums[-1] < sums[-2] < sums[-3]:
                    break  # as `choose` ends a path
    for f in (0, 1):
        key = max(told[1 - f], key=told[1 - f].get)
        wanted = made[f][key].table(DOMAIN.names)
        np.testing.assert_allclose(choice.crossed[f].table(DOMAIN.names), wanted, atol=1e-12)
        own = max(told[f], key=told[f].get)
        assert own != key or len(told[f]) < 3, "else the test cannot tell whose choice it is"


def test_too_few_people_are_not_halved():
    design = independent(DOMAIN, epsilon=4.0)
    single = tally_codes([[np.array([0])] * 4], design)
    assert Evidence(single, design).halves(0) is None
    found = latent(single, design)
    assert found.notes["classes"] == 1
