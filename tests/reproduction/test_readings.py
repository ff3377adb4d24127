import math

import pytest

from mdrr.datasets import adult_domain
from mdrr.errors import MdrrError
from mdrr.protocols import clustered, epsilon_of
from mdrr.reproduction.printed import KEEPS
from mdrr.reproduction.readings import READINGS, channel, single
from mdrr.theory.printed import paper_epsilon, paper_p_cluster

CLUSTERS = [["marital-status", "relationship", "sex"], ["education", "income"]]


@pytest.mark.parametrize("p", KEEPS)
def test_corrected_is_what_designs_sample(p):
    domain = adult_domain()
    rest = [[name] for name in domain.names if not any(name in c for c in CLUSTERS)]
    design = clustered(domain, [*CLUSTERS, *rest], p=p)
    for cluster in design.clusters:
        link = channel("corrected", design.shape(cluster), p)
        assert link.signal == cluster.matrix.signal
        assert link.epsilon == pytest.approx(cluster.matrix.epsilon, rel=1e-9)


@pytest.mark.parametrize("p", KEEPS)
@pytest.mark.parametrize("shape", [(9,), (2,), (6, 2, 2), (16, 2)])
def test_printed_is_the_printed_formula(p, shape):
    link = channel("printed", shape, p)
    assert link.floor + link.signal == pytest.approx(paper_p_cluster(p, shape))
    assert link.epsilon == pytest.approx(sum(paper_epsilon(p, r) for r in shape), abs=1e-9)


def test_signed_differs_only_where_the_bars_matter():
    assert channel("signed", (2,), 0.1).signal < 0 < channel("printed", (2,), 0.1).signal
    assert channel("signed", (6, 2), 0.5) == channel("printed", (6, 2), 0.5)


def test_power_readings():
    assert channel("power", (6, 2, 2), 0.3).signal == pytest.approx(0.027)
    diagonal = channel("power-diagonal", (6, 2, 2), 0.3)
    assert diagonal.floor + diagonal.signal == pytest.approx(0.027)
    printed = channel("power-printed", (6, 2, 2), 0.3)
    ratio = (printed.floor + printed.signal) / printed.floor
    assert ratio == pytest.approx(0.027 / (0.973 / 24))


def test_each_spends_what_corrected_spends():
    spent = sum(epsilon_of(0.3, r) for r in (6, 2, 2))
    assert channel("each", (6, 2, 2), 0.3).epsilon == pytest.approx(spent, rel=1e-3)
    assert channel("corrected", (6, 2, 2), 0.3).epsilon == pytest.approx(spent, rel=1e-3)


@pytest.mark.parametrize("reading", READINGS)
def test_an_attribute_alone_has_a_constant_matrix(reading):
    link = single(reading, 16, 0.5)
    assert link.cells == 16
    assert math.isfinite(link.epsilon)
    assert READINGS[reading].meaning


def test_unknown_reading_is_named():
    with pytest.raises(MdrrError, match=r"no reading 'guess'.*'corrected'"):
        channel("guess", (2,), 0.5)
