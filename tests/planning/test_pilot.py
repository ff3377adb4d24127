"""From a pilot to the main survey."""

import numpy as np
import pytest

from mdrr.dependence import dependences
from mdrr.domain import Attribute, Domain
from mdrr.errors import DesignError
from mdrr.planning import main_survey, plan
from mdrr.protocols import clustered, independent
from mdrr.tallies import Tally, tally_codes

DOMAIN = Domain(
    (
        Attribute("a", ("x", "y")),
        Attribute("region", ("n", "s"), public=True),
        Attribute("b", ("u", "v", "w")),
        Attribute("c", ("x", "y")),
    )
)
PILOT = independent(DOMAIN, epsilon=6.0)


def answered(n: int = 4000) -> Tally:
    """Reports in which b tells a, and c is by itself; they stand for hardly randomized answers."""
    draw = np.random.default_rng(3)
    b = draw.integers(0, 3, n)
    a = np.where(draw.random(n) < 0.5, b == 0, draw.integers(0, 2, n)).astype(np.int64)
    known = {"a": a, "b": b, "c": draw.integers(0, 2, n), "region": draw.integers(0, 2, n)}
    columns = [known[cluster.attributes[0]] for cluster in PILOT.questionnaires[0].clusters]
    return tally_codes([columns], PILOT)


def test_clusters_are_asked_if_they_are_wanted():
    found = main_survey(answered(), PILOT, people=1000, epsilon=2.0, max_cells=6)
    assert found.clusters == (("a", "b"), ("c",))
    assert found.design == clustered(DOMAIN, found.clusters, epsilon=2.0)
    assert found.design.epsilon <= 2.0
    apart = main_survey(answered(), PILOT, people=1000, epsilon=2.0, max_cells=5)
    assert apart.clusters == (("a",), ("b",), ("c",))
    weak = {"max_cells": 12, "min_dependence": 0.99}
    assert main_survey(answered(), PILOT, people=1000, epsilon=2.0, **weak).clusters[0] == ("a",)


def test_the_best_plan_is_asked_otherwise_at_the_pilots_budget():
    tally = answered()
    best = plan(DOMAIN, n=50_000, epsilon=PILOT.epsilon, dependences=dependences(tally, PILOT)).best
    found = main_survey(tally, PILOT, people=50_000)
    assert (found.name, found.design) == (best.name, best.design)
    assert found.predicted.error == pytest.approx(best.predicted.error)
    assert found.clusters == (("a", "b"), ("c",))


def test_more_people_make_a_smaller_error():
    few, many = (main_survey(answered(), PILOT, people=n, max_cells=6) for n in (100, 10_000))
    assert many.predicted.error < few.predicted.error / 5  # √100 = 10 without other errors


def test_the_pilots_own_design_is_no_second_phase():
    with pytest.raises(DesignError, match="suggests its own design"):
        main_survey(answered(), PILOT, people=1000, epsilon=6.0, max_cells=1)
    with pytest.raises(DesignError, match="max_cells=0"):
        main_survey(answered(), PILOT, people=1000, max_cells=0)
