"""Tables of what all pairs have in common."""

from itertools import combinations

import numpy as np
import pytest

from mdrr.domain import Attribute, Domain
from mdrr.errors import EstimateError
from mdrr.estimation import estimate
from mdrr.estimation.axes_draw import draw_axes
from mdrr.estimation.axes_fit import fit_axes
from mdrr.estimation.correspondence import interactions
from mdrr.estimation.margins import one_way
from mdrr.planning import split_questionnaire
from mdrr.protocols import independent, joint, sampled
from tests.estimation.simulated import DOMAIN, people, reports, truth

SHAPE = (4, 3, 5, 2, 4)
WIDE = Domain(
    tuple(Attribute(name, tuple(range(size))) for name, size in zip("abcde", SHAPE, strict=True))
)
PAIRS = list(combinations(WIDE.names, 2))


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
    rounds = 60
    for seed in range(rounds):
        tally = reports(columns, design, seed)
        margins = [truth(columns, (name,), WIDE) for name in WIDE.names]
        seen = interactions(tally, design, margins)
        for i, j in combinations(range(len(SHAPE)), 2):
            if not seen.precision[i, j]:
                continue
            rows = slice(seen.starts[i], seen.starts[i + 1])
            others = slice(seen.starts[j], seen.starts[j + 1])
            exact = truth(columns, (WIDE.names[i], WIDE.names[j]), WIDE)
            exact = exact - np.outer(margins[i], margins[j])
            exact = exact - exact.mean(axis=0) - exact.mean(axis=1, keepdims=True) + exact.mean()
            gap = seen.values[rows, others] / seen.precision[i, j] - exact
            freedom = (SHAPE[i] - 1) * (SHAPE[j] - 1)
            totals[i, j] += (gap**2).sum() * seen.precision[i, j] / freedom / rounds
    for i, j in zip(*np.nonzero(totals), strict=True):
        freedom = (SHAPE[i] - 1) * (SHAPE[j] - 1)
        # A mean of rounds·freedom squares, each 1 ± √2; z(1e-5) = 4.3, and noise is not quite even.
        assert abs(totals[i, j] - 1) < 4.3 * np.sqrt(2 / (rounds * freedom)) + 0.1


def test_all_pairs_together_show_what_one_alone_does_not():
    columns = people(12_000, domain=WIDE)
    design = sampled(WIDE, 2, epsilon=1.0, report="subset")
    errors = {"product": [], "pairwise": [], "correspondence": []}
    for seed in range(3):
        tally = reports(columns, design, seed)
        for method in errors:
            found = estimate(tally, design, method)
            gaps = [found.table(*p).values - truth(columns, p, WIDE) for p in PAIRS]
            errors[method].append(sum(np.abs(gap).sum() for gap in gaps))
    means = {method: np.mean(values) for method, values in errors.items()}
    assert means["correspondence"] < 0.9 * min(means["product"], means["pairwise"])


def test_a_pair_is_between_what_is_fitted_and_what_is_drawn():
    columns = people(20_000, domain=WIDE)
    design = independent(WIDE, epsilon=12.0)
    tally = reports(columns, design, 1)
    margins = one_way(tally, design)
    seen = interactions(tally, design, margins)
    both = fit_axes(seen, margins, 8), draw_axes(seen, margins, 16, seed=5)
    found = estimate(tally, design, "correspondence", seed=5)
    compared = 0
    for names, (i, j) in zip(PAIRS, combinations(range(len(SHAPE)), 2), strict=True):
        fitted, drawn = (axes.interaction(i, j) for axes in both)
        assert np.abs(fitted - drawn).max() > 1e-4
        wanted = np.outer(margins[i], margins[j]) + (fitted + drawn) / 2
        if wanted.min() > 0:  # else it is made proper
            assert found.table(*names).values == pytest.approx(wanted, abs=1e-9)
            compared += 1
    assert compared > len(PAIRS) / 2


def test_what_is_drawn_follows_from_the_seed():
    columns = people(3_000)
    design = independent(DOMAIN, epsilon=5.0)
    tally = reports(columns, design, 1)
    first, again, other = (
        estimate(tally, design, "correspondence", seed=seed).table("a", "b").values
        for seed in (3, 3, 4)
    )
    assert (first == again).all()
    assert (first != other).any()


def test_draws_that_miss_a_rare_category_are_not_believed():
    n, share, rng = 20_000, 0.003, np.random.default_rng(0)
    domain = Domain(tuple(Attribute(name, tuple(range(4))) for name in "abcd"))
    together = rng.random(n) < share
    columns = [np.where(together, 3, rng.integers(0, 3, n)).astype(np.uint8) for _ in "abcd"]
    design = independent(domain, epsilon=30.0)
    tally = reports(columns, design, 1)
    margins = one_way(tally, design)
    seen = interactions(tally, design, margins)
    drawn = draw_axes(seen, margins, 16).interaction(0, 1)[3, 3]
    assert n * drawn < 0.5 * together.sum()  # or this is no case of it
    found = estimate(tally, design, "correspondence").count({"a": [3], "b": [3]})
    assert found.value == pytest.approx(together.sum(), rel=0.25)


def test_tables_are_proper_and_agree_with_their_margins():
    columns = people(5_000)
    design = independent(DOMAIN, epsilon=5.0)
    found = estimate(reports(columns, design, 1), design, "correspondence")
    for first, second in combinations(DOMAIN.names, 2):
        table = found.table(first, second).values
        assert (table >= 0).all()
        assert table.sum(axis=1) == pytest.approx(found.table(first).values, abs=1e-8)
    wide = found.table(*DOMAIN.names).values
    assert wide.sum() == pytest.approx(1)
    assert wide.sum(axis=2) == pytest.approx(found.table("a", "b").values, abs=1e-5)


def test_what_nobody_reported_together_follows_from_the_axes():
    columns = people(20_000, domain=WIDE)
    asked = [p for p in PAIRS if p != ("a", "c")]
    design = split_questionnaire(WIDE, asked, epsilon=6.0)
    found = estimate(reports(columns, design, 2), design, "correspondence")
    exact = truth(columns, ("a", "c"), WIDE)
    product = np.outer(found.table("a").values, found.table("c").values)
    error = np.abs(found.table("a", "c").values - exact).sum()
    assert error < 0.7 * np.abs(product - exact).sum()


def test_margins_are_one_way_tables_and_options_are_checked():
    columns = people(2_000)
    design = independent(DOMAIN, epsilon=5.0)
    tally = reports(columns, design, 1)
    found = estimate(tally, design, "correspondence")
    for name, margin in zip(DOMAIN.names, one_way(tally, design), strict=True):
        assert found.table(name).values == pytest.approx(margin)
    with pytest.raises(EstimateError, match="axes=0 must be a whole number, at least 1"):
        estimate(tally, design, "correspondence", axes=0)
    large = Domain(tuple(Attribute(name, tuple(range(2_500))) for name in "xy"))
    design = independent(large, epsilon=20.0)
    tally = reports([np.zeros(10, dtype=np.uint16)] * 2, design, 1)
    with pytest.raises(EstimateError, match="5,000 categories in all"):
        estimate(tally, design, "correspondence")
