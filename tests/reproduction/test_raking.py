import numpy as np
import pytest

from mdrr.errors import EstimateError
from mdrr.estimation import rake
from mdrr.reproduction.raking import rake_records
from tests.reproduction.small import population


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 900])
def test_weights_are_those_of_the_library(rows):
    """Any number of records, since the compiled loop takes them by fours."""
    people = population(rows)
    rng = np.random.default_rng(rows)
    targets = []
    for column, size in zip(people.codes, people.domain.shape, strict=True):
        target = rng.random(size) * (np.bincount(column, minlength=size) > 0)
        targets.append(target / target.sum())
    found = rake_records(people.codes, targets, tolerance=1e-12, sweeps=200)
    known = rake(people.codes, targets, np.ones(rows), tolerance=1e-12, sweeps=200)
    assert found.weights == pytest.approx(known.weights, rel=1e-9, abs=1e-15)
    assert found.stopped == known.stopped
    assert found.sweeps == known.sweeps


def test_wide_clusters():
    """More than 256 codes need more than a byte."""
    rng = np.random.default_rng(1)
    wide, narrow = rng.integers(0, 300, 4000), rng.integers(0, 2, 4000)
    target = np.bincount(wide, minlength=300) ** 2.0
    targets = [target / target.sum(), np.array([0.2, 0.8])]
    found = rake_records([wide.astype(np.uint16), narrow.astype(np.uint8)], targets)
    reached = np.bincount(wide, found.weights, 300)
    assert np.abs(reached - targets[0]).max() < 1e-5
    assert np.bincount(narrow, found.weights)[1] == pytest.approx(0.8, abs=1e-5)


def test_mass_nobody_can_carry_goes_to_the_others():
    column = np.array([0, 0, 1], dtype=np.uint8)
    found = rake_records([column], [np.array([0.3, 0.1, 0.6])])
    assert found.unreached == ((0, 2),)
    assert np.bincount(column, found.weights) == pytest.approx([0.75, 0.25])


def test_contradiction_is_named():
    with pytest.raises(EstimateError, match="target 0"):
        rake_records([np.zeros(3, dtype=np.uint8)], [np.array([0.0, 1.0])])


def test_an_unfinished_adjustment_says_so():
    first = np.repeat(np.array([0, 1, 1], dtype=np.uint8), (4, 2, 4))
    second = np.repeat(np.array([0, 0, 1], dtype=np.uint8), (4, 2, 4))
    half = np.array([0.5, 0.5])
    found = rake_records([first, second], [half, half], sweeps=5)
    assert found.stopped == "sweeps"
    assert found.residual > 1e-6
