"""Axes that are drawn: from the right distribution, found, and gone where there is only noise."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from mdrr.estimation.axes import Interactions
from mdrr.estimation.axes_draw import PARTS, STRENGTHS, State, draw_axes, swept
from tests.estimation.planted import SHAPE, planted, seen_through


def from_the_prior(margins, size, rng):
    """Strengths, parts and loadings as the module's opening says they are before any report."""
    chances = STRENGTHS**-0.5 / (STRENGTHS**-0.5).sum()
    strengths = rng.choice(STRENGTHS, size, p=chances)
    parts = rng.choice(PARTS, (len(margins), size))
    loadings = []
    for m, part in zip(margins, parts, strict=True):
        squares = m[:, None] ** 2
        drawn = m[:, None] * rng.standard_normal((len(m), size))
        drawn -= squares * drawn.sum(axis=0) / squares.sum(axis=0)
        loadings.append(drawn * np.sqrt(strengths * part))
    return State(np.concatenate(loadings), strengths, parts)


def described(state, starts):
    """What the test looks at: scales, sizes, and how two attributes' loadings go together."""
    first, second, third = (state.loadings[a:b] for a, b in pairwise(starts))
    interaction = first @ second.T
    return [
        *np.log(state.strengths),
        *np.log(state.parts).mean(axis=1),
        np.log((first**2).sum()),
        np.log((third**2).sum()),
        np.log((interaction**2).sum()),
        np.tanh(50 * interaction[0, 0]),
        np.tanh(50 * (second @ third.T)[1, 0]),
    ]


def changes(told, rounds=3_000):
    """z of what eight sweeps change on average, where states, then reports, come from the prior.

    `told` is what the sweeps are told of the noise's precision, over what it is. If that is 1 and
    every block is drawn from its distribution given the others, the state after them has the
    prior's distribution again (Geweke 2004), and nothing changes on average.
    """
    rng = np.random.default_rng(0)
    margins = [np.array([0.5, 0.3, 0.2]), np.array([0.9, 0.1]), np.array([0.6, 0.2, 0.15, 0.05])]
    starts = (0, 3, 5, 9)
    found = []
    for _ in range(rounds):
        state = from_the_prior(margins, 2, rng)
        parts = [state.loadings[a:b] for a, b in pairwise(starts)]
        seen = seen_through(parts, 0.001, rng, uneven=4.0)
        seen = Interactions(told * seen.values, told * seen.precision, seen.starts)
        before = described(state, starts)
        for _ in range(8):
            state = swept(state, seen, margins, rng)
        found.append(np.subtract(described(state, starts), before))
    return np.mean(found, axis=0) / (np.std(found, axis=0, ddof=1) / np.sqrt(rounds))


def test_sweeps_keep_the_distribution_they_draw_from():
    # Ten statistics; z(1e-5 / 10) = 4.9.
    assert np.abs(changes(1.0)).max() < 4.9


def test_that_test_sees_noise_of_the_wrong_size():
    assert np.abs(changes(1.5)).max() > 4.9


def test_a_planted_axis_is_found():
    margins, axis = planted(SHAPE)
    found = draw_axes(seen_through(axis, 1e-3, np.random.default_rng(1)), margins, 4)
    for i, j in combinations(range(len(axis)), 2):
        assert found.interaction(i, j) == pytest.approx(axis[i] @ axis[j].T, abs=2e-3)


def test_noise_alone_leaves_little():
    margins, axis = planted((5, 6, 4, 5, 3, 6))
    nothing = [0 * part for part in axis]
    left, noise = [], 0.05
    for seed in range(12):
        seen = seen_through(nothing, noise, np.random.default_rng(seed))
        flat = np.concatenate(draw_axes(seen, margins, 6, seed=seed).loadings)
        left.append(((flat @ flat.T)[seen.values != 0] ** 2).mean())
    assert np.sqrt(np.mean(left)) < 0.1 * noise


def test_what_is_drawn_follows_from_the_seed_and_hardly_depends_on_it():
    margins, axis = planted(SHAPE)
    seen = seen_through(axis, 0.01, np.random.default_rng(1))
    first, again, other = (
        np.concatenate(draw_axes(seen, margins, 4, seed=s).loadings) for s in (0, 0, 1)
    )
    assert (first == again).all()
    truth = np.concatenate(axis)
    away = np.abs(first @ first.T - truth @ truth.T)
    assert np.abs(first @ first.T - other @ other.T).mean() < 0.35 * away.mean()


@pytest.mark.parametrize("shape", [(4,), (1, 1), (1, 3), (2, 2), (1, 2, 3)])
def test_few_categories_leave_room_for_few_axes(shape):
    margins, axis = planted(shape)
    found = draw_axes(seen_through(axis, 0.01, np.random.default_rng(1)), margins, 8, sweeps=120)
    assert [len(part) for part in found.loadings] == list(shape)
    assert found.kept <= max(sum(shape) - len(shape) - max(shape) + 1, 0)
    for part in found.loadings:
        assert np.isfinite(part).all()
        assert part.sum(axis=0) == pytest.approx(0, abs=1e-9)


def test_pairs_nobody_reported_follow_from_the_others():
    margins, axis = planted(SHAPE)
    seen = seen_through(axis, 1e-4, np.random.default_rng(1), unseen=[(0, 2)])
    found = draw_axes(seen, margins, 4)
    made = found.interaction(0, 2)
    exact = axis[0] @ axis[2].T
    assert np.abs(made - exact).max() < 0.2 * np.abs(exact).max()
