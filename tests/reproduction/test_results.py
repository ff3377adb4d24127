import math

import numpy as np
import pytest

from mdrr.errors import EstimateError
from mdrr.reproduction.results import Median, median, spread_of
from mdrr.reproduction.verdict import below, differ


def test_bands_hold_the_true_median_as_often_as_they_say():
    """99 % of 4000 bands; the tolerance is z(1e-5) binomial standard deviations."""
    rng = np.random.default_rng(1)
    held = np.mean(
        [median(x).high >= 0 and median(x).low <= 0 for x in rng.normal(size=(4000, 51))]
    )
    sd = math.sqrt(0.99 * 0.01 / 4000)
    assert held > 0.99 - 4.3 * sd
    assert held < 1


@pytest.mark.parametrize("runs", [100, 1000])
def test_a_second_median_agrees_as_often_as_it_should(runs):
    rng = np.random.default_rng(2)
    agree = np.mean(
        [
            median(rng.exponential(size=runs), float(np.median(rng.exponential(size=1000)))).agrees
            for _ in range(2000)
        ]
    )
    sd = math.sqrt(0.99 * 0.01 / 2000)
    assert abs(agree - 0.99) < 4.3 * sd + 0.004  # ranks are whole numbers


def test_another_median_does_not_agree():
    rng = np.random.default_rng(3)
    found = median(rng.exponential(size=1000), 1.3 * math.log(2))
    assert found.agrees is False
    assert found.ratio == pytest.approx(found.value / (1.3 * math.log(2)))


def test_dropped_and_infinite_runs():
    found = median([1.0, float("nan"), 3.0, math.inf, 2.0])
    assert found.value == 2.5
    assert found.runs == 4
    assert found.to_dict()["high"] is None
    assert median([math.inf, math.inf]).value == math.inf
    with pytest.raises(EstimateError, match="no run is left"):
        median([float("nan")])


def test_a_median_without_a_printed_one():
    found = median([0.1])
    assert (found.value, found.low, found.high, found.paper) == (0.1, 0.1, 0.1, None)
    assert found.ratio is None
    assert found.agrees is None


def test_medians_are_told_apart():
    small, same, large = (Median(v, v - 0.0258, v + 0.0258, 0, 1, 1000) for v in (0.2, 0.23, 0.25))
    assert not differ(small, same)  # 0.03 is 2.1 joint standard errors of 0.0142
    assert differ(small, large)
    assert below(small, large) is True
    assert below(large, small) is False
    assert below(small, same) is None


def test_spread_is_tested_at_its_level():
    rng = np.random.default_rng(4)
    values = [spread_of(rng.normal(0.3, 0.01, 3), [0.01] * 3) for _ in range(4000)]
    assert abs(np.mean(np.array(values) < 0.1) - 0.1) < 4.3 * math.sqrt(0.09 / 4000)
