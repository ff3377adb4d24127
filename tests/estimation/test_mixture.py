"""The one joint's own rules: what it is made of, what it writes out, its mean.

`test_joint.py` holds its answers against the whole table written out.
"""

import numpy as np
import pytest

from mdrr.errors import EstimateError
from mdrr.estimation.mixture import MixtureJoint, Pinned, average
from mdrr.query import Query
from tests.cases import domain_of
from tests.estimation.test_joint import D, classes_joint, pinned_joint


def test_records_are_what_they_are_counted_as():
    columns = [np.array([0, 1, 1]), np.array([2, 0, 0]), np.array([1, 1, 0]), np.array([3, 3, 0])]
    joint = MixtureJoint.of_records(D, columns, np.array([0.5, 0.2, 0.3]))
    assert joint.table(("d", "a")) == pytest.approx(
        np.array([[0, 0.3], [0, 0], [0, 0], [0.5, 0.2]])
    )
    query = Query.of({"a": ["a1"], ("b", "d"): [("b0", "d3"), ("b2", "d3")]}, D)
    assert joint.mass(query) == pytest.approx(0.2)
    _, shares = joint.combinations()
    assert len(shares) == 3


def test_records_of_a_large_domain_are_written_out_once_each():
    large = domain_of(*[10] * 12)
    rng = np.random.default_rng(1)
    columns = [np.tile(rng.integers(0, 10, 20), 2) for _ in range(12)]
    joint = MixtureJoint.of_records(large, columns, np.full(40, 1 / 40))
    _, shares = joint.combinations()
    assert len(shares) == 20
    assert shares == pytest.approx(np.full(20, 1 / 20))
    tables = tuple(np.full((10, 1), 0.1) for _ in range(12))
    with pytest.raises(EstimateError, match=r"too many to write out .* \.sample\(n\)"):
        MixtureJoint(large, np.ones(1), tables).combinations()


def test_many_attributes_are_counted_without_a_table():
    """60 attributes, pinned and not: the mass of a set over all of them, by hand."""
    wide = domain_of(*[2] * 60)
    theta = tuple(np.array([[0.9, 0.2], [0.1, 0.8]]) for _ in range(60))
    pinned = Pinned((0, 59), np.array([[1, 1]], dtype=np.uint8), np.array([[0.0, 0.25]]))
    joint = MixtureJoint(wide, np.array([0.5, 0.25]), theta, (pinned,))
    query = Query.of({name: [f"{name}1"] for name in wide.names}, wide)
    wanted = 0.5 * 0.1**60 + 0.25 * 0.8**60 + 0.25 * 0.8**58
    assert joint.mass(query) == pytest.approx(wanted, rel=1e-12)
    drawn = joint.sample(4_000, np.random.default_rng(2))
    both = (drawn[0] == 1) & (drawn[59] == 1)
    share = joint.table(("a", wide.names[59]))[1, 1]
    assert abs(both.mean() - share) < 4.5 * np.sqrt(share * (1 - share) / 4_000)


def test_the_mean_of_mixtures_is_the_mean_of_their_tables():
    first, second = classes_joint(1), classes_joint(2)
    found = average([first, second])
    wanted = (first.table(D.names) + second.table(D.names)) / 2
    assert found.table(D.names) == pytest.approx(wanted, abs=1e-12)
    other = MixtureJoint(domain_of(2), np.ones(1), (np.array([[0.5], [0.5]]),))
    with pytest.raises(EstimateError, match="over one domain"):
        average([first, other])


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda j: (j.weights, j.tables[:-1], ()), "do not fit the domain"),
        (lambda j: (j.weights * 2, j.tables, ()), "sum to 1"),
        (lambda j: (np.array([1.5, -0.5, 0.0]), j.tables, ()), "sum to 1"),
        (lambda j: (j.weights, (j.tables[0] * 2, *j.tables[1:]), ()), "of 'a' do not sum to 1"),
        (lambda j: (j.weights, j.tables, pinned_joint().pinned), "sum to 1"),
    ],
)
def test_what_is_no_distribution_is_refused(change, complaint):
    with pytest.raises(EstimateError) as error:
        MixtureJoint(D, *change(classes_joint()))
    assert complaint in str(error.value)


@pytest.mark.parametrize(
    "pinned",
    [
        Pinned((0, 1), np.array([[2, 0]], dtype=np.uint8), np.full((1, 3), 0.1)),
        Pinned((0, 9), np.array([[0, 0]], dtype=np.uint8), np.full((1, 3), 0.1)),
        Pinned((1, 0), np.array([[0, 0]], dtype=np.uint8), np.full((1, 3), 0.1)),
        Pinned((0, 1), np.array([[0, 0]], dtype=np.uint8), np.full((1, 2), 0.15)),
        Pinned((0, 1), np.array([[0, 0, 0]], dtype=np.uint8), np.full((1, 3), 0.1)),
        Pinned((0, 1), np.array([[0, 0]], dtype=np.uint8), np.array([[0.5, -0.2, 0.0]])),
    ],
    ids=["code", "place", "order", "classes", "width", "negative"],
)
def test_records_that_do_not_fit_are_refused(pinned):
    base = classes_joint()
    with pytest.raises(EstimateError, match="records"):
        MixtureJoint(D, 0.7 * base.weights, base.tables, (pinned,))
