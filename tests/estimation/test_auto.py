"""The default estimator is near the better of model and inversion, and says which it was."""

import numpy as np
import pytest

from mdrr.domain import Attribute, Domain
from mdrr.estimation import estimate
from mdrr.estimation.assisted import Shrinker
from mdrr.estimation.joint import Factor, ProductJoint
from mdrr.estimation.tabled import fit_margins
from mdrr.protocols import independent, joint, sampled
from tests.estimation.simulated import DOMAIN, people, reports, truth

N = 8_000
PAIRS = (("a", "b"), ("a", "c"), ("b", "c"))


def distance(found, columns):
    return sum(np.abs(found.table(*p).values - truth(columns, p)).sum() for p in PAIRS)


def odd_people(n):
    """Pairs that no few classes describe: c follows a + b, with noise."""
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 3, n), rng.integers(0, 2, n)
    c = (a + 2 * b + (rng.random(n) < 0.2) * rng.integers(0, 4, n)) % 4
    return [column.astype(np.uint8) for column in (a, b, c)]


@pytest.mark.parametrize("people_of", [people, odd_people])
@pytest.mark.parametrize(
    "design",
    [independent(DOMAIN, epsilon=4.0), joint(DOMAIN, epsilon=9.0), sampled(DOMAIN, 2, epsilon=3.0)],
    ids=["independent", "joint", "sampled"],
)
def test_is_near_the_best_method(design, people_of):
    columns = people_of(N)
    errors = {m: [] for m in ("product", "pairwise", "latent", "correspondence", "auto")}
    for seed in range(5):
        tally = reports(columns, design, seed)
        for method in errors:
            errors[method].append(distance(estimate(tally, design, method), columns))
    means = {method: np.mean(values) for method, values in errors.items()}
    assert means["auto"] <= 1.1 * min(means.values()) + 2e-3


def test_exact_reports_speak_for_themselves_and_noisy_ones_do_not():
    columns = odd_people(N)
    exact, noisy = joint(DOMAIN, epsilon=14.0), independent(DOMAIN, epsilon=1.0)
    found = estimate(reports(columns, exact, 1), exact, "auto", classes=1)
    assert found.notes["chosen"] == "unbiased"
    assert found.notes["unbiased_weight"] > 0.9
    assert "held-out" not in found.notes["why"] or found.notes["held_out"]
    assert distance(found, columns) < 5e-3
    found = estimate(reports(people(N), noisy, 1), noisy, "auto")
    assert found.notes["unbiased_weight"] < 0.5


def test_tables_agree_with_their_margins():
    design = independent(DOMAIN, epsilon=8.0)
    tally = reports(people(N), design, 2)
    for method, options in (("pairwise", {"shrink": False}), ("pairwise", {}), ("auto", {})):
        found = estimate(tally, design, method, **options)
        for first, second in PAIRS:
            table = found.table(first, second).values
            assert (table >= 0).all()
            assert np.allclose(table.sum(axis=1), found.table(first).values, atol=1e-8)
            assert np.allclose(table.sum(axis=0), found.table(second).values, atol=1e-8)
            assert np.allclose(table.T, found.table(second, first).values)


def test_records_follow_the_pair_tables():
    columns = odd_people(N)
    design = joint(DOMAIN, epsilon=9.0)
    found = estimate(reports(columns, design, 3), design, "auto")
    drawn = found.joint.sample(N, np.random.default_rng(1))
    for pair in PAIRS:
        error = np.abs(truth(drawn, pair) - found.table(*pair).values).sum()
        # Two samplings of N records: E|error| ≤ √(2·cells/(πN)), here three times that.
        assert error < 3 * np.sqrt(2 * 12 / (np.pi * N)) + 0.01


def test_a_model_that_is_right_is_left_alone():
    columns = people(N)
    flat = [
        np.random.default_rng(j).integers(0, s, N).astype(np.uint8) for j, s in enumerate((3, 2, 4))
    ]
    design = independent(DOMAIN, epsilon=3.0)
    tally = reports(flat, design, 1)
    margins = [truth(flat, (name,)) for name in DOMAIN.names]
    base = ProductJoint(
        DOMAIN, tuple(Factor((n,), m) for n, m in zip(DOMAIN.names, margins, strict=True))
    )
    assert Shrinker(base, tally, design).shrunk(("a", "c")).weight < 0.1
    wrong = Shrinker(
        base, reports(columns, joint(DOMAIN, epsilon=9.0), 1), joint(DOMAIN, epsilon=9.0)
    )
    assert wrong.shrunk(("a", "c")).weight > 0.9


def test_fitting_margins_keeps_odds_ratios():
    table = np.array([[4.0, 2.0], [1.0, 3.0]]) / 10
    fitted = fit_margins(table, [np.array([0.3, 0.7]), np.array([0.6, 0.4])])
    assert np.allclose(fitted.sum(axis=1), [0.3, 0.7])
    assert np.allclose(fitted.sum(axis=0), [0.6, 0.4])
    odds = [t[0, 0] * t[1, 1] / (t[0, 1] * t[1, 0]) for t in (table, fitted)]
    assert odds[1] == pytest.approx(odds[0], rel=1e-6)


def test_one_attribute_and_large_tables():
    single = Domain((Attribute("x", tuple(range(5))),))
    design = independent(single, epsilon=1.0)
    tally = reports([np.arange(500, dtype=np.uint8) % 5], design, 1)
    assert estimate(tally, design, "auto").table("x").values.sum() == pytest.approx(1)
    wide = Domain(tuple(Attribute(f"x{i}", tuple(range(40))) for i in range(6)))
    design = independent(wide, epsilon=20.0)
    rng = np.random.default_rng(0)
    tally = reports([rng.integers(0, 40, 300).astype(np.uint8) for _ in range(6)], design, 1)
    found = estimate(tally, design, "auto", classes=2)
    where = {f"x{i}": list(range(20)) for i in range(6)}
    assert 0 <= found.count(where).value <= 300


def test_intervals_of_attributes_asked_apart_allow_for_dependence():
    columns = people(N)
    design = sampled(DOMAIN, 1, epsilon=2.0)
    tally = reports(columns, design, 1)
    exact = truth(columns, ("a", "b"))
    for method in ("pairwise", "auto"):
        found = estimate(tally, design, method)
        held = [
            (count := found.count({"a": [a], "b": [b]})).low <= exact[a, b] * N <= count.high
            for a in range(3)
            for b in range(2)
        ]
        assert sum(held) >= 3
        alone = estimate(tally, design, "product").count({"a": [0], "b": [0]})
        wide = found.count({"a": [0], "b": [0]})
        assert wide.high - wide.low > alone.high - alone.low


def test_the_reason_given_is_the_likelihoods():
    design = independent(DOMAIN, epsilon=3.0)
    said = set()
    for seed in range(4):
        notes = estimate(reports(people(300, seed), design, seed), design, method="auto").notes
        values = {entry[0]: entry[2] for entry in notes["held_out"]}
        best = values[notes["classes"]] == max(values.values())
        assert ("held-out reports best" in notes["why"]) == best
        assert ("held-out reports as well as any" in notes["why"]) == (not best)
        said.add(best)
    assert False in said


def test_one_person_is_not_held_out_from_herself():
    design = independent(DOMAIN, epsilon=2.0)
    found = estimate(reports([column[:1] for column in people(N)], design, 1), design, "auto")
    assert "too few people to compare tables" in found.notes["why"]
    assert "held-out people" not in found.notes["why"]


def test_one_attribute_is_said_to_be_drawn_as_far_as_it_is():
    domain = Domain((Attribute("a", tuple("vwxyz")),))
    design = independent(domain, epsilon=0.1)
    rng = np.random.default_rng(3)
    found = estimate(reports([rng.integers(0, 5, 500).astype(np.uint8)], design, 1), design)
    assert found.notes["unbiased_weight"] < 0.9
    assert "unbiased" not in found.notes["chosen"]


def test_a_pair_too_large_for_a_table_does_not_stop_the_others():
    many = tuple(map(str, range(5000)))
    domain = Domain((Attribute("a", many), Attribute("b", many), Attribute("c", ("x", "y"))))
    design = sampled(domain, 1, epsilon=4.0)
    rng = np.random.default_rng(3)
    codes = [rng.integers(0, size, 300) for size in domain.shape]
    found = estimate(reports(codes, design, 1), design, classes=2)
    assert found.table("c").values.sum() == pytest.approx(1)
    assert found.table("a", "c").values.shape == (5000, 2)


@pytest.mark.parametrize("method", ["auto", "pairwise", "correspondence", "ibu"])
def test_margins_agree_where_attributes_follow_from_each_other(method):
    domain = Domain(tuple(Attribute(f"a{r}", tuple("vwxyz"[:r])) for r in (2, 3, 4, 5)))
    design = independent(domain, epsilon=20.0)
    first = np.random.default_rng(1).integers(0, 2, 1000)
    tally = reports([(first % size).astype(np.uint8) for size in domain.shape], design, 1)
    found = estimate(tally, design, method)
    for names in [("a2", "a4"), ("a3", "a5"), ("a2", "a3", "a5")]:
        table = found.table(*names).values
        for at, name in enumerate(names):
            axes = tuple(axis for axis in range(len(names)) if axis != at)
            assert table.sum(axis=axes) == pytest.approx(found.table(name).values, abs=1e-9)


def test_why_says_when_nobody_was_asked_two_attributes():
    design = sampled(DOMAIN, 1, epsilon=3.0)
    found = estimate(reports(people(3_000), design, 1), design)
    assert "nobody was asked two attributes" in found.notes["why"]
    assert "pairs" not in found.notes["why"]


def test_what_is_said_of_unbiased_tables_goes_for_all_that_is_mixed():
    design = joint(DOMAIN, epsilon=9.0)
    found = estimate(reports(people(4_000), design, 1), design)
    blend = found.joint.maker
    each = [np.mean([maker.shrunk(p).weight for p in PAIRS]) for maker in blend.makers]
    assert found.notes["unbiased_weight"] == pytest.approx(np.dot(blend.shares, each))
    assert f"pairs {found.notes['unbiased_weight']:.0%} of the way" in found.notes["why"]
