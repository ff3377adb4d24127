"""Axes: the interactions that reports show, and what all pairs have in common."""

from itertools import combinations

import numpy as np
import pytest

from mdrr.domain import Attribute, Domain
from mdrr.errors import EstimateError
from mdrr.estimation.axes import fit_axes, interactions, leading
from mdrr.estimation.evidence import Evidence
from mdrr.planning import split_questionnaire
from mdrr.protocols import independent, joint, sampled
from tests.estimation.planted import SHAPE, planted, seen_through
from tests.estimation.simulated import reports, truth

WIDE = Domain(
    tuple(Attribute(name, tuple(range(size))) for name, size in zip("abcde", SHAPE, strict=True))
)


@pytest.mark.parametrize(
    "design",
    [
        independent(WIDE, epsilon=6.0),
        joint(WIDE, epsilon=4.0),
        sampled(WIDE, 2, epsilon=2.0, report="subset"),
        split_questionnaire(WIDE, ["ab", "bc", "cde", "ad", "e"], epsilon=2.0),
    ],
    ids=["independent", "joint", "subsets", "split"],
)
def test_the_noise_is_what_it_is_said_to_be(design):
    n, rng = 4_000, np.random.default_rng(3)
    columns = [rng.integers(0, size, n).astype(np.uint8) for size in SHAPE]
    totals = np.zeros((len(SHAPE), len(SHAPE)))
    rounds = 30
    for seed in range(rounds):
        tally = reports(columns, design, seed)
        seen = interactions(Evidence(tally, design))
        for i, j in combinations(range(len(SHAPE)), 2):
            if not seen.precision[i, j]:
                continue
            rows = slice(seen.starts[i], seen.starts[i + 1])
            others = slice(seen.starts[j], seen.starts[j + 1])
            exact = truth(columns, (WIDE.names[i], WIDE.names[j]), WIDE)
            exact = exact - np.outer(exact.sum(axis=1), exact.sum(axis=0))
            exact = exact - exact.mean(axis=0) - exact.mean(axis=1, keepdims=True) + exact.mean()
            gap = seen.values[rows, others] / seen.precision[i, j] - exact
            freedom = (SHAPE[i] - 1) * (SHAPE[j] - 1)
            totals[i, j] += (gap**2).sum() * seen.precision[i, j] / freedom / rounds
    for i, j in zip(*np.nonzero(totals), strict=True):
        freedom = (SHAPE[i] - 1) * (SHAPE[j] - 1)
        # A mean of rounds·freedom squares, each 1 ± √2; z(1e-5) = 4.3, and noise is not quite even.
        assert abs(totals[i, j] - 1) < 4.3 * np.sqrt(2 / (rounds * freedom)) + 0.1


def test_a_planted_axis_is_found_and_no_other():
    margins, axis = planted(SHAPE)
    found = fit_axes(seen_through(axis, 1e-4, np.random.default_rng(1)), margins, 4)
    assert found.kept == 1
    for i, j in combinations(range(len(axis)), 2):
        assert found.interaction(i, j) == pytest.approx(axis[i] @ axis[j].T, abs=1e-3)


def test_noise_alone_leaves_no_axis():
    margins, axis = planted((5, 6, 4, 5, 3, 6))
    nothing = [0 * part for part in axis]
    kept = [
        fit_axes(seen_through(nothing, 0.05, np.random.default_rng(seed)), margins, 6).kept
        for seed in range(12)
    ]
    # An axis of noise stays at most now and then: the largest eigenvalue of noise is below the
    # threshold of variational Bayes.
    assert sum(k > 0 for k in kept) <= 2


def test_a_pair_that_nobody_reported_follows_from_the_others():
    margins, axis = planted(SHAPE)
    seen = seen_through(axis, 1e-4, np.random.default_rng(1), uneven=3.0, unseen=[(1, 3)])
    found = fit_axes(seen, margins, 4)
    assert found.kept == 1
    assert found.interaction(1, 3) == pytest.approx(axis[1] @ axis[3].T, abs=1e-3)


def test_the_leading_axis_is_as_long_as_fits_best():
    margins, axis = planted(SHAPE)
    seen = seen_through(axis, 1e-3, np.random.default_rng(1))
    found = leading(seen, np.concatenate(margins), 1)
    assert abs(np.corrcoef(found[:, 0], np.concatenate(axis)[:, 0])[0, 1]) > 0.8

    def misfit(scale):
        """Σ |Δ − F Fᵀ|²/v over the pairs, but for what does not depend on F."""
        total = 0.0
        for i, j in combinations(range(len(SHAPE)), 2):
            a, b = (np.sqrt(scale) * found[seen.parts[k]] for k in (i, j))
            made = a @ b.T
            values = seen.values[seen.parts[i], seen.parts[j]]
            total += seen.precision[i, j] * (made**2).sum() - 2 * (values * made).sum()
        return total

    assert misfit(1) < min(misfit(0.99), misfit(1.01), 0)


def test_of_many_categories_the_leading_axes_are_those_of_few(monkeypatch):
    margins, axis = planted(SHAPE)
    seen = seen_through(axis, 1e-3, np.random.default_rng(1))
    every = leading(seen, np.concatenate(margins), 2)
    monkeypatch.setattr("mdrr.estimation.axes._FEW_CATEGORIES", 1)
    some = leading(seen, np.concatenate(margins), 2)
    signs = np.sign((every * some).sum(axis=0))
    assert some * signs == pytest.approx(every, abs=1e-2 * np.abs(every).max())


def test_one_attribute_alone_has_no_axis():
    margins, axis = planted((4,))
    found = fit_axes(seen_through(axis, 0.1, np.random.default_rng(1)), margins, 3)
    assert found.kept == 0
    assert found.loadings[0].shape == (4, 0)


def test_too_many_categories_are_refused():
    large = Domain(tuple(Attribute(name, tuple(range(2_500))) for name in "xy"))
    design = independent(large, epsilon=20.0)
    tally = reports([np.zeros(10, dtype=np.uint16)] * 2, design, 1)
    with pytest.raises(EstimateError, match=r"5,000 categories in all, .* use method='latent'"):
        interactions(Evidence(tally, design))
