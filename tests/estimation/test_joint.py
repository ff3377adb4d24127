"""Joints against the whole table written out: tables, masses, samples, combinations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdrr.errors import EstimateError
from mdrr.estimation.joint import Factor, ProductJoint
from mdrr.estimation.mixture import MixtureJoint, Pinned
from mdrr.query import Query, Term
from tests.cases import domain_of
from tests.chance import ALPHA, surprise

D = domain_of(2, 3, 2, 4)


def product_joint(seed=0) -> ProductJoint:
    """Factors over (c, a), (b), (d): out of order, with a zero."""
    rng = np.random.default_rng(seed)
    values = [rng.dirichlet(np.ones(n)) for n in (4, 3, 4)]
    values[2][1] = 0
    values[2] /= values[2].sum()
    return ProductJoint(
        D,
        (
            Factor(("c", "a"), values[0].reshape(2, 2)),
            Factor(("b",), values[1]),
            Factor(("d",), values[2]),
        ),
    )


def classes_joint(seed=0) -> MixtureJoint:
    """Three classes, one of no weight; a category that one class does not have."""
    rng = np.random.default_rng(seed)
    tables = [rng.dirichlet(np.ones(size), 3).T for size in D.shape]
    tables[3][0, 1] = 0
    tables[3] /= tables[3].sum(axis=0)
    return MixtureJoint(D, np.array([0.7, 0.3, 0.0]), tuple(tables))


def pinned_joint(seed=0) -> MixtureJoint:
    """The same with records: of (b, d), of (a, b, c), of everything, and twice the same one."""
    base, rng = classes_joint(seed), np.random.default_rng(seed + 1)
    groups = []
    for places, count in (((1, 3), 5), ((0, 1, 2), 4), ((0, 1, 2, 3), 3)):
        codes = np.stack([rng.integers(D.shape[j], size=count) for j in places], axis=1)
        codes[-1] = codes[0]
        groups.append((places, codes.astype(np.uint8), rng.gamma(0.5, size=(count, 3))))
    total = sum(shares.sum() for *_, shares in groups) + base.weights.sum()
    pinned = tuple(Pinned(places, codes, shares / total) for places, codes, shares in groups)
    return MixtureJoint(D, base.weights / total, base.tables, pinned)


def records_joint(seed=0) -> MixtureJoint:
    rng = np.random.default_rng(seed)
    columns = [rng.integers(size, size=9).astype(np.uint8) for size in D.shape]
    weights = rng.dirichlet(np.ones(9))
    weights[3] = 0
    return MixtureJoint.of_records(D, columns, weights / weights.sum())


def whole(joint) -> np.ndarray:
    """All 48 probabilities, by the definition."""
    if isinstance(joint, ProductJoint):
        ca, b, d = (factor.values for factor in joint.factors)
        return np.einsum("ca,b,d->abcd", ca, b, d)
    table = np.zeros(D.shape)
    for cell in np.ndindex(D.shape):
        for z, weight in enumerate(joint.weights):
            table[cell] += weight * np.prod(
                [t[v, z] for t, v in zip(joint.tables, cell, strict=True)]
            )
        for group in joint.pinned:
            for codes, shares in zip(group.codes, group.shares, strict=True):
                if any(cell[j] != code for j, code in zip(group.places, codes, strict=True)):
                    continue
                free = [j for j in range(len(D)) if j not in group.places]
                for z, share in enumerate(shares):
                    table[cell] += share * np.prod([joint.tables[j][cell[j], z] for j in free])
    return table


JOINTS = [product_joint(), classes_joint(), pinned_joint(), pinned_joint(3), records_joint()]
EVERY = [("a",), ("d", "a"), ("c", "b"), ("a", "c"), ("d", "c", "b"), ("b", "a", "d", "c")]


@pytest.mark.parametrize("joint", JOINTS)
@pytest.mark.parametrize("names", EVERY)
def test_a_table_is_the_wholes_marginal_in_the_order_asked(joint, names):
    axes = [D.index(name) for name in names]
    gone = tuple(i for i in range(4) if i not in axes)
    kept = sorted(axes)
    wanted = np.transpose(whole(joint).sum(axis=gone), [kept.index(axis) for axis in axes])
    np.testing.assert_allclose(joint.table(names), wanted, atol=1e-15)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(data=st.data(), which=st.integers(0, 1))
def test_a_mass_is_the_sum_over_the_set(data, which):
    """Conjunctions of random masks over random disjoint attribute sets, tied to factors or not."""
    joint = JOINTS[which]
    order = data.draw(st.permutations(D.names))
    cut = data.draw(st.integers(1, 4))
    groups = [order[:cut], order[cut:]] if data.draw(st.booleans()) else [order[:cut]]
    terms = []
    for names in groups:
        if not names:
            continue
        names = tuple(sorted(names))
        bits = data.draw(st.lists(st.booleans(), min_size=48, max_size=48))
        shape = D.project(names).shape
        terms.append(Term(names, np.array(bits[: int(np.prod(shape))]).reshape(shape)))
    query = Query(D, tuple(terms))
    wanted = whole(joint)[query.mask(D.names)].sum()
    assert joint.mass(query) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("joint", JOINTS)
def test_combinations_are_the_support(joint):
    columns, probabilities = joint.combinations()
    table = np.zeros(D.shape)
    np.add.at(table, tuple(columns), probabilities)
    np.testing.assert_allclose(table, whole(joint), atol=1e-15)
    assert (probabilities > 0).all()
    assert [c.dtype for c in columns] == [np.uint8] * 4


@pytest.mark.parametrize("joint", JOINTS)
def test_a_sample_has_the_joints_distribution(joint):
    """χ² over all 48 cells; false alarm 1e-5."""
    columns = joint.sample(50_000, np.random.default_rng(8))
    cells = np.ravel_multi_index(columns, D.shape)
    assert surprise(np.bincount(cells, minlength=48), whole(joint)) > ALPHA
    shifted = np.roll(np.bincount(cells, minlength=48), 1)
    assert surprise(shifted, whole(joint)) < ALPHA, "a shift by one cell must be seen"


def test_everything_has_mass_one():
    for joint in JOINTS:
        assert joint.mass(Query.of({}, D)) == pytest.approx(1)


@pytest.mark.parametrize(
    ("factors", "complaint"),
    [
        ((Factor(("a",), np.ones(2) / 2),), "not a partition of the domain"),
        (
            (
                Factor(("a", "b"), np.ones((2, 3)) / 6),
                Factor(("b", "c", "d"), np.ones((3, 2, 4)) / 24),
            ),
            "not a partition",
        ),
        (
            (Factor(("a", "b"), np.ones((3, 2)) / 6), Factor(("c", "d"), np.ones((2, 4)) / 8)),
            "the factor of ('a', 'b') does not fit",
        ),
    ],
)
def test_factors_must_be_a_partition_and_fit(factors, complaint):
    with pytest.raises(EstimateError) as error:
        ProductJoint(D, factors)
    assert complaint in str(error.value)


def test_too_many_combinations_are_not_written_out():
    large = domain_of(*[10] * 8)
    factors = tuple(Factor((name,), np.full(10, 0.1)) for name in large.names)
    with pytest.raises(EstimateError, match=r"100,000,000 combinations .* draw records with"):
        ProductJoint(large, factors).combinations()


def test_a_domain_far_too_large_to_enumerate_is_answered():
    """50 attributes of 10 categories: a table, a mass and a sample need only what they look at."""
    large = domain_of(*[10] * 50)
    factors = tuple(Factor((name,), np.full(10, 0.1)) for name in large.names)
    joint = ProductJoint(large, factors)
    np.testing.assert_allclose(joint.table(("a", "b1")), np.full((10, 10), 0.01))
    query = Query.of({name: [f"{name}1"] for name in large.names}, large)
    assert joint.mass(query) == pytest.approx(1e-50)
    assert len(joint.sample(10, np.random.default_rng(0))) == 50


@pytest.mark.parametrize("joint", JOINTS)
def test_a_joint_is_the_same_after_it_was_written_down(joint):
    again = type(joint).from_arrays(D, joint.to_arrays())
    np.testing.assert_array_equal(again.table(D.names), joint.table(D.names))
    drawn = [each.sample(50, np.random.default_rng(1)) for each in (joint, again)]
    assert all((a == b).all() for a, b in zip(*drawn, strict=True))
