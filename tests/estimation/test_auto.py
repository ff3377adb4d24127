"""The default estimator is near the better of model and inversion, and says which it was."""

import sys
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from mdrr.domain import Attribute, Domain
from mdrr.estimation import estimate
from mdrr.estimation.assisted import assisted
from mdrr.estimation.auto import _noise, nearest_mixture, some_of
from mdrr.estimation.evidence import Evidence
from mdrr.estimation.pairwise import product_tables
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
    for seed in range(2):
        tally = reports(columns, design, seed)
        for method in errors:
            errors[method].append(distance(estimate(tally, design, method), columns))
    means = {method: np.mean(values) for method, values in errors.items()}
    assert means["auto"] <= 1.1 * min(means.values()) + 2e-3


def test_exact_reports_speak_for_themselves_and_noisy_ones_do_not():
    columns = odd_people(N)
    exact, noisy = joint(DOMAIN, epsilon=14.0), independent(DOMAIN, epsilon=1.0)
    found = estimate(reports(columns, exact, 1), exact, "auto", classes=1)
    assert distance(found, columns) < 5e-3, "records say what one class cannot"
    apart = independent(DOMAIN, p=0.999)
    assert distance(estimate(reports(columns, apart, 1), apart), columns) < 2e-2
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
            assert np.allclose(table.sum(axis=1), found.table(first).values, atol=1e-9)
            assert np.allclose(table.sum(axis=0), found.table(second).values, atol=1e-9)
            assert np.allclose(table.T, found.table(second, first).values)


def test_records_follow_the_pair_tables():
    columns = odd_people(N)
    design = joint(DOMAIN, epsilon=9.0)
    found = estimate(reports(columns, design, 3), design, "auto")
    drawn = found.joint.sample(N, np.random.default_rng(1))
    for pair in PAIRS:
        error = np.abs(truth(drawn, pair) - found.table(*pair).values).sum()
        # E|error| of N records ≤ √(2·cells/(πN)), here three times that.
        assert error < 3 * np.sqrt(2 * 12 / (np.pi * N))


def test_pair_tables_are_noise_to_records_where_one_answer_holds_all_attributes():
    """There the tables are met within their noise; elsewhere they are met in full."""
    pairs = list(combinations(DOMAIN.names, 2))
    whole = joint(DOMAIN, epsilon=12.0)
    evidence = Evidence(reports(people(2000, 1), whole, 1), whole)
    noise = _noise(evidence)
    assert noise == {p: pytest.approx(evidence.table(p).variances().sum()) for p in pairs}
    some = sampled(DOMAIN, size=len(DOMAIN) - 1, epsilon=12.0)
    assert _noise(Evidence(reports(people(2000, 1), some, 1), some)) is None


def test_one_attribute_and_large_tables():
    single = Domain((Attribute("x", tuple(range(5))),))
    design = independent(single, epsilon=1.0)
    tally = reports([np.arange(500, dtype=np.uint8) % 5], design, 1)
    assert estimate(tally, design, "auto").table("x").values.sum() == pytest.approx(1)
    wide = Domain(tuple(Attribute(f"x{i}", tuple(range(8))) for i in range(9)))
    design = independent(wide, epsilon=20.0)
    rng = np.random.default_rng(0)
    tally = reports([rng.integers(0, 8, 300).astype(np.uint8) for _ in range(9)], design, 1)
    found = estimate(tally, design, "auto", classes=2)
    where = {f"x{i}": list(range(4)) for i in range(9)}
    assert 0 <= found.count(where).value <= 300


def test_one_person_is_not_held_out_from_herself():
    design = independent(DOMAIN, epsilon=2.0)
    found = estimate(reports([column[:1] for column in people(N)], design, 1), design, "auto")
    assert "too few people to hold some out" in found.notes["why"]
    assert not found.notes.get("held_out")


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
    found = estimate(reports(codes, design, 1), design, "latent", classes=2, passes=5)
    assert found.table("c").values.sum() == pytest.approx(1)
    assert found.table("a", "c").values.shape == (5000, 2)


@pytest.mark.parametrize("method", ["auto", "pairwise", "correspondence"])
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


def test_the_weight_of_unbiased_tables_is_that_of_all_that_is_mixed():
    design = independent(DOMAIN, epsilon=9.0)
    tally = reports(people(4_000), design, 1)
    found = estimate(tally, design)
    evidence = Evidence(tally, design)
    product = assisted(product_tables(evidence, PAIRS), evidence).weights
    each = float(np.mean([product[pair] for pair in PAIRS]))
    shares = found.notes["shares"]
    assert set(shares) == {"product", "correspondence", "latent"}
    assert sum(shares.values()) == pytest.approx(1)
    rest = (found.notes["unbiased_weight"] - shares["product"] * each) / (1 - shares["product"])
    assert 0 <= rest <= 1
    assert f"{found.notes['unbiased_weight']:.0%} of the way" in found.notes["why"]


def test_very_many_reports_of_single_attributes_are_not_given_to_latent_classes(monkeypatch):
    """The limit is on distinct reports; reports of several attributes as one are always given."""
    columns = people(2_000)
    apart, together = independent(DOMAIN, epsilon=6.0), joint(DOMAIN, epsilon=6.0)
    assert "latent" in estimate(reports(columns, apart, 1), apart).notes["shares"]
    monkeypatch.setattr(sys.modules["mdrr.estimation.auto"], "_MOST_REPORTS", 5)
    assert "latent" not in estimate(reports(columns, apart, 1), apart).notes["shares"]
    assert "latent" in estimate(reports(columns, together, 1), together).notes["shares"]
    asked = estimate(reports(columns, apart, 1), apart, classes=2)
    assert asked.notes["classes"] == 2


def ten_people(n, seed):
    """Ten attributes that have next to nothing to do with each other."""
    rng = np.random.default_rng(seed)
    kind = rng.random(n) < 0.5
    columns = []
    for size in TEN.shape:
        shares = rng.dirichlet(np.full(size, 2.0))
        own = rng.choice(size, n, p=shares)
        columns.append(np.where(kind & (rng.random(n) < 0.1), 0, own).astype(np.uint8))
    return columns


TEN = Domain(
    tuple(
        Attribute(f"t{j}", tuple(range(size)))
        for j, size in enumerate((2, 5, 3, 4, 2, 6, 3, 5, 4, 2))
    )
)


def test_no_dependence_is_invented():
    """4,360 people, ε = 1: what cannot be seen must stay independent.

    Over 20 surveys no pair is further from the truth than the product of its margins by more than
    .05 in total variation.
    """
    columns = ten_people(4_360, 1)
    design = independent(TEN, epsilon=1.0)
    pairs = list(combinations(TEN.names, 2))
    exact = {pair: truth(columns, pair, TEN) for pair in pairs}
    worst = 0.0
    for seed in range(20):
        tally = reports(columns, design, seed)
        found = estimate(tally, design)
        margins = dict(zip(TEN.names, Evidence(tally, design).margins, strict=True))
        for a, b in pairs:
            mine = np.abs(found.table(a, b).values - exact[a, b]).sum() / 2
            product = np.outer(margins[a], margins[b])
            other = np.abs(product - exact[a, b]).sum() / 2
            worst = max(worst, mine - other)
    assert worst < 0.05


def test_a_dependence_that_is_there_is_found_by_the_same_test():
    """Or the test above could not fail: nine of ten people say the same twice."""
    columns = ten_people(4_360, 1)
    columns[7] = np.where(np.arange(4_360) % 10 < 9, columns[1], columns[7]).astype(np.uint8)
    design = independent(TEN, epsilon=25.0)
    found = estimate(reports(columns, design, 1), design)
    exact = truth(columns, ("t1", "t7"), TEN)
    product = np.outer(exact.sum(axis=1), exact.sum(axis=0))
    assert (
        np.abs(found.table("t1", "t7").values - exact).sum() < 0.5 * np.abs(product - exact).sum()
    )


def test_shares_are_those_of_the_least_square():
    """Against a fine grid over all shares of three models."""
    rng = np.random.default_rng(2)
    steps = [(i / 100, j / 100) for i in range(101) for j in range(101 - i)]
    grid = np.array([(i, j, 1 - i - j) for i, j in steps])
    for _ in range(20):
        root = rng.normal(size=(3, 3))
        gram, pull = root @ root.T + 0.1 * np.eye(3), rng.normal(size=3)
        found = nearest_mixture(gram, pull)
        assert found.sum() == pytest.approx(1)
        assert (found >= 0).all()
        values = np.einsum("ki,ij,kj->k", grid, gram, grid) - 2 * grid @ pull
        assert found @ gram @ found - 2 * pull @ found <= values.min() + 1e-9


def test_the_order_of_attributes_does_not_choose_the_pairs():
    names = [f"n{i}" for i in range(40)]
    every = list(combinations(names, 2))
    met = Counter(name for pair in some_of(every) for name in pair)
    assert sum(met.values()) == 200
    assert len(met) == 40
    assert some_of(every[:7]) == every[:7]
