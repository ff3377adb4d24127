"""One joint made to carry pair tables: it reaches them, and a step of it is EM's, written out."""

from itertools import combinations

import numpy as np
import pytest

from mdrr.estimation import carry
from mdrr.estimation.carry import _Blocks, _climbed, from_tables, refitted
from mdrr.estimation.evidence import Evidence
from mdrr.estimation.mixture import MixtureJoint, Pinned
from mdrr.estimation.strata import strata_of
from mdrr.protocols import independent
from mdrr.tallies import tally_codes
from tests.cases import domain_of
from tests.estimation.test_joint import D, classes_joint, pinned_joint
from tests.people import distribution

PAIRS = list(combinations(D.names, 2))


def one_stratum(domain):
    """Nothing is public: all people are one stratum."""
    design = independent(domain, p=0.5)
    return strata_of(Evidence(tally_codes([[[0]] * len(domain)], design), design))


ALL = one_stratum(D)


def tables_of(whole, domain=D):
    """Margins and pair tables of a whole distribution."""
    axes = range(len(domain))
    margins = {
        (name,): whole.sum(axis=tuple(k for k in axes if k != j))
        for j, name in enumerate(domain.names)
    }
    pairs = {
        (domain.names[i], domain.names[j]): whole.sum(
            axis=tuple(k for k in axes if k not in (i, j))
        )
        for i, j in combinations(axes, 2)
    }
    return margins, pairs


def distance(joint, pairs):
    """The mean total variation."""
    gaps = [np.abs(joint.table(names) - table).sum() / 2 for names, table in pairs.items()]
    return float(np.mean(gaps))


def test_tables_of_a_true_joint_are_reached():
    """EM stops at 1e-5 or at its last sweep; the benchmark's data sets are carried to .0006."""
    margins, pairs = tables_of(distribution(D, 3, 0.5))
    found = from_tables(margins | pairs, ALL, seed=1)
    assert distance(found.joint, pairs) <= found.distance + 1e-9
    assert found.distance < 1e-3
    assert found.joint.table(D.names).sum() == pytest.approx(1, abs=1e-12)
    again = from_tables(margins | pairs, ALL, seed=1)
    np.testing.assert_array_equal(again.joint.table(("a", "d")), found.joint.table(("a", "d")))


def test_identical_attributes_stay_identical():
    domain = domain_of(*[2] * 6)
    whole = np.zeros(domain.shape)
    whole[(0,) * 6], whole[(1,) * 6] = 0.3, 0.7
    margins, pairs = tables_of(whole, domain)
    found = from_tables(margins | pairs, one_stratum(domain))
    assert distance(found.joint, pairs) < 1e-3
    # Each of 15 pairs differs with at most twice its total variation.
    assert found.joint.table(domain.names)[(1,) * 6] == pytest.approx(0.7, abs=15 * 2e-3)


def test_independent_tables_need_one_class_and_two_attributes_none():
    margins = {(a,): np.full(size, 1 / size) for a, size in zip(D.names, D.shape, strict=True)}
    pairs = {(a, b): np.outer(margins[(a,)], margins[(b,)]) for a, b in PAIRS}
    assert len(from_tables(margins | pairs, ALL).joint.weights) == 1
    two = domain_of(2, 3)
    table = np.array([[0.2, 0.0, 0.3], [0.1, 0.4, 0.0]])
    tables = {("a",): table.sum(1), ("b",): table.sum(0), ("a", "b"): table}
    made = from_tables(tables, one_stratum(two)).joint
    np.testing.assert_allclose(made.table(("b", "a")), table.T, atol=1e-15)
    one = from_tables({("a",): np.array([0.2, 0.3, 0.5])}, one_stratum(domain_of(3))).joint
    np.testing.assert_allclose(one.table(("a",)), [0.2, 0.3, 0.5])


@pytest.mark.parametrize("start", [classes_joint(), pinned_joint(), pinned_joint(3)])
def test_a_joint_is_moved_to_tables_it_can_reach(start):
    """Towards the tables of the same classes and records with other weights."""
    rng = np.random.default_rng(5)
    groups = [g.shares * rng.uniform(0.3, 3, (len(g.shares), 1)) for g in start.pinned]
    weights = start.weights * np.array([0.5, 2.0, 1.0])
    total = weights.sum() + sum(shares.sum() for shares in groups)
    pinned = tuple(
        Pinned(g.places, g.codes, s / total) for g, s in zip(start.pinned, groups, strict=True)
    )
    pairs = tables_of(MixtureJoint(D, weights / total, start.tables, pinned).table(D.names))[1]
    found = refitted(start, pairs, ALL)
    before, after = distance(start, pairs), distance(found.joint, pairs)
    assert before > 0.02
    assert after < 0.1 * before
    assert after == pytest.approx(found.distance, abs=1e-9)
    assert found.joint.table(D.names).sum() == pytest.approx(1, abs=1e-12)
    for group, old in zip(found.joint.pinned, start.pinned, strict=True):
        assert group.places == old.places
        np.testing.assert_array_equal(group.codes, old.codes)
        assert (group.shares >= 0).all()


def test_no_mass_moves_to_what_is_impossible():
    """A category that no class has stays empty, and cells the tables rule out empty themselves."""
    start = classes_joint()
    tables = list(start.tables)
    tables[3] = tables[3].copy()
    tables[3][2] = 0
    tables[3] /= tables[3].sum(axis=0)
    start = MixtureJoint(D, start.weights, tuple(tables))
    whole = start.table(D.names)
    whole[0, 1] = 0
    pairs = tables_of(whole / whole.sum())[1]
    found = refitted(start, pairs, ALL).joint
    assert found.table(("d",))[2] == 0
    assert (found.tables[3][2] == 0).all()
    assert found.table(("a", "b"))[0, 1] < 0.5 * start.table(("a", "b"))[0, 1]


def one_step(joint, pairs):
    """EM's next joint, by adding up what every class and every record has of every cell."""
    size, count = len(joint.weights), len(pairs)
    tables = {names: joint.table(names) for names in pairs}
    ratio = {
        names: np.divide(pairs[names], t, out=np.zeros_like(t), where=pairs[names] > 0)
        for names, t in tables.items()
    }
    parts = [(None, None, z, joint.weights[z]) for z in range(size)]
    for g, group in enumerate(joint.pinned):
        for i, shares in enumerate(group.shares):
            parts += [(g, i, z, shares[z]) for z in range(size)]
    masses = []
    sums = [np.zeros_like(table) for table in joint.tables]
    for g, i, z, mass in parts:
        known = {}
        if g is not None:
            known = dict(zip(joint.pinned[g].places, joint.pinned[g].codes[i], strict=True))
        own = [
            np.eye(len(t))[known[j]] if j in known else t[:, z] for j, t in enumerate(joint.tables)
        ]
        total = 0.0
        for names in pairs:
            a, b = (D.index(name) for name in names)
            added = mass * np.outer(own[a], own[b]) * ratio[names]
            total += added.sum()
            for j, axis in ((a, 1), (b, 0)):
                if j not in known:
                    sums[j][:, z] += added.sum(axis=axis)
        masses.append(total / count)
    weights = np.array(masses[:size])
    rest, pinned = masses[size:], []
    for group in joint.pinned:
        taken, rest = rest[: group.shares.size], rest[group.shares.size :]
        pinned.append(
            Pinned(group.places, group.codes, np.array(taken).reshape(group.shares.shape))
        )
    totals = [s.sum(axis=0) for s in sums]
    made = tuple(
        np.where(t > 0, s / np.where(t > 0, t, 1), old)
        for s, t, old in zip(sums, totals, joint.tables, strict=True)
    )
    return MixtureJoint(D, weights, made, tuple(pinned))


@pytest.mark.parametrize("start", [classes_joint(), pinned_joint(), pinned_joint(3)])
def test_a_sweep_is_one_step_of_em(start, monkeypatch):
    monkeypatch.setattr(carry, "_STRIDE", 1.0)
    pairs = tables_of(distribution(D, 8))[1]
    found = _climbed(start, _Blocks.make(D, pairs), 1, ALL)
    wanted = one_step(start, pairs)
    assert found.sweeps == 1
    np.testing.assert_allclose(found.joint.weights, wanted.weights, atol=1e-12)
    for mine, other in zip(found.joint.tables, wanted.tables, strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-10)
    for mine, other in zip(found.joint.pinned, wanted.pinned, strict=True):
        np.testing.assert_allclose(mine.shares, other.shares, atol=1e-12)
    assert found.distance == pytest.approx(distance(found.joint, pairs), abs=1e-12)


def test_tables_are_met_as_nearly_as_their_noise_makes_sense_of():
    """Within a quarter of a standard error, in fewer sweeps; not moved at all if they are so."""
    start = pinned_joint()
    pairs = tables_of(distribution(D, 7))[1]
    gaps = {pair: float(((start.table(pair) - t) ** 2).sum()) for pair, t in pairs.items()}
    noise = {pair: gap / 0.5 for pair, gap in gaps.items()}
    found = refitted(start, pairs, ALL, noise)
    left = [((found.joint.table(p) - t) ** 2).sum() / noise[p] for p, t in pairs.items()]
    assert 0 < found.sweeps < refitted(start, pairs, ALL).sweeps
    assert np.mean(left) <= 0.25**2 < 0.5
    loud = {pair: gap / (0.99 * 0.25**2) for pair, gap in gaps.items()}
    assert refitted(start, pairs, ALL, loud).sweeps == 0
    few = dict(list(loud.items())[:1])
    assert refitted(start, pairs, ALL, few).sweeps == 0, "a pair of unknown noise does not count"


def test_the_last_sweep_brings_the_tables_nearer(monkeypatch):
    """Longer steps overshoot now and then: sweeps do not end there, whatever their number."""
    seen = []
    measure = carry.compare
    monkeypatch.setattr(carry, "compare", lambda *two: seen.append(measure(*two)) or seen[-1])
    start = pinned_joint()
    blocks = _Blocks.make(D, tables_of(distribution(D, 1, 0.3))[1])
    more = 0
    for sweeps in range(1, 25):
        seen.clear()
        found = _climbed(start, blocks, sweeps, ALL)
        assert sweeps <= found.sweeps <= 2 * sweeps
        assert seen[-1] < seen[-2]
        more += found.sweeps > sweeps
    assert more, "some number of sweeps would have ended on a step too far"
