"""How far off estimates turned out: the predicted error's own definition, with the truth in it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import mdrr
from mdrr.estimation import Count, Estimate
from mdrr.planning.predict import relative_error
from mdrr.reporting.contents import Asked, outcomes
from mdrr.tallies import tally_codes

SHAPE = (5, 2, 7)
DOMAIN = mdrr.Domain(
    tuple(mdrr.Attribute(name, tuple(range(size))) for name, size in zip("abc", SHAPE, strict=True))
)
RNG = np.random.default_rng(8)
CODES = [RNG.choice(r, 5000, p=np.arange(1, r + 1) / np.arange(1, r + 1).sum()) for r in SHAPE]


def estimates() -> dict[str, Estimate]:
    design = mdrr.independent(DOMAIN, epsilon=6.0)
    tally = tally_codes(mdrr.randomize_codes(CODES, design, source=mdrr.SeededSource(1)), design)
    return {name: mdrr.estimate(tally, design, name) for name in ("product", "pairwise")}


def test_errors_are_those_of_a_typical_count_single_attributes_weighing_as_much_as_pairs() -> None:
    found = outcomes(estimates(), CODES, [], None)
    assert [outcome.name for outcome in found] == ["product", "pairwise"]
    for outcome, estimate in zip(found, estimates().values(), strict=True):
        errors: dict[int, list[float]] = {1: [], 2: []}
        for width in errors:
            for names in combinations("abc", width):
                places = ["abc".index(name) for name in names]
                true = np.zeros([SHAPE[j] for j in places])
                np.add.at(true, tuple(CODES[j] for j in places), 1 / 5000)
                gap = estimate.table(*names).values - true
                errors[width].append(relative_error(float((gap**2).sum()), true.size, 0.1))
        means = [np.mean(some) for some in errors.values()]
        assert outcome.typical == pytest.approx(np.mean(means))
        assert outcome.worst == pytest.approx(max(errors[1] + errors[2]))
        assert (outcome.median, outcome.largest) == (None, None)
        assert "groups" not in outcome.words


def test_the_groups_median_and_worst_error_and_a_group_of_nobody() -> None:
    methods = {"product": estimates()["product"]}
    asked = [
        Asked(words, True, {"product": Count(value, 0, 1, 0.95, 5000)}, truth)
        for words, value, truth in (
            ("few", 4.0, 10),
            ("many", 110.0, 100),
            ("some", 70.0, 50),
            ("none", 3.0, 0),
        )
    ]
    (outcome,) = outcomes(methods, CODES, asked, None)
    assert outcome.misses == pytest.approx({"few": -60.0, "many": 10.0, "some": 40.0})
    assert (outcome.median, outcome.largest) == pytest.approx((40.0, -60.0))
    assert outcome.words.endswith("half are off by less than 40 %; the worst, few, by −60 %.")
