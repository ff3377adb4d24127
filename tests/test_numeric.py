"""Histogram, mean and quantiles of ordered attributes."""

import numpy as np
import pytest

from mdrr.domain import Attribute, Domain
from mdrr.errors import DesignError, QueryError
from mdrr.estimation import estimate
from mdrr.numeric import histogram, mean, quantiles
from mdrr.protocols import independent
from mdrr.randomizer import randomize_codes
from mdrr.source import SeededSource
from mdrr.tallies import tally_codes
from tests.chance import z

DOMAIN = Domain(
    (
        Attribute("age", kind="numeric", edges=(0, 10, 20, 30, 40, 60)),
        Attribute("grade", (2, 4, 8), kind="ordinal"),
        Attribute("city", ("A", "B", "C")),
        Attribute("rank", ("low", "mid", "high"), kind="ordinal"),
    )
)
N = 20_000


@pytest.fixture(scope="module")
def codes():
    rng = np.random.default_rng(5)
    return [
        rng.choice(5, size=N, p=(0.1, 0.2, 0.4, 0.2, 0.1)),
        rng.choice(3, size=N, p=(0.5, 0.3, 0.2)),
        rng.integers(3, size=N),
        rng.choice(3, size=N, p=(0.2, 0.2, 0.6)),
    ]


@pytest.fixture(scope="module", params=["constant", "banded"])
def found(request, codes):
    design = independent(DOMAIN, p=0.6, ordered=request.param)
    reports = randomize_codes(codes, design, SeededSource(1))
    return estimate(tally_codes(reports, design), design, "product")


def test_banded_designs_spend_no_more_and_keep_nominal_attributes_constant():
    plain, banded = (independent(DOMAIN, p=0.6, ordered=o) for o in ("constant", "banded"))
    assert [c.matrix.kind for c in banded.clusters] == ["banded", "banded", "constant", "banded"]
    assert banded.epsilon <= plain.epsilon + 1e-3
    budgets = {"age": 1.0, "grade": 0.5, "city": 2.0, "rank": 0.25}
    each = independent(DOMAIN, epsilon=budgets, ordered="banded")
    for cluster, name in zip(each.clusters, DOMAIN.names, strict=True):
        assert budgets[name] - 4e-3 <= cluster.epsilon <= budgets[name]
    with pytest.raises(DesignError, match="ordered='waves'"):
        independent(DOMAIN, p=0.5, ordered="waves")


def test_the_mean_is_that_of_the_people(found, codes):
    middles = np.array([5, 15, 25, 35, 50.0])
    true = middles[codes[0]].mean()
    spread = z() * 60 / np.sqrt(N) / 0.6  # a report's score is within the scale over the signal
    assert abs(mean(found, "age") - true) < spread
    labels = np.array([2, 4, 8.0])
    edges = np.array([1, 3, 6, 10.0])  # half a step around each label
    expected = ((edges[:-1] + edges[1:]) / 2)[codes[1]].mean()
    assert abs(mean(found, "grade") - expected) < z() * 8 / np.sqrt(N) / 0.6
    assert labels.min() < mean(found, "grade") < labels.max()


def test_quantiles_bracket_those_of_the_people(found, codes):
    edges = np.array([0, 10, 20, 30, 40, 60.0])
    below = np.concatenate([[0], np.cumsum(np.bincount(codes[0], minlength=5) / N)])
    for quantile in quantiles(found, "age", (0.1, 0.5, 0.9), level=0.99999):
        true = np.interp(quantile.share, below, edges)
        assert quantile.low <= quantile.value <= quantile.high
        assert quantile.low <= true <= quantile.high
        assert quantile.high - quantile.low < 15


def test_the_histogram_is_the_table_with_its_edges(found):
    bins = histogram(found, "age")
    np.testing.assert_array_equal(bins.edges, DOMAIN.attribute("age").edges)
    np.testing.assert_allclose(bins.shares, found.table("age").values)
    assert bins.shares.sum() == pytest.approx(1)
    assert ((bins.low <= bins.shares) & (bins.shares <= bins.high)).all()
    ranks = histogram(found, "rank")
    np.testing.assert_array_equal(ranks.edges, [-0.5, 0.5, 1.5, 2.5])


def test_what_has_no_order_is_refused(found):
    with pytest.raises(QueryError, match="'city' has no order"):
        mean(found, "city")
    with pytest.raises(QueryError, match="strictly between"):
        quantiles(found, "age", (0.5, 1.0))
