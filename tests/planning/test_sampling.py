"""Optimal shares: slopes against differences, optimality, and what single attributes give up."""

from itertools import combinations

import numpy as np
import pytest

from mdrr.dependence import Dependences
from mdrr.domain import Attribute, Domain
from mdrr.planning import best_split, predict
from mdrr.planning.plan import tables_of
from mdrr.planning.predict import WORTH
from mdrr.planning.sampling import Goal, best_shares

SHAPE = (5, 2, 7, 3)
DOMAIN = Domain(
    tuple(Attribute(name, tuple(range(size))) for name, size in zip("abcd", SHAPE, strict=True))
)
SINGLES = [(name,) for name in DOMAIN.names]
PAIRS = list(combinations(DOMAIN.names, 2))
N = 20_000
MARGINS = np.array([[1 / 4, 1 / 3, 0], [1 / 2, 0, 1 / 3], [0, 1 / 2, 1 / 4]])
"""Of the pairs of three attributes of 3, 4 and 2 categories."""


def goal(bias, weights=(1.0,)):
    """Of three attributes, told of without B, and their pairs."""
    rng = np.random.default_rng(0)
    margins, before = np.zeros((6, 6)), np.zeros(6)
    margins[3:, :3] = np.where(np.isfinite(bias)[:, None], MARGINS, 0.0)
    before[3:] = [1 / each if each else np.inf for each in bias]
    return Goal(
        information=rng.uniform(1, 100, (6, 5)) * np.repeat([50.0, 1.0], 3)[:, None],
        before=before,
        margins=margins,
        scales=rng.uniform(0.5, 2.0, (len(weights), 6)),
        weights=np.array(weights),
    )


@pytest.mark.parametrize("weights", [(1.0,), (1.0, WORTH)], ids=["one", "two"])
@pytest.mark.parametrize("bias", [[np.inf] * 3, [0.01, 0.1, 0.0], [np.inf, 0.02, np.inf]])
def test_slopes_are_how_fast_goals_fall(bias, weights):
    made, shares = goal(bias, weights), np.array([0.1, 0.3, 0.2, 0.25, 0.15])
    step = 1e-6
    for q, slope in enumerate(made.fall(shares)[1]):
        up, down = shares.copy(), shares.copy()
        up[q] += step
        down[q] -= step
        found = (made.fall(down)[0] - made.fall(up)[0]) / (2 * step)
        assert slope == pytest.approx(found, rel=1e-5)


@pytest.mark.parametrize("weights", [(1.0,), (1.0, WORTH)], ids=["one", "two"])
def test_no_other_shares_are_better(weights):
    made = goal([np.inf] * 3, weights)
    best = best_shares(made)
    assert best.sum() == pytest.approx(1)
    rng = np.random.default_rng(1)
    for _ in range(200):
        other = best * np.exp(0.3 * rng.standard_normal(len(best))) + rng.choice([0, 0.02])
        assert made.fall(best)[0] <= made.fall(other / other.sum())[0] + 1e-6


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_single_attributes_give_up_a_per_cent_only_for_five(epsilon):
    both = best_split(DOMAIN, [*SINGLES, *PAIRS], epsilon, n=N)
    singles = best_split(DOMAIN, SINGLES, epsilon, n=N)
    pairs = best_split(DOMAIN, PAIRS, epsilon, n=N)
    alone = {d: predict(d, N, SINGLES).error for d in (both, singles, pairs)}
    together = {d: predict(d, N, PAIRS).error for d in (both, pairs)}
    assert alone[singles] <= alone[both] * 1.001
    assert together[pairs] <= together[both] * 1.001
    assert alone[both] < 1.15 * alone[singles]
    gained = np.log(together[both] / together[pairs])
    assert gained <= WORTH * np.log(alone[pairs] / alone[both]) + 1e-3


def test_pairs_known_to_be_unrelated_need_not_be_asked():
    none = Dependences(DOMAIN.names, np.eye(4))
    design = best_split(DOMAIN, [*SINGLES, *PAIRS], 2.0, n=N, dependences=none)
    blind = best_split(DOMAIN, [*SINGLES, *PAIRS], 2.0, n=N)
    total = sum(q.weight for q in design.questionnaires)
    alone = sum(q.weight for q in design.questionnaires if len(q.attributes) == 1)
    others = sum(q.weight for q in blind.questionnaires if len(q.attributes) == 1)
    assert alone / total > others / sum(q.weight for q in blind.questionnaires)


@pytest.mark.parametrize("workload", ["both", "pairs"])
def test_all_of_many_attributes_are_asked_though_their_dependences_are_known(workload):
    domain = Domain(tuple(Attribute(f"a{i}", tuple(range(2 + i % 4))) for i in range(60)))
    known = Dependences(domain.names, 0.2 + 0.8 * np.eye(60))
    design = best_split(domain, tables_of(domain, workload), 2.0, n=10_000, dependences=known)
    assert {name for q in design.questionnaires for name in q.attributes} == set(domain.names)
