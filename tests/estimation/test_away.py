"""Reports that an engine holds, in parts: raked and fitted as if they were here."""

from dataclasses import dataclass

import numpy as np
import pytest

from mdrr.errors import EstimateError
from mdrr.estimation import adjust
from mdrr.estimation.adjust import adjust_away, rake_away
from mdrr.estimation.channel import stacks
from mdrr.estimation.evidence import Evidence
from mdrr.estimation.latent import em, log_likelihood, random_start
from mdrr.estimation.raking import rake
from mdrr.groups import Group
from mdrr.tallies import Away, Tally
from tests.cases import designs
from tests.people import distribution, records, reported


@dataclass(frozen=True)
class Parts:
    """A tally in some parts, unsorted, as on a cluster's workers."""

    tally: Tally
    design: object
    passes: list

    @property
    def n(self) -> int:
        return self.tally.n

    def add_up(self, work, state):
        self.passes.append(work.__name__)
        return sum(work(part, self.design, state) for part in self.parts())

    def parts(self):
        for rest in (1, 2, 0):
            groups = []
            for group in self.tally.groups:
                rows = np.flatnonzero(np.arange(len(group.counts)) % 3 == rest)[::-1]
                codes = tuple(column[rows] for column in group.codes)
                groups.append(Group(codes, group.counts[rows], group.sizes))
            yield Tally(self.tally.fingerprint, tuple(groups))


def tally_of(design, n=3000, seed=5) -> Tally:
    codes = records(distribution(design.domain, seed, 0.1), n, seed)
    return reported(codes, design, seed)


@pytest.mark.parametrize("kind", ["independent", "clustered", "mixed", "public", "one"])
def test_factors_give_the_weights_of_raking(kind):
    design = designs()[kind]
    tally = tally_of(design)
    away = Parts(tally, design, [])
    assert isinstance(away, Away)
    factors, found = adjust_away(away, tally, design, tolerance=1e-12)
    expected = adjust(tally, design, tolerance=1e-12).notes["adjustment"]
    (group,) = tally.groups
    weights = group.counts * factors.weights(group.codes) / tally.n
    np.testing.assert_allclose(weights, expected.weights, rtol=1e-9, atol=1e-15)
    assert (found.stopped, found.unreached) == (expected.stopped, expected.unreached)
    assert weights.sum() == pytest.approx(1, rel=1e-12)


def test_a_sweep_is_one_pass_for_each_block_of_margins():
    sizes = (100, 100, 90, 80, 3)  # 100·100 and 90·80·… fit in 2^14 cells, not all of them
    rng = np.random.default_rng(1)
    codes = tuple(rng.integers(0, s, 500) for s in sizes)
    tally = Tally("", (Group(codes, np.ones(500, np.int64), sizes),))
    away = Parts(tally, None, [])
    targets = [np.bincount(c, minlength=s) + 1.0 for c, s in zip(codes, sizes, strict=True)]
    targets = [t / t.sum() for t in targets]
    clusters = [(j,) for j in range(len(sizes))]
    factors, found = rake_away(away, clusters, targets, sizes, tolerance=0, sweeps=3)
    assert len(away.passes) == 3 + 2 + 3 + 3  # margins first; the first block's table serves twice
    expected = rake(codes, targets, np.ones(500), tolerance=0, sweeps=3)
    np.testing.assert_allclose(factors.weights(codes) / 500, expected.weights, rtol=1e-9)
    assert found.residual == pytest.approx(expected.residual, rel=1e-6)
    assert (found.sweeps, found.stopped, found.unreached) == (3, "sweeps", expected.unreached)


def test_targets_that_leave_no_record_are_refused():
    group = Group((np.array([0, 1]), np.array([0, 1])), np.array([3, 2]), (2, 2))
    away = Parts(Tally("", (group,)), None, [])
    targets = [np.array([1.0, 0.0]), np.array([0.0, 1.0])]
    with pytest.raises(EstimateError, match="contradict"):
        rake_away(away, [(0,), (1,)], targets, (2, 2))
    with pytest.raises(EstimateError, match="sweeps=0"):
        rake_away(away, [(0,), (1,)], targets, (2, 2), sweeps=0)


@pytest.mark.parametrize("kind", ["independent", "mixed", "sampled", "joint", "subsets"])
def test_em_is_the_same_elsewhere(kind):
    design = designs()[kind]
    tally = tally_of(design)
    margins = Evidence(tally, design).margins
    first = random_start(design.domain, margins, 4, seed=2)
    away = Parts(tally, design, [])
    expected = em(stacks(tally, design), first, margins, passes=12, prior=0.3)
    found = em([away], first, margins, passes=12, prior=0.3)
    assert found.stopped == expected.stopped
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(found.mixture.weights, expected.mixture.weights, rtol=1e-9)
    for mine, theirs in zip(found.mixture.tables, expected.mixture.tables, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
    assert log_likelihood([away], first) == pytest.approx(
        log_likelihood(stacks(tally, design), first), rel=1e-12
    )
    assert len(away.passes) == 13


def test_targets_that_no_weights_meet_are_said():
    """The first record alone can have code 1 of both columns, which want it more and less."""
    codes = (np.array([1, 0, 0]), np.array([1, 0, 0]))
    away = Parts(Tally("", (Group(codes, np.array([1, 5, 5]), (2, 2)),)), None, [])
    targets = [np.array([0.1, 0.9]), np.array([0.9, 0.1])]
    with pytest.raises(EstimateError, match=r"give sweeps=\d+") as error:
        rake_away(away, [(0,), (1,)], targets, (2, 2), sweeps=10_000)
    sweeps = int(str(error.value).partition("sweeps=")[2].partition(",")[0])
    factors, found = rake_away(away, [(0,), (1,)], targets, (2, 2), sweeps=sweeps)
    assert found.stopped == "sweeps"
    assert np.isfinite(factors.weights(codes)).all()
